"""Affinity propagation: rows send messages until some are exemplars that the others belong to."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, fitting, open_new_rows, seed_sequence
from mercer._base.interface import ClusterMixin
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, Seed, parameter
from mercer._native.space import messages
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.centres.centres import Centres
from mercer._source import Block
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._stored import Stored, floats, integers, numbers
from mercer._types import Array, Rows
from mercer.errors import DataError, ModelFileError

_NO_BOUND = Certificate.none(
    "Messages on a graph with cycles: exemplars that stay are a good choice as a rule; nothing bounds the best one."
)
# Messages of a block of rows, some 10 ms: fixed, so that threads change no bit.
_MESSAGES = 2**21
# Messages of a round from which it runs on a thread of its own, open to Ctrl-C.
_HEAVY = 2**20


@plain
@dataclass(frozen=True, eq=False)
class MessageState:
    """The messages of a round, the positive ones to each row, exemplars, and for how many rounds they have stayed."""

    available: Array
    responsible: Array
    sums: Array
    exemplars: Array
    stayed: int
    rounds: int


@dataclass(frozen=True, eq=False)
class Exchange:
    """The solver: rounds of messages over similarities whose diagonal holds the preferences."""

    similarities: Array
    damping: float
    max_iter: int
    patience: int
    threads: int

    def solve(self, state: MessageState | None) -> Solver[MessageState]:
        """Exchange messages until the exemplars have stayed for some rounds."""
        n = len(self.similarities)
        if state is None:
            none = np.zeros((n, n))
            state = MessageState(none, none, np.zeros(n), np.zeros(n, bool), 0, 0)
        # Two tables take turns: while one round is written, the one before it stays whole.
        tables = [(np.empty((n, n)), np.empty((n, n))) for _ in range(2)]
        done = False
        while state.rounds < self.max_iter and not done:
            known = state
            state = yield Dense(lambda: self._advance(known, tables[known.rounds % 2]), n * n > _HEAVY)  # noqa: B023
            done = state.rounds > self.patience and state.stayed >= self.patience and bool(state.exemplars.any())
            yield Step(float(np.count_nonzero(state.exemplars)), state, _NO_BOUND)
        return Solution(state, done, _NO_BOUND)

    def _advance(self, state: MessageState, tables: tuple[Array, Array]) -> MessageState:
        """Return the state after a round."""
        n = len(self.similarities)
        own = np.diagonal(state.responsible).copy()
        exchange = messages.Messages(self.similarities, state.available, state.responsible, *tables, own, state.sums)
        width = max(1, _MESSAGES // n)
        parts = np.zeros((-(-n // width), n))

        def send(number: int) -> None:
            start = number * width
            messages.exchange(exchange, start, min(n, start + width), self.damping, parts[number])

        run_numbered(send, len(parts), self.threads)
        available, responsible = tables
        sums = np.maximum(parts.sum(axis=0), 0.0)
        # What rows will be available to themselves is known before the next round writes it.
        own = np.diagonal(responsible)
        own_available = self.damping * np.diagonal(available) + (1.0 - self.damping) * ((own + sums) - own)
        exemplars = own_available + own > 0
        stayed = state.stayed + 1 if np.array_equal(exemplars, state.exemplars) else 1
        return MessageState(available, responsible, sums, exemplars, stayed, state.rounds + 1)


def assign(similarities: Array, exemplars: Array) -> tuple[Array, Array]:
    """Return the exemplars, each the best of its cluster, and the cluster of each row; -1 where there are none."""
    chosen = np.flatnonzero(exemplars)
    if not len(chosen):
        return chosen, np.full(len(similarities), -1)
    labels = _nearest(similarities, chosen)
    for number in range(len(chosen)):
        members = np.flatnonzero(labels == number)
        chosen[number] = members[similarities[np.ix_(members, members)].sum(axis=0).argmax()]
    labels = chosen[_nearest(similarities, chosen)]
    centres = np.unique(labels)
    return centres, np.searchsorted(centres, labels)


def _nearest(similarities: Array, chosen: Array) -> Array:
    labels = similarities[:, chosen].argmax(axis=1)
    labels[chosen] = np.arange(len(chosen))
    return labels


def _are_equal(similarities: Array, preference: Array) -> bool:
    """Return whether all preferences are equal, and all similarities of different rows."""
    n = len(similarities)
    if n == 1:
        return True
    if (preference != preference.flat[0]).any() or similarities[0, 1] != similarities[n - 1, 0]:
        return False
    return bool((similarities[~np.eye(n, dtype=bool)] == similarities[0, 1]).all())


@dataclass(frozen=True, eq=False)
class _NearestExemplar:
    """The nearest exemplar of each row of a block."""

    centres: Centres

    def __call__(self, block: Block) -> Array:
        return self.centres.find_nearest(block)[0].astype(np.int64)


class AffinityPropagation(ClusterMixin, LimitedEstimator):
    r"""Affinity propagation: clusters around exemplars, rows that messages between rows choose.

    With similarities s and preferences s(k, k) it looks for the exemplars of the largest net similarity, the sum of the
    similarity of each row to its exemplar and of the preferences of these. Each round, row i tells row k how well it
    would serve, :math:`r(i, k) = s(i, k) - \max_{l \ne k} (a(i, l) + s(i, l))`, and row k how available it is,
    :math:`a(i, k) = \min(0, r(k, k) + \sum_{j \ne i, k} \max(0, r(j, k)))`, :math:`a(k, k) = \sum_{j \ne k} \max(0,
    r(j, k))`. Rows with :math:`r(k, k) + a(k, k) > 0` are exemplars. The number of clusters follows from the
    preferences.

    Attributes
    ----------
    cluster_centers_indices_ : ndarray of shape (n_clusters,)
        The exemplars.
    cluster_centers_ : ndarray of shape (n_clusters, d)
        Their rows, unless similarities were given.
    labels_ : ndarray of shape (n,)
        The cluster of each row; -1 if there are no exemplars.
    affinity_matrix_ : ndarray of shape (n, n)
        The similarities: minus squared distances, or those given.
    n_iter_ : int
        Rounds.
    history_ : dict of ndarray
        Per round: ``objective`` (how many rows are exemplars), ``seconds``.
    converged_ : bool
        Whether the exemplars stayed for `convergence_iter` rounds.
    certificate_ : Certificate
        ``"none"``: nothing bounds how far the net similarity is from the largest.

    See Also
    --------
    KMedoids : Exemplars for a given number of clusters, by swaps that lower the cost.

    Notes
    -----
    Costs n^2 for each round, in one walk over the messages, and 48 n^2 bytes, which are forecast. Rows in memory.
    Similarities are moved by rounding at random, so that ties have a winner.

    References
    ----------
    B. Frey and D. Dueck, Clustering by passing messages between data points, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import AffinityPropagation
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [4, 2], [4, 4], [4, 0]])
    >>> model = AffinityPropagation(random_state=5).fit(X)
    >>> model.labels_.tolist(), model.cluster_centers_.tolist()
    ([0, 0, 0, 1, 1, 1], [[1.0, 2.0], [4.0, 2.0]])
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    damping: float = parameter(
        Real(0.5, 1, closed="left"), default=0.5, doc="The share of a message that the next round keeps."
    )
    max_iter: int = parameter(Integer(1), default=200, doc="Most rounds.")
    convergence_iter: int = parameter(Integer(1), default=15, doc="Rounds that the exemplars must stay.")
    copy: bool = parameter(Boolean(), default=True, doc="Whether given similarities are copied, not written over.")
    preference: Any = parameter(
        ArrayRule(flat=True) | Real(squared=False) | Nothing(),
        default=None,
        doc="How much each row is wanted as exemplar, one number or one for each; None takes the median similarity.",
    )
    affinity: str = parameter(
        Choice("euclidean", "precomputed"),
        default="euclidean",
        doc="Minus the squared distances of rows, or X holds the similarities.",
    )
    verbose: int = parameter(Integer(0) | Boolean(), default=False)
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the rounding that breaks ties.")

    _objective_moves: ClassVar[str | None] = None
    _checks_resumed: ClassVar[bool] = False
    _stored: ClassVar[dict[str, Stored]] = {
        "cluster_centers_indices_": integers("clusters", low=0),
        "cluster_centers_": numbers("exemplars, columns", sparse=True),
        "labels_": integers("rows", low=-1, below="clusters"),
        "affinity_matrix_": floats("rows, rows"),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "messages between all pairs of rows are held, and forecast before they are",
    }
    _depends_on_units = ("columns", "scale")

    def _check_structure(self) -> None:
        centres = vars(self).get("cluster_centers_")
        if centres is not None and not is_sparse_matrix(centres) and not np.isfinite(centres).all():
            raise ModelFileError("AffinityPropagation.cluster_centers_ must be finite; the file has NaN or infinity.")

    @property
    def _takes_sparse(self) -> bool:  # type: ignore[override]
        return self.affinity != "precomputed"

    @fitting
    def fit(self, X: Any, y: Any = None) -> "AffinityPropagation":
        """Find the exemplars.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or array-like of shape (n_samples, n_samples)
            Rows, or similarities with affinity='precomputed'.
        """
        source = self._open(X, accept_sparse="csr" if self._takes_sparse else False)
        self.__dict__.pop("cluster_centers_", None)
        rows, n = source.whole(), source.n_rows
        require_memory("AffinityPropagation", 56.0 * n * n, f"messages of {n} x {n} rows", "cluster fewer rows")
        similarities = self._relate(rows, X)
        preference = np.asarray(np.median(similarities) if self.preference is None else self.preference, np.float64)
        if preference.size not in (1, n):
            raise DataError(f"AffinityPropagation: preference must be one number, or {n}; got {preference.size}.")
        if _are_equal(similarities, preference):
            return self._choose_any(rows, similarities, preference)
        np.fill_diagonal(similarities, preference)
        self.affinity_matrix_ = similarities
        random = np.random.default_rng(seed_sequence(self.random_state))
        limits = np.finfo(np.float64)
        noise = random.standard_normal((n, n), dtype=np.float32).astype(np.float64)
        moved = similarities + (limits.eps * similarities + 100 * limits.tiny) * noise
        exchange = Exchange(moved, float(self.damping), self.max_iter, self.convergence_iter, self._threads())
        outcome = self._drive(
            exchange.solve,
            source,
            fitted=partial(self._read, rows=rows, similarities=moved),
            max_steps=self.max_iter,
            attributes={"affinity_matrix_": similarities},
        )
        if outcome.interrupt is None and not outcome.converged and outcome.reason in ("", "max_iter"):
            lost = (
                "this model may return degenerate cluster centers and labels"
                if len(self.cluster_centers_indices_)
                else "and this model will not have any cluster centers"
            )
            warnings.warn(
                f"Affinity propagation did not converge{',' if lost[0] == 't' else ''} {lost}. Raise max_iter, or "
                f"damping where exemplars come and go.",
                ConvergenceWarning,
                stacklevel=4,
            )
        else:
            self._conclude(outcome)
        return self

    def _relate(self, rows: Rows, given: Any) -> Array:
        """Return the similarities, in an array that may be written to."""
        if self.affinity == "precomputed":
            if rows.shape[0] != rows.shape[1]:
                raise DataError(
                    f"AffinityPropagation: The matrix of similarities must be a square array. Got {rows.shape} instead."
                )
            own = not self.copy and rows is given and rows.flags.writeable and rows.dtype == np.float64
            return rows if own else rows.astype(np.float64)
        dense = rows.toarray() if is_sparse_matrix(rows) else rows
        similarities = cdist(dense, dense, "sqeuclidean")
        return np.negative(similarities, out=similarities)

    def _choose_any(self, rows: Rows, similarities: Array, preference: Array) -> "AffinityPropagation":
        """Store all rows as exemplars, or the first: no similarity tells rows apart."""
        warnings.warn(
            "All samples have mutually equal similarities. Returning arbitrary cluster center(s).", stacklevel=4
        )
        n = len(similarities)
        every = bool(preference.flat[0] > similarities.flat[n - 1])
        self.affinity_matrix_ = similarities
        self.cluster_centers_indices_ = np.arange(n) if every else np.zeros(1, dtype=np.int64)
        self.labels_ = np.arange(n) if every else np.zeros(n, dtype=np.int64)
        if self.affinity != "precomputed":
            self.cluster_centers_ = rows[self.cluster_centers_indices_]
        self.history_ = {name: np.zeros(1) for name in ("step", "objective", "seconds")}
        self.n_iter_, self.converged_, self.certificate_ = 0, True, _NO_BOUND
        return self

    def _read(self, state: MessageState, rows: Rows, similarities: Array) -> dict[str, Any]:
        """Return the fitted attributes of a state."""
        centres, labels = assign(similarities, state.exemplars)
        found = {"cluster_centers_indices_": centres, "labels_": labels}
        return found if self.affinity == "precomputed" else found | {"cluster_centers_": rows[centres]}

    def predict(self, X: Any) -> Array:
        """Return the cluster of the nearest exemplar of each row; -1 if there are none."""
        check_is_fitted(self)
        source = open_new_rows(self, X, accept_sparse="csr")
        if "cluster_centers_" not in vars(self):
            raise DataError(
                "AffinityPropagation: Predict method is not supported when affinity='precomputed'. Fit to rows."
            )
        if not self.cluster_centers_.shape[0]:
            warnings.warn(
                "This model does not have any cluster centers because affinity propagation did not converge. Labeling "
                "every sample as '-1'.",
                ConvergenceWarning,
                stacklevel=2,
            )
            return np.full(source.n_rows, -1)
        centres = self.cluster_centers_
        centres = centres.toarray() if is_sparse_matrix(centres) else centres
        return source.map(_NearestExemplar(Centres(centres.astype(source.host_dtype, copy=False))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags


def affinity_propagation(
    S: Any,
    *,
    preference: Any = None,
    convergence_iter: int = 15,
    max_iter: int = 200,
    damping: float = 0.5,
    copy: bool = True,
    verbose: bool = False,
    return_n_iter: bool = False,
    random_state: Any = None,
) -> Any:
    """Cluster by given similarities; the parameters are those of :class:`AffinityPropagation`.

    Parameters
    ----------
    S : array-like of shape (n, n)
        Similarities.
    return_n_iter : bool, default=False
        Whether the number of rounds is returned as well.

    Returns
    -------
    cluster_centers_indices : ndarray of shape (n_clusters,)
    labels : ndarray of shape (n,)
    n_iter : int
        If asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import affinity_propagation
    >>> x = np.array([1.0, 2.0, 3.0, 8.0, 9.0, 10.0])
    >>> affinity_propagation(-((x[:, None] - x) ** 2), random_state=0)[1].tolist()
    [0, 0, 0, 1, 1, 1]
    """
    model = AffinityPropagation(
        damping=damping,
        max_iter=max_iter,
        convergence_iter=convergence_iter,
        copy=copy,
        preference=preference,
        affinity="precomputed",
        verbose=verbose,
        random_state=random_state,
    ).fit(S)
    found = model.cluster_centers_indices_, model.labels_
    return (*found, model.n_iter_) if return_n_iter else found
