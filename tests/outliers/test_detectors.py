"""All detectors under one interface: planted outliers, order, thresholds, comparison and explanation."""

from itertools import combinations

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from mercer.covariance import EllipticEnvelope, EmpiricalCovariance
from mercer.decomposition import PCA, ProbabilisticPCA
from mercer.ensemble import IsolationForest
from mercer.errors import DataError, ParameterError
from mercer.estimation import MultivariateGaussianDensity
from mercer.mixture import GaussianMixture
from mercer.neighbors import LocalOutlierFactor
from mercer.outliers import (
    ClusterOutlier,
    DensityOutlier,
    KNeighborsOutlier,
    MahalanobisOutlier,
    ReconstructionOutlier,
    compare_outliers,
    explain_outlier,
)
from mercer.outliers._comparison import score_rows
from mercer.svm import SVDD, OneClassSVM

DETECTORS = {
    "isolation forest": IsolationForest(random_state=0),
    "elliptic envelope": EllipticEnvelope(random_state=0),
    "local outlier factor": LocalOutlierFactor(),
    "neighbours": KNeighborsOutlier(),
    "mean of neighbours": KNeighborsOutlier(5, method="mean"),
    "kernel density": DensityOutlier(),
    "mixture": DensityOutlier(GaussianMixture(random_state=0)),
    "Gaussian": DensityOutlier(MultivariateGaussianDensity(np.zeros(3), np.eye(3))),
    "Mahalanobis": MahalanobisOutlier(),
    "empirical Mahalanobis": MahalanobisOutlier(EmpiricalCovariance()),
    "reconstruction": ReconstructionOutlier(PCA(n_components=1)),
    "noise": ClusterOutlier(eps=1.0),
    "one class": OneClassSVM(nu=0.1, tol=1e-8),
    "sphere": SVDD(C=0.05, tol=1e-8),
}
# Detectors whose fit draws at random by the numbers of rows.
DRAWN = ("isolation forest", "elliptic envelope", "Mahalanobis", "mixture")


