"""What a network can be asked: probabilities of evidence, posteriors, explanations, samples and separations."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mercer.bayesnet._inference.elimination import eliminate_query
from mercer.bayesnet._inference.enumeration import enumerate_query
from mercer.bayesnet._tables.table import ProbabilityTable
from mercer.bayesnet._tables.variables import read_evidence, read_soft_evidence, require_variables

if TYPE_CHECKING:
    from mercer.bayesnet._network.network import BayesianNetwork

__all__ = ["NetworkQueries"]

_METHODS = {"elimination": eliminate_query, "enumeration": enumerate_query}


class NetworkQueries:
    """The questions that :class:`BayesianNetwork` answers."""

    def query(
        self: "BayesianNetwork",
        targets: Any,
        evidence: Mapping[Any, Any] | None = None,
        *,
        soft_evidence: Mapping[Any, Any] | None = None,
        method: str = "auto",
    ) -> ProbabilityTable:
        """Return the joint posterior of some variables given evidence, axes in the order of `targets`."""
        wanted = [targets] if isinstance(targets, str) or targets in self.variables else list(targets)
        require_variables("BayesianNetwork", self.variables, wanted)
        codes = read_evidence("BayesianNetwork", self.variables, evidence)
        likelihoods = read_soft_evidence("BayesianNetwork", self.variables, soft_evidence)
        factor = _METHODS.get(method, eliminate_query)(self, wanted, codes, likelihoods)
        return factor.normalise()
