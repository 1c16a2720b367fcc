"""Bayesian networks: tables of discrete variables, graphs, exact inference, learning, and files."""

from mercer.bayesnet._classifier.classifier import BayesNetClassifier
from mercer.bayesnet._files.bif import format_bif, read_bif
from mercer.bayesnet._files.files import read_network, write_network
from mercer.bayesnet._files.net import format_net, read_net
from mercer.bayesnet._files.xmlbif import format_xmlbif, read_xmlbif
from mercer.bayesnet._graphs.order import topological_order
from mercer.bayesnet._learning.learner import BayesNetLearner
from mercer.bayesnet._learning.partial_graph import PartialGraph, find_equivalence_class
from mercer.bayesnet._learning.search import LearntStructure, learn_structure, score_structure
from mercer.bayesnet._learning.table_fit import fit_tables
from mercer.bayesnet._network.network import BayesianNetwork
from mercer.bayesnet._tables.event import Event
from mercer.bayesnet._tables.factor import Factor, GrowthWarning
from mercer.bayesnet._tables.table import ProbabilityTable

__all__ = [
    "BayesNetClassifier",
    "BayesNetLearner",
    "BayesianNetwork",
    "Event",
    "Factor",
    "GrowthWarning",
    "LearntStructure",
    "PartialGraph",
    "ProbabilityTable",
    "find_equivalence_class",
    "fit_tables",
    "format_bif",
    "format_net",
    "format_xmlbif",
    "learn_structure",
    "read_bif",
    "read_net",
    "read_network",
    "read_xmlbif",
    "score_structure",
    "topological_order",
    "write_network",
]
