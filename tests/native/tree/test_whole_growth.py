"""Trees grown in native calls, at every level and uncompiled: bit for bit those that grow level by level."""

import importlib

import numpy
import pytest

from mercer._solver.tree import growth as _growth
from mercer._solver.tree import search as _search
from mercer._solver.tree import target as _target
from mercer._solver.tree import whole_growth as _whole_growth
from mercer._solver.tree.assembly import assemble, take_state
from mercer._solver.tree.columns import encode_columns, keep_columns
from mercer._solver.tree.growth import Growth, Rules, StoppedError
from mercer._solver.tree.search import Room
from mercer._solver.tree.target import make_class_target, make_value_target
from mercer._solver.tree.whole_growth import GrowthInterrupt, grow_whole

FIELDS = (
    *("children_left", "children_right", "feature", "threshold", "missing_go_to_left", "impurity", "n_node_samples"),
    *("weighted_n_node_samples", "value"),
)
RULES = {
    "to the end": {},
    "few features": {"max_features": 2},
    "coarse": {"coarse_rows": 40, "max_features": 3},
    "limits": {"min_rows_leaf": 3, "min_rows_split": 9, "max_depth": 5, "min_decrease": 0.001, "min_weight_leaf": 4.5},
    "random": {"random": True, "max_features": 3},
}


@pytest.fixture
def at_level(level, monkeypatch):
    """The native modules of one build, put in the place of those in use."""
    for room in (_search, _whole_growth, _growth, _target):
        for name in ("node_search", "node_rows", "tree_order"):
            if hasattr(room, name):
                monkeypatch.setattr(room, name, importlib.import_module(f"mercer._native.{level}.{name}"))
    monkeypatch.setattr("mercer._native.records.level", lambda: level)
    return level


def draw_rows(n, dtype=float, missing=False, seed=0):
    draw = numpy.random.default_rng(seed)
    X = draw.normal(size=(n, 4))
    X[:, 1] = draw.integers(0, 3, n)
    X[:, 2] = X[:, 2].round(1)
    y = X[:, 0] * X[:, 1] + X[:, 3] + draw.normal(size=n)
    if missing:
        X[draw.random(X.shape) < 0.1] = numpy.nan
    return X.astype(dtype), y


def targets(y, weight):
    """A target of each kind that native growth knows."""
    classes = numpy.digitize(y, [-1.0, 0.5])
    both = numpy.stack([classes, y > 0], axis=1).astype(int)
    yield make_class_target((y > 0).astype(int)[:, None], numpy.array([2]), weight, "gini")
    yield make_class_target((y > 0).astype(int)[:, None], numpy.array([2]), weight, "entropy")
    yield make_class_target(classes[:, None], numpy.array([3]), weight, "gini")
    yield make_class_target(both, numpy.array([3, 2]), weight, "gini")
    yield make_value_target(y[:, None], weight, "squared_error")
    yield make_value_target(numpy.stack([y, -(y**2)], axis=1), weight, "squared_error")


def begun(X, target, weight, **rules):
    columns = keep_columns(X, "test") if rules.get("random") else encode_columns(X, 1, "test", coarse=True)
    growth = Growth(columns, target, Rules(**{"max_features": X.shape[1], **rules}))
    growth.begin(numpy.flatnonzero(weight > 0).astype(numpy.int32), 7)
    return growth


def assert_same_trees(X, target, weight, room=None, threads=1, **rules):
    n_classes = getattr(target, "first_slots", None)
    n_classes = numpy.ones(target.n_outputs, int) if n_classes is None else numpy.diff(n_classes)
    growth = begun(X, target, weight, **rules)
    growth.threads = threads
    whole = grow_whole(growth, n_classes, room or Room())
    growth = begun(X, target, weight, **rules)
    while growth.grow_level():
        pass
    expected = assemble(take_state(growth), X.shape[1], n_classes)
    assert expected.node_count > 5
    for name in FIELDS:
        found, wanted = getattr(whole, name), getattr(expected, name)
        assert found.dtype == wanted.dtype, name
        numpy.testing.assert_array_equal(found, wanted, err_msg=name)


@pytest.mark.parametrize("missing", [False, True], ids=["whole", "missing"])
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_every_build_grows_the_tree_that_grows_level_by_level(at_level, rules, missing):
    n = 60 if at_level == "interpreted" else 700
    X, y = draw_rows(n, missing=missing)
    for weight in (numpy.random.default_rng(1).integers(0, 4, n).astype(float), numpy.linspace(0.5, 1.5, n)):
        for target in targets(y, weight):
            assert_same_trees(X, target, weight, **rules)


