"""Graphs: orders, moral graphs, triangulations against the optimum, cliques, decompositions, junction trees."""

import itertools

import numpy as np
import pytest

from mercer.bayesnet import (
    decompose,
    is_chordal,
    is_decomposable,
    junction_tree,
    load_burglary,
    maximal_cliques,
    moral_graph,
    separates,
    topological_order,
    triangulate,
)
from mercer.errors import DataError, ParameterError, UnsupportedError

RULES = ("min_fill", "min_weight", "min_width", "min_degree", "weighted_min_fill")
SQUARE = {"a": {"b", "d"}, "b": {"c"}, "c": {"d"}, "d": set()}


def draw_graph(random, n, density):
    graph = {node: set() for node in range(n)}
    for first, second in itertools.combinations(range(n), 2):
        if random.random() < density:
            graph[first].add(second)
            graph[second].add(first)
    return graph


def has_chordless_cycle(graph):
    """Search all sets of at least four nodes: one whose induced graph is a cycle is a cycle without a chord."""
    for size in range(4, len(graph) + 1):
        for nodes in itertools.combinations(graph, size):
            inside = {node: graph[node] & set(nodes) for node in nodes}
            if all(len(around) == 2 for around in inside.values()):
                reached, stack = {nodes[0]}, [nodes[0]]
                while stack:
                    fresh = inside[stack.pop()] - reached
                    reached |= fresh
                    stack.extend(fresh)
                if len(reached) == size:
                    return True
    return False


@pytest.mark.catalogue("GM-04")
def test_a_topological_order_puts_parents_first_and_a_cycle_is_named():
    parents = {"d": ["b", "c"], "b": ["a"], "c": ["a"]}
    order = topological_order(parents)
    assert order == ("a", "b", "c", "d")
    with pytest.raises(DataError, match=r"no directed cycle; it has c -> b -> a -> c\. Remove one of these edges"):
        topological_order({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]})
    with pytest.raises(DataError, match=r"it has a -> a\."):
        topological_order({"a": ["a"]})


@pytest.mark.catalogue("GM-09")
def test_the_moral_graph_joins_parents_and_every_family_is_complete():
    assert moral_graph({"b": ["a"], "c": ["b"]}) == {"a": {"b"}, "b": {"a", "c"}, "c": {"b"}}
    collider = moral_graph({"c": ["a", "b"]})
    assert collider["a"] == {"b", "c"}
    network = load_burglary()
    graph = network.moral_graph()
    assert graph["burglary"] == {"earthquake", "alarm"}
    for name, above in network.parents.items():
        for first, second in itertools.combinations((name, *above), 2):
            assert second in graph[first]


@pytest.mark.catalogue("GM-10")
def test_a_square_needs_one_fill_edge_and_a_chordal_graph_none():
    for rule in (*RULES, "exact"):
        assert len(triangulate(SQUARE, rule).fill_edges) == 1
        assert triangulate({"a": {"b", "c"}, "b": {"c"}, "c": {"d"}, "d": set()}, rule).fill_edges == ()
    assert not is_chordal(SQUARE)
    assert is_chordal(triangulate(SQUARE).graph)


@pytest.mark.catalogue("GM-10")
def test_chordality_is_the_absence_of_chordless_cycles_and_means_decomposable():
    random = np.random.default_rng(0)
    for _ in range(150):
        graph = draw_graph(random, int(random.integers(1, 8)), random.choice([0.3, 0.6]))
        assert is_chordal(graph) == (not has_chordless_cycle(graph)) == is_decomposable(graph)


@pytest.mark.catalogue("GM-10")
def test_every_rule_triangulates_and_none_beats_the_exact_optimum():
    random = np.random.default_rng(1)
    for _ in range(60):
        graph = draw_graph(random, int(random.integers(2, 9)), 0.4)
        counts = {node: int(random.integers(2, 5)) for node in graph}
        narrow = triangulate(graph, "exact", n_states=counts)
        orders = itertools.permutations(graph) if len(graph) <= 6 else ()
        best = min((measure_width(graph, order) for order in orders), default=narrow.width)
        assert narrow.width == best
        for rule in RULES:
            result = triangulate(graph, rule, n_states=counts)
            assert is_chordal(result.graph)
            assert result.width >= narrow.width
            assert {frozenset(c) for c in result.cliques} == {frozenset(c) for c in maximal_cliques(result.graph)}


