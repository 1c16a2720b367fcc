"""The nearest centroid classifier: planes between means, shrinking, medians, priors."""

import numpy as np
import pytest
import sklearn.neighbors
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.datasets import load_iris

from mercer.discriminant_analysis import LinearDiscriminantAnalysis
from mercer.errors import DataError
from mercer.neighbors import NearestCentroid

IRIS = load_iris(return_X_y=True)


@pytest.mark.catalogue("DT-17")
def test_two_classes_are_parted_by_the_plane_half_way_between_their_means():
    X, y = IRIS[0][:100], IRIS[1][:100]
    model = NearestCentroid().fit(X, y)
    means = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
    w = (means[1] - means[0]) / np.linalg.norm(means[1] - means[0])
    b = w @ (means[0] + means[1]) / 2
    rows = np.random.default_rng(0).normal(size=(500, 4)) * 3 + X.mean(axis=0)
    assert np.array_equal(model.predict(rows), (rows @ w - b > 0).astype(int))


@pytest.mark.catalogue("DT-17")
def test_it_is_the_linear_discriminant_of_spherical_classes():
    X, y = IRIS
    model = NearestCentroid().fit(X, y)
    linear = LinearDiscriminantAnalysis.from_parameters(model.centroids_, np.eye(4), [1 / 3] * 3)
    rows = np.random.default_rng(0).normal(size=(500, 4)) * 2 + X.mean(axis=0)
    assert np.array_equal(model.predict(rows), linear.predict(rows))


@pytest.mark.catalogue("DT-17")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_probabilities_are_the_posteriors_of_spherical_classes_of_that_variance(unit):
    X, y = unit * IRIS[0], IRIS[1]
    model = NearestCentroid().fit(X, y)
    variance = np.mean(model.within_class_std_dev_**2)
    known = LinearDiscriminantAnalysis.from_parameters(model.centroids_, variance * np.eye(4), [1 / 3] * 3)
    rows = np.random.default_rng(0).normal(size=(300, 4)) * 2 * unit + X.mean(axis=0)
    np.testing.assert_allclose(model.predict_proba(rows), known.predict_proba(rows), rtol=1e-6, atol=1e-12)
    # Of two spheres of variance one at 0 and 2 on a line the log-odds at x are 2 x - 2.
    spheres = np.random.default_rng(1).normal(size=(40_000, 2)) + np.repeat([[0.0, 0.0], [2.0, 0.0]], 20_000, axis=0)
    found = NearestCentroid().fit(unit * spheres, np.repeat([0, 1], 20_000))
    odds = found.predict_log_proba(unit * np.array([[0.0, 0.0], [1.0, 5.0], [3.0, 0.0]])) @ [-1.0, 1.0]
    # Six deviations: the odds are (m1 - m0) . (x - (m0 + m1) / 2) with means that err by 1 / sqrt(20_000) a column.
    # At (x, y) that is |(x, y) - m0| and |(x, y) - m1| such errors; that of the variance, 1 / sqrt(80_000), is less.
    distances = np.array([np.hypot(0, 2), np.hypot(1, 5) * np.sqrt(2), np.hypot(3, 1)])
    deviation = np.hypot(distances / np.sqrt(20_000), np.abs([-2.0, 0.0, 4.0]) / np.sqrt(80_000))
    assert (np.abs(odds - [-2.0, 0.0, 4.0]) < 6 * deviation).all()


@pytest.mark.catalogue("DT-17")
@pytest.mark.parametrize("settings", [{}, {"priors": [0.8, 0.2]}, {"shrink_threshold": 0.5}, {"priors": "empirical"}])
@pytest.mark.parametrize("columns", [1, 4])
def test_direction_and_threshold_decide_as_predict_does(settings, columns):
    X = IRIS[0][10:100, :columns] * np.array([1.0, 100.0, 0.01, 1.0])[:columns] - 3.0
    y = np.where(IRIS[1][10:100] == 0, -1, 1)
    model = NearestCentroid(**settings).fit(X, y)
    assert np.linalg.norm(model.direction_) == pytest.approx(1.0)
    rows = np.random.default_rng(0).normal(size=(500, columns)) * 3 * X.std(axis=0) + X.mean(axis=0)
    told = np.where(rows @ model.direction_ - model.threshold_ > 0, 1, -1)
    np.testing.assert_array_equal(model.predict(rows), told)
    assert {-1, 1} == set(told)
    if not settings:
        means = np.array([X[y == label].mean(axis=0) for label in (-1, 1)])
        w = (means[1] - means[0]) / np.linalg.norm(means[1] - means[0])
        np.testing.assert_allclose(model.direction_, w, rtol=1e-12)
        assert model.threshold_ == pytest.approx(w @ means.sum(axis=0) / 2)


