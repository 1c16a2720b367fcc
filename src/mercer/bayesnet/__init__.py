"""Bayesian networks: tables of discrete variables, graphs, exact inference, learning, and files."""

from mercer.bayesnet._graphs.order import topological_order
from mercer.bayesnet._network.network import BayesianNetwork
from mercer.bayesnet._tables.event import Event
from mercer.bayesnet._tables.factor import Factor, GrowthWarning
from mercer.bayesnet._tables.table import ProbabilityTable

__all__ = ["BayesianNetwork", "Event", "Factor", "GrowthWarning", "ProbabilityTable", "topological_order"]
