"""Linear discriminant analysis with a ridge on the covariance, class weights, and its threshold."""

import re

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.stats import multivariate_normal

from mercer.discriminant_analysis import LinearDiscriminantAnalysis, fisher_criterion
from mercer.errors import DataError, ParameterError
from mercer.neighbors import NearestCentroid

SOLVERS = ["lsqr", "eigen"]


@pytest.fixture(scope="module")
def unequal():
    """Draw two classes of unequal size, spread and scale, labelled -1 and 1."""
    random = np.random.default_rng(7)
    first = random.multivariate_normal([100.0, 0.0, 2.0], [[9.0, 1.0, 0.0], [1.0, 1.0, 0.2], [0.0, 0.2, 0.5]], 30)
    second = random.multivariate_normal([104.0, 1.0, 2.0], [[1.0, -0.5, 0.0], [-0.5, 4.0, 0.0], [0.0, 0.0, 0.1]], 90)
    return np.concatenate([first, second]), np.repeat([-1, 1], [30, 90])


def parts(X, y):
    means = np.array([X[y == label].mean(axis=0) for label in np.unique(y)])
    covariances = np.array([np.cov(X[y == label].T, bias=True) for label in np.unique(y)])
    return means, covariances


@pytest.mark.catalogue("DT-06")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("priors", [None, [0.9, 0.1]])
def test_a_ridge_is_added_to_the_covariance_and_posteriors_are_those_of_that_gaussian(unequal, solver, priors):
    X, y = unequal
    model = LinearDiscriminantAnalysis(solver, ridge=2.5, priors=priors).fit(X, y)
    means, covariances = parts(X, y)
    shares = np.array([0.25, 0.75]) if priors is None else np.array(priors)
    S = np.tensordot(shares, covariances, axes=1) + 2.5 * np.eye(3)
    np.testing.assert_allclose(model.covariance_, S, rtol=1e-10)
    joint = np.stack([p * multivariate_normal(m, S).pdf(X) for m, p in zip(means, shares, strict=True)], axis=1)
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), atol=1e-9)
    known = LinearDiscriminantAnalysis.from_parameters(means, S - 2.5 * np.eye(3), shares, [-1, 1], ridge=2.5)
    np.testing.assert_allclose(known.coef_, model.coef_, rtol=1e-8)
    np.testing.assert_allclose(known.covariance_, S, rtol=1e-10)


@pytest.mark.catalogue("DT-06", "DT-19")
def test_a_ridge_makes_a_singular_covariance_usable_and_a_large_one_gives_the_nearest_mean():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(12, 30)), np.repeat([0, 1], 6)
    X[y == 1] += 0.5
    with pytest.raises(DataError, match="needs a within-class covariance of full rank"):
        LinearDiscriminantAnalysis("eigen").fit(X, y)
    model = LinearDiscriminantAnalysis("eigen", ridge=0.1).fit(X, y)
    assert np.isfinite(model.coef_).all()
    new = random.normal(size=(400, 30))
    round_ball = LinearDiscriminantAnalysis("eigen", ridge=1e8).fit(X, y)
    np.testing.assert_array_equal(round_ball.predict(new), NearestCentroid().fit(X, y).predict(new))


@pytest.mark.catalogue("DT-19")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_class_weights_enter_the_covariance_within_classes(unequal, solver, ridge):
    X, y = unequal
    model = LinearDiscriminantAnalysis(solver, ridge=ridge, class_weight={-1: 6.0, 1: 0.5}).fit(X, y)
    means, covariances = parts(X, y)
    shares = np.array([30 * 6.0, 90 * 0.5]) / (30 * 6.0 + 90 * 0.5)
    S = np.tensordot(shares, covariances, axes=1) + ridge * np.eye(3)
    step = means[1] - means[0]
    direction = np.linalg.solve(S, step)
    np.testing.assert_allclose(model.coef_[0], direction, rtol=1e-8)
    np.testing.assert_allclose(model.priors_, shares)
    between = sum(p * np.outer(m - shares @ means, m - shares @ means) for p, m in zip(shares, means, strict=True))
    assert model.fisher_criterion_[0] == pytest.approx(eigh(between, S, eigvals_only=True)[-1])
    # Fisher's own criterion, of S_B = (m_2 - m_1)(m_2 - m_1)^T, is largest along the same direction.
    best = fisher_criterion(X, y, ridge=ridge, class_weight=shares)
    assert best == pytest.approx(step @ direction)
    turned = np.random.default_rng(0).normal(size=(300, 3)) + 5 * direction / np.linalg.norm(direction)
    assert max(fisher_criterion(X, y, w, ridge=ridge, class_weight=shares) for w in turned) <= best
    assert fisher_criterion(X, y, -3 * direction, ridge=ridge, class_weight=shares) == pytest.approx(best)


