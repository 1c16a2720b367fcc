"""Bayesian networks: tables of discrete variables, graphs, exact inference, learning, and files.

A network is a directed acyclic graph whose nodes carry conditional probability tables. Questions are answered exactly,
by a junction tree that is compiled once and run in native code; approximations exist for networks that are too wide.
"""

from mercer.bayesnet._causal.adjustment import adjustment_sets, front_door_sets
from mercer.bayesnet._causal.intervention import causal_effect, intervene
from mercer.bayesnet._classifier.classifier import BayesNetClassifier
from mercer.bayesnet._drawing.layout import GraphLayout, lay_out_graph
from mercer.bayesnet._drawing.svg import draw_graph
from mercer.bayesnet._files.bif import format_bif, read_bif
from mercer.bayesnet._files.files import read_network, write_network
from mercer.bayesnet._files.net import format_net, read_net
from mercer.bayesnet._files.xmlbif import format_xmlbif, read_xmlbif
from mercer.bayesnet._graphs.cliques import (
    CliqueTree,
    Decomposition,
    decompose,
    is_decomposable,
    junction_tree,
    maximal_cliques,
)
from mercer.bayesnet._graphs.order import topological_order
from mercer.bayesnet._graphs.triangulation import Triangulation, is_chordal, triangulate
from mercer.bayesnet._graphs.undirected import moral_graph, separates
from mercer.bayesnet._inference.approximation import Approximation
from mercer.bayesnet._inference.explanation import Explanation
from mercer.bayesnet._inference.forecast import Forecast
from mercer.bayesnet._inference.junction_tree import JunctionTree
from mercer.bayesnet._inference.many_cases import Marginals
from mercer.bayesnet._inference.sensitivity import Sensitivity
from mercer.bayesnet._learning.learner import BayesNetLearner
from mercer.bayesnet._learning.partial_graph import PartialGraph, find_equivalence_class
from mercer.bayesnet._learning.search import LearntStructure, learn_structure, score_structure
from mercer.bayesnet._learning.table_fit import fit_tables
from mercer.bayesnet._network.examples import load_burglary, load_dentist, load_meningitis, load_sprinkler
from mercer.bayesnet._network.generation import make_network, random_network
from mercer.bayesnet._network.network import BayesianNetwork
from mercer.bayesnet._tables.event import Event
from mercer.bayesnet._tables.factor import Factor, GrowthWarning
from mercer.bayesnet._tables.independence import conditional_independence, conditional_mutual_information
from mercer.bayesnet._tables.table import ProbabilityTable

__all__ = [
    "Approximation",
    "BayesNetClassifier",
    "BayesNetLearner",
    "BayesianNetwork",
    "CliqueTree",
    "Decomposition",
    "Event",
    "Explanation",
    "Factor",
    "Forecast",
    "GraphLayout",
    "GrowthWarning",
    "JunctionTree",
    "LearntStructure",
    "Marginals",
    "PartialGraph",
    "ProbabilityTable",
    "Sensitivity",
    "Triangulation",
    "adjustment_sets",
    "causal_effect",
    "conditional_independence",
    "conditional_mutual_information",
    "decompose",
    "draw_graph",
    "find_equivalence_class",
    "fit_tables",
    "format_bif",
    "format_net",
    "format_xmlbif",
    "front_door_sets",
    "intervene",
    "is_chordal",
    "is_decomposable",
    "junction_tree",
    "lay_out_graph",
    "learn_structure",
    "load_burglary",
    "load_dentist",
    "load_meningitis",
    "load_sprinkler",
    "make_network",
    "maximal_cliques",
    "moral_graph",
    "random_network",
    "read_bif",
    "read_net",
    "read_network",
    "read_xmlbif",
    "score_structure",
    "separates",
    "topological_order",
    "triangulate",
    "write_network",
]
