"""Interventions and adjustment: against the truncated factorisation of the joint table."""

from itertools import combinations

import numpy as np
import pytest

from mercer.bayesnet import (
    BayesianNetwork,
    adjustment_sets,
    causal_effect,
    front_door_sets,
    intervene,
    load_sprinkler,
    random_network,
)
from mercer.errors import DataError

# Treatment of kidney stones (Charig and others, 1986): a Simpson's paradox. Small stones get the open operation rarely.
STONES = BayesianNetwork(
    {"size": ("small", "large"), "treatment": ("open", "puncture"), "success": ("yes", "no")},
    {"treatment": ("size",), "success": ("size", "treatment")},
    {
        "size": np.array([357, 343]) / 700,
        "treatment": np.array([[87 / 357, 270 / 357], [263 / 343, 80 / 343]]),
        "success": np.array([[[81 / 87, 6 / 87], [234 / 270, 36 / 270]], [[192 / 263, 71 / 263], [55 / 80, 25 / 80]]]),
    },
)


def truncate(network, cause, code):
    """P(v | do(cause)) from the definition: the product of all tables but the cause's, where it has its state."""
    names = list(network.variables)
    joint = np.ones([len(network.variables[name]) for name in names])
    for name in names:
        family = [*network.parents[name], name]
        if name != cause:
            order = sorted(range(len(family)), key=lambda axis: names.index(family[axis]))
            shape = [len(network.variables[other]) if other in family else 1 for other in names]
            joint = joint * network.tables[name].transpose(order).reshape(shape)
    kept = np.zeros(joint.shape[names.index(cause)])
    kept[code] = 1.0
    return joint * kept.reshape([-1 if name == cause else 1 for name in names])


@pytest.mark.parametrize("seed", range(5))
def test_interventions_equal_the_truncated_factorisation(seed):
    network = random_network(5, max_parents=3, random_state=seed)
    names = list(network.variables)
    for cause in names:
        for code, state in enumerate(network.variables[cause]):
            expected = truncate(network, cause, code)
            assert expected.sum() == pytest.approx(1.0)
            changed = intervene(network, {cause: state})
            assert changed.parents[cause] == ()
            for axis, name in enumerate(names):
                others = tuple(other for other in range(len(names)) if other != axis)
                np.testing.assert_allclose(changed.query(name).array, expected.sum(axis=others), atol=1e-12)


def test_turning_the_sprinkler_on_does_not_change_the_sky():
    network = load_sprinkler()
    root = network.order[0]
    child = network.children[root][0]
    state = network.variables[child][0]
    before, seen = network.query(root).array, network.query(root, {child: state}).array
    done = intervene(network, {child: state}).query(root).array
    np.testing.assert_allclose(done, before)
    assert np.abs(seen - before).max() > 0.01


def test_a_random_setting_is_a_mixture_of_settings():
    mixed = intervene(STONES, {"treatment": {"open": 0.25, "puncture": 0.75}}).query("success").array
    parts = causal_effect(STONES, "treatment", "success")
    np.testing.assert_allclose(mixed, 0.25 * parts[0] + 0.75 * parts[1])


def test_simpsons_paradox_is_resolved_by_adjustment():
    seen = [STONES.query("success", {"treatment": state}).array[0] for state in ("open", "puncture")]
    assert seen == pytest.approx([273 / 350, 289 / 350])
    assert seen[0] < seen[1]
    effect = causal_effect(STONES, "treatment", "success")[:, 0]
    by_hand = [
        357 / 700 * 81 / 87 + 343 / 700 * 192 / 263,
        357 / 700 * 234 / 270 + 343 / 700 * 55 / 80,
    ]
    np.testing.assert_allclose(effect, by_hand)
    assert effect[0] > effect[1]
    np.testing.assert_allclose(causal_effect(STONES, "treatment", "success", adjust=["size"])[:, 0], by_hand)