@pytest.mark.catalogue("DT-19")
@pytest.mark.parametrize("solver", ["svd", *SOLVERS])
def test_class_weights_are_repetitions_and_balance_is_one_class_each(unequal, solver):
    X, y = unequal
    weighted = LinearDiscriminantAnalysis(solver, class_weight={-1: 2}).fit(X, y)
    repeated = LinearDiscriminantAnalysis(solver).fit(np.r_[X, X[y == -1]], np.r_[y, y[y == -1]])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-8)
    balanced = LinearDiscriminantAnalysis(solver, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.priors_, [0.5, 0.5])
    given = LinearDiscriminantAnalysis(solver, class_weight="balanced").fit(
        X, y, sample_weight=np.where(y == 1, 3.0, 1)
    )
    np.testing.assert_allclose(given.coef_, balanced.coef_, rtol=1e-9)
    halves = LinearDiscriminantAnalysis(solver, class_weight={-1: 2}).partial_fit(X[::2], y[::2], classes=[-1, 1])
    halves.partial_fit(X[1::2], y[1::2])
    np.testing.assert_allclose(halves.coef_, weighted.coef_, rtol=1e-8)


@pytest.mark.catalogue("DT-19")
@pytest.mark.parametrize("solver", ["svd", *SOLVERS])
@pytest.mark.parametrize("priors", [None, [0.97, 0.03]])
def test_the_threshold_parts_the_projected_rows_as_the_labels_say(unequal, solver, priors):
    X, y = unequal
    model = LinearDiscriminantAnalysis(solver, priors=priors).fit(X, y)
    if solver == "eigen" and priors:  # its axes, as scikit-learn's, are not those of the scores
        with pytest.raises(AttributeError, match=r"along the axis; got 2 classes and solver='eigen'"):
            _ = model.threshold_
        return
    rows = np.random.default_rng(0).normal(size=(500, 3)) * [8.0, 4.0, 2.0] + [102.0, 0.0, 2.0]
    above = model.transform(rows)[:, 0] > model.threshold_
    up = np.unique(model.predict(rows)[above]).tolist()
    assert up in ([1], [-1])
    assert np.unique(model.predict(rows)[~above]).tolist() == [-up[0]]
    three = LinearDiscriminantAnalysis(solver).fit(X, np.arange(len(X)) % 3)
    with pytest.raises(AttributeError, match=r"threshold_ exists for two classes .* got 3 classes"):
        _ = three.threshold_


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"ridge": 1.0}, ParameterError, "ridge is not supported with solver='svd'; got 1.0. Use 'lsqr' or"),
        ({"solver": "lsqr", "ridge": -1.0}, ParameterError, "ridge must be a number in [0, inf); got -1.0"),
        ({"class_weight": {-1: -2}}, ParameterError, "class_weight must hold non-negative numbers; got {-1: -2}"),
        ({"class_weight": {0: 2}}, ParameterError, "class_weight must name classes of y, [-1, 1]; got [0]"),
    ],
)
def test_wrong_parameters_are_answered_with_a_cure(unequal, settings, error, words):
    with pytest.raises(error, match=re.escape(words)):
        LinearDiscriminantAnalysis(**settings).fit(*unequal)


def test_what_sums_cannot_know_is_said(unequal):
    X, y = unequal
    with pytest.raises(ParameterError, match="class_weight='balanced' needs the labels of all rows, which partial_fit"):
        LinearDiscriminantAnalysis(class_weight="balanced").partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(DataError, match="must have full rank for a best direction; some of the 4 columns"):
        fisher_criterion(np.c_[X, X[:, 0]], y)
    assert fisher_criterion(np.c_[X, X[:, 0]], y, ridge=1e-3) > 0
    with pytest.raises(DataError, match="class_weight must be two numbers"):
        fisher_criterion(X, y, class_weight=[1.0, 1.0, 1.0])


def test_a_threshold_survives_sparse_coefficients_and_is_absent_without_an_axis(unequal):
    rows, labels = unequal
    model = LinearDiscriminantAnalysis(solver="lsqr").fit(rows, labels)
    threshold = model.threshold_
    assert model.sparsify().threshold_ == threshold
    assert not hasattr(LinearDiscriminantAnalysis().fit(np.ones_like(rows), labels), "threshold_")
