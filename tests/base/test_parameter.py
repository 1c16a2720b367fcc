"""Declared ranges: what they accept, what they say, and the values they offer to tests."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from mercer._base.parameter import (
    Array,
    Boolean,
    Choice,
    Function,
    Instance,
    Integer,
    Nothing,
    Options,
    Pair,
    Real,
    Rule,
    Seed,
    Text,
    check_parameters,
)
from mercer.errors import ParameterError

_CYCLE = [1.0]
_CYCLE.append(_CYCLE)
RULES = {
    "integer": (Integer(1), [1, np.int64(5)], [0, 1.5, True, "1", None], "an integer in [1, inf)"),
    "bounded": (Integer(1, 3), [1, 3], [4], "an integer in [1, 3]"),
    "real": (Real(0), [0, 0.5, np.float32(2), math.inf], [-0.1, math.nan, True, "0", 1j], "a number in [0, inf)"),
    "open": (Real(0, 1, closed="neither"), [0.5], [0, 1], "a number in (0, 1)"),
    "half open": (Real(0, 1, closed="left"), [0], [1], "a number in [0, 1)"),
    "choice": (Choice("a", "b"), ["a"], ["c", 1, None], "one of 'a', 'b'"),
    "boolean": (Boolean(), [True, np.False_], [1, "True"], "a boolean"),
    "nothing": (Nothing(), [None], [0, ""], "None"),
    "text": (Text(), ["x"], [1], "a string"),
    "array": (Array(), [[1], np.zeros(2), [[1.0], [2.0]], (math.inf,)], ["x", 3, np.float16(1)], "an array-like"),
    "ragged": (Array(), [[2**70]], [[[1], [2, 3]], [None], ["a"], [10**400], [{}], [], _CYCLE], "an array-like"),
    "sizes": (Array("integers"), [[3, 4], (), np.ones(2)], [[1.5], [math.inf], [[3]], [math.nan]], "an array-like"),
    "names": (Array("anything"), [["a"], [[1], [2, 3]]], ["x", 3], "an array-like"),
    "wide": (Integer(), [2**63 - 1], [2**63, -(2**63), 10**400], "an integer in (-inf, inf)"),
    "foreign": (
        Real(),
        [np.float16(1)],
        [Decimal(3), Decimal("sNaN"), Fraction(1, 3), np.longdouble(1), 10**400],
        "a number in (-inf, inf)",
    ),
    "entries": (
        Array("entries"),
        [["a", 1], [], [("a", "b")], [None], np.ones((2, 2))],
        ["x", 3, [[1], [2, 3]], np.float16(1), np.datetime64("2020-01-01"), np.zeros(2, [("a", float)])],
        "an array-like",
    ),
    "flat": (Array(flat=True), [[1.0], (1, 2)], [[[1.0]], np.ones((2, 1)), []], "an array-like"),
    "squares": (
        Real(0),
        [1e150, 1e-150, 0.0, math.inf, np.float32(1e-40)],
        [1.1e150, 1e-151, 5e-324, 2**63],
        "a number in [0, inf)",
    ),
    "penalty": (
        Real(0, squared=False),
        [1e-281, 1e281, 0.0, 5e-324, math.inf],
        [math.nan, -1e-281, 2**63],
        "a number in [0, inf)",
    ),
    "finite": (Real(0, closed="left"), [0, 1e9], [math.inf], "a number in [0, inf)"),
    "pair": (
        Pair(),
        [(0, 1), (0.5, np.float32(2))],
        [(), (1,), [0, 1], ("a", 1), (0, math.nan)],
        "a tuple of two numbers",
    ),
    "options": (Options(), [{}, {"p": 3}], [{1: 2}, [], None], "an instance of dict"),
    "function": (Function(), [len], [3], "a callable"),
    "instance": (Instance(dict), [{}], [[]], "an instance of dict"),
    "seed": (
        Seed(),
        [None, 0, np.random.default_rng(0), np.random.RandomState(0)],
        [-1, "x", 1.5, True, 2**32],
        "None, a non-negative integer of 32 bits, a numpy RandomState or a numpy Generator",
    ),
    "either": (
        Integer(1) | Nothing() | Choice("auto"),
        [1, None, "auto"],
        [0, "other"],
        "an integer in [1, inf) or None or one of 'auto'",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_accepts_refuses_and_reads_as_declared(name):
    rule, good, bad, text = RULES[name]
    assert all(rule.accepts(value) for value in good)
    assert not any(rule.accepts(value) for value in bad)
    assert rule.text == text


@pytest.mark.parametrize("name", RULES)
def test_every_value_offered_as_refused_is_refused(name):
    rule = RULES[name][0]
    values = list(rule.list_refused())
    assert values
    assert not any(rule.accepts(value) for value in values)


def test_the_error_has_subject_rule_and_value():
    with pytest.raises(ParameterError) as caught:
        check_parameters("KMeans", {"n_clusters": Integer(1)}, {"n_clusters": 0})
    assert str(caught.value) == "KMeans: n_clusters must be an integer in [1, inf); got 0."
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TypeError)


def test_the_error_of_a_value_without_end_is_short():
    shared = ("a",) * 30
    for _ in range(40):
        shared = (shared, shared)
    for value in (shared, _CYCLE, 10**5000, "x" * 10**6, {1: shared}):
        with pytest.raises(ParameterError, match="n_clusters must be an integer") as caught:
            check_parameters("KMeans", {"n_clusters": Integer(1)}, {"n_clusters": value})
        assert len(str(caught.value)) < 600
    with pytest.raises(ParameterError, match="got an integer of 16610 bits, where 63 are the most"):
        check_parameters("KMeans", {"n_clusters": Integer(1)}, {"n_clusters": 10**5000})


def test_the_error_of_a_number_without_a_square_says_so():
    for value, words in ((1e200, "1e[+]200, whose square overflows"), (1e-200, "1e-200, whose square vanishes")):
        with pytest.raises(ParameterError, match=rf"tol must be a number in \[0, inf\); got {words}"):
            check_parameters("Ridge", {"tol": Real(0)}, {"tol": value})


def test_equal_values_of_other_types_are_told_apart():
    rules = {"n_clusters": Integer(1)}
    check_parameters("KMeans", rules, {"n_clusters": 1})
    for value in (True, 1.0):
        with pytest.raises(ParameterError):
            check_parameters("KMeans", rules, {"n_clusters": value})


def test_values_that_can_change_are_looked_at_every_time():
    rules, given = {"weights": _Filled()}, [1]
    check_parameters("Model", rules, {"weights": given})
    given.clear()
    with pytest.raises(ParameterError):
        check_parameters("Model", rules, {"weights": given})


class _Filled(Rule):
    text = "a list that is not empty"

    def accepts(self, value):
        return isinstance(value, list) and len(value) > 0
