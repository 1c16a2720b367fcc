"""Error rates of rules: on samples, under known distributions, and why surrogates are needed to lower them."""

import re

import numpy as np
import pytest
from scipy.stats import norm

from mercer.decision import ClassDensities
from mercer.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mercer.errors import DataError, ParameterError
from mercer.estimation import GaussianDensity, MultivariateGaussianDensity, PoissonDensity
from mercer.linear_model import LogisticRegression
from mercer.metrics import empirical_error, population_error

UNEQUAL = ClassDensities([GaussianDensity(0.0, 1.0), GaussianDensity(30.0, 100.0)], [0.9, 0.1])


@pytest.mark.catalogue("LM-17")
@pytest.mark.parametrize("threshold", [-50.0, 0.0, 3.7, 40.0, 1e6])
def test_the_population_error_of_a_threshold_is_two_tails(threshold):
    risk = UNEQUAL.error_of(lambda x: x > threshold)
    exact = 0.9 * norm.sf(threshold) + 0.1 * norm(30, 10).cdf(threshold)
    assert risk.value == pytest.approx(exact, abs=1e-9)
    assert risk.method == "quadrature"


@pytest.mark.catalogue("LM-17")
def test_rules_that_change_often_are_integrated_between_their_changes():
    stripes = UNEQUAL.error_of(lambda x: np.floor(x / 5) % 2 == 1)
    edges = np.arange(-200, 201, 5.0)
    mass = [norm(m, s).cdf(edges[1:]) - norm(m, s).cdf(edges[:-1]) for m, s in ((0, 1), (30, 10))]
    odd = np.floor((edges[:-1] + 2.5) / 5) % 2 == 1
    assert stripes.value == pytest.approx(0.9 * mass[0][odd].sum() + 0.1 * mass[1][~odd].sum(), abs=1e-8)
    best = UNEQUAL.error_of(UNEQUAL.decide)
    assert best.value == pytest.approx(UNEQUAL.bayes_error().value, abs=1e-7)
    assert best.value <= stripes.value


@pytest.mark.catalogue("LM-17")
def test_fitted_classifiers_are_judged_on_all_rows_that_may_come():
    X, y = UNEQUAL.sample(4000, random_state=0)
    labels = np.array(["no", "yes"])[y]
    model = QuadraticDiscriminantAnalysis().fit(X[:, None], labels)
    risk = UNEQUAL.error_of(model)
    assert UNEQUAL.bayes_error().value <= risk.value <= UNEQUAL.bayes_error().value + 0.01
    fresh, truth = UNEQUAL.sample(40_000, random_state=1)
    shares = empirical_error(np.array(["no", "yes"])[truth], model.predict(fresh[:, None]))
    assert shares == pytest.approx(risk.value, abs=5 * np.sqrt(risk.value / 40_000))


@pytest.mark.catalogue("LM-17")
def test_rows_of_two_columns_and_whole_numbers_are_simulated():
    covariance = np.array([[2.0, 0.9], [0.9, 1.0]])
    world = ClassDensities(
        [MultivariateGaussianDensity([0, 0], covariance), MultivariateGaussianDensity([2, 1], covariance)], [0.3, 0.7]
    )
    model = LinearDiscriminantAnalysis.from_parameters([[0, 0], [2, 1]], covariance, [0.5, 0.5], [-1, 1])
    # Equal priors put the plane half way: each class errs with Phi(-delta / 2).
    delta = np.sqrt(np.array([2, 1]) @ np.linalg.solve(covariance, [2, 1]))
    risk = world.error_of(model, random_state=0)
    assert risk.method == "monte_carlo"
    assert risk.value == pytest.approx(norm.cdf(-delta / 2), abs=5 * risk.error)
    assert risk.error < 0.002
    counts = ClassDensities([PoissonDensity(2.0), PoissonDensity(9.0)], [0.5, 0.5])
    many = counts.error_of(lambda x: x >= 5, random_state=0)
    exact = 0.5 * (1 - sum(np.exp(PoissonDensity(2.0).logpdf(np.arange(5))))) + 0.5 * sum(
        np.exp(PoissonDensity(9.0).logpdf(np.arange(5)))
    )
    assert many.value == pytest.approx(exact, abs=5 * many.error)


@pytest.mark.catalogue("LM-17")
def test_the_empirical_error_is_piecewise_constant_and_equals_one_less_the_accuracy():
    random = np.random.default_rng(0)
    X = 1e3 * random.normal(size=(60, 1))
    y = np.where(X[:, 0] + 800 * random.normal(size=60) > 200, 1, -1)
    model = LogisticRegression(C=1e-3).fit(X, y)
    assert empirical_error(y, model.predict(X)) == pytest.approx(1 - model.score(X, y))
    thresholds = np.linspace(-3000, 3000, 5001)
    errors = np.array([empirical_error(y, np.where(X[:, 0] > t, 1, -1)) for t in thresholds])
    # It changes only where a threshold passes a row, by one row's share, and is flat everywhere else.
    jumps = np.flatnonzero(np.diff(errors))
    assert len(jumps) <= 60
    assert len(np.unique(errors)) <= 61
    for place in jumps:
        assert ((X[:, 0] >= thresholds[place]) & (X[:, 0] <= thresholds[place + 1])).any()
    np.testing.assert_allclose(errors * 60, np.round(errors * 60), atol=1e-9)
    # A surrogate bounds it from above at every threshold, and has a slope.
    margins = y * (X[:, 0] - thresholds[:, None])
    assert (np.maximum(0.0, 1.0 - margins / 100).mean(axis=1) >= errors - 1e-12).all()


@pytest.mark.catalogue("LM-17")
@pytest.mark.parametrize("decisions", [[-1, 0, 1], [0, 1, 2], [0.5, 0, 1]])
def test_decisions_that_are_no_classes_are_refused(decisions):
    joint = np.array([[0.3, 0.1], [0.05, 0.25], [0.1, 0.2]])
    with pytest.raises(ParameterError, match="decisions must be class numbers from 0 to 1; got"):
        population_error(joint, decisions)
    assert population_error(joint, [1, 0, 0]) == pytest.approx(0.3 + 0.25 + 0.2)


def test_rules_that_do_not_decide_are_refused():
    words = "the rule must decide for one of 2 classes a row, by indices from 0 to 1"
    for rule in (lambda x: np.full(len(x), 2), lambda x: np.full(len(x), -1), lambda x: np.zeros((len(x), 1))):
        with pytest.raises(DataError, match=re.escape(words)):
            UNEQUAL.error_of(rule)
