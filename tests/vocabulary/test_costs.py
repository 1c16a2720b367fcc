"""Every cost matrix in every place that takes one: what costs are made of, and who decides by them."""

import itertools

import numpy as np
import pytest

from mercer.decision import (
    ClassDensities,
    DecisionClassifier,
    accuracy_costs,
    add_reject,
    break_even,
    choose_threshold,
    expected_cost,
    optimal_action,
    posterior,
    threshold_costs,
)
from mercer.estimation import GaussianDensity
from mercer.metrics import cost_weighted_error
from tests.vocabulary.public_names import list_consumers

SHARES = np.random.default_rng(0).dirichlet(np.ones(3), 40)
COSTS = {
    "accuracy": accuracy_costs(3),
    "reject": add_reject(accuracy_costs(3), 0.3),
    "gains": -np.random.default_rng(1).random((3, 3)),
    "more actions than classes": np.random.default_rng(2).random((5, 3)),
    "one action": np.random.default_rng(3).random((1, 3)),
    "reject of reject": add_reject(add_reject(accuracy_costs(3), 0.5), 0.3),
}
WORLD = ClassDensities([GaussianDensity(m, 1.0) for m in (0.0, 1.5, 3.0)], [0.2, 0.5, 0.3])


def test_the_grid_knows_every_place_that_takes_costs():
    known = {"decision.DecisionClassifier", "decision.add_reject", "decision.expected_cost", "decision.optimal_action"}
    known |= {"metrics.cost_weighted_error"}
    known |= {"decision.break_even", "decision.choose_threshold", "decision.threshold_costs"}
    # A display of annealing draws the costs of its levels, which are numbers of another kind.
    found = set(list_consumers(r"^$", names=("costs",))) - {"inspection.AnnealedCentresDisplay"}
    assert found == known


@pytest.mark.parametrize("name", COSTS)
def test_all_deciders_take_the_action_of_least_expected_cost(name):
    costs = COSTS[name]
    wanted = np.array([[sum(costs[a, c] * share[c] for c in range(3)) for a in range(len(costs))] for share in SHARES])
    np.testing.assert_allclose(expected_cost(SHARES, costs), wanted)
    np.testing.assert_array_equal(optimal_action(SHARES, costs)[0], wanted.argmin(axis=1))
    # A matrix for each row says the same as one for all.
    np.testing.assert_allclose(expected_cost(SHARES, np.tile(costs, (40, 1, 1))), wanted)


@pytest.mark.parametrize("costs", [[[0, 9], [1, 0]], [[-1, 3], [2, 0.5]], accuracy_costs(2)])
def test_thresholds_of_two_classes_follow_from_the_same_costs(costs):
    random = np.random.default_rng(4)
    chance = random.random(400)
    true = (random.random(400) < chance).astype(int)
    actions = optimal_action(np.stack([1 - chance, chance], axis=1), costs)[0]
    np.testing.assert_array_equal(actions, chance > break_even(costs))
    thresholds, means = threshold_costs(true, chance, costs)
    middle = len(thresholds) // 2
    decided = (chance > thresholds[middle]).astype(int)
    assert means[middle] == pytest.approx(cost_weighted_error(true, decided, costs, classes=[0, 1], actions=[0, 1]))
    choice = choose_threshold(true, chance, costs, n_resamples=50, random_state=0)
    assert choice.threshold == pytest.approx(break_even(costs))


@pytest.mark.parametrize("name", COSTS)
def test_the_mean_cost_of_decisions_is_that_of_their_entries(name):
    costs, true = COSTS[name], np.arange(40) % 3
    actions = optimal_action(SHARES, costs)[0]
    classes, names = np.arange(3), np.arange(len(costs))
    mean = cost_weighted_error(true, actions, costs, classes=classes, actions=names)
    assert mean == pytest.approx(np.mean([costs[action, label] for action, label in zip(actions, true, strict=True)]))


@pytest.mark.parametrize("name", COSTS)
def test_a_classifier_decides_by_them_as_the_functions_do(name):
    X, labels = WORLD.sample(60, 0)
    model = DecisionClassifier(costs=COSTS[name]).fit(X[:, None], np.array(["a", "b", "c"])[labels])
    shares = model.predict_proba(X[:, None])
    decided = optimal_action(shares, COSTS[name])[0]
    np.testing.assert_array_equal(model.predict(X[:, None]), model.actions_[decided])


@pytest.mark.parametrize("name", COSTS)
def test_the_least_risk_is_the_same_by_quadrature_and_by_the_definition(name):
    costs = COSTS[name]
    risk = WORLD.risk(costs)
    grid = np.linspace(-8, 11, 4001)
    joint = np.exp(WORLD.log_joint(grid))
    exact = np.trapezoid((joint @ costs.T).min(axis=1), grid)
    assert risk.value == pytest.approx(exact, abs=1e-5)
    # No rule that maps posteriors to actions does better: try them all on the cells of a coarse grid.
    shares = posterior(joint / WORLD.priors, WORLD.priors)
    for rule in itertools.islice(itertools.product(range(len(costs)), repeat=3), 30):
        actions = np.array(rule)[shares.argmax(axis=1)]
        assert np.trapezoid((joint * costs[actions]).sum(axis=1), grid) >= exact - 1e-9
