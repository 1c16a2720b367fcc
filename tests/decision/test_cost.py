"""Expected costs, best actions, rejection and other priors."""

import numpy as np
import pytest

from mercer.decision import (
    accuracy_costs,
    add_reject,
    conditional_error,
    correct_priors,
    expected_cost,
    optimal_action,
    posterior,
)
from mercer.errors import DataError, ParameterError

SHARES = np.random.default_rng(0).dirichlet(np.ones(3), size=200)


@pytest.mark.catalogue("DT-11")
def test_the_car_is_bought_until_one_in_six_is_defect():
    costs = [[100, -20], [0, 0]]
    np.testing.assert_allclose(expected_cost([[0.1, 0.9]], costs), [[-8.0, 0.0]])
    action, risk = optimal_action([[0.1, 0.9]], costs)
    assert action == [0]
    assert risk == pytest.approx(-8.0)
    below, above = 1 / 6 - 1e-9, 1 / 6 + 1e-9
    assert optimal_action([[below, 1 - below], [above, 1 - above]], costs).action.tolist() == [0, 1]


@pytest.mark.catalogue("DT-11")
def test_actions_need_not_be_classes_and_costs_may_differ_by_row():
    costs = np.random.default_rng(1).normal(size=(5, 3))
    risks = expected_cost(SHARES, costs)
    assert risks.shape == (200, 5)
    rows = np.random.default_rng(2).normal(size=(200, 5, 3))
    np.testing.assert_allclose(expected_cost(SHARES, rows)[7], rows[7] @ SHARES[7])
    np.testing.assert_allclose(expected_cost(SHARES, np.broadcast_to(costs, (200, 5, 3))), risks)


@pytest.mark.catalogue("DT-12")
def test_accuracy_is_a_cost():
    action, risk = optimal_action(SHARES, accuracy_costs(3))
    assert (action == SHARES.argmax(axis=1)).all()
    np.testing.assert_allclose(risk, 1 - SHARES.max(axis=1))
    gains, less = optimal_action(SHARES, accuracy_costs(3, gain=True))
    assert (gains == action).all()
    np.testing.assert_allclose(less, risk - 1)


@pytest.mark.catalogue("DT-14")
def test_the_most_probable_class_has_the_least_conditional_error():
    best = conditional_error(SHARES)
    for decision in range(3):
        error = conditional_error(SHARES, np.full(200, decision))
        np.testing.assert_allclose(error, SHARES.sum(axis=1) - SHARES[:, decision])
        assert (best <= error).all()
    two = SHARES[:, :2] / SHARES[:, :2].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(conditional_error(two), two.min(axis=1))


def test_rows_are_rejected_where_the_probability_of_error_exceeds_its_cost():
    action = optimal_action(SHARES, add_reject(accuracy_costs(3), 0.3)).action
    assert ((action == 3) == (1 - SHARES.max(axis=1) > 0.3)).all()


def test_corrected_priors_give_the_posteriors_of_those_priors():
    likelihoods, old, new = np.random.default_rng(3).random((50, 3)), [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]
    found = correct_priors(posterior(likelihoods, old), old, new)
    np.testing.assert_allclose(found, posterior(likelihoods, new))


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ([[0, 1]], r"costs must have shape \(n_actions, 3\), a row for each action .* got shape \(1, 2\)"),
        ([0, 1, 2], r"costs must have shape"),
        ([[0, 1, np.nan]], r"expected_cost: costs must not hold NaN; got 1 of them"),
        ([[0, 1, np.inf]], r"expected_cost: costs must be in \(-inf, inf\); got inf\."),
        ("dear", r"expected_cost: costs must hold numbers; got 'dear'\."),
    ],
)
def test_costs_of_another_shape_or_without_value_are_refused(costs, words):
    with pytest.raises(ParameterError, match=words):
        expected_cost(SHARES, costs)


def test_what_cannot_be_is_refused():
    with pytest.raises(DataError, match=r"one matrix for each of 200 rows; got 3"):
        expected_cost(SHARES, np.zeros((3, 2, 3)))
    with pytest.raises(DataError, match=r"decisions must be one integer in \[0, 2\] for each row"):
        conditional_error(SHARES, np.full(200, 3))
    with pytest.raises(ParameterError, match=r"old must be positive in every class"):
        correct_priors(SHARES, [0.0, 0.5, 0.5], [0.2, 0.4, 0.4])
    with pytest.raises(DataError, match=r"row 0 is certain of a class that new makes impossible"):
        correct_priors([[1.0, 0.0]], [0.5, 0.5], [0.0, 1.0])
    with pytest.raises(ParameterError, match=r"posteriors must sum to 1"):
        optimal_action([[0.5, 0.6]], [[0, 1]])
