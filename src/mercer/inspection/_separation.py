"""Pictures of separated sources and of tables that belong together."""

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._source.namespace import to_numpy
from mercer.decomposition import diagonalize_jointly, match_sources, negentropy
from mercer.errors import DataError
from mercer.estimation import excess_kurtosis
from mercer.inspection._display import Display, draws


class SourcesDisplay(Display):
    """Sources over time, one panel each, with the true sources behind them where these are known.

    Parameters
    ----------
    sources : array-like of shape (n_samples, n_sources)
        Estimated sources, one row for each time.
    true_sources : array-like of shape (n_samples, n_true) or None, default=None
        The sources that were mixed. Estimates are put in their order, with their signs and scales.
    names : sequence of str or None, default=None
        Names of the panels; None numbers them.

    Attributes
    ----------
    correlation_ : ndarray of shape (n_true,) or None
        The absolute correlation of each true source with its estimate.

    Examples
    --------
    >>> from mercer.datasets import make_mixed_sources
    >>> from mercer.decomposition import ICA
    >>> from mercer.inspection import SourcesDisplay
    >>> rows = make_mixed_sources(400, sources=["sine", "laplace"])
    >>> estimated = ICA(random_state=0).fit_transform(rows.data)
    >>> bool((SourcesDisplay(estimated, rows.sources).correlation_ > 0.98).all())
    True
    """

    def __init__(self, sources: Any, true_sources: Any = None, *, names: Any = None) -> None:
        self.sources = np.asarray(sources, dtype=np.float64)
        self.true_sources = None if true_sources is None else np.asarray(true_sources, dtype=np.float64)
        self.correlation_ = None
        if self.true_sources is not None:
            match = match_sources(self.sources, self.true_sources)
            # Both are shown about zero: the mean of a source cannot be told from that of the rows.
            self.sources = match.apply(self.sources - self.sources.mean(axis=0))
            self.true_sources = self.true_sources - self.true_sources.mean(axis=0)
            self.correlation_ = match.correlation
        count = self.sources.shape[1]
        self.names = [f"source {number}" for number in range(count)] if names is None else list(names)

    @draws
    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, true_sources: Any = None) -> Any:
        """Draw the sources that a fitted estimator finds in rows.

        Parameters
        ----------
        estimator : ICA, FastICA, SecondOrderSeparation or any transformer
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Rows, one for each time.
        true_sources : array-like of shape (n_samples, n_true) or None, default=None
            The sources that were mixed.
        """
        check_is_fitted(estimator)
        return cls(estimator.transform(X), true_sources)

    def _grid(self) -> dict[str, Any]:
        return {"rows": self.sources.shape[1], "sharex": True}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        for number, panel in enumerate(axes):
            if self.true_sources is not None:
                panel.plot(self.true_sources[:, number], color="0.75", linewidth=2.5, label="true")
            panel.plot(self.sources[:, number], **({"color": "black", "linewidth": 0.8, "label": "estimated"} | kwargs))
            panel.set_ylabel(self.names[number])
            if self.correlation_ is not None:
                panel.set_title(f"|correlation| {self.correlation_[number]:.3f}", loc="right", fontsize="small")
        if self.true_sources is not None:
            axes[0].legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.0)
        axes[-1].set_xlabel("time")


