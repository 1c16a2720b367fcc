"""Linear discriminant analysis: known Gaussians, Fisher's criterion, three solvers, batches, and bad input."""

import numpy as np
import pytest
import sklearn.discriminant_analysis
from scipy.special import softmax
from scipy.stats import multivariate_normal, norm
from sklearn.covariance import LedoitWolf
from sklearn.datasets import load_wine

from mercer.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    fisher_criterion,
    mean_separation,
    separation_ratio,
)
from mercer.errors import DataError, ParameterError
from mercer.neighbors import NearestCentroid

WINE = load_wine(return_X_y=True)
SETTINGS = [
    {},
    {"solver": "lsqr"},
    {"solver": "eigen"},
    {"solver": "lsqr", "shrinkage": 0.3},
    {"solver": "eigen", "shrinkage": "auto"},
    {"solver": "eigen", "priors": [0.2, 0.3, 0.5]},
    {"priors": [0.2, 0.3, 0.5], "store_covariance": True},
]


def gaussians(n, means, covariance, seed=0):
    random = np.random.default_rng(seed)
    X = np.concatenate([random.multivariate_normal(mean, covariance, n) for mean in means])
    return X, np.repeat(np.arange(len(means)), n)


@pytest.mark.catalogue("DT-06")
@pytest.mark.parametrize(("prior", "threshold"), [(0.2, 0.306853), (0.05, -0.472219), (0.5, 1.0)])
def test_a_prior_shifts_the_threshold_between_two_known_gaussians(prior, threshold):
    model = LinearDiscriminantAnalysis.from_parameters([[0.0], [2.0]], [[1.0]], [prior, 1 - prior])
    assert threshold == pytest.approx(1 + 0.5 * np.log(prior / (1 - prior)), abs=1e-6)
    assert -model.intercept_[0] / model.coef_[0, 0] == pytest.approx(threshold, abs=1e-6)
    assert model.predict([[threshold - 1e-5], [threshold + 1e-5]]).tolist() == [0, 1]


@pytest.mark.catalogue("DT-06")
def test_posteriors_are_the_softmax_of_linear_scores_and_those_of_bayes_rule():
    random = np.random.default_rng(0)
    means, priors = random.normal(size=(3, 2)), np.array([0.5, 0.3, 0.2])
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    model = LinearDiscriminantAnalysis.from_parameters(means, covariance, priors, classes=["a", "b", "c"])
    X = random.normal(size=(50, 2)) * 3
    joint = np.stack([p * multivariate_normal(m, covariance).pdf(X) for m, p in zip(means, priors)], axis=1)
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(softmax(X @ model.coef_.T + model.intercept_, axis=1), model.predict_proba(X))


@pytest.mark.catalogue("DT-19")
def test_fishers_direction_of_the_worked_example():
    covariance = np.array([[2.0, 1.5], [1.5, 2.0]])
    whiten = np.linalg.cholesky(covariance)
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]) @ whiten.T
    X, y = np.concatenate([corners, corners + np.array([2.0, 1.0])]), np.repeat([0, 1], 4)
    assert fisher_criterion(X, y) == pytest.approx(8 / 7)
    for solver in ("svd", "lsqr", "eigen"):
        model = LinearDiscriminantAnalysis(solver=solver).fit(X, y)
        direction = model.coef_[0] / np.linalg.norm(model.coef_[0])
        np.testing.assert_allclose(direction, [0.928477, -0.371391], atol=1e-6)
        assert fisher_criterion(X, y, 7.0 * direction) == pytest.approx(8 / 7)
        # Between means about their mean, and within one class instead of two: half of the criterion of two classes.
        assert model.fisher_criterion_[0] == pytest.approx(4 / 7)
        np.testing.assert_allclose(np.cov(model.transform(corners)[:, 0], ddof=0), 1.0, rtol=1e-9)


@pytest.mark.catalogue("DT-18", "DT-20")
def test_means_are_farthest_apart_along_their_difference_and_the_ratio_is_largest_along_fishers_direction():
    X, y = gaussians(200, [[0, 0], [1, 2]], [[3.0, 1.0], [1.0, 1.0]])
    means = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
    direction, distance = mean_separation(X, y)
    np.testing.assert_allclose(direction, (means[1] - means[0]) / np.linalg.norm(means[1] - means[0]))
    assert distance == pytest.approx(np.linalg.norm(means[1] - means[0]))
    turned = [np.array([np.cos(a), np.sin(a)]) for a in np.linspace(0, np.pi, 60)]
    assert max(abs((means[1] - means[0]) @ w) for w in turned) <= distance
    best = separation_ratio(X, y, LinearDiscriminantAnalysis().fit(X, y).coef_[0])
    assert max(abs(separation_ratio(X, y, w)) for w in turned) <= best * (1 + 1e-9)
    assert best**2 == pytest.approx(fisher_criterion(X, y))
    columns = [separation_ratio(X, y, w) for w in np.eye(2)]
    np.testing.assert_allclose(separation_ratio(X, y), columns)


