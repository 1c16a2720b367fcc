"""Sparse codes, dictionaries and sparse components: optimality, parity with scikit-learn's, and errors."""

import numpy as np
import pytest
import sklearn.decomposition as theirs

import mercer.decomposition as ours
from mercer._native.linear import coordinate
from mercer.errors import DataError, ParameterError


def draw_rows(n=120, d=10, k=6, seed=0):
    random = np.random.default_rng(seed)
    atoms = random.normal(size=(k, d))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    codes = 3 * random.normal(size=(n, k)) * (random.uniform(size=(n, k)) < 0.3)
    return codes @ atoms + 0.1 * random.normal(size=(n, d)), atoms


def test_codes_for_orthogonal_atoms_are_shrunk_products():
    X = np.random.default_rng(0).normal(size=(20, 4))
    products = X @ np.eye(4)
    codes = ours.sparse_encode(X, np.eye(4), alpha=0.3)
    assert np.allclose(codes, np.sign(products) * np.maximum(np.abs(products) - 0.3, 0.0))


@pytest.mark.parametrize("positive", [False, True])
def test_codes_satisfy_the_conditions_of_the_lasso(positive):
    X, atoms = draw_rows()
    codes = ours.sparse_encode(X, atoms, alpha=0.4, positive=positive)
    slopes = (X - codes @ atoms) @ atoms.T
    assert np.allclose(slopes[codes > 0], 0.4, atol=1e-7)
    assert np.allclose(slopes[codes < 0], -0.4, atol=1e-7)
    free = slopes[codes == 0]
    assert (free <= 0.4 + 1e-7).all()
    assert positive or (free >= -0.4 - 1e-7).all()


@pytest.mark.parametrize("algorithm", ["lasso_lars", "lasso_cd", "lars", "omp", "threshold"])
def test_codes_are_scikit_learns(algorithm):
    X, atoms = draw_rows(40)
    given = {"algorithm": algorithm, "alpha": 0.3, "n_nonzero_coefs": 2 if algorithm in ("lars", "omp") else None}
    mine = ours.sparse_encode(X, atoms, **given)
    assert np.allclose(mine, theirs.sparse_encode(X, atoms, **given), atol=1e-5)
    coder = ours.SparseCoder(atoms, transform_algorithm=algorithm, transform_alpha=0.3, transform_n_nonzero_coefs=2)
    assert np.allclose(coder.transform(X), mine)
    assert np.allclose(coder.fit(X).inverse_transform(mine), mine @ atoms)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_codes_follow_the_unit_of_rows_and_penalty(factor):
    X, atoms = draw_rows(30)
    codes = ours.sparse_encode(X, atoms, alpha=0.3)
    assert np.allclose(ours.sparse_encode(factor * X, atoms, alpha=factor * 0.3), factor * codes, atol=1e-7 * factor)


def test_descent_over_rows_is_that_of_each_row():
    random = np.random.default_rng(0)
    root = random.normal(size=(8, 5))
    H, gradients = np.ascontiguousarray(root.T @ root), random.normal(size=(6, 5))
    W, worst = np.zeros((6, 5)), np.empty(6)
    coordinate.descend_rows(H, np.full(5, 0.2), False, W, gradients.copy(), np.full(6, 1e-12), 1000, worst)
    for row, gradient in zip(W, gradients, strict=True):
        w = np.zeros(5)
        coordinate.descend(H, np.full(5, 0.2), w, gradient.copy(), 1e-12, 1000)
        assert np.array_equal(row, w)
    assert (worst <= 1e-12).all()


def measure(X, atoms, alpha):
    codes = theirs.sparse_encode(X, atoms, algorithm="lasso_cd", alpha=alpha)
    return ((X - codes @ atoms) ** 2).sum() / 2 + alpha * np.abs(codes).sum()


def test_dictionaries_end_as_low_as_scikit_learns():
    X, _ = draw_rows()
    given = {"alpha": 0.5, "max_iter": 200, "tol": 1e-8, "random_state": 0}
    mine = ours.DictionaryLearning(6, **given).fit(X)
    other = theirs.DictionaryLearning(6, fit_algorithm="cd", **given).fit(X)
    assert measure(X, mine.components_, 0.5) <= 1.02 * measure(X, other.components_, 0.5)
    assert (np.linalg.norm(mine.components_, axis=1) <= 1 + 1e-12).all()
    assert (np.diff(mine.error_) <= 1e-9 * mine.error_[0]).all()
    assert mine.error_[-1] == pytest.approx(measure(X, mine.components_, 0.5), rel=1e-6)
    assert mine.converged_


