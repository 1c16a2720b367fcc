"""Pictures of annealing: acceptance, energy, the Gibbs distribution, and centres of clusters as they split."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.errors import DataError
from mercer.inspection._display import Display, draws
from mercer.optim import GibbsDistribution, acceptance_probability


class AcceptanceDisplay(Display):
    """The probability of accepting a move, against the change of energy, for several inverse temperatures.

    Parameters
    ----------
    betas : sequence of float, default=(0.5, 1, 2, 10)
    rule : {"heat bath", "metropolis"}, default="heat bath"
    reach : float, default=4
        The largest change of energy shown.

    Attributes
    ----------
    changes_ : ndarray
    probabilities_ : ndarray of shape (n_betas, n_changes)
    lines_ : matplotlib objects

    Examples
    --------
    >>> from mercer.inspection import AcceptanceDisplay
    >>> display = AcceptanceDisplay(betas=(1.0, 5.0))
    >>> display.probabilities_[:, display.changes_ == 0.0].ravel()
    array([0.5, 0.5])
    """

    def __init__(
        self, betas: Sequence[float] = (0.5, 1.0, 2.0, 10.0), *, rule: str = "heat bath", reach: float = 4.0
    ) -> None:
        self.betas, self.rule, self.reach = betas, rule, reach
        self.changes_ = np.linspace(-reach, reach, 201)
        self.probabilities_ = np.array([acceptance_probability(self.changes_, beta, rule) for beta in betas])

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        pairs = zip(self.betas, self.probabilities_, strict=True)
        self.lines_ = [ax.plot(self.changes_, row, label=f"beta = {beta:g}", **kwargs)[0] for beta, row in pairs]
        ax.set(xlabel="change of energy", ylabel="accepted with probability", ylim=(-0.02, 1.02))
        ax.legend()


class EnergyTraceDisplay(Display):
    """The energy of an annealing run, level by level, and the best met so far.

    Parameters
    ----------
    energy, best : array-like of shape (n_levels,)
    beta : array-like of shape (n_levels,)
        The inverse temperature of each level.

    Attributes
    ----------
    lines_ : matplotlib objects

    Examples
    --------
    >>> from mercer.inspection import EnergyTraceDisplay
    >>> EnergyTraceDisplay([3.0, 1.0, 2.0], [3.0, 1.0, 1.0], [0.1, 0.2, 0.4]).best
    array([3., 1., 1.])
    """

    def __init__(self, energy: Any, best: Any, beta: Any) -> None:
        self.energy, self.best, self.beta = (np.asarray(trace, dtype=np.float64) for trace in (energy, best, beta))

    @draws
    @classmethod
    def from_result(cls, result: Any) -> "EnergyTraceDisplay":
        """Draw the trace of a result of :func:`mercer.optim.anneal`."""
        history = result.history
        if "beta" not in history or "energy" not in history:
            raise DataError(
                f"EnergyTraceDisplay: the result must be one of anneal; got a history of {', '.join(history)}."
            )
        return cls(history["energy"], history["objective"], history["beta"])

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        walk = ax.plot(self.beta, self.energy, label="walk", **({"linewidth": 0.8} | kwargs))
        self.lines_ = walk + ax.plot(self.beta, self.best, color="black", label="best")
        ax.set(xlabel="beta", ylabel="energy", xscale="log")
        ax.legend()


class GibbsDisplay(Display):
    """An energy over a line of states, and its Gibbs distribution for several inverse temperatures.

    Parameters
    ----------
    energies : array-like of shape (n,)
    betas : sequence of float, default=(0.5, 2, 10)
    positions : array-like of shape (n,) or None, default=None
        Where the states are; None numbers them.

    Attributes
    ----------
    probabilities_ : ndarray of shape (n_betas, n)
    lines_ : matplotlib objects

    Examples
    --------
    >>> from mercer.inspection import GibbsDisplay
    >>> GibbsDisplay([0.0, 1.0], betas=(0.0, 1000.0)).probabilities_
    array([[0.5, 0.5],
           [1. , 0. ]])
    """

    def __init__(self, energies: Any, *, betas: Sequence[float] = (0.5, 2.0, 10.0), positions: Any = None) -> None:
        self.energies, self.betas = np.asarray(energies, dtype=np.float64), betas
        self.positions = np.arange(len(self.energies)) if positions is None else np.asarray(positions)
        self.probabilities_ = np.array([GibbsDistribution(self.energies, beta).probabilities for beta in betas])

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        pairs = zip(self.betas, self.probabilities_, strict=True)
        self.lines_ = [ax.plot(self.positions, row, label=f"beta = {beta:g}", **kwargs)[0] for beta, row in pairs]
        ax.set(xlabel="state", ylabel="probability")
        other = ax.twinx()
        other.plot(self.positions, self.energies, color="lightgrey", zorder=0)
        other.set(ylabel="energy")
        ax.legend()


class _CentreRecord:
    """A callback that keeps the last centres of every temperature."""

    def __init__(self) -> None:
        self.centres: dict[int, np.ndarray] = {}

    def setup(self, estimator: Any, context: Any) -> None:
        self.centres = {}

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any = None) -> bool:
        # While a level is at work, betas_ holds the levels before it.
        if fitted_estimator is not None and context.max_subtasks == 0:
            self.centres[len(fitted_estimator.betas_)] = np.array(fitted_estimator.cluster_centers_)
        return False


class AnnealedCentresDisplay(Display):
    """Three panels against the inverse temperature beta: one coordinate of the centres, mean cost, distinct centres.

    All centres are at the mean of the rows until beta passes 1 / (2 lambda), with lambda the largest variance of the
    rows in any direction; there they split for the first time.

    Parameters
    ----------
    betas, costs, counts : array-like of shape (n_levels,)
        Inverse temperatures, the mean cost and the number of different centres at each.
    centres : array-like of shape (n_levels, n_clusters, d)
        Centres at each.
    critical_beta : float
        Where the first split is, marked by a line.
    column : int, default=0
        The coordinate of the centres that is drawn.

    Attributes
    ----------
    points_, cost_line_, count_line_ : matplotlib objects
        What was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import SoftKMeans
    >>> from mercer.inspection import AnnealedCentresDisplay
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> display = AnnealedCentresDisplay.compute(SoftKMeans(2, random_state=0), X)
    >>> np.ptp(display.centres[0]).round(2), np.sort(display.centres[-1].ravel()).round(2)
    (np.float64(0.0), array([ 0.5, 10.5]))
    """

    artist = "scatter"

    def __init__(self, betas: Any, costs: Any, counts: Any, centres: Any, critical_beta: float, *, column: int = 0):
        self.betas, self.costs, self.counts = np.asarray(betas), np.asarray(costs), np.asarray(counts)
        self.centres, self.critical_beta, self.column = np.asarray(centres), critical_beta, column
        if self.centres.ndim != 3 or not 0 <= column < self.centres.shape[2] or len(self.centres) != len(self.betas):
            raise DataError(
                f"AnnealedCentresDisplay: centres must have shape ({len(self.betas)}, k, d), and column be in [0, d); "
                f"got shape {self.centres.shape} and column={column!r}."
            )

    @classmethod
    def compute(cls, estimator: Any, X: Any, *, column: int = 0) -> "AnnealedCentresDisplay":
        """Fit a copy of soft k-means and keep the centres of every temperature, without drawing.

        Parameters
        ----------
        estimator : SoftKMeans
            Its ``n_levels`` are the temperatures that are drawn.
        X : array-like of shape (n, d)
            Rows.
        column : int, default=0
            The coordinate of the centres that is drawn.

        Returns
        -------
        AnnealedCentresDisplay
        """
        record = _CentreRecord()
        model = clone(estimator).set_callbacks(record).fit(X)
        centres = np.stack([record.centres[level] for level in range(len(model.betas_))])
        return cls(model.betas_, model.costs_, model.n_distinct_, centres, model.critical_beta_, column=column)

    from_estimator = draws(compute)

    def _grid(self) -> dict[str, Any]:
        return {"columns": 3, "figsize": (9.6, 3.2)}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        heights = self.centres[:, :, self.column]
        places = np.broadcast_to(self.betas[:, None], heights.shape)
        self.points_ = axes[0].scatter(places.ravel(), heights.ravel(), **({"s": 6, "color": "black"} | kwargs))
        (self.cost_line_,) = axes[1].plot(self.betas, self.costs)
        (self.count_line_,) = axes[2].plot(self.betas, self.counts, drawstyle="steps-post")
        for ax, title in zip(axes, ("centres", "mean cost", "different centres"), strict=True):
            ax.axvline(self.critical_beta, color="tab:red", linestyle=":")
            ax.set(xscale="log", xlabel="β", title=title)


class MeanFieldDisplay(Display):
    """The mean field of clusters along one column: the mean distance to a cluster, corrected by its spread.

    With D_q(x) the mean distance of x to the objects of cluster q and s_q half the mean distance between two of its
    objects, the field is D_q(x) - s_q; an object prefers the cluster with the least. For squared distances it is the
    squared distance to the cluster's mean: the correction makes wide and narrow clusters comparable.

    Parameters
    ----------
    rows : array-like of shape (n,)
        Objects, as numbers.
    labels : array-like of shape (n,)
        The cluster of each.
    grid : array-like of shape (m,) or None, default=None
        Where to draw; None takes 201 points over the rows' range.

    Attributes
    ----------
    clusters_ : ndarray of shape (n_clusters,)
        The labels.
    means_, field_ : ndarray of shape (m, n_clusters)
        D_q(x) of squared distances, and D_q(x) - s_q.
    spreads_ : ndarray of shape (n_clusters,)
        s_q.
    mean_lines_, field_lines_ : matplotlib objects
        What was drawn.

    Examples
    --------
    >>> from mercer.inspection import MeanFieldDisplay
    >>> display = MeanFieldDisplay([0.0, 2.0, 9.0, 9.0], [0, 0, 1, 1], [1.0, 5.0])
    >>> display.spreads_, display.field_[1]  # squared distances of 5 to the means 1 and 9
    (array([1., 0.]), array([16., 16.]))
    """

    def __init__(self, rows: Any, labels: Any, grid: Any = None) -> None:
        self.rows, self.labels = np.asarray(rows, dtype=np.float64), np.asarray(labels)
        if self.rows.ndim != 1 or self.labels.shape != self.rows.shape or not len(self.rows):
            raise DataError(
                f"MeanFieldDisplay: rows and labels must be of one length and have one axis; got shapes "
                f"{self.rows.shape} and {self.labels.shape}."
            )
        self.grid = (
            np.linspace(self.rows.min(), self.rows.max(), 201) if grid is None else np.asarray(grid, dtype=np.float64)
        )
        self.clusters_ = np.unique(self.labels)
        parts = [self.rows[self.labels == cluster] for cluster in self.clusters_]
        self.means_ = np.stack([np.square(self.grid[:, None] - part).mean(axis=1) for part in parts], axis=1)
        # mean_a (x - x_a)^2 - mean_ab (x_a - x_b)^2 / 2 = (x - mean)^2:
        # the field is the squared distance from the mean.
        self.spreads_ = np.array([0.5 * np.square(part[:, None] - part).mean() for part in parts])
        self.field_ = self.means_ - self.spreads_

    from_rows = draws(__init__)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.mean_lines_, self.field_lines_ = [], []
        for q, cluster in enumerate(self.clusters_):
            style = {"color": f"C{q % 10}"} | kwargs
            self.mean_lines_ += ax.plot(self.grid, self.means_[:, q], linestyle="--", linewidth=0.8, **style)
            self.field_lines_ += ax.plot(self.grid, self.field_[:, q], label=f"cluster {cluster}", **style)
            members = self.rows[self.labels == cluster]
            ax.scatter(members, np.zeros_like(members), s=10, color=style["color"], zorder=3)
        ax.set(xlabel="x", ylabel="mean distance (dashed), less the spread")
        ax.legend()
