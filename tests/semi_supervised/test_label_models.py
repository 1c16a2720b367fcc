"""Label propagation and label spreading."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.semi_supervised as theirs

from mercer.errors import DataError
from mercer.semi_supervised import LabelPropagation, LabelSpreading


def draw(n=60, seed=0, share=0.2):
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n)
    X = random.normal(size=(n, 2)) + 3.0 * np.stack([np.cos(2 * y), np.sin(2 * y)], axis=1)
    known = random.random(n) < share
    known[[np.flatnonzero(y == label)[0] for label in range(3)]] = True
    return X, np.where(known, y, -1)


def gaussian(X, gamma):
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def one_hot(y):
    return (y[:, None] == np.arange(3)).astype(float)


def test_propagation_is_harmonic_where_no_label_is_given():
    X, y = draw()
    W, free = gaussian(X, 0.5), y == -1
    L = np.diag(W.sum(axis=1)) - W
    expected = np.linalg.solve(L[np.ix_(free, free)], W[np.ix_(free, ~free)] @ one_hot(y[~free]))
    model = LabelPropagation(gamma=0.5, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.label_distributions_[free], expected, atol=1e-9)
    np.testing.assert_array_equal(model.label_distributions_[~free], one_hot(y[~free]))
    assert model.converged_


@pytest.mark.parametrize("alpha", [0.2, 0.99])
def test_spreading_solves_its_linear_system(alpha):
    X, y = draw(seed=1)
    W = gaussian(X, 0.5)
    np.fill_diagonal(W, 0)
    S = W / np.sqrt(W.sum(axis=0)) / np.sqrt(W.sum(axis=1))[:, None]
    expected = np.linalg.solve(np.eye(len(X)) - alpha * S, (1 - alpha) * one_hot(y))
    model = LabelSpreading(gamma=0.5, alpha=alpha, tol=1e-12, max_iter=500).fit(X, y)
    np.testing.assert_allclose(model.label_mass_[:, None] * model.label_distributions_, expected, atol=1e-9)
    assert model.converged_


@pytest.mark.parametrize("kernel", ["rbf", "knn"])
@pytest.mark.parametrize("name", ["LabelPropagation", "LabelSpreading"])
def test_fits_and_predictions_are_those_of_scikit_learn(name, kernel):
    X, y = draw(n=80, seed=2)
    given = {"kernel": kernel, "gamma": 0.5, "tol": 1e-10, "max_iter": 3000}
    ours = {"LabelPropagation": LabelPropagation, "LabelSpreading": LabelSpreading}[name](**given).fit(X, y)
    expected = getattr(theirs, name)(**given).fit(X, y)
    np.testing.assert_allclose(ours.label_distributions_, expected.label_distributions_, atol=1e-6)
    new = np.random.default_rng(3).normal(size=(20, 2))
    np.testing.assert_allclose(ours.predict_proba(new), expected.predict_proba(new), atol=1e-6)


def test_conjugate_gradients_take_fewer_steps_than_the_map():
    X, y = draw(n=80, seed=4, share=0.05)
    given = {"gamma": 2.0, "tol": 1e-8, "max_iter": 5000}
    assert LabelPropagation(**given).fit(X, y).n_iter_ < theirs.LabelPropagation(**given).fit(X, y).n_iter_ / 2


def test_rows_that_no_label_reaches_have_zeros_and_new_rows_the_shares_of_all():
    X = np.array([[0.0], [0.1], [0.3], [50.0], [50.1], [50.2]])
    model = LabelPropagation(kernel="knn", n_neighbors=2).fit(X, [0, -1, 1, -1, -1, -1])
    assert (model.label_distributions_[3:] == 0).all()
    np.testing.assert_array_equal(model.label_mass_ > 0, [True, True, True, False, False, False])
    total = model.label_distributions_.sum(axis=0)
    np.testing.assert_allclose(model.predict_proba([[50.0]])[0], total / total.sum())


def test_rows_far_from_all_others_follow_the_nearest():
    X, y = draw(seed=5)
    model = LabelSpreading(gamma=20.0).fit(X, y)
    far = np.array([[1000.0, 0.0], [-1000.0, 500.0]])
    nearest = ((far[:, None] - X[None]) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_allclose(model.predict_proba(far), model.label_distributions_[nearest])


def test_texts_and_sparse_rows_give_the_same_labels():
    X, y = draw(seed=6)
    names = np.array(["-1", "ash", "birch", "cedar"])
    model, plain = (
        LabelSpreading(gamma=0.5).fit(rows, labels)
        for rows, labels in ((scipy.sparse.csr_array(X), names[y + 1]), (X, y))
    )
    np.testing.assert_array_equal(model.transduction_, names[plain.transduction_ + 1])
    np.testing.assert_array_equal(model.predict(scipy.sparse.csr_array(X)), names[plain.predict(X) + 1])


def test_rows_without_any_label_are_refused():
    with pytest.raises(DataError, match="got no labels but -1"):
        LabelPropagation().fit([[0.0], [1.0]], [-1, -1])
