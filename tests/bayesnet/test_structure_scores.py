"""Scores of structures: by hand, by definition, and as sums over families."""

from itertools import product
from math import lgamma, log

import numpy as np
import pytest

from mercer.bayesnet import score_structure
from mercer.errors import DataError, ParameterError

ROWS = {"a": [0, 0, 0, 1, 1, 1, 1, 0], "b": [0, 0, 1, 1, 1, 1, 0, 0], "c": [2, 0, 1, 2, 0, 1, 2, 0]}


def brute_force(rows, parents, name, size=1.0):
    """The definition, state by state."""
    total, columns = 0.0, {key: np.array(values) for key, values in rows.items()}
    n = len(next(iter(columns.values())))
    for node, above in parents.items():
        states = sorted(set(rows[node]))
        combinations = list(product(*[sorted(set(rows[parent])) for parent in above]))
        q, r = len(combinations), len(states)
        for combination in combinations:
            here = np.ones(n, bool)
            for parent, value in zip(above, combination, strict=True):
                here &= columns[parent] == value
            counts = np.array([np.sum(here & (columns[node] == state)) for state in states])
            if name in ("bic", "aic", "log_likelihood"):
                total += sum(c * log(c / counts.sum()) for c in counts if c)
            else:
                prior = 1.0 if name == "k2" else size / (q * r)
                total += lgamma(prior * r) - lgamma(counts.sum() + prior * r)
                total += sum(lgamma(c + prior) - lgamma(prior) for c in counts)
        total -= {"bic": 0.5 * log(n), "aic": 1.0}.get(name, 0.0) * q * (r - 1)
    return total


@pytest.mark.catalogue("GM-05")
@pytest.mark.parametrize("name", ["bic", "aic", "bdeu", "k2", "log_likelihood"])
@pytest.mark.parametrize("parents", [{"a": [], "b": [], "c": []}, {"a": [], "b": ["a"], "c": ["a", "b"]}])
def test_scores_equal_their_definition(name, parents):
    assert score_structure(parents, ROWS, name, sample_size=2.0) == pytest.approx(brute_force(ROWS, parents, name, 2.0))


@pytest.mark.parametrize("name", ["bic", "aic", "bdeu", "log_likelihood"])
def test_equivalent_structures_have_one_score_but_for_k2(name):
    forward, backward = {"b": ["a"], "c": ["b"]}, {"a": ["b"], "b": ["c"]}
    assert score_structure(forward, ROWS, name) == pytest.approx(score_structure(backward, ROWS, name))


def test_a_score_is_the_sum_over_families():
    whole = score_structure({"a": [], "b": ["a"], "c": ["b"]}, ROWS)
    alone = score_structure({"a": []}, ROWS)
    pair = score_structure({"a": [], "b": ["a"]}, ROWS)
    other = score_structure({"b": [], "c": ["b"]}, ROWS) - score_structure({"b": []}, ROWS)
    assert whole == pytest.approx(alone + (pair - alone) + other)


def test_weights_are_repetitions():
    weights = np.array([1, 2, 0, 3, 1, 1, 2, 1])
    repeated = {name: np.repeat(values, weights) for name, values in ROWS.items()}
    parents = {"a": [], "b": ["a", "c"], "c": []}
    states = {"c": [0, 1, 2]}
    assert score_structure(parents, ROWS, sample_weight=weights, states=states) == pytest.approx(
        score_structure(parents, repeated, states=states)
    )


def test_bad_input_is_refused_with_a_cure():
    with pytest.raises(DataError, match=r"'d' is none of a, b, c. Add the column"):
        score_structure({"a": ["d"]}, ROWS)
    with pytest.raises(ParameterError, match="score must be one of 'bic'"):
        score_structure({"a": []}, ROWS, "mdl")
    with pytest.raises(DataError, match=r"Input X contains NaN: .* column 'a' has gaps"):
        score_structure({"a": []}, {"a": [0, None, 1]})
    with pytest.raises(DataError, match="cycle"):
        score_structure({"a": ["b"], "b": ["a"]}, ROWS)
