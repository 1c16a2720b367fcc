"""DENCLUE: clusters are the hills of a kernel density that rise above a noise level."""

import math
from typing import Any, ClassVar

import numpy as np

from mercer._base import LimitedEstimator, check_new_rows, fitting
from mercer._base.interface import ClusterMixin
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, attribute, parameter
from mercer._base.preparation import prepare_once
from mercer._solver.centres.first_centres import column_moments
from mercer._solver.neighbours.space_tree import SpaceTree
from mercer._solver.relay import answer_requests
from mercer._stored import Stored, floats, integers, numbers
from mercer._types import Array
from mercer.cluster._density.hill_climbing import Ascent, GaussianDensity, HillState, attractors_of, clusters_of


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
