"""Exact inference in a compiled junction tree: marginals, joint queries, many cases, incremental evidence."""

import contextlib
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._source.memory import require_memory
from mercer.bayesnet._inference.answers import add_observed, answer, explain, find_holder, read_factor
from mercer.bayesnet._inference.contradiction import raise_contradiction
from mercer.bayesnet._inference.forecast import Forecast, forecast_plan
from mercer.bayesnet._inference.many_cases import Marginals, run_many
from mercer.bayesnet._inference.plan import make_plan
from mercer.bayesnet._inference.workspace import Workspace, load_tree
from mercer.bayesnet._tables.table import ProbabilityTable
from mercer.bayesnet._tables.variables import read_evidence, read_soft_evidence, read_targets, require_variables
from mercer.errors import MemoryForecastError

if TYPE_CHECKING:
    from mercer.bayesnet._network.network import BayesianNetwork

# Workspaces kept for later calls: more threads than this are rare, and one may take much memory.
_MOST_SPARE = 8


class JunctionTree:
    """A network compiled for inference: a tree of cliques with the messages between them.

    Compiling moralises and triangulates the graph by several rules and keeps the order with the smallest tables.
    Propagation then runs in native code: messages from the leaves to the roots and back (Shafer and Shenoy, 1990). The
    table of a clique is never stored, only messages are; observed variables are cut out of every table; messages that
    are one everywhere, because nothing is observed below, are skipped. The cost is exponential only in the largest
    clique.

    A tree holds one case of evidence, which :meth:`set_evidence` and :meth:`update` change. Only messages that depend
    on the change are computed again, and only when something is asked that needs them. One thread at a time may use a
    tree, except for :meth:`marginals_many`, which has its own threads and leaves the held evidence alone.

    Parameters
    ----------
    network : BayesianNetwork

    Attributes
    ----------
    cliques : tuple of tuples of names
    edges : tuple of pairs of clique numbers, child and parent
    separators : tuple of tuples of names, one for each edge

    References
    ----------
    Shafer, G. R. and Shenoy, P. P. (1990). Probability propagation. Annals of Mathematics and Artificial Intelligence,
    2, 327-351.

    Madsen, A. L. and Jensen, F. V. (1999). Lazy propagation: a junction tree inference algorithm based on lazy
    evaluation. Artificial Intelligence, 113, 203-245.

    Examples
    --------
    >>> from mercer.bayesnet import load_burglary
    >>> tree = load_burglary().compile()
    >>> sorted(len(clique) for clique in tree.cliques)
    [2, 2, 3]
    >>> tree.set_evidence({"john": "yes", "mary": "yes"})
    >>> round(float(tree.marginal("burglary").values[0]), 6)
    0.284172
    """

    def __init__(self, network: "BayesianNetwork") -> None:
        # Tables from a model file have not been checked yet; wrong shapes must not reach native code.
        network.check_fields()
        self.network = network
        self._names = list(network.variables)
        self._number = {name: v for v, name in enumerate(self._names)}
        counts = tuple(len(states) for states in network.variables.values())
        parents = tuple(tuple(self._number[parent] for parent in network.parents[name]) for name in self._names)
        self.plan = make_plan(counts, parents)
        self.flat_tables = np.concatenate([network.tables[name].reshape(-1) for name in self._names] or [np.empty(0)])
        self.native = load_tree(self.plan)
        self._spare: deque[Workspace] = deque()
        self.holders = self._find_holders()
        self.everything = np.ones(len(self.plan.cliques), dtype=np.intp)
        self._space: Workspace | None = None
        self._codes: dict[int, int] = {}
        self._likelihoods: dict[int, np.ndarray] = {}
        self._log_evidence: float | None = None
        self._stale_up, self._stale_down = self.everything.copy(), self.everything.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        # Native arrays are made again from the network, the held evidence is entered again.
        return _restore_tree, (self.network, self._codes, self._likelihoods)

    def __repr__(self) -> str:
        largest = max(self.plan.cells, default=0)
        return f"JunctionTree({len(self.cliques)} cliques, the largest with {largest} cells)"

    @property
    def cliques(self) -> tuple[tuple[Any, ...], ...]:
        """The maximal cliques of the triangulated moral graph."""
        return tuple(self._name_all(self.plan.cliques[c]) for c in self._own_cliques())

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """The edges of the tree, as pairs of a child and its parent, by position in `cliques`."""
        own = {c: position for position, c in enumerate(self._own_cliques())}
        return tuple((own[c], own[self._find_parent(c)]) for c in own if self._find_parent(c) >= 0)

    @property
    def separators(self) -> tuple[tuple[Any, ...], ...]:
        """The variables that the two cliques of each edge share."""
        return tuple(self._name_all(self.plan.separator(c)) for c in self._own_cliques() if self._find_parent(c) >= 0)

    @property
    def evidence(self) -> dict[Any, Any]:
        """The evidence that the tree holds."""
        return {self._names[v]: self.network.variables[self._names[v]][code] for v, code in self._codes.items()}

    def forecast(self) -> Forecast:
        """Return what a propagation without evidence costs: cells, operations and bytes."""
        return forecast_plan(self.plan, self._names)

    def set_evidence(
        self, evidence: Mapping[Any, Any] | None = None, soft_evidence: Mapping[Any, Any] | None = None
    ) -> None:
        """Replace the evidence.

        Parameters
        ----------
        evidence : mapping from variables to states
        soft_evidence : mapping from variables to likelihoods
            P(observation | state) for each state of the variable, in its order, or a mapping from states.
        """
        self._change(*self.read_codes(evidence, soft_evidence))

    def update(self, evidence: Mapping[Any, Any] | None = None, soft_evidence: Mapping[Any, Any] | None = None) -> None:
        """Add to the evidence, or replace what it says of some variables; None retracts what it says of one."""
        require_variables("JunctionTree", self.network.variables, [*(evidence or {}), *(soft_evidence or {})])
        gone = {self._number[name] for name, state in (evidence or {}).items() if state is None}
        lost = {self._number[name] for name, given in (soft_evidence or {}).items() if given is None}
        fresh = {name: state for name, state in (evidence or {}).items() if state is not None}
        soft = {name: given for name, given in (soft_evidence or {}).items() if given is not None}
        added, weighed = self.read_codes(fresh, soft)
        codes = {v: code for v, code in self._codes.items() if v not in gone} | added
        likelihoods = {v: values for v, values in self._likelihoods.items() if v not in lost} | weighed
        self._change(codes, likelihoods)

    def log_evidence(self) -> float:
        """Return the logarithm of the probability of the evidence; minus infinity if it is impossible."""
        if self._log_evidence is None:
            space = self._open()
            self._log_evidence = space.collect(self._stale_up)
            if self._log_evidence > -np.inf:
                self._stale_up[:] = 0
        return self._log_evidence

    def probability(self) -> float:
        """Return the probability of the evidence."""
        return float(np.exp(self.log_evidence()))

    def marginal(self, name: Any) -> ProbabilityTable:
        """Return the posterior of one variable."""
        require_variables("JunctionTree", self.network.variables, [name])
        space = self._calibrate([self.plan.home[self._number[name]]])
        return self._wrap([name], space.read_marginal(self._number[name]))

    def marginals(self, names: Sequence[Any] | None = None) -> dict[Any, ProbabilityTable]:
        """Return the posteriors of some variables, or of all, by name."""
        wanted = self._names if names is None else list(names)
        require_variables("JunctionTree", self.network.variables, wanted)
        space = self._calibrate([self.plan.home[self._number[name]] for name in wanted])
        values, first = space.read_marginals(), self.plan.first_state
        numbers = [self._number[name] for name in wanted]
        return {
            name: self._wrap([name], values[first[v] : first[v + 1]]) for name, v in zip(wanted, numbers, strict=True)
        }

    def marginals_many(self, cases: Any, *, n_jobs: int | None = None) -> Marginals:
        """Return the posteriors of all variables for many cases of evidence.

        Parameters
        ----------
        cases : sequence of mappings from variables to states, or DataFrame
            One case of evidence for each mapping or row. In a DataFrame, variables without a column and missing values
            are not observed.
        n_jobs : int, optional
            Threads over cases; the result does not depend on them.

        Returns
        -------
        Marginals
            Posteriors by variable, one row per case, and the log-probability of each case's evidence. A case of
            probability zero has NaN posteriors.
        """
        return run_many(self, cases, n_jobs)

    def query(self, targets: Any) -> ProbabilityTable:
        """Return the joint posterior of some variables, axes in the order of `targets`.

        If one clique holds all of them the answer is read from it; otherwise by variable elimination.
        """
        names = read_targets("JunctionTree", self.network.variables, targets)
        holder = find_holder(self, [self.number_of(name) for name in names])
        if holder is None:
            return answer(self, names, self._codes, self._likelihoods)
        if len(names) == 1:
            return self.marginal(names[0])
        space = self._calibrate([holder])
        return add_observed(self, names, self._codes, read_factor(self, space, holder, self._codes))

    def most_probable(self) -> tuple[dict[Any, Any], float]:
        """Return the most probable states of all variables given the evidence, and their joint log-probability."""
        return explain(self, self._codes, self._likelihoods)

    def belief(self, clique: int) -> ProbabilityTable:
        """Return the posterior of the variables of a clique that are not observed, by position in `cliques`."""
        c = self._own_cliques()[clique]
        return read_factor(self, self._calibrate([c]), c, self._codes).normalise()

    def calibration_residual(self) -> float:
        """Return the largest difference between what two neighbouring cliques say of their separator."""
        space = self._calibrate(range(len(self.plan.cliques)))
        worst = 0.0
        for c, above in enumerate(self.plan.parent):
            if above >= 0:
                # Both cliques must give the separator the same marginal after calibration.
                shared = [self._names[v] for v in self.plan.separator(c) if v not in self._codes]
                beliefs = [read_factor(self, space, end, self._codes) for end in (c, above)]
                tables = [belief.normalise().marginal(shared) for belief in beliefs]
                worst = max(worst, float(np.abs(tables[0].values - tables[1].values).max()))
        return worst

    def name_of(self, v: int) -> Any:
        """Return the name of a variable by its number."""
        return self._names[v]

    def number_of(self, name: Any) -> int:
        """Return the number of a variable by its name."""
        return self._number[name]

    def read_codes(
        self, evidence: Mapping[Any, Any] | None, soft_evidence: Mapping[Any, Any] | None
    ) -> tuple[dict[int, int], dict[int, np.ndarray]]:
        """Read evidence by variable number: codes of states, and likelihoods."""
        variables = self.network.variables
        codes = read_evidence("BayesianNetwork", variables, evidence)
        likelihoods = read_soft_evidence("BayesianNetwork", variables, soft_evidence)
        return (
            {self._number[name]: code for name, code in codes.items()},
            {self._number[name]: values for name, values in likelihoods.items()},
        )

    def find_path(self, cliques: Iterable[int]) -> np.ndarray:
        """Mark some cliques and everything between them and the roots."""
        chosen = np.zeros(len(self.plan.cliques), dtype=np.intp)
        for clique in cliques:
            c = clique
            while c >= 0 and not chosen[c]:
                chosen[c] = 1
                c = self.plan.parent[c]
        return chosen

    def take_workspace(self) -> Workspace:
        """Return a workspace that no other thread uses, made within the memory that is allowed."""
        with contextlib.suppress(IndexError):
            return self._spare.pop()
        cure = "add evidence, use `approximate`, or simplify the network"
        largest = self.forecast().largest_cells
        purpose = f"messages between {len(self.plan.cliques)} cliques, the largest with {largest} cells,"
        require_memory("JunctionTree", self.plan.n_bytes, purpose, cure)
        if self.native is None:
            raise MemoryForecastError(
                f"JunctionTree: a message may have at most 2**31 entries; {purpose} need more; {cure}."
            )
        return Workspace(self.plan, self.native, self.flat_tables)

    def return_workspace(self, space: Workspace) -> None:
        """Give a workspace back for the next caller."""
        if len(self._spare) < _MOST_SPARE:
            self._spare.append(space)

    def _open(self) -> Workspace:
        """Return the workspace of the held evidence, made within the memory that is allowed."""
        if self._space is None:
            self._space = self.take_workspace()
            self._space.enter(self._codes, self._likelihoods)
        return self._space

    def _calibrate(self, cliques: Sequence[int] | range) -> Workspace:
        """Bring the messages to some cliques up to date."""
        if self.log_evidence() == -np.inf:
            raise_contradiction(self, self._codes, self._likelihoods)
        space = self._open()
        chosen = self.find_path(cliques) & self._stale_down
        if chosen.any():
            space.distribute(chosen)
            self._stale_down &= 1 - chosen
        return space

    def _change(self, codes: dict[int, int], likelihoods: dict[int, np.ndarray]) -> None:
        """Replace the evidence and mark the messages that depend on what changed."""
        changed = {v for v in codes.keys() | self._codes.keys() if codes.get(v) != self._codes.get(v)}
        changed |= {
            v
            for v in likelihoods.keys() | self._likelihoods.keys()
            if not np.array_equal(likelihoods.get(v, ()), self._likelihoods.get(v, ()))
        }
        self._codes, self._likelihoods = codes, likelihoods
        if not changed:
            return
        for v in changed:
            self._stale_up[self.holders[v]] = 1
        # A message upwards depends on all messages from below; beliefs depend on everything in their tree.
        for c, above in enumerate(self.plan.parent):
            if self._stale_up[c] and above >= 0:
                self._stale_up[above] = 1
        self._stale_down[:] = 1
        self._log_evidence = None
        if self._space is not None:
            self._space.enter(codes, likelihoods)

    def _find_holders(self) -> list[list[int]]:
        """Return the cliques that hold each variable."""
        holders: list[list[int]] = [[] for _ in self._names]
        for c, clique in enumerate(self.plan.cliques):
            for v in clique:
                holders[v].append(c)
        return holders

    def _own_cliques(self) -> list[int]:
        """Return the numbers of the cliques that are not groups of children."""
        return [c for c, is_group in enumerate(self.plan.is_group) if not is_group]

    def _find_parent(self, c: int) -> int:
        """Return the nearest clique above that is not a group of children; -1 above a root."""
        above = self.plan.parent[c]
        while above >= 0 and self.plan.is_group[above]:
            above = self.plan.parent[above]
        return above

    def _name_all(self, numbers: Sequence[int]) -> tuple[Any, ...]:
        return tuple(self._names[v] for v in numbers)

    def _wrap(self, names: list[Any], values: np.ndarray) -> ProbabilityTable:
        return ProbabilityTable.trust({name: self.network.variables[name] for name in names}, values)


def _restore_tree(
    network: "BayesianNetwork", codes: dict[int, int], likelihoods: dict[int, np.ndarray]
) -> JunctionTree:
    """Return the junction tree of a network with evidence by variable number."""
    tree = JunctionTree(network)
    tree._change(codes, likelihoods)
    return tree
