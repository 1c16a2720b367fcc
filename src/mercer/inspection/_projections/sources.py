"""Pictures of separated sources: over time, and as joint scatters of rows, white rows and sources."""

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer.decomposition import match_sources
from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class SourcesDisplay:
    """Sources over time, one panel each, with the true sources behind them where these are known.

    Needs matplotlib, which is imported when :meth:`plot` is called.

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
    axes_, figure_ : matplotlib objects
        Where it was drawn.

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

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, true_sources: Any = None, *, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the sources that a fitted estimator finds in rows.

        Parameters
        ----------
        estimator : ICA, FastICA, SecondOrderSeparation or any transformer
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Rows, one for each time.
        true_sources : array-like of shape (n_samples, n_true) or None, default=None
            The sources that were mixed.
        ax : array of matplotlib axes or None, default=None
            One for each source; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        SourcesDisplay
            The display, drawn.
        """
        check_is_fitted(estimator)
        return cls(estimator.transform(X), true_sources).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "SourcesDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : array of matplotlib axes or None, default=None
            One for each source; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        SourcesDisplay
            The display itself.
        """
        count = self.sources.shape[1]
        axes = np.atleast_1d(make_axes(ax, count, 1, sharex=True))
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
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


class SeparationStagesDisplay:
    """Joint scatters of two columns: as they are, after whitening, and after separation.

    Whitening makes the cloud round; what is left is a rotation, which the second moments do not show and the sides of
    the cloud do.

    Parameters
    ----------
    rows, white, sources : array-like of shape (n_samples, 2)
        The same rows at three stages.

    Attributes
    ----------
    axes_, figure_ : matplotlib objects
        Where it was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import SeparationStagesDisplay
    >>> X = np.random.default_rng(0).uniform(size=(50, 2))
    >>> SeparationStagesDisplay(X, X, X).rows.shape
    (50, 2)
    """

    def __init__(self, rows: Any, white: Any, sources: Any) -> None:
        self.rows, self.white, self.sources = (np.asarray(part, dtype=np.float64) for part in (rows, white, sources))
        for part in (self.rows, self.white, self.sources):
            if part.ndim != 2 or part.shape[1] < 2:
                raise DataError(
                    f"SeparationStagesDisplay: every stage must have two columns at least; got the shape {part.shape}. "
                    f"Choose two columns."
                )

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the stages of a fitted separation; the first two columns are shown.

        Parameters
        ----------
        estimator : ICA, FastICA or SecondOrderSeparation
            Fitted, with ``whitening_`` and ``mean_``.
        X : array-like of shape (n_samples, n_features)
            Rows.
        ax : array of three matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``scatter``.

        Returns
        -------
        SeparationStagesDisplay
            The display, drawn.
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
        return cls(rows, white / white.std(axis=0), estimator.transform(X)).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "SeparationStagesDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : array of three matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``scatter``.

        Returns
        -------
        SeparationStagesDisplay
            The display itself.
        """
        axes = make_axes(ax, 1, 3)
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
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
