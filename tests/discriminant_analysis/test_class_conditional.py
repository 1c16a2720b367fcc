"""Bayes' rule over any densities: the geometric example by maximum likelihood and by averaging, fish with two sizes."""

import pickle

import numpy as np
import pytest
import scipy.stats
from scipy.special import beta, betaln
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

from mercer.covariance import EmpiricalCovariance
from mercer.discriminant_analysis import ClassConditionalClassifier, QuadraticDiscriminantAnalysis
from mercer.errors import DataError, ParameterError
from mercer.neighbors import HistogramDensity


class Geometric:
    """p(k) = (1 - theta)^k theta, theta by maximum likelihood."""

    def fit(self, X):
        self.theta = len(X) / (len(X) + X.sum())
        return self

    def logpmf(self, x):
        return x * np.log1p(-self.theta) + np.log(self.theta)


class GeometricPredictive:
    """The same averaged over theta, whose prior is uniform: B(1 + n + 1, 1 + s + k) / B(1 + n, 1 + s)."""

    def fit(self, X):
        self.n, self.total = len(X), X.sum()
        return self

    def logpmf(self, x):
        return betaln(2 + self.n, 1 + self.total + x) - betaln(1 + self.n, 1 + self.total)


ROWS = np.array([[0.0], [2.0], [0.0], [2.0], [0.0], [1.0]])
LABELS = [1, 1, 2, 2, 2, 2]
NEW = np.arange(4.0)[:, None]


@pytest.mark.catalogue("PE-06")
def test_the_plug_in_classifier_of_the_geometric_example():
    model = ClassConditionalClassifier(Geometric(), priors=[0.5, 0.5]).fit(ROWS, LABELS)
    assert [one.theta for one in model.densities_] == [0.5, pytest.approx(4 / 7)]
    joints = [0.5 * np.exp(one.logpmf(1)) for one in model.densities_]
    assert joints == [pytest.approx(1 / 8), pytest.approx(6 / 49)]
    assert model.predict_proba([[1.0]])[0, 0] == pytest.approx(49 / 97)
    assert model.predict(NEW).tolist() == [2, 1, 1, 1]


@pytest.mark.catalogue("PE-09")
def test_averaging_over_the_parameter_decides_otherwise():
    model = ClassConditionalClassifier(GeometricPredictive(), priors=[0.5, 0.5]).fit(ROWS, LABELS)
    assert np.exp(model.densities_[0].logpmf(1)) == pytest.approx(3 / 14)
    assert np.exp(model.densities_[1].logpmf(1)) == pytest.approx(2 / 9)
    assert model.predict_proba([[1.0]])[0, 0] == pytest.approx(27 / 55)
    assert model.predict(NEW).tolist() == [2, 2, 1, 1]
    assert beta(3, 3) == pytest.approx(1 / 30)


@pytest.mark.catalogue("DT-09")
def test_a_species_of_two_sizes_gives_more_than_one_boundary_and_a_larger_prior_a_larger_region():
    salmon = scipy.stats.norm(50, 5)
    bass = scipy.stats.gaussian_kde(np.r_[np.linspace(25, 35, 50), np.linspace(65, 75, 50)], 0.1)
    length = np.linspace(15, 85, 701)[:, None]
    regions = []
    for prior in (0.2, 0.5, 0.8):
        model = ClassConditionalClassifier.from_parameters({"bass": bass, "salmon": salmon}, [1 - prior, prior])
        np.testing.assert_allclose(model.predict_proba(length).sum(axis=1), 1.0)
        is_salmon = model.predict(length) == "salmon"
        assert np.abs(np.diff(is_salmon.astype(int))).sum() >= 2
        regions.append(is_salmon.mean())
    assert regions[0] < regions[1] < regions[2]


def test_gaussians_give_quadratic_discriminant_analysis():
    X, y = load_iris(return_X_y=True)
    model = ClassConditionalClassifier(EmpiricalCovariance()).fit(X, y)
    expected = QuadraticDiscriminantAnalysis(tol=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-9)
    scores = [np.max(model.decision_function(X), axis=1)]
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("density", [KernelDensity(bandwidth=0.5), GaussianMixture(2, random_state=0), None])
def test_densities_of_scikit_learn_and_the_default_classify_irises(density):
    X, y = load_iris(return_X_y=True)
    model = ClassConditionalClassifier(density).fit(X, y)
    assert model.score(X, y) > 0.95
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_a_family_of_scipy_is_fitted_and_known_densities_are_left_as_they_are():
    X = np.random.default_rng(0).normal([[0.0]] * 300 + [[4.0]] * 300)
    y = np.repeat(["a", "b"], 300)
    model = ClassConditionalClassifier([scipy.stats.norm, scipy.stats.norm(4, 1)]).fit(X, y)
    assert model.densities_[0].mean() == pytest.approx(X[:300].mean())
    assert model.densities_[1].mean() == 4
    assert model.score(X, y) > 0.95


