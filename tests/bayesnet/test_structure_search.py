"""Searches for structures: against all structures, all trees, and known independences."""

from itertools import combinations, permutations, product

import numpy as np
import pytest

from mercer.bayesnet import BayesianNetwork, find_equivalence_class, fit_tables, learn_structure, score_structure
from mercer.bayesnet._graphs.separation import find_connected
from mercer.bayesnet._learning.partial_graph import PartialGraph, find_skeleton, orient_edges
from mercer.errors import DataError, ParameterError, UnsupportedError


def draw_rows(n, parents, sizes, seed=0):
    """Rows of a network with random tables; parents come first."""
    random = np.random.default_rng(seed)
    columns = {}
    for name, above in parents.items():
        table = random.dirichlet(np.full(sizes[name], 0.6), [sizes[parent] for parent in above])
        rows = table[tuple(columns[parent] for parent in above)]
        rows = np.broadcast_to(rows, (n, sizes[name]))
        columns[name] = (random.uniform(size=(n, 1)) > np.cumsum(rows, axis=1)).sum(axis=1).clip(0, sizes[name] - 1)
    return columns


FOUR = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
SIZES = {"a": 2, "b": 3, "c": 2, "d": 2}


def all_structures(names):
    """Every directed graph without cycles: 543 for four nodes."""
    pairs = list(combinations(names, 2))
    for choice in product((0, 1, 2), repeat=len(pairs)):
        parents = {name: [] for name in names}
        for (first, second), way in zip(pairs, choice, strict=True):
            if way:
                parents[second if way == 1 else first].append(first if way == 1 else second)
        if any(
            all(parents[name][i] in order[: order.index(name)] for name in names for i in range(len(parents[name])))
            for order in permutations(names)
        ):
            yield parents


@pytest.mark.parametrize("score", ["bic", "bdeu", "k2"])
def test_the_exact_search_finds_the_best_of_all_structures(score):
    rows = draw_rows(60, FOUR, SIZES)
    best = max(score_structure(parents, rows, score) for parents in all_structures("abcd"))
    found = learn_structure(rows, "exact", score)
    assert found.score == pytest.approx(best)
    assert score_structure(found.parents, rows, score) == pytest.approx(best)


@pytest.mark.parametrize("score", ["bic", "aic"])
@pytest.mark.parametrize("seed", range(5))
def test_pruning_by_penalties_does_not_change_the_best_score(monkeypatch, score, seed):
    from mercer.bayesnet._learning import exact_search

    random = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(7)]
    parents = {name: list(random.choice(names[:i], min(i, 3), replace=False)) for i, name in enumerate(names)}
    rows = draw_rows(80, parents, dict.fromkeys(names, 2), seed)
    pruned = learn_structure(rows, "exact", score, forbidden_edges=[("v0", "v1")])
    monkeypatch.setattr(exact_search, "_keep_promising", lambda families, node, parents, candidates, best: candidates)
    monkeypatch.setattr(exact_search, "limit_parents", lambda families: 6)
    assert learn_structure(rows, "exact", score, forbidden_edges=[("v0", "v1")]).score == pytest.approx(pruned.score)


def test_there_are_543_structures_of_four_nodes():
    assert sum(1 for _ in all_structures("abcd")) == 543


@pytest.mark.parametrize("seed", range(4))
def test_hill_climbing_is_never_above_the_exact_search_and_tabu_never_below_greedy(seed):
    random = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(8)]
    parents = {name: list(random.choice(names[:i], min(i, 2), replace=False)) for i, name in enumerate(names)}
    rows = draw_rows(400, parents, dict.fromkeys(names, 3), seed)
    exact = learn_structure(rows, "exact").score
    greedy = learn_structure(rows, tabu_length=0).score
    tabu = learn_structure(rows).score
    restarted = learn_structure(rows, n_restarts=5).score
    assert greedy <= tabu + 1e-9 <= restarted + 2e-9
    assert restarted <= exact + 1e-7
    # A climb may end on a lower summit: most of the way from no edge to the best graph is all that is sure.
    empty = score_structure(dict.fromkeys(names, ()), rows)
    assert exact - restarted <= 0.3 * (exact - empty)


