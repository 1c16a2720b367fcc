"""What a network can be asked: probabilities of evidence, posteriors, explanations, samples and separations."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.bayesnet._graphs.separation import find_blanket, find_connected
from mercer.bayesnet._graphs.undirected import Graph, moral_graph
from mercer.bayesnet._inference.answers import add_observed, answer, answer_all, measure_evidence
from mercer.bayesnet._inference.approximation import Approximation, approximate
from mercer.bayesnet._inference.contradiction import raise_contradiction
from mercer.bayesnet._inference.elimination import eliminate_query
from mercer.bayesnet._inference.enumeration import enumerate_query
from mercer.bayesnet._inference.explanation import Explanation, explain_some
from mercer.bayesnet._inference.forecast import Forecast
from mercer.bayesnet._inference.sampling import draw_ancestrally, draw_given
from mercer.bayesnet._inference.sensitivity import Sensitivity, measure_sensitivity
from mercer.bayesnet._tables.table import ProbabilityTable
from mercer.bayesnet._tables.variables import list_some, read_evidence, read_soft_evidence, read_targets
from mercer.errors import DataError, ParameterError

if TYPE_CHECKING:
    from mercer.bayesnet._inference.junction_tree import JunctionTree

_METHODS = ("auto", "junction_tree", "elimination", "enumeration")


class NetworkQueries:
    """The questions that :class:`BayesianNetwork` answers. It has the fields of that class."""

    variables: dict[Any, tuple[Any, ...]]
    parents: dict[Any, tuple[Any, ...]]
    tables: dict[Any, np.ndarray]

    @property
    def _tree(self) -> "JunctionTree":
        raise NotImplementedError  # BayesianNetwork compiles its own, once

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


def _name_states(states: tuple[Any, ...]) -> np.ndarray:
    """Return states as an array that codes can index; of objects, unless NumPy has a type for all of them."""
    kinds = {type(state) for state in states}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        return np.array(states)
    array = np.empty(len(states), dtype=object)
    array[:] = states
    return array