@pytest.mark.parametrize("levels", [2, 90, 3000], ids=["bytes", "few", "many"])
def test_columns_of_few_and_of_many_values_are_divided_alike(levels):
    X, y = draw_rows(3000, numpy.float32)
    X = numpy.floor(levels * (X - X.min(axis=0)) / 9)
    target = make_class_target((y > 0).astype(int)[:, None], numpy.array([2]), numpy.ones(3000), "gini")
    assert_same_trees(X, target, numpy.ones(3000), max_features=2, min_rows_leaf=2)


def test_a_tree_that_takes_many_calls_and_outgrows_its_arrays_is_the_same(monkeypatch):
    monkeypatch.setattr(_whole_growth, "_VISITS", 150)
    X, y = draw_rows(500)
    for target in targets(y, numpy.ones(500)):
        assert_same_trees(X, target, numpy.ones(500), max_features=2)
        # Room for half as many nodes as rows is less than a tree grown to the end needs.
        assert_same_trees(X, target, numpy.ones(500), random=True)


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_threads_that_grow_branches_grow_the_same_tree(monkeypatch, rules):
    # Two threads share the tree, however few visits it takes.
    monkeypatch.setattr(_whole_growth, "CALL_VISITS", 0)
    room = Room()
    for n in (900, 300):
        X, y = draw_rows(n)
        for target in targets(y, numpy.ones(n)):
            assert_same_trees(X, target, numpy.ones(n), room, threads=2, **rules)


def test_ctrl_c_keeps_the_branches_that_are_grown(monkeypatch):
    monkeypatch.setattr(_whole_growth, "CALL_VISITS", 0)
    X, y = draw_rows(900)
    growth = begun(X, make_value_target(y[:, None], numpy.ones(900), "squared_error"), numpy.ones(900))
    growth.threads = 2
    grow, calls = _whole_growth.node_search.grow_nodes, iter(range(99))

    def grow_or_stop(*records):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return grow(*records)

    # On this thread, so that two branches are complete before the third is stopped.
    monkeypatch.setattr(_whole_growth, "run_numbered", lambda work, count, _: [work(i) for i in range(count)])
    monkeypatch.setattr(_whole_growth.node_search, "grow_nodes", grow_or_stop)
    with pytest.raises(GrowthInterrupt) as stopped:
        grow_whole(growth, numpy.ones(1, int), Room())
    part = stopped.value.tree
    assert next(calls) == 3
    # A tree grown to the end has a leaf for each of these rows.
    assert growth.n_nodes < part.node_count < 2 * 900 - 1
    assert part.n_node_samples[part.children_left < 0].sum() == 900


def test_arrays_that_another_tree_has_used_leave_no_trace():
    room = Room()
    for n, seed in ((900, 0), (300, 1), (1200, 2)):
        X, y = draw_rows(n, seed=seed)
        for target in targets(y, numpy.ones(n)):
            assert_same_trees(X, target, numpy.ones(n), room, coarse_rows=256)


@pytest.mark.parametrize("plain", [True, False])
def test_a_growth_that_is_stopped_ends_within_the_next_call(monkeypatch, plain):
    monkeypatch.setattr(_whole_growth, "_VISITS", 4 * 500)
    X, y = draw_rows(500)
    growth = begun(X, make_value_target(y[:, None], numpy.ones(500), "squared_error"), numpy.ones(500))
    if not plain:
        # Two threads share the first levels, however few visits they take.
        growth.threads = 2
        monkeypatch.setattr(_whole_growth, "CALL_VISITS", 0)
    answers = iter([True, True, False])
    growth.goes_on = lambda: next(answers)
    with pytest.raises(StoppedError):
        grow_whole(growth, numpy.ones(1, int), Room())
    assert next(answers, None) is None


def test_ctrl_c_on_one_thread_ends_the_branches_of_the_others(monkeypatch):
    monkeypatch.setattr(_whole_growth, "CALL_VISITS", 0)
    # Each native call ends after one node.
    monkeypatch.setattr(_whole_growth, "_VISITS", 1)
    X, y = draw_rows(900)
    growth = begun(X, make_value_target(y[:, None], numpy.ones(900), "squared_error"), numpy.ones(900))
    growth.threads = 2
    branches = _whole_growth.BranchGrowth(growth, Room(), growth.n_nodes)
    grow, calls = _whole_growth.node_search.grow_nodes, []

    def stop_after_five(*records):
        calls.append(None)
        # As another thread would, whose branch was interrupted.
        branches.is_stopped = len(calls) == 5
        return grow(*records)

    monkeypatch.setattr(_whole_growth.node_search, "grow_nodes", stop_after_five)
    branches.grow_in_turn([numpy.zeros(1, int)])
    assert len(calls) == 5
    assert branches.tree(numpy.ones(1, int)).node_count == 11