def test_a_dictionary_of_weighted_rows_is_that_of_repeated_ones():
    X, _ = draw_rows(40)
    weight = np.random.default_rng(1).integers(1, 4, len(X))
    model = ours.DictionaryLearning(4, alpha=0.5, max_iter=20, random_state=0)
    atoms = model.fit(X, sample_weight=weight).components_
    assert np.allclose(atoms, model.fit(np.repeat(X, weight, axis=0)).components_, atol=1e-6)


def test_signs_of_codes_and_atoms_can_be_kept_positive():
    X = np.abs(draw_rows()[0])
    model = ours.DictionaryLearning(
        4,
        alpha=0.5,
        max_iter=20,
        positive_code=True,
        positive_dict=True,
        transform_algorithm="lasso_cd",
        random_state=0,
    )
    codes = model.fit_transform(X)
    assert (codes >= 0).all()
    assert (model.components_ >= 0).all()
    model.set_params(split_sign=True, positive_code=False)
    split = model.transform(X)
    assert split.shape == (len(X), 8)
    assert np.allclose(model.inverse_transform(split), (split[:, :4] - split[:, 4:]) @ model.components_)


def test_starts_are_taken_and_the_functions_are_the_classes():
    X, atoms = draw_rows()
    code, found, errors, steps = ours.dict_learning(
        X, 6, alpha=0.5, dict_init=atoms, max_iter=5, return_n_iter=True, random_state=0
    )
    assert len(errors) == steps <= 5
    assert errors[-1] == pytest.approx(((X - code @ found) ** 2).sum() / 2 + 0.5 * np.abs(code).sum())
    assert errors[-1] < measure(X, atoms, 0.5)
    code, found = ours.dict_learning_online(X, 6, alpha=0.5, dict_init=atoms, max_iter=3, batch_size=30, random_state=0)
    assert np.allclose(code, ours.sparse_encode(X, found, alpha=0.5))


def test_batches_end_near_all_rows_and_partial_fit_goes_on():
    X, _ = draw_rows(300)
    whole = ours.DictionaryLearning(6, alpha=0.5, max_iter=200, random_state=0).fit(X)
    batches = ours.MiniBatchDictionaryLearning(6, alpha=0.5, batch_size=30, max_iter=30, random_state=0).fit(X)
    assert measure(X, batches.components_, 0.5) < 1.1 * measure(X, whole.components_, 0.5)
    model = ours.MiniBatchDictionaryLearning(6, alpha=0.5, random_state=0)
    for first in range(0, 300, 30):
        model.partial_fit(X[first : first + 30])
    assert model.n_steps_ == 10
    assert measure(X, model.components_, 0.5) < 1.5 * measure(X, whole.components_, 0.5)


def test_sparse_components_name_the_columns_of_each_factor():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2)) @ np.kron(np.eye(2), np.ones(3)) + 0.1 * random.normal(size=(200, 6)) + 5.0
    for model in (ours.SparsePCA(2, alpha=2.0), ours.MiniBatchSparsePCA(2, alpha=2.0, max_iter=50)):
        model.set_params(random_state=0).fit(X)
        assert {tuple(row) for row in model.components_ != 0} == {
            (True,) * 3 + (False,) * 3,
            (False,) * 3 + (True,) * 3,
        }
        scores = model.transform(X)
        assert np.allclose(scores, theirs.SparsePCA.transform(model, X), atol=1e-8)
        assert ((model.inverse_transform(scores) - X) ** 2).mean() < 0.03


def test_sparse_components_end_as_low_as_scikit_learns():
    X, _ = draw_rows(60)
    mine = ours.SparsePCA(4, alpha=1.0, random_state=0).fit(X)
    other = theirs.SparsePCA(4, alpha=1.0, method="cd", random_state=0).fit(X)
    assert mine.error_[-1] <= 1.02 * other.error_[-1]


def test_errors_name_the_shape_and_the_cure():
    X, atoms = draw_rows(20)
    with pytest.raises(DataError, match="Dictionary and X have different numbers of features"):
        ours.SparseCoder(atoms[:, 1:]).fit(X)
    with pytest.raises(ParameterError, match="Positive constraint not supported for 'omp' coding method"):
        ours.SparseCoder(atoms, positive_code=True).fit(X).transform(X)
    with pytest.raises(DataError, match="dict_init must have 10 columns"):
        ours.DictionaryLearning(6, dict_init=atoms[:, 1:]).fit(X)
    with pytest.raises(DataError, match="Expected 6, got 3"):
        ours.SparseCoder(atoms).fit(X).inverse_transform(X[:, :3])
