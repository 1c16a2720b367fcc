"""Pictures of scores: folds, validation curves, losses by epoch, outliers."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._display import Display, draws


class FoldsDisplay(Display):
    """Layout of the folds of cross-validation, with a bar for the score of each.

    Parameters
    ----------
    splits : sequence of (train, test)
        Rows of each split, as scikit-learn's splitters give them.
    scores : array-like of shape (n_splits,) or None, default=None
        Score of each split.

    Attributes
    ----------
    layout_ : ndarray of shape (n_splits, n_rows)
        1 where a row trains, 2 where it is judged, 0 where it does neither.
    bars_ : matplotlib artists
        The scores; None without.

    Examples
    --------
    >>> from sklearn.model_selection import KFold
    >>> from mercer.inspection import FoldsDisplay
    >>> FoldsDisplay(list(KFold(3).split(range(6)))).layout_
    array([[2, 2, 1, 1, 1, 1],
           [1, 1, 2, 2, 1, 1],
           [1, 1, 1, 1, 2, 2]])
    """

    def __init__(self, splits: Any, scores: Any = None) -> None:
        self.splits = list(splits)
        self.scores = scores
        n_rows = 1 + max(int(np.max(part)) for split in self.splits for part in split)
        self.layout_ = np.zeros((len(self.splits), n_rows), dtype=int)
        for number, (train, test) in enumerate(self.splits):
            self.layout_[number, train] = 1
            self.layout_[number, test] = 2

    def _draw(self, ax: Any) -> None:
        from matplotlib.colors import ListedColormap

        # The colours stand for 0, a row that is not used, 1, a training row, and 2, a test row.
        colours = ListedColormap(["white", "0.85", "tab:blue"])
        ax.imshow(self.layout_, aspect="auto", interpolation="nearest", cmap=colours, vmin=0, vmax=2)
        ax.set(xlabel="row", ylabel="fold", yticks=range(len(self.splits)))
        ax.set_yticklabels([str(number + 1) for number in range(len(self.splits))])
        self.bars_ = None
        if self.scores is not None:
            beside = ax.inset_axes([1.02, 0, 0.25, 1], sharey=ax)
            values = np.asarray(self.scores, dtype=float)
            self.bars_ = beside.barh(np.arange(len(values)), values, color="tab:blue")
            beside.axvline(values.mean(), color="k", linestyle=":")
            beside.tick_params(labelleft=False)
            beside.set_xlabel("score")


class ScoreCurveDisplay(Display):
    """Learning curve, or curve of complexity: scores on training and on unseen rows.

    Lines are means over the splits, bands one standard deviation wide on either side.

    Parameters
    ----------
    curve : ScoreCurve
        Of :func:`~mercer.model_selection.score_by_rows` or :func:`~mercer.model_selection.complexity_curve`.
    negate : bool, default=False
        Whether to draw errors, which are scores with the other sign.
    level : float or None, default=None
        A value to draw as a line: the noise, or the best that is possible.
    log : bool, default=False
        Whether the x axis is logarithmic, as for the strength of a penalty.

    Attributes
    ----------
    train_, test_ : ndarray of shape (n_points,)
        Means over the splits, as drawn.
    best_ : int
        The point with the best mean on unseen rows, which is marked.
    lines_ : list of matplotlib artists
        What was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer.inspection import ScoreCurveDisplay
    >>> from mercer.linear_model import LinearRegression
    >>> from mercer.model_selection import score_by_rows
    >>> X, y = load_diabetes(return_X_y=True)
    >>> display = ScoreCurveDisplay(score_by_rows(LinearRegression(), X, y, random_state=0))
    >>> bool((display.train_ > display.test_).all())
    True
    """

    def __init__(self, curve: Any, *, negate: bool = False, level: float | None = None, log: bool = False) -> None:
        self.curve = curve
        self.negate = negate
        self.level = level
        self.log = log
        sign = -1.0 if negate else 1.0
        self.train_, self.test_ = sign * curve.train.mean(axis=1), sign * curve.test.mean(axis=1)
        self.best_ = curve.best

    @draws
    @classmethod
    def from_result(cls, curve: Any, *, negate: bool = False, level: float | None = None, log: bool = False) -> Any:
        """Draw a curve.

        Parameters
        ----------
        curve : ScoreCurve
            What to draw.
        negate : bool, default=False
            Whether to draw errors.
        level : float or None, default=None
            A value to draw as a line.
        log : bool, default=False
            Whether the x axis is logarithmic.
        """
        return cls(curve, negate=negate, level=level, log=log)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        x = np.asarray(self.curve.x)
        self.lines_ = []
        parts = (
            ("training rows", self.train_, self.curve.train, "0.6"),
            ("unseen rows", self.test_, self.curve.test, "k"),
        )
        for name, mean, scores, colour in parts:
            spread = scores.std(axis=1)
            (line,) = ax.plot(x, mean, **({"color": colour, "marker": "o", "label": name} | kwargs))
            ax.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
            self.lines_.append(line)
        if self.level is not None:
            ax.axhline(self.level, color="tab:blue", linestyle="--", label="possible")
        gap = abs(self.train_[-1] - self.test_[-1])
        middle = (x[-1], (self.train_[-1] + self.test_[-1]) / 2)
        ax.annotate(f"gap {gap:.2g}", middle, (0, 18), textcoords="offset points", ha="right")
        # A learning curve leaves nothing to choose; a curve of complexity does.
        if self.curve.label != "training rows":
            ax.axvline(x[self.best_], color="tab:red", linestyle=":")
        ax.set(xlabel=self.curve.label, ylabel="error" if self.negate else "score")
        if self.log:
            ax.set_xscale("log")
        ax.legend()


class EpochCurveDisplay(Display):
    """Training and validation loss against the epoch, with a mark at the epoch that the validation rows find best.

    Parameters
    ----------
    train : array-like of shape (n_epochs,)
        Loss on training rows after each epoch.
    validation : array-like of shape (n_epochs,) or None, default=None
        Loss on validation rows after each epoch.
    scored : bool, default=False
        Whether `validation` holds scores, the greater the better, which are drawn on an axis of their own.

    Attributes
    ----------
    best_ : int
        The epoch, from one, with the least validation loss or the greatest validation score, or without either the
        least training loss; the first of equals.
    train_line_, validation_line_, mark_ : matplotlib objects
        What was drawn; ``validation_line_`` may be None.

    Examples
    --------
    >>> from mercer.inspection import EpochCurveDisplay
    >>> EpochCurveDisplay([3.0, 2.0, 1.0, 0.5], [3.1, 2.4, 2.2, 2.6]).best_
    3
    """

    def __init__(self, train: Any, validation: Any = None, *, scored: bool = False) -> None:
        self.scored = scored
        self.train = np.asarray(train, dtype=np.float64)
        self.validation = None if validation is None else np.asarray(validation, dtype=np.float64)
        if self.train.ndim != 1 or not len(self.train):
            raise DataError(f"EpochCurveDisplay: train must have one loss per epoch; got shape {self.train.shape}.")
        if self.validation is not None and self.validation.shape != self.train.shape:
            raise DataError(
                f"EpochCurveDisplay: validation must have one loss per epoch, {len(self.train)}; got shape "
                f"{self.validation.shape}."
            )
        judged = self.train if self.validation is None else -self.validation if scored else self.validation
        self.best_ = int(np.nanargmin(judged)) + 1

    @classmethod
    def compute(cls, fitted: Any, watch: Any = None) -> "EpochCurveDisplay":
        """Take the losses of a fit from its history, without drawing.

        Parameters
        ----------
        fitted : estimator with ``history_``, or result of :func:`mercer.optim.minimize`
            The objective of each step is the training loss; its ``validation_loss`` or ``validation_score``, which
            fits with early stopping have, is that of the validation rows.
        watch : EarlyStopping or None, default=None
            What followed the fit: a rule of :mod:`mercer.optim`, whose ``errors_`` are taken, or a watch of
            :mod:`mercer.watch`, whose ``scores_`` are taken with the other sign.

        Returns
        -------
        EpochCurveDisplay
        """
        history = getattr(fitted, "history_", getattr(fitted, "history", None))
        if history is None or "objective" not in history:
            raise DataError(
                f"EpochCurveDisplay: the model must be fitted and have a history_ with 'objective'; got "
                f"{type(fitted).__name__}. Fit an iterative estimator."
            )
        train = np.asarray(history["objective"], dtype=np.float64)
        if watch is None:
            name = next((name for name in ("validation_loss", "validation_score") if name in history), None)
            return cls(train) if name is None else cls(train, history[name], scored=name == "validation_score")
        # Scores of a watch are greater for better models; their negatives are drawn as losses.
        validation = watch.errors_ if hasattr(watch, "errors_") else -np.asarray(watch.scores_, dtype=np.float64)
        return cls(train, validation)

    from_estimator = draws(compute)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        epochs = np.arange(1, len(self.train) + 1)
        (self.train_line_,) = ax.plot(epochs, self.train, **({"color": "0.6", "label": "training rows"} | kwargs))
        self.validation_line_ = None
        judged, beside = self.train, ax
        if self.validation is not None:
            # A score such as the accuracy has another scale than a loss.
            judged, beside = self.validation, ax.twinx() if self.scored else ax
            style = {"color": "black", "label": "score of validation rows" if self.scored else "validation rows"}
            (self.validation_line_,) = beside.plot(epochs, self.validation, **(style | kwargs))
        ax.axvline(self.best_, color="tab:red", linestyle=":")
        label = f"{'greatest' if self.scored else 'least'}, epoch {self.best_}"
        (self.mark_,) = beside.plot([self.best_], [judged[self.best_ - 1]], "o", color="tab:red", label=label)
        ax.set(xlabel="epoch", ylabel="loss")
        if self.scored:
            beside.set(ylabel="score")
        lines = dict.fromkeys([*ax.lines, *beside.lines])
        beside.legend(handles=[line for line in lines if not line.get_label().startswith("_")])


# Points of the grid along each axis of a contour plot.
_GRID = 120
# Contour lines of scores.
_LEVELS = 8


class OutlierScoresDisplay(Display):
    """What a detector of outliers says of rows: scores in rising order, or contours over two columns.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of rows: the lower, the stranger.
    offset : float
        The threshold: rows with lower scores are outliers.
    X : array-like of shape (n, 2) or None, default=None
        The rows, for contours; None draws the sorted scores.
    grid : tuple of (x, y, scores) or None, default=None
        Scores on a grid of points (m, m), with the coordinates x and y (m,), for contours.

    Attributes
    ----------
    n_outliers_ : int
        Rows with a score below the threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import OutlierScoresDisplay
    >>> OutlierScoresDisplay([-0.4, -0.8, -0.5], offset=-0.6).n_outliers_
    1
    """

    def __init__(self, scores: Any, *, offset: float, X: Any = None, grid: Any = None) -> None:
        self.scores = np.asarray(scores, dtype=np.float64)
        self.offset = float(offset)
        self.X = X
        self.grid = grid
        self.n_outliers_ = int(np.count_nonzero(self.scores < self.offset))

    @draws
    @classmethod
    def from_detector(cls, detector: Any, X: Any, *, kind: str = "sorted") -> "OutlierScoresDisplay":
        """Score rows with a fitted detector, and draw the scores.

        Parameters
        ----------
        detector : fitted detector
            With ``score_samples`` and ``offset_``; local outlier factors need ``novelty=True``.
        X : array-like of shape (n, d)
            Rows; two columns for contours.
        kind : {'sorted', 'contour'}, default='sorted'
            The scores in rising order, or contours of the score over two columns.
        """
        if kind not in ("sorted", "contour"):
            raise DataError(f"OutlierScoresDisplay: kind must be one of 'sorted', 'contour'; got {kind!r}.")
        rows, offset = np.asarray(X, dtype=np.float64), float(np.ravel(detector.offset_)[0])
        scores = np.ravel(detector.score_samples(X))
        if kind == "sorted":
            return cls(scores, offset=offset)
        if rows.shape[1] != 2:
            raise DataError(
                f"OutlierScoresDisplay: contours need rows of 2 columns; got {rows.shape[1]}. Use kind='sorted', or "
                f"fit the detector to two columns."
            )
        low, high = rows.min(axis=0), rows.max(axis=0)
        margin = 0.08 * np.where(high > low, high - low, 1.0)
        x, y = (np.linspace(low[j] - margin[j], high[j] + margin[j], _GRID) for j in range(2))
        # Points lie row by row along y, so the values have the shape (y, x) that contour takes.
        points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        values = np.ravel(detector.score_samples(points)).reshape(_GRID, _GRID)
        return cls(scores, offset=offset, X=rows, grid=(x, y, values))

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        if self.X is None or self.grid is None:
            self._draw_sorted(ax, **kwargs)
        else:
            self._draw_contours(ax, **kwargs)

    def _draw_sorted(self, ax: Any, **kwargs: Any) -> None:
        ordered = np.sort(self.scores)
        places, strange = np.arange(1, len(ordered) + 1), ordered < self.offset
        style = {"linestyle": "none", "marker": ".", "markersize": 4} | kwargs
        ax.plot(places[~strange], ordered[~strange], color="tab:blue", **style)
        ax.plot(places[strange], ordered[strange], color="tab:red", **style)
        label = f"threshold {self.offset:.3g}: {self.n_outliers_} of {len(ordered)} rows below"
        ax.axhline(self.offset, color="grey", linestyle=":", label=label)
        ax.set(xlabel="rows, strangest first", ylabel="score")
        ax.legend(loc="lower right")

    def _draw_contours(self, ax: Any, **kwargs: Any) -> None:
        x, y, values = self.grid
        finite = np.isfinite(values)
        values = np.where(finite, values, values[finite].min() if finite.any() else 0.0)
        # Levels at equal shares of the grid: scores far out would else take all of them.
        levels = np.unique(np.quantile(values, np.linspace(0.0, 1.0, _LEVELS + 1)))
        if len(levels) > 1:
            ax.contourf(x, y, values, levels=levels, cmap="Blues", alpha=0.6)
        if values.min() < self.offset < values.max():
            ax.contour(x, y, values, levels=[self.offset], colors="tab:red", linewidths=1.2, linestyles="solid")
        strange = self.scores < self.offset
        style = {"s": 5} | kwargs
        ax.scatter(*self.X[~strange].T, color="0.25", **style)
        ax.scatter(*self.X[strange].T, color="tab:red", **style)
        ax.set(xticks=[], yticks=[])