def table(n=200, seed=0):
    """Rows near a line in three dimensions, and three rows far from it in three directions."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 1)) * [1.0, 1.0, -1.0] + 0.3 * random.normal(size=(n, 3))
    X[:3] = [[9.0, -9.0, 1.0], [-8.0, 9.0, 9.0], [0.0, -10.0, -10.0]]
    return StandardScaler().fit(X[3:]).transform(X)


@pytest.mark.catalogue("PM-22")
@pytest.mark.parametrize("name", DETECTORS)
def test_planted_rows_rank_first(name):
    scores = score_rows(clone(DETECTORS[name]), table())
    assert set(np.argsort(scores)[:3]) == {0, 1, 2}


@pytest.mark.catalogue("PM-22")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_reconstruction_finds_a_row_far_out_in_any_direction(unit):
    for seed in range(10):
        random = np.random.default_rng(seed)
        X, away = random.normal(size=(200, 5)), random.normal(size=5)
        X[0] = 12 * away / np.linalg.norm(away)
        assert np.argmin(ReconstructionOutlier().fit(unit * X).training_scores_) == 0
    column = random.normal(size=(200, 1))
    column[7] = 50.0
    model = ReconstructionOutlier().fit(unit * column)
    assert np.argmin(model.score_samples(unit * column)) == 7
    assert (model.predict(unit * column) == -1).sum() == 20


@pytest.mark.catalogue("PM-22")
def test_the_default_reconstruction_scores_by_probabilistic_principal_components():
    X = table()
    model = ReconstructionOutlier(standardize=False).fit(X)
    known = ProbabilisticPCA(model.transformer_.n_components_).fit(X)
    n = len(X)
    # Maximum likelihood divides by n, and principal components by n - 1.
    gaps = X - X.mean(axis=0)
    covariance = known.get_covariance() * n / (n - 1)
    expected = -np.sum(gaps * np.linalg.solve(covariance, gaps.T).T, axis=1)
    np.testing.assert_allclose(model.training_scores_, expected, rtol=1e-6)
    np.testing.assert_allclose(model.contributions(X).sum(axis=1), -expected, rtol=1e-6)


@pytest.mark.catalogue("PM-22")
@pytest.mark.parametrize("name", [name for name in DETECTORS if name not in DRAWN])
def test_the_order_of_rows_does_not_change_their_scores(name):
    X, order = table(), np.random.default_rng(1).permutation(200)
    plain, mixed = score_rows(clone(DETECTORS[name]), X), score_rows(clone(DETECTORS[name]), X[order])
    # The support vector machines stop at a small violation of their conditions, not at none.
    tolerance = 1e-5 if name in ("one class", "sphere") else 1e-8
    assert np.allclose(plain[order], mixed, atol=tolerance)


@pytest.mark.catalogue("PM-22")
@pytest.mark.parametrize("name", [name for name in DETECTORS if hasattr(DETECTORS[name], "contamination")])
def test_contamination_sets_the_quantile(name):
    X = table()
    detector = clone(DETECTORS[name]).set_params(contamination=0.05)
    labels = detector.fit_predict(X)
    assert set(np.unique(labels)) == {-1, 1}
    # Core rows of a cluster all have a score of zero.
    assert (labels == -1).sum() <= 10 if name == "noise" else (labels == -1).sum() == 10


def enclose(points):
    """Return the centre and the squared radius of the smallest circle around points of the plane, over all triples."""
    best = None, np.inf
    for corners in [*combinations(points, 2), *combinations(points, 3)]:
        steps = np.array([corner - corners[0] for corner in corners[1:]])
        centre = corners[0] + np.linalg.lstsq(steps, (steps**2).sum(axis=1) / 2, rcond=None)[0]
        radius = ((points - centre) ** 2).sum(axis=1).max()
        if radius <= ((corners[0] - centre) ** 2).sum() * (1 + 1e-9) and radius < best[1]:
            best = centre, radius
    return best


@pytest.mark.catalogue("PM-22")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_the_threshold_of_a_sphere_is_the_quantile_of_distances_to_the_centre_of_the_smallest_circle(unit, share):
    random = np.random.default_rng(0)
    X, weight = random.normal(size=(31, 2)) * [1.0, 3.0], random.integers(1, 4, 31)
    centre, radius = enclose(X)
    scores = radius - ((X - centre) ** 2).sum(axis=1)
    model = SVDD(contamination=share, tol=1e-10).fit(unit * X)
    assert model.offset_ == pytest.approx(unit**2 * np.quantile(scores, share), abs=1e-5 * unit**2)
    np.testing.assert_array_equal(model.predict(unit * X) == -1, scores < np.quantile(scores, share) - 1e-9)
    np.testing.assert_allclose(model.score_samples(unit * X), unit**2 * scores, atol=1e-5 * unit**2)
    # Weights are numbers of rows, which move the quantile and leave the circle.
    heavy = SVDD(contamination=share, tol=1e-10).fit(unit * X, sample_weight=weight)
    assert heavy.offset_ == pytest.approx(unit**2 * np.quantile(scores.repeat(weight), share), abs=1e-5 * unit**2)


@pytest.mark.catalogue("PM-22")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_one_class_machines_and_spheres_of_one_contamination_name_the_same_rows(unit):
    """With k(x, x) constant the two programs are one: scores differ by a factor, and so do thresholds."""
    X = unit * table()
    plane = OneClassSVM(nu=0.2, contamination=0.03, tol=1e-9).fit(X)
    sphere = SVDD(1 / (0.2 * 200), kernel="rbf", contamination=0.03, tol=1e-9).fit(X)
    raw = OneClassSVM(nu=0.2, tol=1e-9).fit(X)
    np.testing.assert_allclose(plane.score_samples(X), raw.score_samples(X), atol=1e-6)
    assert plane.offset_[0] == pytest.approx(np.quantile(raw.score_samples(X), 0.03), abs=1e-6)
    np.testing.assert_allclose(plane.decision_function(X), 20 * sphere.decision_function(X), atol=1e-5)
    for model in (plane, sphere):
        assert set(np.flatnonzero(model.predict(X) == -1)) == set(np.argsort(raw.score_samples(X))[:6])
    with pytest.raises(ParameterError, match=r"OneClassSVM: contamination must be one of 'auto' or a number in \(0, 0"):
        OneClassSVM(contamination=0.6).fit(X)


@pytest.mark.parametrize("name", [name for name in DETECTORS if name != "local outlier factor"])
def test_scores_decisions_and_labels_agree(name):
    X = table()
    detector = clone(DETECTORS[name]).fit(X)
    decisions = detector.decision_function(X)
    assert np.allclose(detector.score_samples(X) - detector.offset_, decisions)
    assert (detector.predict(X) == np.where(decisions >= 0, 1, -1)).all()


def test_noise_is_what_dbscan_calls_noise():
    X = table()
    model = ClusterOutlier(eps=0.4).fit(X)
    assert ((model.labels_ == -1) == (model.fit_predict(X) == -1)).all()
    assert 3 < (model.labels_ == -1).sum() < 150
    alone = ClusterOutlier(eps=1e-3).fit(X)
    assert (alone.predict(X) == -1).all()


def test_weights_are_repetitions():
    X, weight = table(60), np.random.default_rng(0).integers(0, 3, 60)
    for detector in (DensityOutlier(), ReconstructionOutlier()):
        weighted = clone(detector).fit(X, sample_weight=weight)
        repeated = clone(detector).fit(np.repeat(X, weight, axis=0))
        assert np.allclose(weighted.score_samples(X), repeated.score_samples(X))
        assert weighted.offset_ == pytest.approx(repeated.offset_)
    with pytest.raises(DataError, match="InvertibleTransformer takes no sample_weight"):
        ReconstructionOutlier(InvertibleTransformer()).fit(X, sample_weight=weight)


def test_the_shares_of_columns_add_up_to_the_distance():
    X = table()
    model = MahalanobisOutlier(EmpiricalCovariance()).fit(X)
    distances = EmpiricalCovariance().fit(X).mahalanobis(X)
    assert np.allclose(model.contributions(X).sum(axis=1), distances)
    explanation = explain_outlier(model, X[0])
    assert explanation.exact
    assert explanation.contributions.sum() == pytest.approx(distances[0])


@pytest.mark.parametrize("name", ["isolation forest", "neighbours", "kernel density", "elliptic envelope"])
def test_the_column_that_makes_a_row_strange_is_named(name):
    X = np.random.default_rng(0).normal(size=(300, 4))
    row = [0.1, 0.0, 7.0, -0.2]
    explanation = explain_outlier(clone(DETECTORS[name]).fit(X), row, X)
    assert explanation.order[0] == 2
    assert explanation.low[2] == pytest.approx(np.quantile(X[:, 2], 0.05))
    assert str(explanation).splitlines()[1].startswith("x2: 7, usually -1.")


def test_detectors_of_scikit_learn_can_be_explained_and_compared():
    X = table()
    theirs = sklearn.ensemble.IsolationForest(random_state=0)
    assert explain_outlier(theirs.fit(X), X[0], X).score < -0.6
    comparison = compare_outliers(X, [theirs, IsolationForest(random_state=0), IsolationForest(random_state=1)], top=3)
    assert comparison.names == ["IsolationForest", "IsolationForest 2", "IsolationForest 3"]
    assert (comparison.overlaps == 1.0).all()


def test_a_comparison_ranks_and_correlates():
    X = table()
    comparison = compare_outliers(X, DETECTORS)
    assert comparison.ranks.shape == (len(DETECTORS), 200)
    assert np.allclose(comparison.ranks.sum(axis=1), 199 * 100)
    assert set(comparison.consensus[:3]) == {0, 1, 2}
    a, b = comparison.names.index("Mahalanobis"), comparison.names.index("elliptic envelope")
    assert comparison.correlations[a, b] == pytest.approx(1.0)
    assert np.nanmin(comparison.correlations) > 0


def test_wrong_calls_are_answered_with_the_cure():
    X = table(30)
    with pytest.raises(DataError, match="detectors must not be empty; give at least one"):
        compare_outliers(X, [])
    with pytest.raises(ParameterError, match=r"top must be an integer in \[1, 30\]"):
        compare_outliers(X, [KNeighborsOutlier()], top=31)
    with pytest.raises(ParameterError, match="pass X, the rows that show what is usual"):
        explain_outlier(KNeighborsOutlier().fit(X), X[0])
    with pytest.raises(DataError, match="row must have the 3 columns of the fit; got 2"):
        explain_outlier(KNeighborsOutlier().fit(X), [1.0, 2.0])
    with pytest.raises(ParameterError, match="has no inverse_transform"):
        ReconstructionOutlier(GaussianMixture()).set_params(transformer=StandardTransformer()).fit(X)
    with pytest.raises(ParameterError, match=r"contamination must be a number in \(0, 0.5\]; got 0.9"):
        KNeighborsOutlier(contamination=0.9).fit(X)


class StandardTransformer:
    """Has a transform without an inverse."""

    def __sklearn_clone__(self):
        return self

    def fit(self, X):
        return self

    def transform(self, X):
        return X


class InvertibleTransformer(StandardTransformer):
    """Takes no weights."""

    def inverse_transform(self, X):
        return X


@pytest.mark.filterwarnings("ignore:.*not full rank")
@pytest.mark.parametrize(
    "name", ["isolation forest", "elliptic envelope", "local outlier factor", "neighbours", "kernel density", "noise"]
)
def test_a_constant_column_hides_no_outlier(name):
    X = np.concatenate([table(), np.full((200, 1), 2.0)], axis=1)
    assert set(np.argsort(score_rows(clone(DETECTORS[name]), X))[:3]) == {0, 1, 2}


@pytest.mark.filterwarnings("ignore:.*covariance has rank 3 of 4")
def test_a_covariance_without_inverse_is_refused_with_the_cure():
    X = np.concatenate([table(), np.full((200, 1), 2.0)], axis=1)
    with pytest.raises(DataError, match=r"rank 3 of 4: use LedoitWolf.* or drop columns"):
        MahalanobisOutlier(EmpiricalCovariance()).fit(X)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("elliptic envelope", "try to increase support_fraction; .* rows are equal"),
        ("Mahalanobis", "try to increase support_fraction; .* rows are equal"),
        ("kernel density", "needs two different rows; got one row, repeated. Give a number"),
        ("isolation forest", None),
        ("local outlier factor", None),
        ("neighbours", None),
        ("reconstruction", None),
        ("noise", None),
    ],
)
def test_of_equal_rows_none_is_strange_or_the_error_has_a_cure(name, sentence):
    X, detector = np.ones((40, 3)), clone(DETECTORS[name])
    if sentence is None:
        assert (detector.fit_predict(X) == 1).all()
        return
    with pytest.raises(DataError, match=sentence):
        detector.fit(X)


def test_too_many_neighbours_give_a_warning_with_the_number_that_is_taken():
    with pytest.warns(UserWarning, match="rows, 30; got 30, and 29 are taken. Lower n_neighbors"):
        model = KNeighborsOutlier(30).fit(table(30))
    assert model.n_neighbors_ == 29
    with pytest.raises(ParameterError, match="For given distances use LocalOutlierFactor"):
        KNeighborsOutlier(2, metric="precomputed").fit(np.zeros((4, 4)))


@pytest.mark.parametrize("model", [KNeighborsOutlier(3), LocalOutlierFactor(3)])
@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda a, b: -1.0, "at least 0; got -1. Return distances, not similarities"),
        (lambda a, b: np.nan, "at least 0; got nan"),
        (lambda a, b: a - b, r"one real number; got ndarray of shape \(3,\). Return their distance"),
    ],
)
def test_functions_that_are_no_metric_are_refused_with_the_cure(model, function, sentence):
    with pytest.raises(DataError, match=sentence):
        clone(model).set_params(metric=function).fit(table(30))


@pytest.mark.parametrize("method", ["largest", "mean"])
def test_neighbours_of_weighted_rows_are_those_of_repeated_ones(method):
    X = np.random.default_rng(3).normal(size=(40, 2))
    weight = np.random.default_rng(4).integers(0, 4, 40)
    weighted = KNeighborsOutlier(5, method=method).fit(X, sample_weight=weight)
    repeated = KNeighborsOutlier(5, method=method).fit(X.repeat(weight, axis=0))
    firsts = np.cumsum(weight)[weight > 0] - 1
    np.testing.assert_allclose(weighted.training_scores_[weight > 0], repeated.training_scores_[firsts])
    assert weighted.offset_ == pytest.approx(repeated.offset_)
    np.testing.assert_allclose(weighted.score_samples(X), repeated.score_samples(X))


def test_a_heavy_row_is_its_own_neighbour_and_a_light_one_needs_more_of_them():
    X = [[0.0], [1.0], [3.0], [7.0]]
    scores = KNeighborsOutlier(2).fit(X, sample_weight=[3.0, 0.5, 0.5, 1.0]).training_scores_
    # Row 0 has two copies; rows 1 to 3 find weights of 2 with one copy or two of row 0, or with all other rows.
    assert scores.tolist() == [0.0, -1.0, -3.0, -7.0]
