"""Which columns make a row strange."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import DataError, ParameterError

# The quantiles between which a value counts as usual.
_USUAL = (0.05, 0.95)


@dataclass(frozen=True, eq=False)
class OutlierExplanation:
    """Why a detector scores a row as it does.

    Attributes
    ----------
    score : float
        The score of the row: the lower, the stranger.
    columns : list of str
        Names of the columns.
    values : ndarray of shape (n_features,)
        The row.
    contributions : ndarray of shape (n_features,)
        How strange each column makes the row; the larger, the stranger.
    order : ndarray of shape (n_features,)
        The columns by falling contribution.
    low, high : ndarray of shape (n_features,) or None
        The usual range of each column: its 5 % and 95 % quantiles in the given rows.
    exact : bool
        Whether the contributions add up to minus the score; else each is the rise of the score when the value of this
        column alone is replaced by the median.
    """

    score: float
    columns: list[str]
    values: Array
    contributions: Array
    order: Array
    low: Array
    high: Array
    exact: bool

    def __str__(self) -> str:
        lines = [f"score {self.score:.4g}"]
        for j in self.order:
            usual = "" if self.low is None else f", usually {self.low[j]:.4g} to {self.high[j]:.4g}"
            line = f"{self.columns[j]}: {self.values[j]:.4g}{usual}; contribution {self.contributions[j]:.4g}"
            lines.append(line)
        return "\n".join(lines)


def explain_outlier(detector: Any, row: Any, X: Any = None) -> OutlierExplanation:
    """Say which columns make a row strange.

    Where the score is a sum over columns (detectors with a method ``contributions``, such as
    :class:`MahalanobisOutlier`, and elliptic envelopes) each column has its exact share. For any other detector a
    column's contribution is the rise of the score when its value is replaced by the median of the column in `X`.

    Parameters
    ----------
    detector : fitted detector
        With ``score_samples``: any detector of this library or of scikit-learn.
    row : array-like of shape (n_features,)
        The row.
    X : array-like of shape (n_samples, n_features) or None, default=None
        Rows that show what is usual, such as those of the fit. Needed unless contributions are exact.

    Returns
    -------
    OutlierExplanation

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.ensemble import IsolationForest
    >>> from mercer.outliers import explain_outlier
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> model = IsolationForest(random_state=0).fit(X)
    >>> explanation = explain_outlier(model, [0.0, 8.0, 0.5], X)
    >>> int(explanation.order[0]), explanation.exact
    (1, False)
    """
    values = np.asarray(row, dtype=np.float64).reshape(-1)
    background = None if X is None else np.asarray(X, dtype=np.float64)
    _check_row(values, detector, background)
    exact = _find_exact_shares(detector, values)
    if exact is not None:
        contributions, score = exact, float(np.ravel(_score(detector, values[None]))[0])
    elif background is None:
        raise ParameterError(
            f"explain_outlier: {type(detector).__name__} has no exact contributions of columns; pass X, the rows that "
            f"show what is usual."
        )
    else:
        medians = np.nanmedian(background, axis=0)
        # Row j has the median in column j; the last row is the row itself.
        changed = np.repeat(values[None], len(values) + 1, axis=0)
        changed[np.arange(len(values)), np.arange(len(values))] = medians
        scores = np.ravel(_score(detector, changed))
        score, contributions = float(scores[-1]), scores[:-1] - scores[-1]
    low, high = (None, None) if background is None else np.nanquantile(background, _USUAL, axis=0)
    names = getattr(detector, "feature_names_in_", None)
    columns = [f"x{j}" for j in range(len(values))] if names is None else [str(name) for name in names]
    order = np.argsort(-contributions, kind="stable")
    return OutlierExplanation(score, columns, values, contributions, order, low, high, exact is not None)


def _check_row(values: Array, detector: Any, background: Array | None) -> None:
    known = getattr(detector, "n_features_in_", len(values))
    if len(values) != known:
        raise DataError(
            f"explain_outlier: row must have the {known} columns of the fit; got {len(values)}. Give one row."
        )
    # The background gives values to columns that are left out, so it must have the row's columns.
    if background is not None and (background.ndim != 2 or background.shape[1] != len(values)):
        raise DataError(
            f"explain_outlier: X must have {len(values)} columns, as the row; got shape {background.shape}."
        )


def _find_exact_shares(detector: Any, values: Array) -> Array | None:
    """Return the shares of columns that add up to minus the score, where the detector has such."""
    if hasattr(detector, "contributions"):
        return np.asarray(detector.contributions(_frame(detector, values[None])), dtype=np.float64)[0]
    if hasattr(detector, "get_precision") and hasattr(detector, "location_") and hasattr(detector, "offset_"):
        step = values - detector.location_
        # The squared Mahalanobis distance is sum_j step_j (P step)_j, with the precision P: one term for each column.
        return step * (detector.get_precision() @ step)
    return None


def _score(detector: Any, rows: Array) -> Array:
    if not hasattr(detector, "score_samples"):
        raise ParameterError(
            f"explain_outlier: {type(detector).__name__} cannot score new rows; fit it so that it can, such as with "
            f"novelty=True."
        )
    return np.asarray(detector.score_samples(_frame(detector, rows)))


def _frame(detector: Any, rows: Array) -> Any:
    """Return the rows with the names of the columns, where the detector was fitted to named ones."""
    names = getattr(detector, "feature_names_in_", None)
    if names is None:
        return rows
    import pandas

    return pandas.DataFrame(rows, columns=names)