def test_the_trace_rises_and_repeats_itself():
    rows = draw_rows(300, FOUR, SIZES)
    first, second = (learn_structure(rows, n_restarts=3, random_state=1, n_jobs=jobs) for jobs in (1, 2))
    assert (np.diff(first.history_["objective"]) >= 0).all()
    assert first.history_["objective"].tolist() == second.history_["objective"].tolist()
    assert first.history_["objective"][-1] == first.score
    assert first.edges == second.edges
    assert first.certificate.satisfied


def test_constraints_are_kept():
    rows = draw_rows(500, FOUR, SIZES)
    for method in ("hill_climb", "exact"):
        found = learn_structure(rows, method, required_edges=[("d", "a")], forbidden_edges=[("a", "b"), ("b", "a")])
        assert ("d", "a") in found.edges
        assert not {("a", "b"), ("b", "a")} & set(found.edges)
        tiers = learn_structure(rows, method, tiers=[["d"], ["c", "b"], ["a"]])
        assert all(
            "dcba".index(parent) < "dcba".index(child) or {parent, child} == {"c", "b"} for parent, child in tiers.edges
        )
        assert max(map(len, learn_structure(rows, method, max_parents=1).parents.values())) <= 1


def test_chow_liu_is_the_best_of_all_trees():
    rows = draw_rows(200, FOUR, SIZES)
    names = list(rows)
    trees = [
        edges
        for edges in combinations(combinations(names, 2), 3)
        if len(set().union(*edges)) == 4 and _connects(edges, names)
    ]
    assert len(trees) == 16

    def likelihood(edges):
        return score_structure(_point_away(edges, "a"), rows, "log_likelihood")

    found = learn_structure(rows, "chow_liu", "log_likelihood")
    assert found.score == pytest.approx(max(map(likelihood, trees)))
    assert len(found.edges) == 3


def _connects(edges, names):
    reached = {names[0]}
    for _ in names:
        reached |= {end for edge in edges if set(edge) & reached for end in edge}
    return len(reached) == len(names)


def _point_away(edges, root):
    parents, reached = {root: []}, [root]
    for node in reached:
        for edge in edges:
            if node in edge:
                other = edge[0] if edge[1] == node else edge[1]
                if other not in parents:
                    parents[other] = [node]
                    reached.append(other)
    return parents


@pytest.mark.parametrize("seed", range(12))
def test_pc_with_perfect_tests_finds_the_equivalence_class(seed):
    random = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(7)]
    order = list(random.permutation(names))
    parents = {name: [] for name in names}
    for i, name in enumerate(order):
        parents[name] = [order[j] for j in range(i) if random.random() < 0.35]

    def independent(x, y, given):
        return names[y] not in find_connected(parents, [names[x]], [names[z] for z in given])

    arrows = orient_edges(*find_skeleton(len(names), independent))
    found, truth = PartialGraph.of(names, arrows), find_equivalence_class(parents)
    assert set(found.directed) == set(truth.directed)
    assert {frozenset(edge) for edge in found.undirected} == {frozenset(edge) for edge in truth.undirected}
    # One structure of the class has the class again.
    again = find_equivalence_class(found.parents)
    assert set(again.directed) == set(truth.directed)


@pytest.mark.parametrize("test", ["g2", "chi2", "mutual_information"])
def test_pc_finds_a_collider_and_leaves_a_chain_open(test):
    random = np.random.default_rng(0)
    a, b = random.integers(0, 2, 4000), random.integers(0, 2, 4000)
    noise = random.random(4000) < 0.1
    found = learn_structure({"a": a, "b": b, "c": (a | b) ^ noise}, "pc", test=test, alpha=1e-6)
    assert set(found.edges) == {("a", "c"), ("b", "c")}
    assert found.undirected == []
    d = a ^ (random.random(4000) < 0.1)
    chain = learn_structure({"a": a, "d": d, "e": d ^ (random.random(4000) < 0.1)}, "pc", test=test, alpha=1e-6)
    assert {frozenset(edge) for edge in chain.undirected} == {frozenset("ad"), frozenset("de")}


