"""How a posterior depends on one entry of a conditional table.

The probability of any event is linear in the entry θ when the rest of its row changes in proportion. A posterior is
therefore (a + b θ) / (c + d θ), and its derivative (b c - a d) / (c + d θ)².
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._plain import plain
from mercer.bayesnet._tables.variables import list_some, read_evidence
from mercer.errors import DataError

if TYPE_CHECKING:
    from mercer.bayesnet._network.network import BayesianNetwork


@plain
@dataclass(frozen=True)
class Sensitivity:
    """A posterior as a function of one entry of a table.

    Attributes
    ----------
    entry : float
        The entry as it is in the network.
    posterior : float
        The posterior there.
    derivative : float
        Its derivative by the entry, other entries of the row changing in proportion.
    coefficients : tuple of four floats
        a, b, c, d in the posterior (a + b θ) / (c + d θ).
    """

    entry: float
    posterior: float
    derivative: float
    coefficients: tuple[float, float, float, float]

    def at(self, entry: float) -> float:
        """Return the posterior for another value of the entry, in [0, 1]."""
        a, b, c, d = self.coefficients
        return (a + b * entry) / (c + d * entry)


def measure_sensitivity(
    network: "BayesianNetwork", target: Mapping[Any, Any], evidence: Mapping[Any, Any], parameter: Mapping[Any, Any]
) -> Sensitivity:
    """Return the posterior of `target` given `evidence` as a function of the entry that `parameter` names."""
    codes = read_evidence("BayesianNetwork", network.variables, parameter)
    read_evidence("BayesianNetwork", network.variables, target)
    # The variable whose family is exactly what `parameter` names owns the entry.
    owner = [name for name in codes if {*network.parents[name], name} == set(codes)]
    if len(owner) != 1:
        raise DataError(
            "BayesianNetwork: `parameter` must name a state of one variable and of each of its parents; got "
            f"{list_some(list(codes))}."
        )
    wrong = [name for name in target if name in evidence and evidence[name] != target[name]]
    if wrong or not target:
        raise DataError(
            "BayesianNetwork: `target` must name a variable and agree with the evidence; got "
            f"{dict(target)!r} with {dict(evidence)!r}."
        )
    name = owner[0]
    place = tuple(codes[parent] for parent in network.parents[name])
    row = network.tables[name][place]
    entry = float(row[codes[name]])
    # P(evidence, target) = a + b theta and P(evidence) = c + d theta.
    first = _split(network, {**evidence, **target}, name, place, row, codes[name])
    second = _split(network, evidence, name, place, row, codes[name])
    (a, b), (c, d) = first, second
    below = c + d * entry
    if not below > 0:
        network.query(name, evidence)  # raises, and says which findings contradict each other
    return Sensitivity(entry, (a + b * entry) / below, (b * c - a * d) / below**2, (a, b, c, d))


def _split(
    network: "BayesianNetwork", event: Mapping[Any, Any], name: Any, place: tuple[int, ...], row: np.ndarray, code: int
) -> tuple[float, float]:
    """Return the constant and the slope of the probability of an event as a function of an entry.

    With the row replaced by point masses at each of its states, P(event) is known for each; any other row mixes these
    linearly, because the row enters the joint probability once.
    """
    masses = np.empty(len(row))
    for state in range(len(row)):
        table = network.tables[name].copy()
        table[place] = np.eye(len(row))[state]
        masses[state] = network.with_tables({name: table}).probability(event)
    others = 1 - row[code]
    # If the entry is one, its row has no proportions to keep: the others share alike.
    share = np.delete(row, code) / others if others > 0 else np.full(len(row) - 1, 1 / max(len(row) - 1, 1))
    rest = float(share @ np.delete(masses, code)) if len(row) > 1 else float(masses[code])
    return rest, float(masses[code] - rest)
