"""Probability tables: exclusive and exhaustive atomic events with their probabilities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer.bayesnet._tables.event import Proposition, check_proposition
from mercer.bayesnet._tables.factor import Factor, join_variables, multiply_aligned, warn_of_growth
from mercer.bayesnet._tables.rows import count_rows, find_variables
from mercer.bayesnet._tables.variables import list_some, read_evidence, read_targets, read_variables
from mercer.errors import DataError

# How far from one the sum of a table may be: well above the rounding of tables printed with six digits.
_SUM_TOLERANCE = 1e-5


@plain
@dataclass(frozen=True, eq=False, repr=False)
class ProbabilityTable(Factor):
    """The joint distribution of some named discrete variables, as one table.

    Each entry is the probability of an atomic event, a combination of one state per variable. The events exclude each
    other and one of them happens, so the entries sum to one. The size is the product of the numbers of states; a
    :class:`GrowthWarning` says when that becomes large.

    Parameters
    ----------
    variables : mapping from names to states
        The order of the names is the order of the axes.
    values : array-like
        Probabilities, with one axis per variable or flat, the last variable running fastest.

    Examples
    --------
    >>> from mercer.bayesnet import Event, ProbabilityTable
    >>> table = ProbabilityTable(
    ...     {"rain": ["yes", "no"], "wet": ["yes", "no"]}, [[0.27, 0.03], [0.14, 0.56]]
    ... )
    >>> round(table.probability(Event("rain", "yes") | Event("wet", "yes")), 2)
    0.44
    >>> table.condition({"wet": "yes"}).array.round(3).tolist()
    [0.659, 0.341]
    """

    def check_fields(self) -> None:
        """Check variables and values, and that these sum to one."""
        super().check_fields()
        total = self.total()
        if abs(total - 1) > _SUM_TOLERANCE:
            raise DataError(
                f"ProbabilityTable: `values` must sum to 1; got {total:g}. Divide by the sum, or use a Factor."
            )

    @classmethod
    def from_counts(cls, variables: Mapping[Any, Sequence[Any]], counts: Any, prior: float = 0.0) -> "ProbabilityTable":
        """Return the relative frequencies of counted atomic events; `prior` is added to every count."""
        factor = Factor(read_variables("ProbabilityTable", variables), counts)
        return Factor(factor.variables, factor.values + prior).normalise()

    @classmethod
    def fit(
        cls,
        rows: Any,
        variables: Mapping[Any, Sequence[Any]] | None = None,
        sample_weight: Any = None,
        prior: float = 0.0,
    ) -> "ProbabilityTable":
        """Return the relative frequencies of the combinations of states in a table of rows.

        Parameters
        ----------
        rows : DataFrame or mapping from names to columns
            One column per variable.
        variables : mapping from names to states, optional
            The states of each variable; by default those that the column holds, sorted.
        sample_weight : array-like, optional
            A weight per row.
        prior : float
            A count that is added to every combination.
        """
        known = find_variables("ProbabilityTable", rows, variables)
        warn_of_growth("ProbabilityTable", known)
        return cls.from_counts(known, count_rows("ProbabilityTable", rows, known, sample_weight), prior)

    def marginal(self, names: Any) -> "ProbabilityTable":
        """Return the distribution of some variables, the others summed out; axes are in the order of `names`."""
        wanted = read_targets("ProbabilityTable", self.variables, names) if names != [] and names != () else []
        rest = [name for name in self.variables if name not in set(wanted)]
        summed = self.sum_out(rest)
        return ProbabilityTable(summed.variables, summed.values).reorder(wanted)

    def condition(self, evidence: Mapping[Any, Any]) -> "ProbabilityTable":
        """Return the distribution of the other variables, given the states in `evidence`."""
        codes = read_evidence("ProbabilityTable", self.variables, evidence)
        reduced = self.reduce(evidence)
        if not reduced.total() > 0:
            raise DataError(f"ProbabilityTable: the evidence {dict(evidence)!r} has probability zero in this table.")
        if len(codes) == len(self.variables):
            raise DataError("ProbabilityTable: `evidence` must leave at least one variable; it names all of them.")
        return reduced.normalise()

    def conditional(self, targets: Any, given: Any) -> Factor:
        """Return the factor P(targets | given); it is zero where the condition has probability zero."""
        targets = read_targets("ProbabilityTable", self.variables, targets)
        given = read_targets("ProbabilityTable", self.variables, given) if given else []
        joint = self.marginal([*given, *targets])
        return joint.divide(joint.marginal(given)) if given else joint

    def product(self, other: Factor) -> "ProbabilityTable":
        """Return the joint table P(x) P(y | x), where `other` is the conditional factor, or of an independent table."""
        variables = join_variables("ProbabilityTable", self.variables, other.variables)
        warn_of_growth("ProbabilityTable", variables)
        values = multiply_aligned(variables, [self, other])
        if abs(values.sum() - 1) > _SUM_TOLERANCE:
            raise DataError(
                f"ProbabilityTable: a product of probabilities must sum to 1; this one sums to {values.sum():g}. "
                f"Multiply by a conditional factor, made by `conditional`, or use Factor.product; the tables share "
                f"{list_some([name for name in self.variables if name in other.variables])}."
            )
        return ProbabilityTable(variables, values)

    def probability(self, proposition: Proposition | Mapping[Any, Any]) -> float:
        """Return the probability of a proposition made of events by ``&``, ``|`` and ``~``, or of a set of states."""
        if isinstance(proposition, Mapping):
            return self.reduce(proposition).total()
        check_proposition(proposition)
        table = self.marginal(proposition.variable_names())
        truth = np.broadcast_to(proposition.holds(table.variables), table.shape)
        return float(table.array[truth].sum())

    def entropy(self) -> float:
        """Return the entropy in nats."""
        positive = self.values[self.values > 0]
        return float(-(positive * np.log(positive)).sum())

    def most_probable(self) -> dict[Any, Any]:
        """Return the most probable atomic event, the first of equal ones."""
        free = self.drop_observed()
        chosen = dict(zip(free.variables, np.unravel_index(int(self.values.argmax()), free.shape), strict=True))
        return {name: states[int(chosen.get(name, 0))] for name, states in self.variables.items()}

    def to_dict(self) -> dict[Any, float]:
        """Return the probabilities by state, or by tuple of states if there are several variables."""
        import itertools

        keys = itertools.product(*self.variables.values())
        one = len(self.variables) == 1
        return {key[0] if one else key: float(value) for key, value in zip(keys, self.values, strict=True)}
