"""BernoulliMixture: closed forms, the posterior's mode, sparse rows and thresholds."""

import numpy as np
import pytest
import scipy.sparse
from scipy.special import logsumexp
from sklearn.metrics import adjusted_rand_score

from mercer.errors import DataError
from mercer.mixture import BernoulliMixture


@pytest.fixture(scope="module")
def classes():
    return draw_classes(100)


def draw_classes(size):
    """Return rows of three classes of 3, 2 and 1 times this size, their labels, and the shares of ones."""
    generator = np.random.default_rng(0)
    p = np.array([[0.9] * 6 + [0.1] * 6, [0.1] * 6 + [0.8] * 6, [0.9, 0.1] * 6])
    labels = np.repeat([0, 1, 2], [3 * size, 2 * size, size])
    return (generator.random((6 * size, 12)) < p[labels]).astype(float), labels, p


def fitted(X, **options):
    return BernoulliMixture(3, random_state=0, **{"tol": 1e-10, "max_iter": 2000} | options).fit(X)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_one_component_is_the_share_of_ones_in_each_column(classes, alpha):
    X = classes[0]
    model = BernoulliMixture(1, alpha=alpha).fit(X)
    np.testing.assert_allclose(model.probabilities_[0], (X.sum(axis=0) + alpha) / (600 + 2 * alpha), rtol=1e-12)


@pytest.mark.catalogue("DE-08")
def test_the_log_posterior_never_falls_and_ends_where_its_gradient_vanishes(classes):
    X = classes[0]
    model = fitted(X, alpha=1.0, tol=1e-13)
    assert (np.diff(model.lower_bounds_) >= -1e-13).all()
    q, p = model.predict_proba(X), model.probabilities_
    slope = q.T @ X / p - q.T @ (1 - X) / (1 - p) + 1 / p - 1 / (1 - p)
    np.testing.assert_allclose(slope / 600, 0.0, atol=1e-5)
    prior = np.sum(np.log(p) + np.log(1 - p)) / 600
    assert model.lower_bound_ == pytest.approx(model.score(X) + prior, rel=1e-12)


def test_densities_are_products_over_columns():
    # A share of ones in the smallest class has a standard error of at most 0.016; a single start may end elsewhere.
    X, labels, p = draw_classes(1000)
    model = fitted(X, n_init=10)
    joint = X @ np.log(model.probabilities_).T + (1 - X) @ np.log(1 - model.probabilities_).T + np.log(model.weights_)
    np.testing.assert_allclose(model.score_samples(X), logsumexp(joint, axis=1), rtol=1e-10)
    assert adjusted_rand_score(labels, model.predict(X)) > 0.9
    order = np.argsort(-model.weights_)
    np.testing.assert_allclose(model.probabilities_[order], p, atol=0.12)
    grid = np.array(np.meshgrid(*[[0.0, 1.0]] * 4)).reshape(4, -1).T
    small = BernoulliMixture(2, random_state=0).fit(X[:, :4])
    assert np.exp(small.score_samples(grid)).sum() == pytest.approx(1.0, rel=1e-12)
    drawn, _ = model.sample(20000)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.02)


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_sparse_rows_give_the_model_of_dense_ones(classes, assignment):
    X = classes[0]
    dense, sparse = fitted(X, assignment=assignment), fitted(scipy.sparse.csr_array(X), assignment=assignment)
    np.testing.assert_allclose(sparse.probabilities_, dense.probabilities_, rtol=1e-9)
    np.testing.assert_allclose(sparse.score_samples(scipy.sparse.csr_array(X)), dense.score_samples(X), rtol=1e-9)


def test_a_threshold_makes_ones_and_without_one_other_values_are_refused(classes):
    X = classes[0]
    cut = fitted(np.where(X > 0, 7.0, 2.0), binarize=5.0, init_params="random")
    np.testing.assert_allclose(cut.probabilities_, fitted(X, init_params="random").probabilities_, rtol=1e-12)
    words = "X must hold zeros and ones alone; 600 values are neither. Set binarize to a threshold."
    with pytest.raises(DataError, match=words):
        fitted(np.where(np.arange(12) == 3, 0.5, X), binarize=None)
    with pytest.raises(DataError, match="binarize must not be below 0 for sparse rows"):
        fitted(scipy.sparse.csr_array(X), binarize=-1.0)


def test_columns_that_never_vary_keep_a_finite_likelihood():
    X = np.column_stack([np.ones(20), np.zeros(20), np.arange(20) % 2])
    model = BernoulliMixture(2, alpha=0.0, random_state=0).fit(X)
    assert np.isfinite(model.lower_bound_)
    assert model.score([[0.0, 1.0, 1.0]]) < -30
