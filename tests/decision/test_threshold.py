"""Thresholds by cost: the definition, what the interval promises, and errors."""

import numpy as np
import pytest
from scipy.stats import binom

from mercer.decision import break_even, choose_threshold, optimal_action, threshold_costs
from mercer.errors import DataError, ParameterError

COSTS = [[0.0, 4.0], [1.0, 0.0]]


@pytest.fixture
def random():
    return np.random.default_rng(0)


def test_costs_of_thresholds_are_those_of_their_decisions(random):
    p = random.integers(0, 11, 60) / 10
    y = random.random(60) < p
    thresholds, mean = threshold_costs(y, p, COSTS)
    for threshold, cost in zip(thresholds, mean, strict=True):
        acts = (p > threshold).astype(int)
        assert np.isclose(np.asarray(COSTS)[acts, y.astype(int)].mean(), cost)


def test_the_break_even_is_where_the_best_action_changes():
    limit = break_even(COSTS)
    shares = np.array([[1 - limit + 1e-9, limit - 1e-9], [1 - limit - 1e-9, limit + 1e-9]])
    assert optimal_action(shares, COSTS).action.tolist() == [0, 1]
    assert break_even([[0, 0], [1, 1]]) is None


def test_the_interval_holds_the_best_threshold_of_true_probabilities(random):
    held, paid, repeats = 0, 0, 60
    for repeat in range(repeats):
        p = random.random(400)
        found = choose_threshold(random.random(400) < p, p, COSTS, level=0.9, n_resamples=200, random_state=repeat)
        held += found.low <= 0.2 <= found.high
        # A row costs the integral of min(4 p, 1 - p) over [0, 1]: 0.4.
        paid += found.cost_low <= 0.4 <= found.cost_high
    assert min(held, paid) >= binom.ppf(1e-6, repeats, 0.9)


def test_false_probabilities_are_noticed_and_the_cheapest_threshold_is_taken(random):
    p = random.random(4000)
    y = random.random(4000) < p
    found = choose_threshold(y, p**3, COSTS, random_state=0)
    # The probability 0.2 is written as 0.008.
    assert found.threshold == found.cheapest != found.if_calibrated == 0.2
    assert found.low <= 0.008 <= found.high < 0.2
    assert "want calibration" in found.sentence
    assert found.cost < min(found.always)
    assert "<table>" in found._repr_html_()
    true = choose_threshold(y, p, COSTS, random_state=0)
    assert true.threshold == 0.2
    assert "as the costs say" in str(true)


def test_costs_that_decide_alone_and_one_class_are_refused():
    with pytest.raises(ParameterError, match="each decision cheaper where its class is true"):
        choose_threshold([0, 1], [0.2, 0.8], [[0, 0], [1, 1]])
    with pytest.raises(DataError, match="must hold both classes; got one alone"):
        choose_threshold([1, 1], [0.2, 0.8])
    with pytest.raises(DataError, match=r"costs must have shape \(2, 2\)"):
        choose_threshold([0, 1], [0.2, 0.8], [[0, 1], [1, 0], [2, 2]])
