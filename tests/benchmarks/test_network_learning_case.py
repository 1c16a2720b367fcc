"""The case of structure learning: its measure is the library's BIC, and both of our searches agree on it."""

import pytest

from benchmarks.cases import CASES
from mercer.bayesnet import score_structure


def test_the_measure_is_the_bic_and_the_tabu_list_does_not_lower_it():
    case = CASES["bayes_net_structure"]
    data = case.make(0.002)
    values = {}
    for name in ("mercer", "mercer_greedy"):
        contestant = case.contestant(name)
        edges = contestant.fit(contestant.load(), data, 1)
        values[name] = case.quality(contestant.solution(edges), data)["bic"]
        parents = {f"x{column}": [a for a, b in edges if b == f"x{column}"] for column in range(30)}
        assert values[name] * len(data["X"]) == pytest.approx(score_structure(parents, data["X"]))
    assert values["mercer"] >= values["mercer_greedy"] - 1e-9
    assert case.agreement.holds(values["mercer_greedy"], values["mercer"])