def test_a_plane_exists_for_two_classes_that_differ():
    X, y = IRIS
    with pytest.raises(AttributeError, match="exist for two classes and metric='euclidean'; got 3 classes"):
        _ = NearestCentroid().fit(X, y).direction_
    with pytest.raises(AttributeError, match="got 2 classes and 'manhattan'"):
        _ = NearestCentroid("manhattan").fit(X[:100], y[:100]).threshold_
    with pytest.raises(AttributeError, match="needs two different centres; got equal ones"):
        _ = NearestCentroid(shrink_threshold=1e3).fit(X[:100], y[:100]).direction_


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("threshold", [None, 0.5])
@pytest.mark.parametrize("priors", ["uniform", "empirical", [0.2, 0.3, 0.5]])
def test_centres_and_predictions_are_scikit_learns(metric, threshold, priors):
    X, y = IRIS[0][:140], IRIS[1][:140]
    settings = {"metric": metric, "shrink_threshold": threshold, "priors": priors}
    theirs = sklearn.neighbors.NearestCentroid(**settings).fit(X, y)
    model = NearestCentroid(**settings).fit(X, y)
    for name in ("centroids_", "deviations_", "within_class_std_dev_", "class_prior_"):
        np.testing.assert_allclose(getattr(model, name), getattr(theirs, name), rtol=1e-9, atol=1e-12, err_msg=name)
    assert np.array_equal(model.predict(IRIS[0]), theirs.predict(IRIS[0]))
    # With equal priors scikit-learn's probabilities contradict its predictions; see the next test.
    if metric == "euclidean" and priors != "uniform":
        # scikit-learn's probabilities take the scores, twice the log densities, for log densities.
        ours = softmax(theirs.decision_function(IRIS[0]) / 2, axis=1)
        np.testing.assert_allclose(model.predict_proba(IRIS[0]), ours, atol=1e-9)
        np.testing.assert_allclose(model.decision_function(IRIS[0]), theirs.decision_function(IRIS[0]), rtol=1e-7)


@pytest.mark.parametrize("priors", ["uniform", "empirical", [0.2, 0.3, 0.5]])
@pytest.mark.parametrize("threshold", [None, 0.5])
def test_predictions_are_the_most_probable_classes_whatever_the_scales_of_the_columns(priors, threshold):
    X, y = IRIS[0][:140] * [100.0, 1.0, 0.01, 1.0], IRIS[1][:140]
    model = NearestCentroid(priors=priors, shrink_threshold=threshold).fit(X, y)
    rows = np.random.default_rng(0).normal(size=(500, 4)) * X.std(axis=0) + X.mean(axis=0)
    assert np.array_equal(model.predict(rows), model.classes_[model.predict_proba(rows).argmax(axis=1)])
    assert np.array_equal(model.predict(rows), model.classes_[model.decision_function(rows).argmax(axis=1)])
    np.testing.assert_allclose(np.exp(model.predict_log_proba(rows)), model.predict_proba(rows), atol=1e-12)
    theirs = sklearn.neighbors.NearestCentroid(priors=priors, shrink_threshold=threshold).fit(X, y)
    assert np.array_equal(model.predict(rows), theirs.predict(rows))


def test_with_equal_priors_the_score_is_the_squared_distance_in_mean_variances():
    X, y = IRIS
    model = NearestCentroid().fit(X, y)
    variance = np.mean(model.within_class_std_dev_**2)
    distance = np.square(X[:, None] - model.centroids_).sum(axis=2)
    np.testing.assert_allclose(model.decision_function(X), -distance / variance - 2 * np.log(3), rtol=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_weights_are_repetitions_also_for_medians(metric):
    X, y = IRIS
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = NearestCentroid(metric).fit(X, y, sample_weight=weight.astype(float))
    repeated = NearestCentroid(metric).fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(weighted.centroids_, repeated.centroids_, rtol=1e-12)
    np.testing.assert_allclose(weighted.within_class_std_dev_, repeated.within_class_std_dev_, rtol=1e-10)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_sparse_rows_give_the_answers_of_dense_ones(metric):
    X, y = np.where(IRIS[0] < 2, 0.0, IRIS[0]), IRIS[1]
    dense, sparse = NearestCentroid(metric).fit(X, y), NearestCentroid(metric).fit(csr_array(X), y)
    np.testing.assert_allclose(sparse.centroids_, dense.centroids_)
    assert np.array_equal(sparse.predict(csr_array(X)), dense.predict(X))


def test_batches_give_the_model_of_one_fit():
    X, y = IRIS
    whole, model = NearestCentroid(shrink_threshold=0.3).fit(X, y), NearestCentroid(shrink_threshold=0.3)
    for rows in np.array_split(np.random.default_rng(0).permutation(150), 3):
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(model.centroids_, whole.centroids_, rtol=1e-12)
    assert not hasattr(NearestCentroid("manhattan"), "partial_fit")
    assert not hasattr(NearestCentroid("manhattan"), "predict_proba")


def test_what_cannot_be_fitted_is_said_in_a_sentence():
    X, y = IRIS
    with pytest.raises(DataError, match="The number of classes has to be greater than one; got 1 class"):
        NearestCentroid().fit(X[:50], y[:50])
    with pytest.raises(DataError, match="there must be more rows than classes; got 3 for 3 classes"):
        NearestCentroid().fit(X[::50], y[::50])
    with pytest.raises(DataError, match="All features have zero variance"):
        NearestCentroid().fit(np.full((10, 2), 0.1), [0] * 5 + [1] * 5)
    with pytest.raises(DataError, match=r"every class must have rows; got none yet of \[2\]"):
        NearestCentroid().partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    with pytest.warns(UserWarning, match="The priors do not sum to 1. Normalizing such that it sums to one"):
        NearestCentroid(priors=[1, 1, 2]).fit(X, y)
