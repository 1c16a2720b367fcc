"""The Bayesian network: a directed acyclic graph whose nodes carry conditional probability tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer.bayesnet._graphs.order import Parents, find_children, read_parents, sort_nodes
from mercer.bayesnet._graphs.separation import find_blanket, find_connected
from mercer.bayesnet._graphs.undirected import Graph, moral_graph
from mercer.bayesnet._inference.answers import add_observed, answer, answer_all, measure_evidence
from mercer.bayesnet._inference.approximation import Approximation, approximate
from mercer.bayesnet._inference.contradiction import raise_contradiction
from mercer.bayesnet._inference.elimination import eliminate_query
from mercer.bayesnet._inference.enumeration import enumerate_joint, enumerate_query, multiply_rows
from mercer.bayesnet._inference.explanation import Explanation, explain_some
from mercer.bayesnet._inference.forecast import Forecast
from mercer.bayesnet._inference.junction_tree import JunctionTree
from mercer.bayesnet._inference.sampling import draw_ancestrally, draw_given
from mercer.bayesnet._inference.sensitivity import Sensitivity, measure_sensitivity
from mercer.bayesnet._tables.factor import Factor
from mercer.bayesnet._tables.rows import code_rows
from mercer.bayesnet._tables.table import ProbabilityTable
from mercer.bayesnet._tables.variables import (
    Variables,
    find_state,
    list_some,
    read_evidence,
    read_soft_evidence,
    read_targets,
    read_variables,
)
from mercer.errors import DataError, ParameterError

# Variables of a network that a notebook still draws: the picture of more is wider than a page.
_MOST_DRAWN = 60
_METHODS = ("auto", "junction_tree", "elimination", "enumeration")


def _name_states(states: tuple[Any, ...]) -> np.ndarray:
    """Return states as an array that codes can index; of objects, unless NumPy has a type for all of them."""
    kinds = {type(state) for state in states}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        return np.array(states)
    array = np.empty(len(states), dtype=object)
    array[:] = states
    return array


def read_dicts(
    tables: Mapping[Any, Mapping[Any, Any]],
    parents: Mapping[Any, Sequence[Any]] | None,
    variables: Mapping[Any, Sequence[Any]] | None,
) -> tuple[Variables, dict[Any, tuple[Any, ...]], dict[Any, np.ndarray]]:
    """Return variables, parents and tables as arrays, read from nested dicts."""
    above = read_parents("BayesianNetwork", parents, tables)
    if variables is None:
        variables = {name: _find_states(name, table, bool(above[name])) for name, table in tables.items()}
    known = read_variables("BayesianNetwork", variables)
    return known, above, {name: _fill_table(name, table, known, above[name]) for name, table in tables.items()}


def _find_states(name: Any, table: Any, has_parents: bool) -> list[Any]:
    rows = list(table.values()) if has_parents else [table]
    if not all(isinstance(row, Mapping) for row in rows):
        raise DataError(
            f"BayesianNetwork: the table of {name!r} must be a dict from the states of its parents to dicts from its "
            "own states to probabilities."
        )
    return list(dict.fromkeys(state for row in rows for state in row))


def _fill_table(name: Any, table: Mapping[Any, Any], variables: Variables, above: tuple[Any, ...]) -> np.ndarray:
    shape = (*(len(variables[parent]) for parent in above), len(variables[name]))
    filled = np.zeros(shape)
    seen = np.zeros(shape[:-1], dtype=bool)
    for key, row in table.items() if above else [((), table)]:
        states = key if len(above) != 1 or isinstance(key, tuple) else (key,)
        if not isinstance(states, tuple) or len(states) != len(above):
            raise DataError(
                f"BayesianNetwork: a key in the table of {name!r} must hold one state for each of the parents "
                f"{list_some(above)}; got {key!r}."
            )
        place = tuple(
            find_state("BayesianNetwork", variables, parent, state) for parent, state in zip(above, states, strict=True)
        )
        seen[place] = True
        for state, probability in row.items():
            filled[(*place, find_state("BayesianNetwork", variables, name, state))] = probability
    if not seen.all():
        gap = np.unravel_index(int(np.argmin(seen)), seen.shape)
        missing = tuple(variables[parent][code] for parent, code in zip(above, gap, strict=True))
        raise DataError(f"BayesianNetwork: the table of {name!r} must have a row for the parents' states {missing!r}.")
    return filled


# How far from one a row of a conditional table may sum: tables in files are printed with few digits.
_SUM_TOLERANCE = 1e-3


@plain
@dataclass(frozen=True, eq=False, init=False, repr=False)
class BayesianNetwork:
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

    def _repr_html_(self) -> str:
        if len(self.variables) > _MOST_DRAWN:
            return f"<pre>{escape(repr(self))}</pre>"
        from mercer.bayesnet._drawing.svg import draw_graph

        return f"<figure>{draw_graph(self)}<figcaption>{escape(repr(self))}</figcaption></figure>"

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
    def _tree(self) -> JunctionTree:
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

    def query(
        self,
        targets: Any,
        evidence: Mapping[Any, Any] | None = None,
        *,
        soft_evidence: Mapping[Any, Any] | None = None,
        method: str = "auto",
    ) -> ProbabilityTable:
        """Return the joint posterior of some variables given evidence, exactly.

        Parameters
        ----------
        targets : name or sequence of names
            The axes of the answer, in this order.
        evidence : mapping from variables to states
        soft_evidence : mapping from variables to likelihoods
            P(observation | state) for each state of the variable, in its order, or a mapping from states.
        method : {"auto", "junction_tree", "elimination", "enumeration"}
            All give the same answer. ``"auto"`` and ``"junction_tree"`` use the compiled network, and variable
            elimination if no clique holds all targets. Enumeration builds the table over all variables.

        Examples
        --------
        >>> from mercer.bayesnet import load_burglary
        >>> load_burglary().query("burglary", {"john": "yes", "mary": "yes"}).values.round(6).tolist()
        [0.284172, 0.715828]
        """
        if method not in _METHODS:
            message = f"BayesianNetwork: `method` must be one of {list(_METHODS)}; got {method!r}. "
            raise ParameterError(message + "Use `approximate` for approximations.")
        names = read_targets("BayesianNetwork", self.variables, targets)
        if method in ("auto", "junction_tree"):
            return answer(self._tree, names, *self._tree.read_codes(evidence, soft_evidence))
        codes = read_evidence("BayesianNetwork", self.variables, evidence)
        likelihoods = read_soft_evidence("BayesianNetwork", self.variables, soft_evidence)
        compute = eliminate_query if method == "elimination" else enumerate_query
        # What is observed is known; the other targets are computed.
        hidden = [name for name in names if name not in codes]
        factor = compute(self, hidden, codes, likelihoods)  # type: ignore[arg-type]
        if not factor.total() > 0:
            raise_contradiction(self._tree, *self._tree.read_codes(evidence, soft_evidence))
        return add_observed(self._tree, names, self._tree.read_codes(evidence, None)[0], factor)

    def marginals(
        self, evidence: Mapping[Any, Any] | None = None, soft_evidence: Mapping[Any, Any] | None = None
    ) -> dict[Any, ProbabilityTable]:
        """Return the posterior of every variable, by name; `evidence` and `soft_evidence` are as in :meth:`query`."""
        return answer_all(self._tree, *self._tree.read_codes(evidence, soft_evidence))

    def probability(
        self, evidence: Mapping[Any, Any] | None = None, soft_evidence: Mapping[Any, Any] | None = None
    ) -> float:
        """Return the probability of evidence, zero if it is impossible."""
        return float(np.exp(self.log_evidence(evidence, soft_evidence)))

    def log_evidence(
        self, evidence: Mapping[Any, Any] | None = None, soft_evidence: Mapping[Any, Any] | None = None
    ) -> float:
        """Return the logarithm of the probability of evidence, minus infinity if it is impossible."""
        return measure_evidence(self._tree, *self._tree.read_codes(evidence, soft_evidence))

    def most_probable(
        self, evidence: Mapping[Any, Any] | None = None, targets: Sequence[Any] | None = None
    ) -> Explanation:
        """Return the most probable states given evidence.

        Without `targets` these are the states of all variables (most probable explanation), found by maximisation along
        the junction tree. With `targets` the other variables are summed out first (maximum a posteriori of a subset),
        which can be far more costly, because variables are eliminated in an order that is not free.

        Examples
        --------
        >>> from mercer.bayesnet import load_burglary
        >>> load_burglary().most_probable({"john": "yes", "mary": "yes"}, ["burglary", "earthquake"]).states
        {'burglary': 'no', 'earthquake': 'no'}
        """
        codes = read_evidence("BayesianNetwork", self.variables, evidence)
        names = None if targets is None else read_targets("BayesianNetwork", self.variables, targets)
        return explain_some(self._tree, codes, names)

    def sample(
        self, n: int, random_state: Any = None, evidence: Mapping[Any, Any] | None = None
    ) -> dict[Any, np.ndarray]:
        """Draw rows from the joint distribution, or from the exact posterior given evidence.

        Parameters
        ----------
        n : int
        random_state : None, int, RandomState or Generator
        evidence : mapping from variables to states

        Returns
        -------
        dict from names to arrays of states
            The columns of a table: ``pandas.DataFrame(network.sample(100))``.

        Examples
        --------
        >>> from mercer.bayesnet import load_sprinkler
        >>> rows = load_sprinkler().sample(1000, random_state=0, evidence={"wet_grass": "yes"})
        >>> sorted(set(rows["wet_grass"].tolist()))
        ['yes']
        """
        if not isinstance(n, int | np.integer) or n < 0:
            raise ParameterError(f"BayesianNetwork: `n` must be a whole number of at least 0; got {n!r}.")
        codes = read_evidence("BayesianNetwork", self.variables, evidence)
        draws = draw_given(self._tree, n, random_state, codes) if codes else draw_ancestrally(self, n, random_state)  # type: ignore[arg-type]
        return {name: _name_states(states)[draws[:, v]] for v, (name, states) in enumerate(self.variables.items())}

    def approximate(
        self,
        evidence: Mapping[Any, Any] | None = None,
        *,
        method: str,
        **options: Any,
    ) -> Approximation:
        """Approximate the posteriors of all variables, with their errors; for networks too wide to compile.

        Parameters
        ----------
        evidence : mapping from variables to states
        method : {"loopy", "gibbs", "likelihood_weighting"}
            Loopy propagation sends messages on the graph of tables until they settle; it has a residual, but no bound
            on its error. Gibbs sampling and likelihood weighting draw rows and have standard errors.
        **options
            ``n_samples`` and ``random_state`` for the samplers, ``n_chains`` and ``n_burn`` for Gibbs sampling,
            ``max_iter``, ``tol`` and ``damping`` for loopy propagation.
        """
        codes = read_evidence("BayesianNetwork", self.variables, evidence)
        return approximate(self, codes, method, options)  # type: ignore[arg-type]

    def sensitivity(
        self, target: Mapping[Any, Any], evidence: Mapping[Any, Any] | None = None, *, parameter: Mapping[Any, Any]
    ) -> Sensitivity:
        """Return how a posterior depends on one entry of a table, exactly.

        The other entries of the same row change in proportion, so that the row still sums to one. The posterior is then
        a quotient of two linear functions of the entry.

        Parameters
        ----------
        target : mapping from variables to states
            The event whose posterior is asked for, such as ``{"burglary": "yes"}``.
        evidence : mapping from variables to states
        parameter : mapping from variables to states
            The entry: a state for one variable and for each of its parents, such as ``{"john": "yes", "alarm": "no"}``.

        Examples
        --------
        >>> from mercer.bayesnet import load_burglary
        >>> network = load_burglary()
        >>> answer = network.sensitivity(
        ...     {"burglary": "yes"}, {"john": "yes", "mary": "yes"}, parameter={"john": "yes", "alarm": "no"}
        ... )
        >>> round(answer.derivative, 3), round(answer.at(0.0), 4)
        (-1.36, 0.3736)
        """
        return measure_sensitivity(self, target, evidence or {}, parameter)  # type: ignore[arg-type]

    def forecast(self) -> Forecast:
        """Return what exact inference costs, before anything is allocated: the largest clique, cells, bytes."""
        return self._tree.forecast()

    def moral_graph(self) -> Graph:
        """Return the moral graph: neighbours by name."""
        return moral_graph(self.parents)

    def blanket(self, name: Any) -> set[Any]:
        """Return the Markov blanket of a variable: its parents, its children and their other parents.

        Given its blanket a variable is independent of all others.

        Examples
        --------
        >>> from mercer.bayesnet import load_burglary
        >>> sorted(load_burglary().blanket("burglary"))
        ['alarm', 'earthquake']
        """
        (known,) = read_targets("BayesianNetwork", self.variables, [name])
        return find_blanket(self.parents, known)

    def d_separated(self, x: Any, y: Any, given: Any = ()) -> bool:
        """Return whether two sets of variables are d-separated by a third: independent whatever the tables.

        Examples
        --------
        >>> from mercer.bayesnet import load_burglary
        >>> network = load_burglary()
        >>> network.d_separated("burglary", "earthquake"), network.d_separated("burglary", "earthquake", ["john"])
        (True, False)
        """
        first = read_targets("BayesianNetwork", self.variables, x)
        second = read_targets("BayesianNetwork", self.variables, y)
        middle = read_targets("BayesianNetwork", self.variables, given) if given not in ((), [], None) else []
        shared = (set(first) & set(second)) | ((set(first) | set(second)) & set(middle))
        if shared:
            names = list_some(sorted(shared, key=str))
            raise DataError(f"BayesianNetwork: the sets of a separation must have no common member; {names} is in two.")
        return not find_connected(self.parents, first, middle) & set(second)

    def is_independent(self, x: Any, y: Any, given: Any = (), *, tol: float = 1e-9) -> bool:
        """Return whether two sets of variables are independent given a third under the tables of this network.

        The joint posterior of the three sets is computed, so this is for small sets. D-separation implies independence;
        the converse can fail for special tables.
        """
        from mercer.bayesnet._tables.independence import conditional_independence

        first = read_targets("BayesianNetwork", self.variables, x)
        second = read_targets("BayesianNetwork", self.variables, y)
        middle = read_targets("BayesianNetwork", self.variables, given) if given not in ((), [], None) else []
        return conditional_independence(self.query([*first, *second, *middle]), first, second, middle, tol=tol)


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
