"""DENCLUE: clusters are the hills of a kernel density that rise above a noise level."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mercer._base import LimitedEstimator, check_new_rows, fitting
from mercer._base.interface import ClusterMixin
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, attribute, parameter
from mercer._base.preparation import prepare_once
from mercer._native.space import box_search
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.centres.first_centres import column_moments
from mercer._solver.neighbours.space_tree import QUERIES, WIDTH, SpaceTree
from mercer._solver.relay import answer_requests
from mercer._source.threads import run_numbered
from mercer._stored import Stored, floats, integers, numbers
from mercer._types import Array
from mercer.cluster._numbering import number_by_first_rows

# Squared radius of a sum, in bandwidths: a row farther away adds less than exp(-40) = 4e-18 of a row at the centre.
_CUT = 80.0


class GaussianDensity:
    """A Gaussian kernel density of weighted rows, and its mean-shift step.

    Parameters
    ----------
    tree : SpaceTree
        The rows.
    weight : ndarray of shape (n,) or None
    bandwidth : float
    """

    def __init__(self, tree: SpaceTree, weight: Array, bandwidth: float) -> None:
        self.tree, self.bandwidth = tree, bandwidth
        self.placed = np.zeros(len(tree.leaves) * WIDTH)
        self.placed[: tree.n] = 1.0 if weight is None else weight[tree.order]
        total = tree.n if weight is None else float(np.sum(weight))
        # log of (2 pi h^2)^(-d/2) / W.
        self.log_scale = -math.log(total) - tree.d * (math.log(bandwidth) + 0.5 * math.log(2 * math.pi))

    def climb(self, rows: Array, group: int = WIDTH) -> tuple[Array, Array]:
        """Return the log density at each row, and its next point: the mean of all rows weighted by their Gaussians.

        Rows in groups share a walk down the tree; with `group` 1 a row's result does not depend on the rows beside it.
        """
        sums, means = np.empty(len(rows)), np.empty(rows.shape)

        def work(run: int) -> None:
            part = slice(run * QUERIES, (run + 1) * QUERIES)
            box_search.climb(
                np.ascontiguousarray(rows[part], np.float64), self.tree.leaves, self.tree.walk(group), self.placed,
                # exp(-|x - y|^2 / (2 h^2)), and rows beyond the cut are left out.
                0.5 / self.bandwidth**2, _CUT * self.bandwidth**2, np.empty((group, self.tree.d + 1, WIDTH)),
                sums[part], means[part],
            )  # fmt: skip

        if len(rows) <= QUERIES:
            work(0)
        else:
            run_numbered(work, -(-len(rows) // QUERIES), self.tree.threads)
        with np.errstate(divide="ignore"):
            return np.log(sums) + self.log_scale, means


@plain
@dataclass(frozen=True)
class HillState:
    """The point each row has reached, its log density, its last move in bandwidths, and whether it still moves.

    `first_log_density` is the log density at the rows themselves, which the first step finds; None before it, and in
    checkpoints of older versions.
    """

    points: Any
    log_density: Any
    moves: Any
    moving: Any
    first_log_density: Any = None


@dataclass(frozen=True, eq=False)
class Ascent:
    """The solver: move every row to the weighted mean of the rows around it (mean shift), until all moves are small."""

    density: GaussianDensity
    weight: Array
    tol: float
    max_iter: int
    group: int = WIDTH

    def start(self, rows: Array) -> HillState:
        """Return the state before the first step."""
        return HillState(rows, np.full(len(rows), -np.inf), np.full(len(rows), np.inf), np.ones(len(rows), bool))

    def advance(self, state: HillState) -> HillState:
        """Take one step with all rows that still move; return the new state."""
        moving = np.flatnonzero(state.moving)
        log_density, means = self.density.climb(state.points[moving], self.group)
        # Moves in units of the bandwidth.
        moves = np.sqrt(np.sum((means - state.points[moving]) ** 2, axis=1)) / self.density.bandwidth
        on = moves > self.tol
        points, reached, lengths, still = (
            part.copy() for part in (state.points, state.log_density, state.moves, state.moving)
        )
        # No row has moved before the first step: the density that it finds is that at the rows.
        begins = state.first_log_density is None and np.isinf(state.moves).all()
        at_rows = log_density if begins else state.first_log_density
        # The density never falls along a path; rounding may make it seem so near the end.
        reached[moving] = np.maximum(reached[moving], log_density)
        points[moving[on]] = means[on]
        lengths[moving] = moves
        still[moving[~on]] = False
        return HillState(points, reached, lengths, still, at_rows)

    def solve(self, state: HillState) -> Solver:
        """Climb from `state` until no row moves or ``max_iter`` steps are made."""
        for _ in range(self.max_iter):
            if not state.moving.any():
                break
            state = self.advance(state)
            objective = float(np.average(state.log_density, weights=self.weight))
            yield Step(objective, state, self._certificate(state), {"moving": float(np.count_nonzero(state.moving))})
        return Solution(state, not state.moving.any(), self._certificate(state))

    def _certificate(self, state: HillState) -> Certificate:
        statement = "The longest last move of a row, in bandwidths: zero proves that all rows are at attractors."
        return Certificate.of("fixed point", state.moves.max(), self.tol, statement)


def attractors_of(points: Array, log_density: Array, bandwidth: float, threads: int) -> tuple[Array, Array]:
    """Return the attractor of each row, numbered from the densest down, and the densest row of each attractor.

    Paths to the same attractor end near it, not on it: ends within half a bandwidth of each other are one attractor.
    """
    tree = SpaceTree(points, threads, "DENCLUE")
    components = np.empty(tree.n, np.int32)
    components[tree.order] = tree.components(0.5 * bandwidth, np.ones(tree.n, bool))
    groups = number_by_first_rows(components)
    order = np.lexsort((-log_density, groups))
    tops = order[np.unique(groups[order], return_index=True)[1]]
    # Densities equal up to rounding count as equal; then coordinates decide, so that the order of rows does not.
    rank = np.lexsort((*points[tops].T[::-1], -np.round(log_density[tops], 9)))
    index = np.empty(len(tops), np.int64)
    index[rank] = np.arange(len(tops))
    return index[groups], tops[rank]


def clusters_of(tree: SpaceTree, groups: Array, peaks: Array, dense: Array, bandwidth: float) -> Array:
    """Return the cluster of each attractor, -1 for noise; a path of dense rows joins attractors to one cluster.

    Consecutive rows of a path are within a bandwidth of each other; `dense` says which rows are above the noise level,
    and `peaks` which attractors are.
    """
    components = np.empty(tree.n, np.int32)
    components[tree.order] = tree.components(bandwidth, dense[tree.order])
    rows = np.flatnonzero(dense)
    size = len(peaks) + tree.n
    # A bipartite graph: each dense row links its attractor to its component of dense rows.
    links = coo_array((np.ones(len(rows), np.int8), (groups[rows], len(peaks) + components[rows])), (size, size))
    parts = connected_components(links, directed=False)[1][: len(peaks)]
    return number_by_first_rows(np.where(peaks, parts, -1))


class DENCLUE(ClusterMixin, LimitedEstimator):
    r"""Density clustering by hill climbing (DENCLUE 2.0).

    The rows make a Gaussian kernel density of bandwidth h,

    .. math:: f(x) = \frac{1}{W} \sum_i w_i (2 \pi h^2)^{-d/2} \exp(-\lVert x - x_i \rVert^2 / 2 h^2) .

    Each row climbs it, by steps to the mean of all rows weighted by their Gaussians; every step raises f. The end of
    the path is the row's *attractor*. Attractors with f below the noise level `xi` and all rows that climb to them are
    noise; attractors that a path of rows above `xi` joins make one cluster, which can have any shape.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int64
        The cluster of each row, -1 for noise. Clusters are numbered from that of the densest attractor down.
    attractors_ : ndarray of shape (n_attractors, d)
        The densest first.
    attractor_labels_ : ndarray of shape (n_attractors,), int64
        The cluster of each attractor, -1 for noise.
    attractor_log_density_ : ndarray of shape (n_attractors,)
    log_density_ : ndarray of shape (n,)
        The logarithm of f at each row.
    bandwidth_, xi_ : float
        What was used.
    history_ : dict of ndarray
        Per step: ``objective`` (mean log density of where the rows were before it), ``seconds``, ``moving`` (rows that
        go on).
    converged_, n_iter_ : bool, int
        Whether all rows arrived, and after how many steps.
    certificate_ : Certificate
        ``"fixed point"``: the longest last move of a row, in bandwidths.

    Notes
    -----
    A step costs at most n^2 d, and less where rows are many bandwidths apart, since a tree skips what weighs less than
    exp(-40). Memory is a few copies of the rows. Ends within half a bandwidth are one attractor; consecutive rows of a
    path are within a bandwidth. A weight stands for repetitions. Rows must be in memory.

    References
    ----------
    A. Hinneburg and D. Keim, An efficient approach to clustering in large multimedia databases with noise, 1998.
    A. Hinneburg and H.-H. Gabriel, DENCLUE 2.0: fast clustering based on kernel density estimation, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import DENCLUE
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 20, axis=0)
    >>> model = DENCLUE(bandwidth=1.0).fit(X)
    >>> int(model.labels_.max()) + 1
    3
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    bandwidth: Any = parameter(
        Choice("scott", "silverman") | Real(0, closed="neither"),
        default="scott",
        kw_only=False,
        doc="h. ``'scott'`` is :math:`s W^{-1/(d+4)}` and ``'silverman'`` is :math:`s (W (d+2)/4)^{-1/(d+4)}`, "
        "where :math:`s^2` is the mean variance of the columns; both suit one hill, and smooth several rather "
        "too much.",
    )
    xi: float | None = parameter(
        Real(0) | Nothing(),
        default=None,
        doc="The noise level, a density; None means a tenth of the mean density at the rows.",
    )
    max_iter: int = parameter(Integer(1), default=300, doc="Most steps of a row.")
    tol: float = parameter(
        Real(0), default=1e-3, doc="A row has arrived when its next step would be at most `tol` bandwidths long."
    )
    verbose: int = parameter(Integer(0) | Boolean(), default=0)

    _stored: ClassVar[dict[str, Stored]] = {
        "_fit_rows": numbers("rows, columns"),
        "labels_": integers("rows", low=-1),
        "attractors_": floats("attractors, columns"),
        "attractor_labels_": integers("attractors", low=-1),
        "log_density_": floats("rows"),
        "bandwidth_": floats(),
        "_fit_weight": floats("rows | none"),
        "xi_": floats(),
        "attractor_log_density_": floats("attractors"),
    }
    _objective_moves = "up"
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "every row climbs from its own place, so where they have got to is a copy of the rows"
    }

    labels_: Array = attribute()
    attractors_: Array = attribute()
    _depends_on_units = ("columns", "scale")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "DENCLUE":
        """Find the clusters."""
        source = self._open(X, None, sample_weight)
        rows, weight = source.whole(), source.weight
        bandwidth = self._bandwidth(source)
        tree = SpaceTree(rows, self._threads(), "DENCLUE")
        density = GaussianDensity(tree, weight, bandwidth)
        # The tree keeps its rows in an order of its own; weights follow it.
        ascent = Ascent(density, None if weight is None else weight[tree.order], self.tol, self.max_iter)
        first = ascent.start(tree.rows(0, tree.n))
        known = {"bandwidth_": bandwidth, "_fit_rows": rows, "_fit_weight": weight}
        outcome = self._drive(
            lambda state: ascent.solve(state or first), source, max_steps=self.max_iter, attributes=known
        )
        self._store(outcome.state, density)
        self._conclude(outcome)
        return self

    def _fitted(self, state: HillState) -> dict[str, Any]:
        return {}

    def _bandwidth(self, source: Any) -> float:
        if not isinstance(self.bandwidth, str):
            return float(self.bandwidth)
        n, d = source.total_weight(), source.n_features
        spread = math.sqrt(float(np.mean(answer_requests(column_moments(), source)[1])))
        size = n if self.bandwidth == "scott" else n * (d + 2) / 4
        # If all rows are equal they have no spread; any bandwidth then finds their one hill.
        return (spread or 1.0) * size ** (-1 / (d + 4))

    def _store(self, state: HillState, density: GaussianDensity) -> None:
        """Set attractors and labels from the points that rows, in the order of the tree, have climbed to."""
        tree, h = density.tree, self.bandwidth_
        points, reached, here = np.empty(state.points.shape), np.empty(tree.n), np.empty(tree.n)
        points[tree.order], reached[tree.order] = state.points, state.log_density
        # The density at the rows themselves. The first step has found it; to compute it again would take as long as
        # that step, also after Ctrl-C.
        known = state.first_log_density
        here[tree.order] = density.climb(tree.X[tree.order])[0] if known is None else known
        groups, tops = attractors_of(points, reached, h, tree.threads)
        # A tenth of the mean density at the rows, in logarithms: densities may overflow in many dimensions.
        with np.errstate(over="ignore", divide="ignore"):
            # A weighted mean of densities in logarithms, about the largest.
            mean = np.log(np.average(np.exp(here - here.max()), weights=self._fit_weight)) + here.max()
            log_xi = float(mean + math.log(0.1) if self.xi is None else np.log(self.xi))
            self.xi_ = float(np.exp(log_xi))
        clusters = clusters_of(tree, groups, reached[tops] >= log_xi, here >= log_xi, h)
        dtype = tree.X.dtype
        self.attractors_, self.attractor_labels_ = points[tops].astype(dtype), clusters
        self.attractor_log_density_, self.log_density_ = reached[tops], here
        self.labels_ = clusters[groups]

    def _density(self) -> GaussianDensity:
        tree = SpaceTree(self._fit_rows, self._threads(), "DENCLUE")
        return GaussianDensity(tree, self._fit_weight, self.bandwidth_)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to `X` and return its labels."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: Any) -> Array:
        """Return the cluster of the attractor nearest to where each row climbs to, or -1.

        A row that no row of the fit is near enough to draw up is noise too.
        """
        rows = check_new_rows(self, X).astype(np.float64)
        density = prepare_once(self, (self._fit_rows, self._fit_weight, self.bandwidth_), self._density)
        ascent = Ascent(density, None, self.tol, self.max_iter, group=1)
        state = ascent.start(rows)
        for _ in range(self.max_iter):
            state = ascent.advance(state)
            if not state.moving.any():
                break
        labels = np.full(len(rows), -1, np.int64)
        for i in np.flatnonzero(np.isfinite(state.log_density)):
            gaps = np.sum((self.attractors_ - state.points[i]) ** 2, axis=1)
            # Farther than a bandwidth from every attractor: the climb ended on a hill that the fit did not have.
            if gaps.min() <= self.bandwidth_**2:
                labels[i] = self.attractor_labels_[gaps.argmin()]
        return labels
