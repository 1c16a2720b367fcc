"""The Bayesian network: a directed acyclic graph whose nodes carry conditional probability tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer.bayesnet._graphs.order import Parents, find_children, read_parents, sort_nodes
from mercer.bayesnet._inference.enumeration import enumerate_joint, multiply_rows
from mercer.bayesnet._inference.junction_tree import JunctionTree
from mercer.bayesnet._network.dicts import read_dicts
from mercer.bayesnet._network.queries import NetworkQueries
from mercer.bayesnet._tables.factor import Factor
from mercer.bayesnet._tables.rows import code_rows
from mercer.bayesnet._tables.table import ProbabilityTable
from mercer.bayesnet._tables.variables import Variables, list_some, read_variables
from mercer.errors import DataError

# How far from one a row of a conditional table may sum: tables in files are printed with few digits.
_SUM_TOLERANCE = 1e-3


@plain
@dataclass(frozen=True, eq=False, init=False, repr=False)
class BayesianNetwork(NetworkQueries):
    """A directed acyclic graph with a conditional probability table at each node.

    The joint distribution is the product P(x) = Π P(x_i | parents of x_i). A network is immutable: learning and
    interventions return new ones. The first query compiles it to a junction tree, which later queries use again.

    Parameters
    ----------
    variables : mapping from names to sequences of states
        States are hashable: text, numbers or truth values.
    parents : mapping from names to sequences of names
        Variables that it leaves out have no parents.
    tables : mapping from names to array-likes
        The table of a variable has one axis per parent, in the order of `parents`, and a last axis over its own states,
        along which it sums to one. A row that sums to one within 0.001 is divided by its sum.

    Attributes
    ----------
    order : tuple of names
        A topological order: parents precede their children.
    children : dict from names to tuples of names
    edges : tuple of pairs (parent, child)
    n_parameters : int
        The free probabilities, Σ (k_i - 1) Π k_parents, where k counts states.

    References
    ----------
    Pearl, J. (1988). Probabilistic Reasoning in Intelligent Systems. Morgan Kaufmann.

    Lauritzen, S. L. and Spiegelhalter, D. J. (1988). Local computations with probabilities on graphical structures and
    their application to expert systems. Journal of the Royal Statistical Society B, 50, 157-224.

    Examples
    --------
    >>> from mercer.bayesnet import BayesianNetwork
    >>> network = BayesianNetwork(
    ...     {"rain": ["yes", "no"], "wet": ["yes", "no"]},
    ...     {"wet": ["rain"]},
    ...     {"rain": [0.3, 0.7], "wet": [[0.9, 0.1], [0.2, 0.8]]},
    ... )
    >>> network.query("rain", {"wet": "yes"}).array.round(3).tolist()
    [0.659, 0.341]
    """

    variables: Variables
    parents: Parents
    tables: dict[Any, np.ndarray]

    def __init__(
        self,
        variables: Mapping[Any, Sequence[Any]],
        parents: Mapping[Any, Sequence[Any]] | None,
        tables: Mapping[Any, Any],
    ) -> None:
        object.__setattr__(self, "variables", variables)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "tables", tables)
        self.check_fields()

    def check_fields(self) -> None:
        """Check variables, graph and tables; raise DataError with what is wrong."""
        variables = read_variables("BayesianNetwork", self.variables)
        parents = read_parents("BayesianNetwork", self.parents, variables)
        sort_nodes("BayesianNetwork", parents)
        object.__setattr__(self, "variables", variables)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "tables", read_tables(variables, parents, self.tables))

    @classmethod
    def from_dicts(
        cls,
        tables: Mapping[Any, Mapping[Any, Any]],
        parents: Mapping[Any, Sequence[Any]] | None = None,
        variables: Mapping[Any, Sequence[Any]] | None = None,
    ) -> "BayesianNetwork":
        """Make a network of nested dicts.

        Parameters
        ----------
        tables : mapping
            A variable without parents has a dict from states to probabilities. Another one has a dict whose keys are
            the states of its parents (a tuple, or a state if there is one parent) and whose values are dicts from its
            own states to probabilities. A state that a row leaves out has probability zero there.
        parents : mapping from names to sequences of names
        variables : mapping from names to sequences of states, optional
            By default the states of a variable are those that its dicts name, in the order of their first mention.

        Examples
        --------
        >>> from mercer.bayesnet import BayesianNetwork
        >>> network = BayesianNetwork.from_dicts(
        ...     {
        ...         "rain": {"yes": 0.3, "no": 0.7},
        ...         "wet": {"yes": {"on": 0.9, "off": 0.1}, "no": {"on": 0.2, "off": 0.8}},
        ...     },
        ...     {"wet": ["rain"]},
        ... )
        >>> network.tables["wet"].tolist()
        [[0.9, 0.1], [0.2, 0.8]]
        """
        return cls(*read_dicts(tables, parents, variables))

    def __repr__(self) -> str:
        return (
            f"BayesianNetwork({len(self.variables)} variables, {len(self.edges)} edges, {self.n_parameters} parameters)"
        )

    def __getstate__(self) -> dict[str, Any]:
        # What is computed on demand is left out: a copy computes it again.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BayesianNetwork):
            return NotImplemented
        return (
            self.variables == other.variables
            and self.parents == other.parents
            and all(np.array_equal(self.tables[name], other.tables[name]) for name in self.variables)
        )

    def __hash__(self) -> int:
        return hash((tuple(self.variables.items()), tuple(self.parents.items())))

    @cached_property
    def order(self) -> tuple[Any, ...]:
        """The variables in an order in which parents precede their children."""
        return sort_nodes("BayesianNetwork", self.parents)

    @cached_property
    def children(self) -> dict[Any, tuple[Any, ...]]:
        """The children of each variable."""
        return find_children(self.parents)

    @property
    def edges(self) -> tuple[tuple[Any, Any], ...]:
        """The edges, as pairs of a parent and a child."""
        return tuple((parent, name) for name, above in self.parents.items() for parent in above)

    @property
    def n_parameters(self) -> int:
        """The number of free probabilities."""
        return sum(table.size // table.shape[-1] * (table.shape[-1] - 1) for table in self.tables.values())

    @cached_property
    def _tree(self) -> JunctionTree:  # type: ignore[override]
        """The compiled network that queries share."""
        return JunctionTree(self)

    def compile(self) -> JunctionTree:
        """Return a junction tree of its own, which holds evidence and can be updated."""
        return JunctionTree(self)

    def factor(self, name: Any) -> Factor:
        """Return the conditional table of a variable as a factor over its parents and itself."""
        names = [*self.parents[name], name]
        return Factor({key: self.variables[key] for key in names}, self.tables[name].reshape(-1))

    def joint_table(self) -> ProbabilityTable:
        """Return the joint distribution of all variables as one table; its size is the product of all state counts."""
        return enumerate_joint(self)

    def log_probability(self, rows: Any) -> np.ndarray:
        """Return the logarithm of the joint probability of each row of complete observations.

        Parameters
        ----------
        rows : DataFrame, mapping from names to columns, or list of dicts
            One column per variable.
        """
        return multiply_rows(self, code_rows("BayesianNetwork", rows, self.variables))

    def with_tables(self, tables: Mapping[Any, Any]) -> "BayesianNetwork":
        """Return a network with some tables replaced."""
        return BayesianNetwork(self.variables, self.parents, {**self.tables, **tables})


def read_tables(
    variables: dict[Any, tuple[Any, ...]], parents: dict[Any, tuple[Any, ...]], tables: Any
) -> dict[Any, np.ndarray]:
    """Check the table of each variable: its shape, its range, and that it sums to one over the variable's states."""
    if not isinstance(tables, Mapping):
        raise DataError(
            f"BayesianNetwork: `tables` must be a mapping from names to arrays; got {type(tables).__name__}."
        )
    if missing := [name for name in variables if name not in tables]:
        raise DataError(
            f"BayesianNetwork: `tables` must have one table per variable; {list_some(missing)} have none. Add them."
        )
    if strange := [name for name in tables if name not in variables]:
        raise DataError(
            f"BayesianNetwork: `tables` must be of variables; {list_some(strange)} are none. Correct their names."
        )
    return {name: _read_table(name, variables, parents[name], tables[name]) for name in variables}


