"""Decisions on inputs that other tests leave out: scalars, three columns, unknown labels, ends of a search."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from mercer.decision import ClassDensities, DecisionClassifier, chernoff_bound, discriminant_functions
from mercer.errors import DataError
from mercer.estimation import GaussianDensity, MultivariateGaussianDensity, PoissonDensity
from mercer.naive_bayes import BernoulliNB, GaussianNB

X = np.array([[0.0], [1.0], [5.0], [6.0]])
TWO = ClassDensities([GaussianDensity(0.0, 1.0), GaussianDensity(2.0, 1.0)], [0.25, 0.75])


def test_the_joint_density_of_a_table_of_numbers_has_the_classes_last():
    table = np.arange(6.0).reshape(2, 3)
    logs = TWO.log_joint(table)
    assert logs.shape == (2, 3, 2)
    np.testing.assert_allclose(logs[1, 2], TWO.log_joint(table[1])[2])
    assert TWO.log_joint(1.5).shape == (2,)


def test_three_columns_are_simulated_and_never_integrated():
    densities = [MultivariateGaussianDensity(np.full(3, mean), np.eye(3)) for mean in (0.0, 2.0)]
    cube = ClassDensities(densities, [0.5, 0.5])
    risk = cube.bayes_error(n_samples=20_000, random_state=0)
    assert risk.method == "monte_carlo"
    # Two spheres sqrt(12) apart: the error is Phi(-sqrt(12) / 2).
    assert abs(risk.value - 0.0416322583) < 4 * risk.error
    with pytest.raises(DataError, match="one or two dimensions; got 3 columns"):
        cube.bayes_error(method="quadrature")


def test_the_error_of_a_rule_for_counts_is_simulated_and_correct():
    counts = ClassDensities([PoissonDensity(1.0), PoissonDensity(4.0)], [0.5, 0.5])
    error = counts.error_of(lambda x: x > 2, n_samples=40_000, random_state=0)
    assert error.method == "monte_carlo"
    # Half of P(x > 2 | rate 1) plus half of P(x <= 2 | rate 4).
    truth = 0.5 * (1 - np.exp(-1) * 2.5) + 0.5 * np.exp(-4) * 13
    assert abs(error.value - truth) < 5 * error.error


@pytest.mark.parametrize("rule", [lambda x: np.where(x > 1, 1, -1), lambda x: np.where(x > 1, 2, 0)])
def test_a_rule_outside_the_classes_is_refused_on_either_side(rule):
    with pytest.raises(DataError, match="indices from 0 to 1"):
        TWO.error_of(rule)


@pytest.mark.parametrize("priors", [(0.9, 0.1), (0.1, 0.9)])
def test_chernoffs_bound_of_equal_densities_is_the_smaller_prior(priors):
    # The logarithm is linear in the exponent, so that its minimum is at an end: s = 0 or s = 1.
    same = GaussianDensity(0.0, 1.0)
    assert chernoff_bound(same, same, priors) == pytest.approx(0.1, abs=1e-15)


def test_labels_that_the_frozen_model_has_not_met_do_not_count_towards_its_priors():
    model = FrozenEstimator(GaussianNB().fit(X, ["b", "b", "c", "c"]))
    fitted = DecisionClassifier(model, priors=[0.5, 0.5]).fit(X, ["b", "c", "c", "z"])
    np.testing.assert_allclose(fitted.trained_priors_, [1 / 3, 2 / 3])
    fitted = DecisionClassifier(model, priors=[0.5, 0.5]).fit(X, ["a", "a", "z", "z"])
    np.testing.assert_allclose(fitted.trained_priors_, [0.5, 0.5])


def test_the_tags_of_a_poor_scorer_inside_are_passed_on():
    assert get_tags(DecisionClassifier(BernoulliNB())).classifier_tags.poor_score
    assert not get_tags(DecisionClassifier(GaussianNB())).classifier_tags.poor_score


def test_the_difference_of_one_row_is_the_log_ratio():
    difference = discriminant_functions([0.2, 0.8], [0.5, 0.5], form="difference")
    assert float(difference) == pytest.approx(np.log(4))