@pytest.mark.parametrize("seed", range(6))
def test_every_adjustment_set_gives_the_effect_and_no_smaller_one_is_left_out(seed):
    network = random_network(6, max_parents=2, random_state=seed)
    names = list(network.order)
    cause, effect = names[1], names[-1]
    truth = causal_effect(network, cause, effect)
    found = adjustment_sets(network, cause, effect)
    for chosen in found:
        np.testing.assert_allclose(causal_effect(network, cause, effect, adjust=chosen), truth, atol=1e-9)
    for first, second in combinations(found, 2):
        assert not set(first) <= set(second)
    assert found or effect in network.parents[cause]


def test_adjustment_sets_of_known_graphs():
    assert adjustment_sets([("z", "x"), ("z", "y"), ("x", "y")], "x", "y") == [("z",)]
    # A mediator and a collider need no adjustment; conditioning on them would do harm.
    assert adjustment_sets([("x", "m"), ("m", "y"), ("x", "c"), ("y", "c")], "x", "y") == [()]
    # M-bias: the collider between two hidden causes must not be adjusted for.
    assert adjustment_sets([("u", "x"), ("u", "m"), ("v", "m"), ("v", "y"), ("x", "y")], "x", "y") == [()]
    edges = [("a", "x"), ("a", "b"), ("b", "y"), ("x", "y")]
    assert adjustment_sets(edges, "x", "y") == [("a",), ("b",)]
    assert adjustment_sets(edges, "x", "y", unobserved=["a"]) == [("b",)]
    assert adjustment_sets(edges, "x", "y", unobserved=["a", "b"]) == []
    assert adjustment_sets([("y", "x")], "x", "y") == []


def test_front_door_sets_of_known_graphs():
    smoking = [("gene", "smoking"), ("gene", "cancer"), ("smoking", "tar"), ("tar", "cancer")]
    assert front_door_sets(smoking, "smoking", "cancer", unobserved=["gene"]) == [("tar",)]
    assert front_door_sets([*smoking, ("smoking", "cancer")], "smoking", "cancer", unobserved=["gene"]) == []
    assert front_door_sets([*smoking, ("gene", "tar")], "smoking", "cancer", unobserved=["gene"]) == []
    assert front_door_sets([("a", "b")], "b", "a") == []


def test_the_front_door_formula_gives_the_effect():
    random = np.random.default_rng(0)
    draw = lambda *shape: random.dirichlet(np.ones(2), shape)  # noqa: E731
    network = BayesianNetwork(
        dict.fromkeys(("gene", "smoking", "tar", "cancer"), ("no", "yes")),
        {"smoking": ("gene",), "tar": ("smoking",), "cancer": ("gene", "tar")},
        {"gene": np.array([0.4, 0.6]), "smoking": draw(2), "tar": draw(2), "cancer": draw(2, 2)},
    )
    truth = causal_effect(network, "smoking", "cancer")
    smoking = network.query("smoking").array
    for code, state in enumerate(("no", "yes")):
        tar = network.query("tar", {"smoking": state}).array
        total = sum(
            tar[t] * smoking[s] * network.query("cancer", {"tar": level, "smoking": other}).array
            for t, level in enumerate(("no", "yes"))
            for s, other in enumerate(("no", "yes"))
        )
        np.testing.assert_allclose(total, truth[code])


def test_bad_input_is_refused_with_a_cure():
    with pytest.raises(DataError, match="'height' is not a variable"):
        intervene(STONES, {"height": "small"})
    with pytest.raises(DataError, match="'size' has the states"):
        intervene(STONES, {"size": "huge"})
    with pytest.raises(DataError, match="must be a state or 2 probabilities that sum to 1"):
        intervene(STONES, {"size": [0.5, 0.6]})
    with pytest.raises(DataError, match=r"adjust must keep the back-door criterion .* adjustment_sets lists sets"):
        causal_effect(STONES, "treatment", "success", adjust=[])
    with pytest.raises(DataError, match="cause and effect must be two variables; got 'size' twice"):
        adjustment_sets(STONES, "size", "size")
    certain = STONES.with_tables({"treatment": [[1, 0], [0.5, 0.5]]})
    with pytest.raises(DataError, match=r"every state of the cause must be possible in every stratum"):
        causal_effect(certain, "treatment", "success", adjust=["size"])
