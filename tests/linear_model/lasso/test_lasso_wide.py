"""Lasso on more columns than rows: same bits, weights, sparse rows, checkpoints, memory, and the native steps."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from mercer import config_context
from mercer._native.linear import descent as native
from mercer.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV
from mercer.linear_model._solvers.lasso.gram_descent import Penalty, move_to_face_minimum
from mercer.linear_model._solvers.lasso.working_set import References
from mercer.watch import Checkpoint
from tests.laws.test_control import At, crash

TIGHT = {"tol": 1e-11, "max_iter": 100_000}


def example(n=70, d=700, dtype=np.float64):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d)) + random.normal(size=d)
    X[:, 1:] += 0.7 * X[:, :-1]
    y = X[:, :6] @ random.normal(size=6) + 3.0 + random.normal(size=n)
    return X.astype(dtype), y


def sparse_example(n=300, d=900):
    random = np.random.default_rng(0)
    X = csr_array(random.uniform(size=(n, d)) * (random.uniform(size=(n, d)) < 0.03))
    return X, X @ np.where(np.arange(d) < 30, 5.0, 0.0) + 0.1 * random.normal(size=n)


@pytest.mark.parametrize("rows", [np.asarray, csr_array])
def test_threads_change_no_bit_of_a_fit_on_working_sets(rows):
    X, y = example()
    fits = [ElasticNet(alpha=0.02, n_jobs=n_jobs).fit(rows(X), y) for n_jobs in (1, 2, 5)]
    choices = [LassoCV(alphas=15, cv=3, n_jobs=n_jobs).fit(rows(X), y) for n_jobs in (1, 2, 5)]
    assert {model.solver_used_ for model in fits + choices} == {"working sets"}
    assert len({model.coef_.tobytes() for model in fits}) == 1
    assert len({model.coef_.tobytes() + model.mse_path_.tobytes() for model in choices}) == 1


@pytest.mark.parametrize("rows", [np.asarray, csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_are_repetitions_and_no_weight_is_no_row(rows, fit_intercept):
    X, y = example()
    weight = np.random.default_rng(1).integers(0, 4, size=len(y))
    given = {"alpha": 0.05, "fit_intercept": fit_intercept, **TIGHT}
    weighted = Lasso(**given).fit(rows(X), y, weight)
    repeated = Lasso(**given).fit(rows(np.repeat(X, weight, axis=0)), np.repeat(y, weight))
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-7)
    assert weighted.intercept_ == pytest.approx(repeated.intercept_, abs=1e-7)


@pytest.mark.parametrize("layout", [csr_array, csc_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_give_the_model_of_the_same_rows_dense(layout, weighted):
    X, y = sparse_example()
    weight = np.random.default_rng(1).uniform(size=len(y)) if weighted else None
    dense = Lasso(alpha=1e-3, **TIGHT).fit(X.toarray(), y, weight)
    sparse = Lasso(alpha=1e-3, **TIGHT).fit(layout(X), y, weight)
    assert sparse.coef_ == pytest.approx(dense.coef_, abs=1e-7)
    assert 10 < np.count_nonzero(dense.coef_) < 300
    chosen = [ElasticNetCV(alphas=8, eps=0.05, cv=3, tol=1e-9).fit(rows, y, weight) for rows in (X, X.toarray())]
    assert chosen[0].mse_path_ == pytest.approx(chosen[1].mse_path_, rel=1e-5)


@pytest.mark.parametrize("rows", [np.asarray, csr_array])
def test_working_sets_too_large_for_a_gram_matrix_descend_on_the_columns(rows, monkeypatch):
    X, y = example()
    expected = ElasticNet(alpha=0.01, l1_ratio=0.9, **TIGHT).fit(rows(X), y)
    monkeypatch.setattr("mercer.linear_model._solvers.lasso.working_set.WorkingSet.has_gram", False)
    weight = np.ones(len(y))
    weight[:3] = 2.0
    model = ElasticNet(alpha=0.01, l1_ratio=0.9, **TIGHT).fit(rows(X), y)
    assert model.coef_ == pytest.approx(expected.coef_, abs=1e-6)
    assert model.converged_
    weighted = ElasticNet(alpha=0.01, l1_ratio=0.9, **TIGHT).fit(rows(X), y, weight)
    monkeypatch.undo()
    again = ElasticNet(alpha=0.01, l1_ratio=0.9, **TIGHT).fit(rows(X), y, weight)
    assert weighted.coef_ == pytest.approx(again.coef_, abs=1e-6)


def test_float32_rows_give_float32_coefficients_near_those_of_float64():
    X, y = example(dtype=np.float32)
    single, double = Lasso(alpha=0.05).fit(X, y), Lasso(alpha=0.05).fit(X.astype(np.float64), y)
    assert single.coef_.dtype == np.float32
    assert single.coef_ == pytest.approx(double.coef_, abs=1e-4)


@pytest.mark.parametrize("make", [
    lambda: ElasticNet(alpha=1e-3, tol=1e-9, max_iter=10_000), lambda: LassoCV(alphas=12, cv=3),
])  # fmt: skip
def test_a_fit_on_working_sets_resumes_from_a_checkpoint_with_the_same_bits(make, tmp_path):
    X, y = example()
    whole = make().fit(X, y)
    for stop in range(2, len(whole.history_["step"]) + 1):
        path = tmp_path / f"{stop}.checkpoint"
        with pytest.raises(RuntimeError, match="killed"):
            make().set_callbacks(Checkpoint(path, every=0), At(stop, crash)).fit(X, y)
        resumed = make().set_callbacks(Checkpoint(path, every=0)).fit(X, y)
        assert resumed.coef_.tobytes() == whole.coef_.tobytes()
        assert resumed.history_["objective"].tobytes() == whole.history_["objective"].tobytes()
    assert stop > 3


def test_a_working_set_that_does_not_fit_is_forecast():
    X, y = example(400, 3000)
    with config_context(max_memory=100_000), pytest.raises(MemoryError, match="raise alpha, for fewer coefficients"):
        Lasso(alpha=1e-3).fit(X, y)


def test_references_bound_the_products_they_did_not_see():
    X, _ = example()
    random = np.random.default_rng(2)
    vectors = random.normal(size=(3, len(X)))
    known = References(vectors, vectors @ X, np.linalg.norm(X, axis=0))
    for mixed, noise in (([0.2, -1.0, 2.0], 0.0), ([1.0, 0.0, 0.5], 0.1)):
        vector = np.array(mixed) @ vectors + noise * random.normal(size=len(X))
        estimate, error = known.estimate(vector)
        assert (np.abs(vector @ X - estimate) <= error).all()
    assert np.isfinite(References(np.zeros((1, 5)), np.zeros((1, 3)), np.ones(3)).estimate(np.zeros(5))[0]).all()


@pytest.mark.parametrize("positive", [False, True])
def test_a_move_to_a_face_never_rises_and_ends_at_its_minimum(positive):
    X, y = example(50, 8)
    G, linear, random = X.T @ X, X.T @ y, np.random.default_rng(3)
    penalty = Penalty(20.0, 1.0, positive)

    def objective(w):
        return 0.5 * np.sum((y - X @ w) ** 2) + penalty.value(w)

    for _ in range(20):
        w = random.normal(size=8) * (random.uniform(size=8) < 0.7)
        w = np.abs(w) if positive else w
        q, before, zero = linear - G @ w, objective(w), w == 0
        move_to_face_minimum(G, linear, w, q, penalty)
        assert objective(w) <= before + 1e-9
        assert (w[zero] == 0).all()
        assert q == pytest.approx(linear - G @ w, abs=1e-8)


def test_extrapolation_finds_the_limit_of_a_linear_sequence():
    shares, scratch = np.empty(3), np.empty((3, 3))
    limit, factors = np.array([1.0, -2.0]), np.array([0.9, 0.5])
    iterates = limit + factors ** np.arange(4)[:, None]
    assert native.find_weights(iterates, shares, scratch)
    assert shares.sum() == pytest.approx(1.0)
    assert shares @ iterates[1:] == pytest.approx(limit, abs=1e-4)
    assert not native.find_weights(np.ones((4, 2)), shares, scratch)
