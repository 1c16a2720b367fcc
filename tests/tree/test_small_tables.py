"""Trees of small tables grow in one native call: the same tree, history and states as level by level."""

import numpy as np
import pytest

import mercer
from mercer._solver.tree import whole_growth
from mercer.errors import InterruptWarning
from mercer.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    _crossovers,
    _tree_model,
)

ARRAYS = (
    *("children_left", "children_right", "feature", "threshold", "impurity", "n_node_samples"),
    *("weighted_n_node_samples", "value", "missing_go_to_left"),
)
TREES = [
    DecisionTreeClassifier(),
    DecisionTreeClassifier(criterion="entropy", max_depth=3),
    DecisionTreeClassifier(ccp_alpha=0.01, min_samples_leaf=3),
    DecisionTreeClassifier(monotonic_cst=[1, 0, -1]),
    ExtraTreeClassifier(random_state=2),
    DecisionTreeRegressor(),
    DecisionTreeRegressor(criterion="absolute_error"),
    ExtraTreeRegressor(random_state=2, max_features=1),
]


def draw(kind):
    random = np.random.default_rng(5)
    X = random.normal(size=(90, 3)) if kind != "ties" else random.integers(0, 4, (90, 3)).astype(float)
    if kind == "gaps":
        X[random.random(X.shape) < 0.1] = np.nan
    return X, (random.random(90) < 0.4).astype(int), random.uniform(0.0, 2.0, 90)


@pytest.mark.parametrize("kind", ["plain", "ties", "gaps"])
@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_the_tree_is_the_one_that_grows_level_by_level(tree, kind, monkeypatch):
    X, y, weight = draw(kind if getattr(tree, "monotonic_cst", None) is None else "plain")
    at_once = tree.fit(X, y, sample_weight=weight)
    arrays, history = {name: getattr(at_once.tree_, name).copy() for name in ARRAYS}, at_once.history_
    monkeypatch.setattr(_crossovers, "LARGE_TABLE", 0)
    # Two threads share the nodes of a level; one would take the branches of a large tree one after the other.
    tree.set_params(n_jobs=2)
    by_level = tree.fit(X, y, sample_weight=weight)
    for name, values in arrays.items():
        np.testing.assert_array_equal(values, getattr(by_level.tree_, name), err_msg=name)
    np.testing.assert_array_equal(history["leaves"], by_level.history_["leaves"])
    np.testing.assert_array_equal(history["objective"], by_level.history_["objective"])


def test_a_tree_cut_off_at_a_depth_is_the_tree_of_that_depth():
    X, y, _ = draw("plain")
    shallow = DecisionTreeClassifier(max_depth=2).fit(X, y)
    levels = _tree_model.list_levels(DecisionTreeClassifier().fit(X, y).tree_)
    whole = DecisionTreeClassifier().fit(X, y).tree_
    cut = _tree_model.cut_tree(whole, 2)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(cut, name), getattr(shallow.tree_, name), err_msg=name)
    assert levels[2][1] == shallow.get_n_leaves()
    assert _tree_model.cut_tree(whole, len(levels)) is whole


def test_one_thread_grows_a_large_tree_branch_by_branch_with_the_same_bits(monkeypatch):
    X, y, _ = draw("plain")
    monkeypatch.setattr(_crossovers, "LARGE_TABLE", 0)
    one, two = (DecisionTreeClassifier(random_state=0, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one.tree_, name), getattr(two.tree_, name))
    for name in ("objective", "leaves"):
        np.testing.assert_array_equal(one.history_[name], two.history_[name])


def test_ctrl_c_between_native_calls_keeps_the_nodes_that_are_grown(monkeypatch):
    X, y, _ = draw("plain")
    whole = DecisionTreeClassifier(random_state=0).fit(X, y)
    grow, calls = whole_growth.node_search.grow_nodes, iter(range(9))

    def grow_or_stop(*records):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return grow(*records)

    # Each native call ends after one node.
    monkeypatch.setattr(whole_growth, "_VISITS", 300)
    monkeypatch.setattr(whole_growth.node_search, "grow_nodes", grow_or_stop)
    with mercer.config_context(on_interrupt="keep"), pytest.warns(InterruptWarning):
        part = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert not part.converged_
    assert 1 < part.tree_.node_count < whole.tree_.node_count
    assert part.tree_.threshold[0] == whole.tree_.threshold[0]
    assert len(part.history_["leaves"]) == part.get_depth() + 1
    assert part.predict_proba(X).shape == (90, 2)
