"""k-means that finds the number of clusters from a target for its inertia."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.parameter import Integer, Nothing, Real, parameter
from mercer._plain import plain
from mercer._solver import Solution, Solver, Step
from mercer._solver.centres.assignment import AssignmentSums, Farthest, Memory
from mercer._solver.centres.centres import Centres
from mercer._solver.centres.first_centres import column_moments
from mercer._solver.centres.lloyd import certify_fixed_point, measure_shift, move_centres
from mercer._stored import Stored, integers, numbers, size
from mercer.cluster._centres.centre_model import CentreModel


@plain
@dataclass(frozen=True)
class GrowingState:
    """Centres, the number of iterations made with this number of them, and whether these met the tolerance."""

    centres: Any
    iteration: int
    settled: bool


@dataclass(frozen=True)
class Growth:
    """The solver: run Lloyd's algorithm, add a centre where the variance is largest, until the target is reached."""

    target: float | None
    max_clusters: int
    max_iter: int
    tol: float
    source: Any
    memory: Memory

    def solve(self, state: GrowingState | None = None) -> Solver:
        """Grow from one centre, the mean, or from `state`."""
        mean, variance = yield from column_moments()
        tolerance = self.tol * float(np.mean(variance))
        # The inertia about the mean; by default a tenth of it is the target.
        scatter = float(np.sum(variance)) * self.source.total_weight()
        target = 0.1 * scatter if self.target is None else self.target
        if state is None:
            state = GrowingState(mean[None, :].astype(self.source.host_dtype), 0, False)
        while True:
            while not state.settled:
                state = yield from self._iterate(state, tolerance)
            # One pass for the settled centres: their inertia decides, and its sums tell where to add a centre.
            sums = self.memory.learn((yield self.memory.assignment(state.centres)))
            reached = sums.cost <= target
            if reached or len(state.centres) >= self.max_clusters:
                break
            centres = yield from self._with_one_more(state.centres, sums)
            if centres is None:
                break
            state = GrowingState(centres, 0, False)
        shift = measure_shift(sums.means(state.centres), state.centres)
        return Solution(state, reached, certify_fixed_point(shift, tolerance))

    def _iterate(self, state: GrowingState, tolerance: float) -> Any:
        sums = self.memory.learn((yield self.memory.assignment(state.centres)))
        centres = yield from move_centres(state.centres, sums)
        shift = measure_shift(centres, state.centres)
        iteration = state.iteration + 1
        state = GrowingState(centres, iteration, shift <= tolerance or iteration >= self.max_iter)
        yield Step(sums.cost, state, certify_fixed_point(shift, tolerance), {"n_clusters": float(len(centres))})
        return state

    def _with_one_more(self, centres: Any, sums: AssignmentSums) -> Any:
        """Add the farthest row of the cluster of largest variance; None if every row sits on its centre.

        The row itself then costs nothing and no other row costs more, so the inertia falls by this alone.
        """
        variance = np.where(sums.weights > 0, sums.costs / np.where(sums.weights > 0, sums.weights, 1.0), 0.0)
        farthest = yield Farthest(Centres(centres), 1, within=int(np.argmax(variance)))
        if len(farthest.rows) == 0 or farthest.distances[0] <= 0:
            return None
        return np.concatenate([centres, farthest.rows.astype(centres.dtype)])


class GrowingKMeans(CentreModel):
    r"""k-means that adds centres until the inertia is small enough.

    Begins with one centre, the mean of the data. While the inertia

    .. math:: E = \sum_i w_i \min_q \lVert x_i - \mu_q \rVert^2

    is above `target`, a centre is added in the cluster of largest variance, on the row that lies farthest from that
    cluster's centre, and Lloyd's algorithm is run again from there. So the number of clusters is the first one on this
    path that reaches the target.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d)
    n_clusters_ : int
        The number of clusters found, k.
    labels_ : ndarray of shape (n,), int32
        The nearest centre of each row; among equals the lowest.
    inertia_ : float
        E at the end.
    n_iter_ : int
        Iterations in all.
    history_ : dict of ndarray
        Per iteration: ``objective`` (E of the centres it began with), ``n_clusters``, ``seconds``.
    converged_ : bool
        Whether the target was reached.
    certificate_ : Certificate
        ``"fixed point"``: the summed squared moves that one more iteration would make. Zero proves a local optimum for
        this number of clusters.

    Notes
    -----
    An iteration costs n k d at most; memory is 20 bytes a row and k d numbers a thread. Nothing is drawn: the result
    depends on the data alone, and weights are repetitions exactly. Sparse rows stay sparse.

    References
    ----------
    J. MacQueen, Some methods for classification and analysis of multivariate observations, 1967.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import GrowingKMeans
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]])
    >>> model = GrowingKMeans(target=2.0).fit(X)
    >>> model.n_clusters_, float(model.inertia_)
    (3, 1.5)
    """

    target: float | None = parameter(
        Real(0) | Nothing(),
        default=None,
        kw_only=False,
        doc="The inertia to reach; None means a tenth of the inertia about the mean, so that the clusters explain "
        "nine tenths of the variance. For a target of :math:`E / 2n`, as some texts scale it, give 2n times "
        "that.",
    )
    max_clusters: int | None = parameter(
        Integer(1) | Nothing(),
        default=32,
        doc="The most clusters; None means as many as there are rows. A fit that ends here short of its target says "
        "so.",
    )

    _documents = {
        "max_iter": "Most iterations between two additions.",
        "tol": (
            "Lloyd's algorithm ends when the squared moves of all centres sum to at most `tol` times the mean variance."
        ),
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "cluster_centers_": numbers("clusters, columns"),
        "labels_": integers("rows"),
        "n_clusters_": size("clusters"),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "GrowingKMeans":
        """Find the centres and their number."""
        source = self._open(X, None, sample_weight, accept_sparse="csr")
        memory = Memory.of(source)
        # There are never more clusters than rows.
        most = source.n_rows if self.max_clusters is None else self.max_clusters
        growth = Growth(self.target, most, self.max_iter, self.tol, source, memory)
        outcome = self._drive(growth.solve, source)
        self.n_clusters_ = len(self.cluster_centers_)
        self._store_labels(source, self.cluster_centers_, memory)
        self._conclude(outcome, cure="raise target or max_clusters")
        return self

    def _fitted(self, state: GrowingState) -> dict[str, Any]:
        return {"cluster_centers_": state.centres}
