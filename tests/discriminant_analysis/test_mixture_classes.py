"""A mixture for each class: quadratic discriminants with one component, and more than they can with two."""

import numpy as np
import pytest

from mercer.discriminant_analysis import ClassConditionalClassifier, QuadraticDiscriminantAnalysis
from mercer.mixture import GaussianMixture


@pytest.mark.catalogue("DE-11")
def test_one_component_a_class_is_the_quadratic_discriminant():
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(size=(80, 2)), random.normal(size=(120, 2)) * [2.0, 0.5] + [1.0, 1.0]])
    y = np.repeat(["a", "b"], [80, 120])
    mixture = ClassConditionalClassifier(GaussianMixture(1, reg_covar=0.0)).fit(X, y)
    # Both with the most likely covariances: divided by the number of rows.
    posterior = mixture.predict_proba(X)
    joint = np.empty((200, 2))
    for k, name in enumerate("ab"):
        rows = X[y == name]
        gap, covariance = X - rows.mean(axis=0), np.cov(rows.T, ddof=0)
        joint[:, k] = np.log(len(rows) / 200) - 0.5 * np.log(np.linalg.det(covariance))
        joint[:, k] -= 0.5 * np.sum(gap @ np.linalg.inv(covariance) * gap, axis=1)
    expected = np.exp(joint - np.logaddexp(*joint.T)[:, None])
    np.testing.assert_allclose(posterior, expected, atol=1e-9)
    agreement = np.mean(mixture.predict(X) == QuadraticDiscriminantAnalysis().fit(X, y).predict(X))
    assert agreement > 0.98


@pytest.mark.catalogue("DE-11")
def test_two_components_a_class_solve_what_no_quadric_can():
    random = np.random.default_rng(1)
    # Classes take turns along a line: a quadric cuts it in two points at most.
    places = np.array([[0.0, 0.0], [4.0, 0.0], [8.0, 0.0], [12.0, 0.0]])
    X = np.concatenate([place + 0.8 * random.normal(size=(125, 2)) for place in places])
    y = np.tile(np.repeat(["odd", "even"], 125), 2)
    order = random.permutation(500)
    train, test = order[:250], order[250:]
    mixture = ClassConditionalClassifier(GaussianMixture(2, n_init=5, random_state=0)).fit(X[train], y[train])
    quadric = QuadraticDiscriminantAnalysis().fit(X[train], y[train])
    assert mixture.score(X[test], y[test]) > 0.97
    assert mixture.score(X[test], y[test]) > quadric.score(X[test], y[test]) + 0.15
