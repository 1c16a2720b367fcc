"""The library's own densities, frozen objects whose `fit` returns a new one, as classes of Bayes' rule."""

import pickle

import numpy as np
import pytest
import scipy.stats

from mercer.discriminant_analysis import ClassConditionalClassifier, QuadraticDiscriminantAnalysis
from mercer.errors import ParameterError
from mercer.estimation import (
    BetaGeometric,
    CategoricalDensity,
    GaussianDensity,
    GeometricDensity,
    IndependentDensity,
    LaplaceDensity,
    MultivariateGaussianDensity,
)
from mercer.naive_bayes import GaussianNB

APART = np.r_[np.random.default_rng(0).normal(-5, 1, (40, 1)), np.random.default_rng(1).normal(5, 1, (40, 1))]
LABELS = np.repeat(["left", "right"], 40)


@pytest.mark.parametrize("density", [GaussianDensity(), LaplaceDensity(), MultivariateGaussianDensity.standard(1)])
@pytest.mark.parametrize("form", ["one", "list", "dict", "independent"])
def test_a_density_that_returns_a_new_object_from_fit_is_fitted_for_each_class(density, form):
    given = {
        "one": density,
        "list": [density, density],
        "dict": {"left": density, "right": density},
        "independent": density if isinstance(density, MultivariateGaussianDensity) else IndependentDensity(density),
    }[form]
    model = ClassConditionalClassifier(given).fit(APART, LABELS)
    assert model.score(APART, LABELS) == 1.0
    # The density that was given is a template and keeps its parameters.
    centre = density.location if isinstance(density, LaplaceDensity) else density.mean
    np.testing.assert_array_equal(centre, np.zeros(np.shape(centre)))


def test_independent_gaussians_are_gaussian_naive_bayes():
    random = np.random.default_rng(2)
    X = np.r_[random.normal([0, 3, 1], [1, 2, 3], (50, 3)), random.normal([2, 1, 0], [2, 1, 1], (30, 3))]
    y = np.repeat([0, 1], [50, 30])
    wanted = GaussianNB(var_smoothing=0.0).fit(X, y).predict_proba(X)
    for density in (GaussianDensity(), IndependentDensity(GaussianDensity())):
        np.testing.assert_allclose(ClassConditionalClassifier(density).fit(X, y).predict_proba(X), wanted, atol=1e-10)


def test_multivariate_gaussians_are_quadratic_discriminant_analysis_with_weights_as_repetitions():
    random = np.random.default_rng(2)
    X = random.normal(size=(60, 2)) @ [[1.0, 0.5], [0.0, 2.0]]
    y, weight = random.integers(0, 2, 60), random.integers(1, 4, 60)
    X[y == 1] += 1
    density = MultivariateGaussianDensity.standard(2)
    model = ClassConditionalClassifier(density).fit(X, y, sample_weight=weight)
    repeated = QuadraticDiscriminantAnalysis().fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(model.predict_proba(X), repeated.predict_proba(X), atol=1e-10)


@pytest.mark.catalogue("PE-06", "PE-09")
@pytest.mark.parametrize(("density", "share", "decided"), [
    (GeometricDensity(), 49 / 97, [2, 1, 1, 1]),
    (BetaGeometric(1, 1).predictive(), 27 / 55, [2, 2, 1, 1]),
])  # fmt: skip
@pytest.mark.parametrize("form", ["one", "list", "dict"])
def test_the_geometric_example_with_the_densities_of_the_library(density, share, decided, form):
    given = {"one": density, "list": [density, density], "dict": {1: density, 2: density}}[form]
    model = ClassConditionalClassifier(given, priors=[0.5, 0.5])
    model.fit([[0.0], [2.0], [0.0], [2.0], [0.0], [1.0]], [1, 1, 2, 2, 2, 2])
    assert model.predict_proba([[1.0]])[0, 0] == pytest.approx(share)
    assert model.predict([[0.0], [1.0], [2.0], [3.0]]).tolist() == decided
    assert pickle.loads(pickle.dumps(model)).predict_proba([[1.0]])[0, 0] == pytest.approx(share)


def test_categories_of_each_class_are_counted():
    X, y = np.array([[0.0], [0.0], [1.0], [2.0], [2.0], [1.0]]), [0, 0, 0, 1, 1, 1]
    model = ClassConditionalClassifier(CategoricalDensity([1 / 3, 1 / 3, 1 / 3])).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[0.0], [1.0], [2.0]]), [[1, 0], [0.5, 0.5], [0, 1]])


def test_a_fit_that_returns_nothing_leaves_the_fitted_object():
    class Silent:
        def fit(self, X):
            self.mean = X.mean()

        def logpdf(self, x):
            return scipy.stats.norm.logpdf(x, self.mean)

    assert ClassConditionalClassifier(Silent()).fit(APART, LABELS).score(APART, LABELS) == 1.0


def test_a_fit_that_returns_no_density_is_refused():
    class Wrong:
        def fit(self, X):
            return 3.0

        def logpdf(self, x):
            return np.zeros(len(x))

    with pytest.raises(ParameterError, match="fit must return a density"):
        ClassConditionalClassifier(Wrong()).fit(APART, LABELS)
