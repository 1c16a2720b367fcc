"""Search for a structure over coded rows: one face for hill climbing, trees, the exact search and tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from mercer._base.randomness import seed_sequence
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step, drive
from mercer._source.threads import n_threads
from mercer._types import Array
from mercer.bayesnet._learning.climbing import HillClimbing, StructureClimb
from mercer.bayesnet._learning.coded_rows import CodedRows, DistinctRows
from mercer.bayesnet._learning.constraints import Constraints
from mercer.bayesnet._learning.counter import FamilyCounter, ScoredFamilies
from mercer.bayesnet._learning.exact_search import find_best_structure
from mercer.bayesnet._learning.independence import TESTS, IndependenceTest, find_spanning_tree, tabulate_information
from mercer.bayesnet._learning.partial_graph import PartialGraph, find_equivalence_class, find_skeleton, orient_edges
from mercer.bayesnet._learning.scores import FamilyScore
from mercer.bayesnet._learning.table_fit import check_weights, read_structure
from mercer.bayesnet._learning.table_rows import open_table
from mercer.errors import DataError, ParameterError, UnsupportedError

METHODS = ("hill_climb", "chow_liu", "exact", "pc")
_CERTIFICATES = {
    "exact": "The structure has the largest score of all that keep the constraints.",
    "chow_liu": "The tree has the largest likelihood of all trees.",
    "pc": "Tests decide edge by edge; nothing bounds what their errors cost.",
    "naive": "The structure was given: every column depends on the class alone.",
    "tree": "The tree over the columns has the largest likelihood of all trees, given the class.",
}


@plain
@dataclass(frozen=True, eq=False)
class FoundStructure:
    """A structure that was found in one step: its edges (p, c), its score, and which edges stay undirected."""

    edges: Array
    score: float
    arrows: Array = None


@dataclass(frozen=True, eq=False)
class StructureSearch:
    """The settings of a search; see :func:`learn_structure`."""

    subject: str
    method: str
    score: str = "bic"
    sample_size: float = 1.0
    max_parents: int | None = None
    required_edges: Any = None
    forbidden_edges: Any = None
    tiers: Any = None
    start: Any = None
    tabu_length: int = 10
    n_restarts: int = 0
    max_iter: int = 10_000
    test: str = "g2"
    alpha: float = 0.05
    threshold: float = 0.01
    seed: Any = field(default_factory=lambda: np.random.SeedSequence(0))
    threads: int = 1
    missing: str = "error"

    def solve(self, rows: CodedRows, state: Any = None) -> Solver:
        """Search, from the beginning or from `state`; a solver whose states :meth:`read_edges` reads."""
        constraints = Constraints.of(
            self.subject,
            rows.names,
            required=self.required_edges,
            forbidden=self.forbidden_edges,
            tiers=self.tiers,
            max_parents=self.max_parents,
        )
        if self.method in ("hill_climb", "exact", "pc"):
            cure = "Fill the gaps, drop the rows, or pass missing='state', which makes a gap one more state."
            rows = rows.count_gaps_as_states() if self.missing == "state" else rows
            rows.require_complete(self.subject, cure)
        counter = FamilyCounter(rows, self.threads)
        families = ScoredFamilies(counter, FamilyScore(self.score, rows.total, self.sample_size))
        if self.method == "hill_climb":
            first = self._begin(rows, constraints)
            climb = HillClimbing(
                families,
                constraints,
                first,
                self.tabu_length,
                self.tabu_length,
                self.max_iter,
                self.n_restarts,
                self.seed.generate_state(8),
            )
            return (yield from climb.solve(state))
        if self.method in ("chow_liu", "pc") and not constraints.are_free:
            raise UnsupportedError(
                f"{self.subject}: {self.method!r} takes no required or forbidden edges, tiers or max_parents; they "
                f"would be ignored. Use 'hill_climb' or 'exact', or drop them."
            )
        # A thread of its own keeps Ctrl-C alive; for few rows and columns starting it would take longer than the work.
        find = partial(self._find, rows, families, constraints)
        n_values = 8 * rows.columns.size * len(rows.names)
        found = yield Dense(find, heavy=True) if self.method == "exact" else Dense.over(find, n_values)
        certificate = Certificate.none(_CERTIFICATES[self.method])
        yield Step(found.score, found, certificate)
        return Solution(found, True, certificate)

    def _begin(self, rows: CodedRows, constraints: Constraints) -> Array:
        """Return the structure that hill climbing starts from: the required edges, or one that is given."""
        edges = constraints.required.copy()
        if self.start is not None:
            parents, _ = read_structure(self.subject, self.start)
            for name, above in parents.items():
                for parent in above:
                    edges[rows.find(parent, self.subject), rows.find(name, self.subject)] = True
            if (edges & ~constraints.allowed).any() or (edges.sum(axis=0) > constraints.max_parents).any():
                raise ParameterError(
                    f"{self.subject}: start must keep the constraints. Drop its forbidden edges or surplus parents."
                )
        return edges

    def _find(self, rows: CodedRows, families: ScoredFamilies, constraints: Constraints) -> FoundStructure:
        """Find a structure by one of the methods that take one step."""
        arrows = None
        if self.method == "exact":
            edges = find_best_structure(self.subject, families, constraints)
        elif self.method in ("naive", "tree"):
            edges = _augment_class(families.counter, self.method == "tree")
        elif self.method == "chow_liu":
            edges = find_spanning_tree(tabulate_information(families.counter, list(range(len(rows.names)))))
        else:
            test = IndependenceTest(families.counter, self.test, self.alpha, self.threshold)
            linked, separators = find_skeleton(len(rows.names), lambda x, y, given: test(x, y, given)[0])
            arrows = orient_edges(linked, separators)
            edges = PartialGraph.of(rows.names, arrows).direct()
        return FoundStructure(edges, _score_edges(families, edges), arrows)

    @staticmethod
    def read_edges(state: Any) -> Array:
        """Return the edges of the best structure that a state holds."""
        return state.best if isinstance(state, StructureClimb) else state.edges


def _augment_class(counter: FamilyCounter, with_tree: bool) -> Array:
    """Return edges from the last variable, the class, to all others, and the best tree over these given the class."""
    d = len(counter.rows.names)
    edges = np.zeros((d, d), bool)
    edges[-1, :-1] = True
    if with_tree and d > 2:
        information = tabulate_information(counter, list(range(d - 1)), (d - 1,))
        edges[:-1, :-1] = find_spanning_tree(information)
    return edges


def _score_edges(families: ScoredFamilies, edges: Array) -> float:
    nodes = range(len(edges))
    return float(sum(families.score_family(node, np.flatnonzero(edges[:, node]).tolist()) for node in nodes))


@dataclass(frozen=True, eq=False)
class LearntStructure:
    """A structure learnt from rows.

    Attributes
    ----------
    names : tuple of str
    parents : dict of str to tuple of str
        The parents of each variable; what :func:`fit_tables` takes.
    edges : list of (parent, child)
    score : float
        The score of the structure.
    arrows : ndarray of bool or None
        With ``method="pc"`` which way each edge may point.
    partial_graph : PartialGraph
        The directed and undirected edges of all structures with the same independences: what the tests of "pc" leave
        open, or the equivalence class of the structure.
    undirected : list of (name, name)
        The edges of ``partial_graph`` whose direction rows cannot tell; ``edges`` holds one way to direct them.
    history_ : dict of ndarray
        One array per column (``step``, ``objective``, ``seconds``...), one entry per move; the objective is the best
        score so far.
    converged : bool
    certificate : Certificate
        How far from the best structure it can be, or the statement that nothing says so.
    """

    names: tuple[str, ...]
    parents: dict[str, tuple[str, ...]]
    score: float
    arrows: Array
    history_: dict[str, Array]
    converged: bool
    certificate: Certificate

    @cached_property
    def partial_graph(self) -> PartialGraph:
        """What the tests of "pc" leave open, or the equivalence class of the structure."""
        if self.arrows is None:
            return find_equivalence_class(self.parents)
        return PartialGraph.of(self.names, self.arrows)

    @property
    def undirected(self) -> list[tuple[str, str]]:
        """The edges whose direction rows cannot tell."""
        return self.partial_graph.undirected

    @property
    def edges(self) -> list[tuple[str, str]]:
        """The edges, as pairs of a parent and a child."""
        return [(parent, name) for name, above in self.parents.items() for parent in above]

    def __repr__(self) -> str:
        return f"LearntStructure({len(self.names)} variables, {len(self.edges)} edges, score {self.score:.6g})"


def name_parents(names: tuple[str, ...], edges: Array) -> dict[str, tuple[str, ...]]:
    """Return the parents of each variable by name."""
    return {
        name: tuple(names[parent] for parent in np.flatnonzero(edges[:, child]).tolist())
        for child, name in enumerate(names)
    }


def learn_structure(
    X: Any,
    method: str = "hill_climb",
    score: str = "bic",
    *,
    sample_weight: Any = None,
    sample_size: float = 1.0,
    max_parents: int | None = None,
    required_edges: Any = None,
    forbidden_edges: Any = None,
    tiers: Any = None,
    start: Any = None,
    tabu_length: int = 10,
    n_restarts: int = 0,
    max_iter: int = 10_000,
    test: str = "g2",
    alpha: float = 0.05,
    threshold: float = 0.01,
    missing: str = "error",
    states: Mapping[str, Sequence[Any]] | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> LearntStructure:
    """Learn the structure of a Bayesian network from rows.

    Parameters
    ----------
    X : frame, dictionary of columns, array (columns x0, x1, ...), or whole numbers in any other place
        Rows. Missing values are None or NaN; "chow_liu" counts the rows that have both of two columns.
    method : {"hill_climb", "chow_liu", "exact", "pc"}, default="hill_climb"
        Moves of one edge that raise the score, with a tabu list; the tree of largest likelihood; the best structure of
        all, up to 20 columns; or tests of conditional independence.
    score : {"bic", "aic", "bdeu", "k2", "log_likelihood"}, default="bic"
        What hill climbing and the exact search maximise.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights; a weight of two is the row twice.
    sample_size : float, default=1.0
        The equivalent sample size of "bdeu".
    max_parents : int or None, default=None
        The most parents of a variable.
    required_edges, forbidden_edges : sequence of (parent, child) or None
        Edges that must be, and that must not be.
    tiers : sequence of sequences of names or None
        Groups of all columns in order: no edge leads to an earlier group.
    start : structure or None, default=None
        Where hill climbing begins; None means no edges but the required ones.
    tabu_length : int, default=10
        Moves during which a changed pair of variables stays as it is, and moves without a gain before a run ends; 0
        ends at the first local maximum.
    n_restarts : int, default=0
        Further runs of hill climbing, from the best structure with random moves.
    max_iter : int, default=10000
        Moves of hill climbing.
    test : {"g2", "chi2", "mutual_information"}, default="g2"
        The test of "pc".
    alpha : float, default=0.05
        "pc" keeps an edge if the p-value is at most this.
    threshold : float, default=0.01
        With the test "mutual_information" the information, in nats, from which an edge is kept.
    missing : {"error", "state"}, default="error"
        Whether a gap is an error in the other methods, or one more state of its column.
    states : mapping from names to states or None, default=None
        States of variables; others have the sorted values of their column.
    random_state : default=0
        Seed of the restarts.
    n_jobs : int or None, default=None
        Threads. Never changes a result.

    Returns
    -------
    LearntStructure
        Parents, edges, score, and the trace of the search.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bayesnet import learn_structure
    >>> random = np.random.default_rng(0)
    >>> rain = random.random(500) < 0.3
    >>> wet = np.where(rain, random.random(500) < 0.9, random.random(500) < 0.1)
    >>> coin = random.random(500) < 0.5
    >>> learn_structure({"rain": rain, "wet": wet, "coin": coin}, tiers=[["rain"], ["wet", "coin"]]).edges
    [('rain', 'wet')]
    """
    subject = "learn_structure"
    if method not in METHODS:
        raise ParameterError(f"{subject}: method must be one of {', '.join(map(repr, METHODS))}; got {method!r}.")
    if test not in TESTS:
        raise ParameterError(f"{subject}: test must be one of {', '.join(map(repr, TESTS))}; got {test!r}.")
    opened = open_table(
        subject,
        X,
        check_weights(subject, sample_weight, X),
        given=states,
        threads=n_threads(n_jobs),
        sample_weight=sample_weight,
    )
    rows = opened.finish(opened.source.reduce(DistinctRows()))
    search = StructureSearch(
        subject, method, score, sample_size, max_parents, required_edges, forbidden_edges, tiers, start, tabu_length,
        n_restarts, max_iter, test, alpha, threshold, seed_sequence(random_state), n_threads(n_jobs), missing,
    )  # fmt: skip
    outcome = drive(search.solve(rows), opened.source)
    state, edges = outcome.state, search.read_edges(outcome.state)
    value = state.best_score if isinstance(state, StructureClimb) else state.score
    arrows = getattr(state, "arrows", None)
    parents = name_parents(rows.names, edges)
    return LearntStructure(rows.names, parents, value, arrows, outcome.history, outcome.converged, outcome.certificate)


def score_structure(
    structure: Any,
    X: Any,
    score: str = "bic",
    *,
    sample_weight: Any = None,
    sample_size: float = 1.0,
    states: Mapping[str, Sequence[Any]] | None = None,
) -> float:
    """Return the score of a structure on rows: the sum of the scores of its families.

    Parameters
    ----------
    structure : BayesianNetwork, mapping from names to parents, or sequence of edges (parent, child)
        The graph.
    X : frame, dictionary of columns, array (columns x0, x1, ...), or whole numbers in any other place
        Rows without missing values.
    score : {"bic", "aic", "bdeu", "k2", "log_likelihood"}, default="bic"
        Which score.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights; a weight of two is the row twice.
    sample_size : float, default=1.0
        The equivalent sample size of "bdeu".
    states : mapping from names to states or None, default=None
        States of variables; others have the sorted values of their column.

    Returns
    -------
    float
        Larger is better.

    Examples
    --------
    >>> from mercer.bayesnet import score_structure
    >>> round(score_structure({"a": []}, {"a": [0, 0, 1, 1]}, "log_likelihood"), 4)  # 4 log(1/2)
    -2.7726
    """
    subject = "score_structure"
    parents, declared = read_structure(subject, structure)
    weight = check_weights(subject, sample_weight, X)
    opened = open_table(
        subject, X, weight, given={**declared, **(states or {})}, names=list(parents), sample_weight=sample_weight
    )
    rows = opened.finish(opened.source.reduce(DistinctRows()))
    rows.require_complete(subject, "Fill the gaps, or drop the rows.")
    families = ScoredFamilies(FamilyCounter(rows), FamilyScore(score, rows.total, sample_size))
    place = {name: index for index, name in enumerate(rows.names)}
    if not parents:
        raise DataError(f"{subject}: structure must have at least one variable; got none.")
    return sum(
        families.score_family(place[name], [place[parent] for parent in above]) for name, above in parents.items()
    )