class SeparationStagesDisplay(Display):
    """Joint scatters of two columns: as they are, after whitening, and after separation.

    Whitening makes the cloud round; what is left is a rotation, which the second moments do not show and the sides of
    the cloud do.

    Parameters
    ----------
    rows, white, sources : array-like of shape (n_samples, 2)
        The same rows at three stages.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import SeparationStagesDisplay
    >>> X = np.random.default_rng(0).uniform(size=(50, 2))
    >>> SeparationStagesDisplay(X, X, X).rows.shape
    (50, 2)
    """

    artist = "scatter"

    def __init__(self, rows: Any, white: Any, sources: Any) -> None:
        self.rows, self.white, self.sources = (np.asarray(part, dtype=np.float64) for part in (rows, white, sources))
        for part in (self.rows, self.white, self.sources):
            if part.ndim != 2 or part.shape[1] < 2:
                raise DataError(
                    f"SeparationStagesDisplay: every stage must have two columns at least; got the shape {part.shape}. "
                    f"Choose two columns."
                )

    @draws
    @classmethod
    def from_estimator(cls, estimator: Any, X: Any) -> Any:
        """Draw the stages of a fitted separation; the first two columns are shown.

        Parameters
        ----------
        estimator : ICA, FastICA or SecondOrderSeparation
            Fitted, with ``whitening_`` and ``mean_``.
        X : array-like of shape (n_samples, n_features)
            Rows.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "whitening_"):
            raise DataError(
                f"SeparationStagesDisplay: the estimator must have whitening_; got {type(estimator).__name__}. Give a "
                f"fitted ICA, FastICA or SecondOrderSeparation."
            )
        rows = check_array(X, dtype=np.float64)
        white = (rows - estimator.mean_) @ estimator.whitening_.T
        # Each white column is drawn at variance one, whatever the scale of the whitening.
        return cls(rows, white / white.std(axis=0), estimator.transform(X))

    def _grid(self) -> dict[str, Any]:
        return {"columns": 3, "figsize": (9.6, 3.2)}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        stages = (("rows", self.rows, "x"), ("white rows", self.white, "u"), ("sources", self.sources, "s"))
        for panel, (title, part, letter) in zip(axes, stages, strict=True):
            panel.scatter(
                part[:, 0], part[:, 1], **({"s": 3, "color": "black", "alpha": 0.3, "linewidths": 0} | kwargs)
            )
            # One scale for both axes, which the farthest thousandth of the points does not decide.
            reach = 1.1 * float(np.quantile(np.abs(part[:, :2] - part[:, :2].mean(axis=0)).max(axis=1), 0.999))
            centre = part[:, :2].mean(axis=0)
            panel.set(xlim=(centre[0] - reach, centre[0] + reach), ylim=(centre[1] - reach, centre[1] + reach))
            panel.set(title=title, xlabel=f"${letter}_1$", ylabel=f"${letter}_2$", aspect="equal")


# Angles from 0 to 180 degrees: one for each degree.
_ANGLES = 181


class ContrastLandscapeDisplay(Display):
    """Kurtosis and negentropy of the projection of two columns on each direction of their white plane.

    The rows are made white first, so that every direction has variance one. Sources are at the extremes: maxima of
    negentropy, maxima of kurtosis for heavy tails and minima for light ones.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
        Rows of two columns.
    method : str, default="spacing"
        How :func:`mercer.decomposition.negentropy` estimates.

    Attributes
    ----------
    angles_ : ndarray of shape (181,)
        In degrees.
    kurtosis_, negentropy_ : ndarray of shape (181,)
    best_angle_ : float
        The angle of largest negentropy.

    Examples
    --------
    >>> from mercer.datasets import make_mixed_sources
    >>> from mercer.inspection import ContrastLandscapeDisplay
    >>> display = ContrastLandscapeDisplay(make_mixed_sources(2000).data)
    >>> bool(display.kurtosis_.max() > 2 and display.kurtosis_.min() < -1)
    True
    """

    def __init__(self, X: Any, *, method: str = "neighbours") -> None:
        X = check_array(X, dtype=np.float64, ensure_min_samples=8)
        if X.shape[1] != 2:
            raise DataError(f"ContrastLandscapeDisplay: X must have two columns; got {X.shape[1]}. Choose two of them.")
        centred = X - X.mean(axis=0)
        values, vectors = np.linalg.eigh(centred.T @ centred / len(X))
        if values[0] <= 1e-12 * values[1]:
            raise DataError(
                "ContrastLandscapeDisplay: the two columns must not be proportional; got rank 1. Choose others."
            )
        # A direction and its opposite have the same contrast, so half a turn is enough.
        self.angles_ = np.linspace(0.0, 180.0, _ANGLES)
        radians = np.deg2rad(self.angles_)
        # eigh lists small eigenvalues first. In the reversed order the white plane begins with the largest.
        white = centred @ vectors[:, ::-1] / np.sqrt(values[::-1])
        projections = white @ np.array([np.cos(radians), np.sin(radians)])
        self.kurtosis_ = excess_kurtosis(projections)
        self.negentropy_ = negentropy(projections, method=method)
        self.best_angle_ = float(self.angles_[np.argmax(self.negentropy_)])

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        (first,) = ax.plot(self.angles_, self.kurtosis_, **({"color": "black", "label": "excess kurtosis"} | kwargs))
        ax.axhline(0.0, color="0.8", linewidth=0.8)
        right = ax.twinx()
        (second,) = right.plot(self.angles_, self.negentropy_, color="tab:red", label="negentropy")
        ax.axvline(self.best_angle_, color="grey", linestyle=":")
        ax.set(xlabel="angle in the white plane (degrees)", ylabel="excess kurtosis", xlim=(0, 180))
        right.set(ylabel="negentropy (nats)", ylim=(min(0.0, self.negentropy_.min()), None))
        ax.legend(handles=[first, second], loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, borderaxespad=0.2)


class JointDiagonalDisplay(Display):
    """Matrices before and after one transform that makes them as diagonal as it can: two rows of pictures.

    Parameters
    ----------
    matrices : array-like of shape (n_matrices, k, k)
        Symmetric matrices.
    transform : array-like of shape (k, k)
        V; the lower row shows V C V^T, each scaled to its largest entry.
    names : sequence of str or None, default=None
        Titles of the columns, such as lags.

    Attributes
    ----------
    transformed_ : ndarray of shape (n_matrices, k, k)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import JointDiagonalDisplay
    >>> C = np.array([[[2.0, 1.0], [1.0, 2.0]]])
    >>> V = np.array([[1.0, 1.0], [1.0, -1.0]])
    >>> JointDiagonalDisplay(C, V).transformed_[0].tolist()
    [[6.0, 0.0], [0.0, 2.0]]
    """

    artist = "imshow"

    def __init__(self, matrices: Any, transform: Any, *, names: Any = None) -> None:
        self.matrices = np.asarray(matrices, dtype=np.float64)
        self.transform = np.asarray(transform, dtype=np.float64)
        if self.matrices.ndim != 3 or self.transform.shape != self.matrices.shape[1:]:
            raise DataError(
                f"JointDiagonalDisplay: matrices must be of shape (n_matrices, k, k) and the transform of shape (k, "
                f"k); got {self.matrices.shape} and {self.transform.shape}. Stack the matrices."
            )
        # The transform B diagonalises C as B C B^T.
        self.transformed_ = self.transform @ self.matrices @ self.transform.T
        self.names = [f"matrix {number}" for number in range(len(self.matrices))] if names is None else list(names)

    @draws
    @classmethod
    def from_matrices(cls, matrices: Any, method: str = "jacobi", *, names: Any = None) -> Any:
        """Draw matrices before and after the transform that makes them jointly diagonal.

        Parameters
        ----------
        matrices : array-like of shape (n_matrices, k, k)
            Symmetric matrices.
        method : str, default="jacobi"
            As for :func:`mercer.decomposition.diagonalize_jointly`.
        names : sequence of str or None, default=None
            Titles of the columns.
        """
        return cls(matrices, diagonalize_jointly(matrices, method).transform, names=names)

    def _grid(self) -> dict[str, Any]:
        return {"rows": 2, "columns": len(self.matrices)}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        axes = axes.reshape(2, -1)
        for line, (title, part) in enumerate((("before", self.matrices), ("after", self.transformed_))):
            for number, matrix in enumerate(part):
                panel = axes[line, number]
                largest = float(np.abs(matrix).max()) or 1.0
                panel.imshow(matrix, **({"cmap": "RdBu_r", "vmin": -largest, "vmax": largest} | kwargs))
                panel.set(xticks=[], yticks=[])
                if line == 0:
                    panel.set_title(self.names[number])
            axes[line, 0].set_ylabel(title)


class CanonicalVariatesDisplay(Display):
    """Scatter of the scores of two tables, one panel per pair, each with its correlation.

    Parameters
    ----------
    x_scores, y_scores : array-like of shape (n_samples, n_components)
        The scores of both tables.
    labels : array-like of shape (n_samples,) or None, default=None
        Numbers that colour the points.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        Of the scores shown.
    points_ : list of matplotlib artists
        The scatters, one per pair.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import CanonicalVariatesDisplay
    >>> t = np.arange(6.0)[:, None]
    >>> CanonicalVariatesDisplay(t, -2 * t).correlations_.round(2)
    array([-1.])
    """

    artist = "scatter"

    def __init__(self, x_scores: Any, y_scores: Any, *, labels: Any = None) -> None:
        self.x_scores = np.asarray(x_scores, dtype=np.float64)
        self.y_scores = np.asarray(y_scores, dtype=np.float64)
        self.labels = labels
        if self.x_scores.shape != self.y_scores.shape or self.x_scores.ndim != 2:
            raise DataError(
                f"CanonicalVariatesDisplay: both tables of scores must have one shape (n_samples, n_components); got "
                f"{self.x_scores.shape} and {self.y_scores.shape}. Give what transform(X, y) returned."
            )
        t, u = self.x_scores - self.x_scores.mean(axis=0), self.y_scores - self.y_scores.mean(axis=0)
        sizes = np.sqrt((t**2).sum(axis=0) * (u**2).sum(axis=0))
        # A constant score has no correlation, and gets zero.
        self.correlations_ = (t * u).sum(axis=0) / np.where(sizes > 0, sizes, 1.0)

    @draws
    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, labels: Any = None) -> "CanonicalVariatesDisplay":
        """Draw the scores that a fitted estimator gives to rows of two tables.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``transform(X, y)``: :class:`~mercer.cross_decomposition.CCA` and its relatives.
        X, y : array-like
            Rows of both tables.
        labels : array-like of shape (n_samples,) or None, default=None
            Numbers that colour the points.
        """
        check_is_fitted(estimator)
        x_scores, y_scores = (to_numpy(scores) for scores in estimator.transform(X, y))
        return cls(x_scores, y_scores, labels=labels)

    def _grid(self) -> dict[str, Any]:
        count = self.x_scores.shape[1]
        return {"columns": count, "figsize": (3.2 * count, 3.0)}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        options: dict[str, Any] = {"s": 10, "alpha": 0.7}
        if self.labels is not None:
            options["c"] = np.asarray(self.labels)
        self.points_ = []
        for pair, ax in enumerate(axes[: self.x_scores.shape[1]]):
            self.points_.append(ax.scatter(self.x_scores[:, pair], self.y_scores[:, pair], **(options | kwargs)))
            ax.set(xlabel=f"x score {pair + 1}", ylabel=f"y score {pair + 1}")
            ax.set_title(f"correlation {self.correlations_[pair]:.2f}")