@pytest.mark.fixed_seed("tables drawn at random may hold next to no dependence, which no number of rows shows")
def test_the_generating_structure_is_recovered_as_rows_grow():
    rows = draw_rows(20_000, FOUR, SIZES, seed=3)
    truth = find_equivalence_class(FOUR)
    for method in ("hill_climb", "exact"):
        found = find_equivalence_class(learn_structure(rows, method).parents)
        assert set(found.directed) == set(truth.directed)


def test_rows_in_a_file_give_the_same_structure(tmp_path):
    rows = draw_rows(300, FOUR, SIZES)
    X = np.column_stack(list(rows.values())).astype(float)
    np.save(tmp_path / "rows.npy", X)
    assert learn_structure(tmp_path / "rows.npy").parents == learn_structure(X).parents
    network = fit_tables({"x1": ["x0"]}, tmp_path / "rows.npy")
    assert network.tables["x1"].tolist() == fit_tables({"x1": ["x0"]}, X).tables["x1"].tolist()
    assert isinstance(network, BayesianNetwork)


def test_bad_constraints_are_refused_with_a_cure():
    rows = draw_rows(20, FOUR, SIZES)
    with pytest.raises(ParameterError, match=r"required_edges must not form a cycle; got a -> b -> a. Drop one"):
        learn_structure(rows, required_edges=[("a", "b"), ("b", "a")])
    with pytest.raises(ParameterError, match="'a' -> 'b' is both required and excluded"):
        learn_structure(rows, required_edges=[("a", "b")], forbidden_edges=[("a", "b")])
    with pytest.raises(ParameterError, match="must name columns of X; got 'z'"):
        learn_structure(rows, forbidden_edges=[("a", "z")])
    with pytest.raises(ParameterError, match="tiers must name every column of X; 'd' is in none"):
        learn_structure(rows, tiers=["abc"])
    with pytest.raises(ParameterError, match="max_parents must be at least the number of required parents"):
        learn_structure(rows, required_edges=[("a", "d"), ("b", "d")], max_parents=1)
    with pytest.raises(UnsupportedError, match="'chow_liu' takes no required or forbidden edges"):
        learn_structure(rows, "chow_liu", max_parents=1)
    with pytest.raises(UnsupportedError, match="at most 20 columns; got 21"):
        learn_structure(np.zeros((3, 21)), "exact")
    with pytest.raises(ParameterError, match="method must be one of"):
        learn_structure(rows, "ges")


def test_unusable_columns_are_refused_with_a_cure():
    with pytest.raises(DataError, match=r"column 'a' must have at most 254 states; got 300. Cut numbers into bins"):
        learn_structure({"a": list(range(300))})
    with pytest.raises(DataError, match="column 'a' must have a value in some row; all are missing"):
        learn_structure({"a": [None, None]}, "chow_liu")
    with pytest.raises(DataError, match="one length"):
        learn_structure({"a": [1, 2], "b": [1]})


def test_a_column_with_one_value_is_independent_of_all():
    rows = draw_rows(100, FOUR, SIZES) | {"e": np.zeros(100, int)}
    assert all("e" not in edge for edge in learn_structure(rows).edges)


def test_measurements_are_announced_before_each_becomes_a_state():
    generator = np.random.default_rng(0)
    table = {"height": generator.normal(size=80), "grade": generator.integers(4, 20, 80) / 4.0}
    with pytest.warns(UserWarning, match="column 'height' holds 80 different numbers in 80 rows") as caught:
        learn_structure(table)
    assert len(caught) == 1


def test_many_columns_of_measurements_give_one_warning():
    table = {f"x{index}": np.random.default_rng(index).normal(size=40) for index in range(12)}
    with pytest.warns(UserWarning, match=r"'x0' holds 40 .* columns 'x1', .*, 'x9' and 2 others\. Cut") as caught:
        learn_structure(table)
    assert len(caught) == 1