@pytest.mark.catalogue("DT-19")
def test_noise_without_a_difference_of_means_does_not_turn_the_direction_and_whitening_gives_nearest_means():
    X, y = gaussians(500, [[0, 0], [2, 0]], np.eye(2))
    loud = X * [1.0, 100.0]
    angle = LinearDiscriminantAnalysis().fit(loud, y).coef_[0] * [1.0, 100.0]
    np.testing.assert_allclose(angle, LinearDiscriminantAnalysis().fit(X, y).coef_[0], rtol=1e-9)
    model = LinearDiscriminantAnalysis(solver="eigen", priors=[0.5, 0.5]).fit(loud, y)
    white = loud @ model.scalings_
    assert np.array_equal(NearestCentroid().fit(white, y).predict(white), model.predict(loud))


@pytest.mark.catalogue("DT-22")
def test_correlated_background_defeats_the_nearest_mean_and_not_the_linear_discriminant():
    d = 16
    signal = np.zeros(d)
    signal[0] = 1.5
    common = 0.2 * np.eye(d) + 4.0 * np.ones((d, d))
    # The best accuracies are 0.948 and 0.643; their difference on 16 000 rows has a standard deviation of 0.005.
    for covariance, gain in ((common, 0.285), (np.eye(d), None)):
        X, y = gaussians(8000, [0 * signal, signal], covariance, seed=1)
        # The true means, for errors of the means along the background would turn the plane between them.
        X = X + np.array([0 * signal, signal])[y] - np.array([X[y == one].mean(axis=0) for one in (0, 1)])[y]
        test, truth = gaussians(8000, [0 * signal, signal], covariance, seed=2)
        linear = LinearDiscriminantAnalysis().fit(X, y).score(test, truth)
        nearest = NearestCentroid().fit(X, y).score(test, truth)
        assert linear - nearest > gain if gain else abs(linear - nearest) < 0.02
        # Accuracies have closed forms: the best is Phi(delta / 2); a plane w . x = b has two Gaussian tails.
        best = norm.cdf(np.sqrt(signal @ np.linalg.solve(covariance, signal)) / 2)
        assert linear == pytest.approx(best, abs=0.015)
        plane = NearestCentroid().fit(X, y)
        w, b = plane.direction_, plane.threshold_
        tails = norm.cdf(np.array([b, w @ signal - b]) / np.sqrt(w @ covariance @ w))
        assert nearest == pytest.approx(tails.mean(), abs=0.02)


@pytest.mark.catalogue("DT-22")
def test_the_discriminant_subtracts_what_all_channels_share_whatever_the_priors():
    """Two channels, unequal priors, labels -1 and 1: the silent channel gets a weight of the other sign."""
    covariance, signal = np.array([[4.2, 4.0], [4.0, 4.2]]), np.array([0.8, 0.0])
    random = np.random.default_rng(0)
    y = np.where(random.random(6000) < 0.15, 1, -1)
    X = random.multivariate_normal([0, 0], covariance, 6000) + np.outer(y == 1, signal)
    model = LinearDiscriminantAnalysis().fit(X, y)
    exact = np.linalg.solve(covariance, signal)
    np.testing.assert_allclose(
        model.coef_[0] / np.linalg.norm(model.coef_[0]), exact / np.linalg.norm(exact), atol=0.03
    )
    assert exact[1] < 0 < exact[0]
    # Bayes' rule with these priors: the error of each class is a Gaussian tail beyond the shifted threshold.
    delta, shift = np.sqrt(signal @ exact), np.log(0.85 / 0.15)
    tails = norm.cdf([-delta / 2 - shift / delta, -delta / 2 + shift / delta])
    assert model.score(X, y) == pytest.approx(1 - 0.85 * tails[0] - 0.15 * tails[1], abs=0.015)


@pytest.mark.parametrize("settings", SETTINGS, ids=repr)
def test_posteriors_and_axes_are_scikit_learns(settings):
    X, y = WINE
    theirs = sklearn.discriminant_analysis.LinearDiscriminantAnalysis(**settings).fit(X, y)
    model = LinearDiscriminantAnalysis(**settings).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    if hasattr(theirs, "covariance_"):
        np.testing.assert_allclose(model.covariance_, theirs.covariance_, rtol=1e-9)
    if model.solver != "lsqr":
        np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(theirs.transform(X)), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(model.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-9)


