"""Searches for splits, at every level and uncompiled: the same splits as by trying every cut."""

import importlib

import numpy
import pytest

from mercer._solver.tree import growth as _growth
from mercer._solver.tree import search as _search
from mercer._solver.tree.assembly import assemble, take_state
from mercer._solver.tree.columns import encode_columns, keep_columns
from mercer._solver.tree.growth import Growth, Rules
from mercer._solver.tree.target import make_class_target, make_value_target


@pytest.fixture
def at_level(level, monkeypatch):
    """The searches of one build, put in the place of those in use."""
    monkeypatch.setattr(_search, "node_search", importlib.import_module(f"mercer._native.{level}.node_search"))
    monkeypatch.setattr(_growth, "node_rows", importlib.import_module(f"mercer._native.{level}.node_rows"))
    monkeypatch.setattr("mercer._native.records.level", lambda: level)
    return level


def grown(target, X, kinds=None, columns=None, **rules):
    columns = columns or encode_columns(X, 1, "test", coarse=True, kinds=kinds)
    growth = Growth(columns, target, Rules(max_features=X.shape[1], max_depth=4, **rules))
    growth.begin(numpy.arange(len(X), dtype=numpy.int32), 7)
    while growth.grow_level():
        pass
    return assemble(take_state(growth), X.shape[1], numpy.array([target.first_slots[-1]]))


def labels(n_classes, criterion, n=60):
    draw = numpy.random.default_rng(0)
    X = draw.normal(size=(n, 3))
    X[draw.random(X.shape) < 0.1] = numpy.nan
    y = draw.integers(0, n_classes, n)
    return X, make_class_target(y[:, None], numpy.array([n_classes]), draw.integers(1, 4, n).astype(float), criterion)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rules", [{}, {"random": True}, {"coarse_rows": 20}], ids=["all", "random", "coarse"])
def test_every_build_grows_the_same_tree(at_level, criterion, n_classes, rules):
    X, target = labels(n_classes, criterion)
    tree = grown(target, X, **rules)
    expected = RECORDED.setdefault((criterion, n_classes, str(rules)), tree)
    numpy.testing.assert_array_equal(tree.feature, expected.feature)
    numpy.testing.assert_array_equal(tree.threshold, expected.threshold)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("missing", [False, True])
def test_random_splits_by_values_are_those_by_ranks(at_level, dtype, criterion, n_classes, missing):
    X, target = labels(n_classes, criterion)
    X = (X if missing else numpy.nan_to_num(X, nan=0.5)).astype(dtype)
    ranks = grown(target, X, random=True)
    values = grown(target, X, columns=keep_columns(X, "test"), random=True)
    for name in ("feature", "threshold", "children_left", "children_right", "missing_go_to_left", "value", "impurity"):
        numpy.testing.assert_array_equal(getattr(values, name), getattr(ranks, name), err_msg=name)


def test_random_splits_of_large_nodes_by_values_are_those_by_ranks():
    draw = numpy.random.default_rng(3)
    X = draw.normal(size=(3000, 3))
    y = (X[:, :1] + draw.normal(size=(3000, 1)) > 0).astype(int)
    target = make_class_target(y, numpy.array([2]), numpy.ones(3000), "gini")
    ranks = grown(target, X, random=True, min_rows_leaf=5)
    values = grown(target, X, columns=keep_columns(X, "test"), random=True, min_rows_leaf=5)
    assert ranks.node_count > 9
    for name in ("feature", "threshold", "n_node_samples", "value"):
        numpy.testing.assert_array_equal(getattr(values, name), getattr(ranks, name), err_msg=name)


def test_every_build_finds_the_same_sets_of_categories(at_level):
    draw = numpy.random.default_rng(1)
    X = draw.integers(0, 14, (80, 2)).astype(float)
    target = make_class_target(draw.integers(0, 3, (80, 1)), numpy.array([3]), numpy.ones(80), "gini")
    tree = grown(target, X, kinds=numpy.array([1, 1]))
    expected = RECORDED.setdefault("categories", tree)
    numpy.testing.assert_array_equal(tree.feature, expected.feature)
    numpy.testing.assert_array_equal(tree.words, expected.words)


@pytest.mark.parametrize("random", [False, True])
def test_every_build_finds_the_same_medians(at_level, random):
    draw = numpy.random.default_rng(2)
    X, y = draw.normal(size=(40, 2)), draw.normal(size=(40, 1))
    target = make_value_target(y, numpy.ones(40), "absolute_error")
    columns = encode_columns(X, 1, "test")
    growth = Growth(columns, target, Rules(max_features=2, max_depth=2, random=random))
    growth.begin(numpy.arange(40, dtype=numpy.int32), 7)
    while growth.grow_level():
        pass
    tree = assemble(take_state(growth), 2, numpy.array([1]))
    expected = RECORDED.setdefault(("medians", random), tree)
    numpy.testing.assert_array_equal(tree.feature, expected.feature)
    numpy.testing.assert_array_equal(tree.threshold, expected.threshold)


# The tree of the first build that is tried, for the others to be compared with.
RECORDED = {}
