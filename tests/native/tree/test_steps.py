"""The best cuts of large nodes, found through steps: the trees of trying every cut, bit for bit."""

import importlib

import numpy
import pytest

from mercer._native.level import list_built_levels
from mercer._solver.tree import search as _search
from mercer._solver.tree import whole_growth as _whole_growth
from mercer._solver.tree.assembly import assemble, take_state
from mercer._solver.tree.columns import encode_columns
from mercer._solver.tree.growth import Growth, Rules
from mercer._solver.tree.search import Room, can_use_steps
from mercer._solver.tree.target import make_class_target, make_value_target
from mercer._solver.tree.whole_growth import grow_whole

# Nodes of at least 1024 rows have 256 steps, those of at least 64 rows a quarter as many.
N_ROWS = 3000
FIELDS = ("children_left", "feature", "threshold", "impurity", "n_node_samples", "weighted_n_node_samples", "value")
RULES = {"to the end": {}, "limits": {"min_rows_leaf": 7, "max_depth": 6, "min_weight_leaf": 9.0}}


def draw_columns(kind):
    draw = numpy.random.default_rng(3)
    X = draw.normal(size=(N_ROWS, 6))
    if kind == "equal columns":
        # Cuts of the first and the last three columns are equally good, and so are mirrored ones.
        return numpy.hstack([X[:, :3], X[:, :3], -X[:, 2:]])
    if kind == "repeated values":
        X[:, 0], X[:, 1], X[:, 2] = X[:, 0].round(1), X[:, 1].round(), X[:, 2].round(2)
        X[:, 3] = 1.0
    if kind == "uneven":
        X = numpy.exp(4 * X)
        X[: N_ROWS // 2, 1] = 0.0
    return X


def make_targets(X, weight):
    draw = numpy.random.default_rng(4)
    y = numpy.sin(X[:, 0]) * X[:, 1].clip(-2, 2) + draw.normal(size=len(X))
    labels = (y > 0).astype(int)[:, None]
    yield make_class_target(labels, numpy.array([2]), weight, "gini")
    # No column tells anything of these labels, so that all cuts are about equally good.
    yield make_class_target(draw.integers(0, 2, labels.shape), numpy.array([2]), weight, "gini")
    yield make_value_target(y[:, None], weight, "squared_error")
    # Far from zero, and of very different sizes.
    yield make_value_target(1e6 + y[:, None], weight, "squared_error")
    yield make_value_target(numpy.sinh(4 * y)[:, None], weight, "squared_error")


def begin(columns, target, rules, threads=1):
    growth = Growth(columns, target, rules, threads)
    growth.begin(numpy.arange(N_ROWS, dtype=numpy.int32), 7)
    return growth


def grow(columns, target, rules):
    n_classes = numpy.array([2 if hasattr(target, "labels") else 1])
    return grow_whole(begin(columns, target, rules), n_classes, Room())


def assert_same(tree, expected):
    for name in FIELDS:
        numpy.testing.assert_array_equal(getattr(tree, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize("limits", RULES.values(), ids=RULES)
@pytest.mark.parametrize("kind", ["distinct values", "equal columns", "repeated values", "uneven"])
def test_steps_give_the_tree_of_every_cut(kind, limits):
    X = draw_columns(kind)
    stepwise, plain = encode_columns(X, 1, "test", steps=True), encode_columns(X, 1, "test")
    assert stepwise.have_steps
    assert not plain.have_steps
    rules = Rules(max_features=X.shape[1], **limits)
    # Whole weights, and others, which are rounded to integers of many bits.
    for weight in (numpy.ones(N_ROWS), 1.0 + numpy.arange(N_ROWS) % 3, 0.1 + numpy.arange(N_ROWS) % 7 / 3):
        for target in make_targets(X, weight):
            if can_use_steps(target, rules, X.shape[1]):
                assert_same(grow(stepwise, target, rules), grow(plain, target, rules))


@pytest.mark.parametrize("build", [*list_built_levels(), "interpreted"])
def test_every_build_finds_the_same_cuts(build, monkeypatch):
    X = draw_columns("repeated values")
    target = next(make_targets(X, numpy.ones(N_ROWS)))
    rules = Rules(max_features=X.shape[1], max_depth=3)
    expected = grow(encode_columns(X, 1, "test"), target, rules)
    for room in (_search, _whole_growth):
        monkeypatch.setattr(room, "node_search", importlib.import_module(f"mercer._native.{build}.node_search"))
    monkeypatch.setattr("mercer._native.records.level", lambda: build)
    assert_same(grow(encode_columns(X, 1, "test", steps=True), target, rules), expected)


def test_levels_and_shares_of_columns_find_the_same_cuts(monkeypatch):
    # So few visits in a call that the columns of large nodes are searched in several calls.
    monkeypatch.setattr("mercer._solver.tree.growth.CALL_VISITS", 2 * N_ROWS)
    X = draw_columns("equal columns")
    target = next(make_targets(X, numpy.ones(N_ROWS)))
    rules = Rules(max_features=X.shape[1])
    growth = begin(encode_columns(X, 1, "test", steps=True), target, rules, threads=2)
    while growth.grow_level():
        pass
    tree = assemble(take_state(growth), X.shape[1], numpy.array([2]))
    assert_same(tree, grow(encode_columns(X, 1, "test"), target, rules))


def test_a_node_whose_ratios_are_all_equal_takes_the_first_cut():
    # The targets differ by less than a unit of their sums, so that all amounts are equal.
    X = draw_columns("distinct values")
    target = make_value_target(numpy.zeros((N_ROWS, 1)), numpy.ones(N_ROWS), "squared_error")
    rules = Rules(max_features=6, max_depth=1)
    trees = [grow(encode_columns(X, 1, "test", steps=steps), target, rules) for steps in (True, False)]
    assert_same(*trees)


def test_steps_need_all_columns_and_one_sum_of_rows_that_count_alike():
    X = draw_columns("distinct values")
    uneven = 1.0 + numpy.arange(N_ROWS) % 3
    target = next(make_targets(X, uneven))
    assert can_use_steps(target, Rules(max_features=6), 6)
    assert not can_use_steps(target, Rules(max_features=5), 6)
    assert not can_use_steps(target, Rules(max_features=6, min_rows_leaf=2), 6)
    assert not can_use_steps(target, Rules(max_features=6, random=True), 6)
    assert can_use_steps(next(make_targets(X, numpy.ones(N_ROWS))), Rules(max_features=6, min_rows_leaf=2), 6)
    three = make_class_target(numpy.arange(N_ROWS)[:, None] % 3, numpy.array([3]), uneven, "gini")
    assert not can_use_steps(three, Rules(max_features=6), 6)


def test_columns_with_missing_values_or_few_values_have_no_steps():
    X = draw_columns("distinct values")
    assert not encode_columns(X.round(), 1, "test", steps=True).have_steps
    X[5, 2] = numpy.nan
    assert not encode_columns(X, 1, "test", steps=True).have_steps