@pytest.mark.parametrize("settings", [one for one in SETTINGS if one.get("shrinkage") != "auto"], ids=repr)
def test_batches_and_rows_a_million_from_zero_give_the_model_of_one_fit(settings):
    X, y = WINE[0] + 1e6, WINE[1]
    whole = LinearDiscriminantAnalysis(**settings).fit(X, y)
    model = LinearDiscriminantAnalysis(**settings).partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert set(model.predict(X)) == {0, 1}
    assert not model.predict_proba(X)[:, 2].any()
    model.partial_fit(X[y == 2], y[y == 2])
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    near = LinearDiscriminantAnalysis(**settings).fit(*WINE)
    np.testing.assert_allclose(whole.predict_proba(X), near.predict_proba(WINE[0]), atol=1e-5)


def test_an_estimator_of_covariance_is_fitted_to_each_class_and_shrinkage_is_reported():
    X, y = WINE
    model = LinearDiscriminantAnalysis(solver="eigen", covariance_estimator=LedoitWolf()).fit(X, y)
    parts = [np.mean(y == k) * LedoitWolf().fit(X[y == k]).covariance_ for k in range(3)]
    np.testing.assert_allclose(model.covariance_, sum(parts), rtol=1e-12)
    assert model.certificate_.statement
    assert model.history_["objective"].shape == (1,)


@pytest.mark.parametrize("priors", [None, [0.2, 0.3, 0.5]])
def test_fewer_rows_than_columns_are_scikit_learns_and_form_no_matrix_of_columns(priors):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3000)) + np.repeat(random.normal(size=(3, 3000)), [10, 10, 20], axis=0) * 0.3
    X[:, 7] = 0.0
    y = np.repeat([0, 1, 2], [10, 10, 20])
    theirs = sklearn.discriminant_analysis.LinearDiscriminantAnalysis(priors=priors).fit(X, y)
    model = LinearDiscriminantAnalysis(priors=priors).fit(X, y)
    new = random.normal(size=(200, 3000))
    np.testing.assert_allclose(model.decision_function(new), theirs.decision_function(new), rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(np.abs(model.transform(new)), np.abs(theirs.transform(new)), rtol=1e-6, atol=1e-6)
    weight = random.integers(1, 3, 40)
    weighted = LinearDiscriminantAnalysis(priors=priors).fit(X, y, sample_weight=weight)
    repeated = LinearDiscriminantAnalysis(priors=priors).fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(weighted.decision_function(new), repeated.decision_function(new), rtol=1e-6, atol=1e-5)
    with pytest.raises(DataError, match="cannot add to a fit of fewer rows than columns"):
        model.partial_fit(X, y)


def test_a_column_that_others_determine_changes_nothing_for_svd_and_is_an_error_for_eigen():
    X, y = WINE
    double = np.c_[X, X[:, 0] + X[:, 1], np.full(len(X), 0.1)]
    expected = LinearDiscriminantAnalysis().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(LinearDiscriminantAnalysis().fit(double, y).predict_proba(double), expected, atol=1e-8)
    with pytest.raises(
        DataError, match=r"needs a within-class covariance of full rank.*Use solver='svd', or shrinkage"
    ):
        LinearDiscriminantAnalysis(solver="eigen").fit(double, y)


@pytest.mark.parametrize(
    ("settings", "rows", "words"),
    [
        ({"priors": [0.5, 0.5]}, slice(None), "Number of priors must match number of classes"),
        ({"priors": [-0.5, 0.5, 1.0]}, slice(None), "priors must be non-negative; got -0.5"),
        ({"n_components": 3}, slice(None), r"It must be an integer in \[1, 2\]; got 3"),
        ({}, slice(0, 10), "the rows must be of two classes at least; got one class"),
        ({"solver": "svd", "shrinkage": 0.1}, slice(None), "shrinkage not supported with 'svd' solver"),
    ],
)
def test_what_cannot_be_fitted_is_said_in_a_sentence(settings, rows, words):
    with pytest.raises(ValueError, match=words):
        LinearDiscriminantAnalysis(**settings).fit(WINE[0][rows], WINE[1][rows])


def test_partial_fit_says_what_it_cannot_do():
    X, y = WINE
    with pytest.raises(DataError, match="classes must be passed on the first call"):
        LinearDiscriminantAnalysis().partial_fit(X, y)
    with pytest.raises(DataError, match=r"label\(s\) \[2\] in y do not exist"):
        LinearDiscriminantAnalysis().partial_fit(X, y, classes=[0, 1])
    assert not hasattr(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"), "partial_fit")
    model = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    with pytest.raises(ParameterError, match="priors must be given before the first rows"):
        model.set_params(priors=[0.2, 0.3, 0.5]).partial_fit(X, y)