def _read_table(name: Any, variables: dict[Any, tuple[Any, ...]], above: tuple[Any, ...], given: Any) -> np.ndarray:
    shape = (*(len(variables[parent]) for parent in above), len(variables[name]))
    try:
        table = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"BayesianNetwork: the table of {name!r} must hold numbers; got {type(given).__name__}."
        ) from error
    if table.shape != shape:
        raise DataError(
            f"BayesianNetwork: the table of {name!r} must have the shape {shape}, the states of its parents "
            f"{list_some(above)} and its own {len(variables[name])}; got {table.shape}."
        )
    # NaN makes both comparisons false.
    if not (table.min() >= 0 and table.max() <= 1 + _SUM_TOLERANCE):
        worst = table[~((table >= 0) & (table <= 1 + _SUM_TOLERANCE))].flat[0]
        raise DataError(f"BayesianNetwork: the table of {name!r} must hold probabilities in [0, 1]; got {worst:g}.")
    sums = table.sum(axis=-1, keepdims=True)
    errors = np.abs(sums - 1)
    largest = errors.max()
    if largest > _SUM_TOLERANCE:
        place = np.unravel_index(int(errors.argmax()), sums.shape)[:-1]
        states = {parent: variables[parent][code] for parent, code in zip(above, place, strict=True)}
        where = f" given {states!r}" if states else ""
        message = f"BayesianNetwork: the table of {name!r} must sum to 1{where}; got {sums[(*place, 0)]:g}. "
        message += "Divide the row by its sum."
        raise DataError(message)
    # Rows that are right to the last bit stay as they are, so that reading a table twice changes nothing.
    if largest > 4e-16 * shape[-1]:
        table = np.where(errors > 4e-16 * shape[-1], table / sums, table)
    table.flags.writeable = False
    return table
