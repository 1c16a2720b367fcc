"""Drawings of networks: nodes and edges are those of the model, boxes do not overlap, arrows point down."""

from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from mercer.bayesnet import (
    draw_graph,
    find_equivalence_class,
    junction_tree,
    lay_out_graph,
    load_burglary,
    moral_graph,
    random_network,
    triangulate,
)
from mercer.bayesnet._drawing.layout import arrange_layers
from mercer.errors import ParameterError
from mercer.inspection import NetworkDisplay

SVG = "{http://www.w3.org/2000/svg}"


def pairs(edges):
    return {frozenset(edge) for edge in edges}


def joined(graph):
    return {frozenset((name, other)) for name, others in graph.items() for other in others}


@pytest.mark.catalogue("PL-21")
@pytest.mark.parametrize("seed", range(4))
def test_nodes_and_edges_are_those_of_the_model(seed):
    network = random_network(9, max_parents=3, random_state=seed)
    parents = network.parents
    dag = lay_out_graph(network)
    assert {node.name for node in dag.nodes} == set(network.variables)
    assert {(edge.start, edge.end) for edge in dag.edges} == set(network.edges)
    moral = moral_graph(parents)
    assert pairs((edge.start, edge.end) for edge in lay_out_graph(network, "moral").edges) == joined(moral)
    chordal = triangulate(moral)
    drawn = lay_out_graph(network, "chordal")
    assert pairs((edge.start, edge.end) for edge in drawn.edges) == joined(chordal.graph)
    filled = {frozenset((edge.start, edge.end)) for edge in drawn.edges if edge.kind == "fill"}
    assert filled == pairs(chordal.fill_edges)
    tree = junction_tree(chordal.cliques)
    cliques = lay_out_graph(network, "junction_tree")
    assert {node.name for node in cliques.nodes} == set(tree.cliques)
    assert pairs((edge.start, edge.end) for edge in cliques.edges) == pairs(
        (tree.cliques[first], tree.cliques[second]) for first, second in tree.edges
    )


@pytest.mark.catalogue("PL-21")
def test_matplotlib_shows_every_node_edge_and_separator():
    network = load_burglary()
    display = NetworkDisplay.from_network(network, plot=True)
    assert set(display.nodes_) == set(network.variables)
    assert set(display.edges_) == set(network.edges)
    tree = NetworkDisplay.from_network(network, kind="junction_tree", plot=True)
    assert len(tree.nodes_) == 3
    assert len(tree.separators_) == 2


def test_the_svg_is_well_formed_and_complete():
    network = load_burglary()
    root = ElementTree.fromstring(draw_graph(network))
    titles = [group.find(f"{SVG}title").text for group in root.iter(f"{SVG}g") if group.get("class") == "edge"]
    assert set(titles) == {f"{parent} -> {child}" for parent, child in network.edges}
    nodes = [group for group in root.iter(f"{SVG}g") if group.get("class") == "node"]
    assert len(nodes) == len(network.variables)
    assert "&lt;b&gt;" in draw_graph({"<b>": []})


@pytest.mark.parametrize("seed", range(4))
def test_arrows_point_down_and_boxes_do_not_overlap(seed):
    layout = lay_out_graph(random_network(14, max_parents=3, random_state=seed))
    boxes = {node.name: node for node in layout.nodes}
    assert all(boxes[edge.start].y < boxes[edge.end].y for edge in layout.edges)
    for first, second in combinations(layout.nodes, 2):
        if first.y == second.y:
            assert abs(first.x - second.x) >= (first.width + second.width) / 2
    assert all(node.x - node.width / 2 >= 0 and node.x + node.width / 2 <= layout.width for node in layout.nodes)


def test_crossings_that_need_not_be_are_removed():
    # A tree and a ladder can be drawn without crossings, whatever the order of their nodes.
    order = np.random.default_rng(0).permutation(15)
    tree = [(int(order[(i - 1) // 2]), int(order[i])) for i in range(1, 15)]
    assert arrange_layers(15, tree, [30.0] * 15, 10.0, 50.0).n_crossings == 0
    assert arrange_layers(4, [(0, 3), (1, 2)], [30.0] * 4, 10.0, 50.0).n_crossings == 0
    assert arrange_layers(4, [(0, 2), (0, 3), (1, 2), (1, 3)], [30.0] * 4, 10.0, 50.0).n_crossings == 1


def test_undirected_edges_have_no_heads_and_empty_graphs_are_drawn():
    layout = lay_out_graph(find_equivalence_class({"b": ["a"]}))
    assert [edge.kind for edge in layout.edges] == ["line"]
    assert lay_out_graph({"a": []}).edges == []
    with pytest.raises(ParameterError, match="kind must be one of 'dag', 'moral'"):
        lay_out_graph({"a": []}, "circle")


def test_a_display_is_saved_and_shown_by_notebooks(tmp_path):
    display = NetworkDisplay.from_network({"b": ["a"]})
    display.save(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == display._repr_html_()
