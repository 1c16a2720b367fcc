"""Nonnegative factorisation: stationary points, the parts that made the data, sparse rows as dense ones."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import sklearn.decomposition
from sklearn.exceptions import ConvergenceWarning

from mercer._source import open_source
from mercer.decomposition import NMF, MiniBatchNMF, non_negative_factorization
from mercer.decomposition._nonnegative.coordinate import RowStep
from mercer.decomposition._nonnegative.divergence import measure_divergence
from mercer.errors import DataError, ParameterError

PARTS = np.kron(np.eye(3), np.ones((1, 4))) * np.random.default_rng(0).uniform(0.5, 1.0, (3, 12))
X = np.random.default_rng(1).gamma(0.5, size=(80, 3)) @ PARTS + 0.05 * np.random.default_rng(2).uniform(size=(80, 12))


def test_disjoint_parts_are_found():
    # Rows that show one part alone: without them, rows that show a little of every part allow other factors.
    shares = np.r_[np.eye(3), np.random.default_rng(3).gamma(0.5, size=(80, 3))]
    model = NMF(3, tol=1e-8, max_iter=2000).fit(shares @ PARTS)
    found = model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)
    true = PARTS / np.linalg.norm(PARTS, axis=1, keepdims=True)
    similarity = found @ true.T
    assert similarity.max(axis=0).min() > 1 - 1e-6
    assert sorted(similarity.argmax(axis=0)) == [0, 1, 2]
    assert model.reconstruction_err_ < 1e-4


def test_the_answer_is_a_stationary_point_of_the_penalised_error():
    model = NMF(4, tol=1e-9, max_iter=20_000, alpha_W=1e-3, alpha_H=2e-3, l1_ratio=0.3, random_state=0)
    W = model.fit_transform(X)
    H = model.components_

    def objective(values):
        w, h = values[: W.size].reshape(W.shape), values[W.size :].reshape(H.shape)
        on_w = 12e-3 * (0.3 * w.sum() + 0.35 * (w**2).sum())
        return ((X - w @ h) ** 2).sum() / 2 + on_w + 80 * 2e-3 * (0.3 * h.sum() + 0.35 * (h**2).sum())

    values = np.concatenate([W.ravel(), H.ravel()])
    slope = scipy.optimize.approx_fprime(values, objective, 1e-7)
    assert np.abs(slope[values > 1e-6]).max() < 1e-4
    assert slope[values == 0].min() > -1e-4
    assert model.history_["objective"][-1] == pytest.approx(objective(values), rel=1e-9)
    assert model.converged_


def test_it_is_no_worse_than_scikit_learn_from_the_same_start():
    random = np.random.default_rng(3)
    W, H = random.uniform(size=(80, 3)), random.uniform(size=(3, 12))
    mine = NMF(3, init="custom", tol=1e-6, max_iter=3000).fit(X, W=W, H=H)
    theirs = sklearn.decomposition.NMF(3, init="custom", tol=1e-6, max_iter=3000)
    theirs.fit_transform(X, W=W.copy(), H=H.copy())
    assert mine.reconstruction_err_ <= theirs.reconstruction_err_ * (1 + 1e-4)
    assert mine.n_iter_ < theirs.n_iter_


def test_given_factors_are_not_overwritten():
    random = np.random.default_rng(3)
    W, H = random.uniform(size=(80, 4)), random.uniform(size=(4, 12))
    before = W.copy(), H.copy()
    NMF(4, init="custom").fit(X, W=W, H=H)
    np.testing.assert_array_equal(W, before[0])
    np.testing.assert_array_equal(H, before[1])


@pytest.mark.parametrize("beta", [2.0, 1.0, 0.0, 0.5, 3.0])
def test_every_divergence_falls_and_is_what_its_formula_says(beta):
    model = NMF(3, solver="mu", beta_loss=beta, tol=0, max_iter=200, random_state=0)
    W = model.fit_transform(X)
    V = W @ model.components_
    divergence = {
        2.0: lambda: ((X - V) ** 2).sum() / 2,
        1.0: lambda: (X * np.log(X / V) - X + V).sum(),
        0.0: lambda: (X / V - np.log(X / V) - 1).sum(),
    }.get(beta, lambda: ((X**beta + (beta - 1) * V**beta - beta * X * V ** (beta - 1)) / beta / (beta - 1)).sum())()
    measured = measure_divergence(X, W, np.ascontiguousarray(model.components_.T), beta)
    assert measured == pytest.approx(divergence, rel=1e-6)
    # The weights of the fit itself are near those that transform solves for.
    assert model.reconstruction_err_ == pytest.approx(np.sqrt(2 * divergence), rel=0.05)
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()
    assert model.n_iter_ == 200


@pytest.mark.parametrize("settings", [{}, {"solver": "mu", "beta_loss": 1}, {"solver": "mu", "beta_loss": 1.5}])
def test_sparse_and_dense_rows_give_the_same_factors(settings):
    rows = np.where(X < 0.2, 0.0, X)
    dense, sparse = (
        NMF(3, tol=0, max_iter=300, random_state=0, init="random", **settings).fit(stored)
        for stored in (rows, scipy.sparse.csr_array(rows))
    )
    np.testing.assert_allclose(dense.components_, sparse.components_, rtol=1e-6, atol=1e-9)
    assert dense.reconstruction_err_ == pytest.approx(sparse.reconstruction_err_, rel=1e-6)
    np.testing.assert_allclose(
        dense.transform(rows), sparse.transform(scipy.sparse.csr_array(rows)), rtol=1e-5, atol=1e-8
    )


def test_transform_solves_nonnegative_least_squares_for_each_row():
    model = NMF(3, random_state=0).fit(X)
    expected = [scipy.optimize.nnls(model.components_.T, row)[0] for row in X[:10]]
    np.testing.assert_allclose(model.transform(X)[:10], expected, atol=1e-7)
    np.testing.assert_allclose(model.transform(X[3:4]), expected[3:4], atol=1e-7)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), model.transform(X) @ model.components_)


def test_transform_is_exact_for_parts_that_are_alike_and_for_the_same_part_twice():
    rng = np.random.default_rng(0)
    # Parts that are nearly one: coordinate descent alone would need thousands of sweeps.
    H = 1.0 + 0.02 * rng.uniform(size=(4, 30))
    X = rng.uniform(size=(9, 4)) @ H + 0.05 * rng.uniform(size=(9, 30))
    W, _, _ = non_negative_factorization(X, H=H, n_components=4, update_H=False)
    expected = np.array([scipy.optimize.nnls(H.T, x)[0] for x in X])
    np.testing.assert_allclose(W, expected, atol=1e-6)
    # With a part twice the weights are not unique, and the rows that they make are.
    H[3] = H[2]
    W, _, _ = non_negative_factorization(X, H=H, n_components=4, update_H=False, max_iter=1000)
    best = sum(scipy.optimize.nnls(H.T, x)[1] ** 2 for x in X)
    assert ((X - W @ H) ** 2).sum() == pytest.approx(best, rel=1e-6)
    assert (W >= 0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tiles_of_rows_give_what_the_definition_gives(dtype):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1500, 40)).astype(dtype)
    W, T = rng.uniform(size=(1500, 3)), rng.uniform(size=(40, 3))
    block = open_source(X).block(0)
    outs = [np.empty((1500, 3)) for _ in range(2)]
    steps = [RowStep(W, W, 0.0, T, T.T @ T, 0.1, out, 4) for out in outs]
    expected, sums = steps[0].of(block), steps[1].on(block)
    # In float32 the definition rounds the products, and the tiles do not.
    rtol = 1e-9 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(outs[1], outs[0], rtol=rtol, atol=rtol)
    for part in ("images", "gram", "gradient", "products"):
        np.testing.assert_allclose(getattr(sums, part), getattr(expected, part), rtol=rtol)


def test_the_default_start_keeps_zeros_unless_a_part_would_be_empty():
    rng = np.random.default_rng(1)
    full = rng.gamma(0.5, size=(60, 3)) @ rng.gamma(0.5, size=(3, 8)) + 0.1 * rng.uniform(size=(60, 8))
    # Two distinct rows: rank 2, and a third part has no singular vector.
    flat = np.repeat(np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 1.0]]), 5, axis=0)
    for X, start in ((full, "nndsvd"), (flat, "nndsvda")):
        models = [NMF(3, init=init, random_state=0, max_iter=5, tol=0).fit(X) for init in (None, start)]
        np.testing.assert_array_equal(models[0].components_, models[1].components_)
        assert models[0].components_.any(axis=1).all()


def test_batches_find_the_parts_too_and_can_arrive_one_by_one():
    rows = np.random.default_rng(1).gamma(0.5, size=(600, 3)) @ PARTS
    model = MiniBatchNMF(3, batch_size=100, max_iter=100, random_state=0).fit(rows)
    assert model.reconstruction_err_ < 0.05 * np.linalg.norm(rows)
    online = MiniBatchNMF(3, random_state=0)
    for _ in range(20):
        for start in range(0, 600, 100):
            online.partial_fit(rows[start : start + 100])
    assert online.n_steps_ == 120
    left = rows - online.inverse_transform(online.transform(rows))
    assert np.linalg.norm(left) < 0.1 * np.linalg.norm(rows)


def test_the_function_returns_both_factors_or_solves_for_one():
    W, H, n_iter = non_negative_factorization(X, n_components=3, random_state=0)
    model = NMF(3, random_state=0)
    np.testing.assert_array_equal(W, model.fit_transform(X))
    assert n_iter == model.n_iter_
    again, same, _ = non_negative_factorization(X, H=H, update_H=False)
    np.testing.assert_array_equal(again, model.transform(X))
    np.testing.assert_array_equal(same, H)


def test_wrong_rows_and_wrong_parameters_are_sentences():
    with pytest.raises(DataError, match=r"Negative values .* 960 entries are negative"):
        NMF(2).fit(-X)
    with pytest.raises(ParameterError, match="solver 'cd' does not handle beta_loss = 1; set solver='mu'"):
        NMF(2, beta_loss=1).fit(X)
    with pytest.raises(DataError, match="contains zeros, the solver may diverge"):
        NMF(2, solver="mu", beta_loss=0).fit(np.eye(4))
    with pytest.raises(DataError, match=r"got 5 > 4. Lower n_components, or set init='random'"):
        NMF(5, init="nndsvd").fit(np.eye(4))
    with pytest.warns(ConvergenceWarning, match="stopped by max_iter after 1 steps"):
        NMF(3, max_iter=1).fit(X)


def test_rows_of_zeros_are_factorised_into_zeros():
    model = NMF(2, random_state=0).fit(np.zeros((5, 4)))
    assert model.reconstruction_err_ == 0.0
    assert np.isfinite(model.transform(np.ones((2, 4)))).all()


def test_columns_in_several_parts_are_the_same_on_any_number_of_threads():
    # More columns than one part holds, and sparse rows in several blocks.
    rows = scipy.sparse.random(3000, 2500, 0.02, format="csr", random_state=0)
    models = [NMF(4, random_state=0, max_iter=5, tol=0.0, n_jobs=n_jobs).fit(rows) for n_jobs in (1, 2, 3)]
    for other in models[1:]:
        np.testing.assert_array_equal(other.components_, models[0].components_)
        np.testing.assert_array_equal(other.history_["projected_gradient"], models[0].history_["projected_gradient"])
    dense = NMF(4, random_state=0, max_iter=5, tol=0.0).fit(rows.toarray())
    np.testing.assert_allclose(dense.components_, models[0].components_, rtol=1e-6, atol=1e-9)