def test_what_is_missing_is_said_in_a_sentence():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ParameterError, match="density must have one entry for each of 3 classes; got 1"):
        ClassConditionalClassifier([KernelDensity()]).fit(X, y)
    with pytest.raises(ParameterError, match="density must have an entry for each class; got none for 2"):
        ClassConditionalClassifier({0: KernelDensity(), 1: KernelDensity()}).fit(X, y)
    with pytest.raises(DataError, match="sample_weight needs densities whose fit takes it"):
        ClassConditionalClassifier(GaussianMixture()).fit(X, y, sample_weight=np.ones(len(X)))
    with pytest.raises(ParameterError, match="a density must have logpdf, logpmf or score_samples"):
        ClassConditionalClassifier([object()] * 3).fit(X, y)


def test_rows_in_a_file_and_in_blocks_give_the_same_bits(tmp_path):
    X, y = load_iris(return_X_y=True)
    weight = np.arange(len(X)) % 3 + 0.5
    order = np.random.default_rng(0).permutation(len(X))
    X, y, weight = X[order], y[order], weight[order]
    np.save(tmp_path / "rows.npy", X)
    expected = ClassConditionalClassifier().fit(X, y, weight)

    def blocks():
        for start in range(0, len(X), 40):
            part = slice(start, start + 40)
            yield X[part], y[part], weight[part]

    from_file = ClassConditionalClassifier().fit(tmp_path / "rows.npy", y, weight)
    from_blocks = ClassConditionalClassifier().fit(blocks)
    for model in (from_file, from_blocks):
        assert model.predict_proba(X).tobytes() == expected.predict_proba(X).tobytes()
    gathered = ClassConditionalClassifier(KernelDensity(bandwidth=0.4)).fit(tmp_path / "rows.npy", y)
    in_memory = ClassConditionalClassifier(KernelDensity(bandwidth=0.4)).fit(X, y)
    assert gathered.predict_proba(X).tobytes() == in_memory.predict_proba(X).tobytes()


def test_parts_give_the_model_of_all_rows_and_leave_what_they_cannot_change():
    X, y = load_iris(return_X_y=True)
    first = slice(0, None, 2)
    model = ClassConditionalClassifier(EmpiricalCovariance())
    model.partial_fit(X[first], y[first], classes=[0, 1, 2])
    before, kept = model.densities_[2].covariance_.copy(), model.densities_[2]
    only = (y == 0) & (np.arange(len(y)) % 2 == 1)
    model.partial_fit(X[only], y[only])
    assert np.array_equal(model.densities_[2].covariance_, before)
    assert model.densities_[2] is kept
    rest = (y > 0) & (np.arange(len(y)) % 2 == 1)
    model.partial_fit(X[rest], y[rest])
    whole = ClassConditionalClassifier(EmpiricalCovariance()).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert model.class_count_.tolist() == [50, 50, 50]


def test_parts_that_cannot_be_learnt_from_are_refused():
    X, y = load_iris(return_X_y=True)
    model = ClassConditionalClassifier(EmpiricalCovariance())
    with pytest.raises(DataError, match="classes must be passed on the first call to partial_fit"):
        model.partial_fit(X, y)
    with pytest.raises(DataError, match="first call of partial_fit must have rows of every class; got none of 3"):
        model.partial_fit(X, y, classes=[0, 1, 2, 3])
    model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(DataError, match=r"The target label\(s\) \[7\] in y do not exist"):
        model.partial_fit(X, np.where(y == 2, 7, y))
    with pytest.raises(AttributeError) as raised:
        _ = ClassConditionalClassifier(KernelDensity()).partial_fit
    assert "partial_fit needs densities that have it; KernelDensity has not" in str(raised.value.__cause__)


def test_a_row_that_no_class_can_have_gets_the_priors():
    X = np.r_[np.linspace(0, 1, 10), np.linspace(3, 4, 30)][:, None]
    y = np.repeat(["few", "many"], [10, 30])
    model = ClassConditionalClassifier(HistogramDensity(bins=4)).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[9.0], [0.5]]), [[0.25, 0.75], [1.0, 0.0]])
    assert model.predict([[9.0]]) == ["many"]
    assert model.decision_function([[9.0]]) == pytest.approx(np.log(3.0))
    given = ClassConditionalClassifier(HistogramDensity(bins=4), priors=[0.9, 0.1]).fit(X, y)
    assert given.predict([[9.0]]) == ["few"]


def test_known_densities_of_rows_say_how_many_columns_there_are():
    densities = [scipy.stats.multivariate_normal([0.0, 0.0]), scipy.stats.multivariate_normal([4.0, 4.0])]
    model = ClassConditionalClassifier.from_parameters(densities, [0.5, 0.5])
    assert model.n_features_in_ == 2
    assert model.predict([[0.1, 0.2], [3.9, 4.2]]).tolist() == [0, 1]