def measure_width(graph, order):
    """The largest number of neighbours that a node has when it is eliminated, by plain sets."""
    left = {node: set(around) for node, around in graph.items()}
    width = 0
    for node in order:
        around = left.pop(node)
        width = max(width, len(around))
        for other in around:
            left[other] = (left[other] | around) - {other, node}
    return width


def test_the_exact_rule_minimises_the_total_size_when_asked():
    random = np.random.default_rng(2)
    for _ in range(10):
        graph = draw_graph(random, 6, 0.5)
        counts = {node: int(random.integers(2, 7)) for node in graph}
        best = min(sum_steps(graph, order, counts) for order in itertools.permutations(graph))
        order = triangulate(graph, "exact", n_states=counts, criterion="size").order
        assert sum_steps(graph, order, counts) == pytest.approx(best)


def sum_steps(graph, order, counts):
    left = {node: set(around) for node, around in graph.items()}
    total = 0
    for node in order:
        around = left.pop(node)
        total += np.prod([counts[other] for other in (node, *around)])
        for other in around:
            left[other] = (left[other] | around) - {other, node}
    return total


@pytest.mark.catalogue("GM-11")
def test_separation_agrees_with_a_search_of_all_paths():
    random = np.random.default_rng(3)
    for _ in range(80):
        graph = draw_graph(random, 6, 0.35)
        nodes = random.permutation(6).tolist()
        first, second, given = nodes[:1], nodes[1:2], nodes[2 : 2 + int(random.integers(3))]
        assert separates(graph, first, second, given) == (not find_path(graph, first[0], second[0], set(given)))


def find_path(graph, start, goal, blocked, seen=()):
    if start == goal:
        return True
    return any(
        find_path(graph, other, goal, blocked, (*seen, start))
        for other in graph[start]
        if other not in blocked and other not in seen
    )


@pytest.mark.catalogue("GM-11")
def test_a_proper_decomposition_is_complete_and_separates():
    random = np.random.default_rng(4)
    for _ in range(80):
        graph = draw_graph(random, 7, 0.4)
        parts = decompose(graph)
        complete = [
            set(middle)
            for size in range(6)
            for middle in itertools.combinations(graph, size)
            if all(b in graph[a] for a, b in itertools.combinations(middle, 2))
        ]
        exists = any(splits(graph, middle) for middle in complete)
        assert (parts is not None) == exists
        if parts is not None:
            assert separates(graph, parts.first, parts.second, parts.separator)
            assert all(b in graph[a] for a, b in itertools.combinations(parts.separator, 2))
            assert parts.first
            assert parts.second
            assert len({*parts.first, *parts.second, *parts.separator}) == 7


def splits(graph, middle):
    rest = [node for node in graph if node not in middle]
    return any(separates(graph, [a], [b], middle) for a, b in itertools.combinations(rest, 2))


@pytest.mark.catalogue("GM-12")
def test_the_greatest_spanning_tree_of_cliques_has_running_intersection():
    random = np.random.default_rng(5)
    for _ in range(60):
        graph = triangulate(draw_graph(random, 9, 0.3)).graph
        tree = junction_tree(maximal_cliques(graph))
        assert tree.has_running_intersection()
    star = junction_tree([["a", "b"], ["a", "c"], ["a", "d"]])
    assert len(star.edges) == 2
    square = junction_tree([["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"]])
    assert not square.has_running_intersection()


def test_wrong_graphs_are_refused():
    with pytest.raises(DataError, match="a neighbour must be a node of the graph; 'a' has the neighbour 'z'"):
        is_chordal({"a": {"z"}})
    with pytest.raises(DataError, match="a neighbour must be another node; 'a' has the neighbour 'a'"):
        triangulate({"a": {"a"}})
    with pytest.raises(DataError, match="`graph` must be chordal"):
        maximal_cliques(SQUARE)
    with pytest.raises(DataError, match="the three sets must have no common member"):
        separates(SQUARE, ["a"], ["a"], [])
    with pytest.raises(ParameterError, match="`rule` must be one of"):
        triangulate(SQUARE, "best")
    with pytest.raises(UnsupportedError, match="searches all sets of at most 18 nodes; got 30 nodes"):
        triangulate({node: set() for node in range(30)}, "exact")
    with pytest.raises(DataError, match=r"the parents of 'a' must be a sequence of names; got 'b'\. Write \['b'\]"):
        topological_order({"a": "b"})
