"""How much a model needs its columns: what its loss on given rows grows by where their values are shuffled."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata
from scipy.stats import t as student
from sklearn.base import is_classifier

from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.explain._outputs import check_fitted
from mercer.explain._rows import Mixer, Players, Table

LOSSES = ("squared", "absolute", "log", "zero_one")
# Chances below this count as this: the loss of a class that was ruled out is large, not infinite.
_LEAST_CHANCE = 1e-15


@dataclass(frozen=True, eq=False)
class Importances:
    """What a loss grows by where columns are shuffled.

    Attributes
    ----------
    names : list of str
        Of the columns, or of the groups that were shuffled together.
    values : ndarray of shape (k,)
        The mean growth of the loss.
    errors : ndarray of shape (k,)
        Standard errors for new rows like these.
    low, high : ndarray of shape (k,)
        The ends of the intervals.
    loss : float
        The mean loss of the rows as they are.
    coverage : float
        The probability of the intervals.
    """

    names: list[str]
    values: Array
    errors: Array
    low: Array
    high: Array
    loss: float
    coverage: float

    def __str__(self) -> str:
        order, width = np.argsort(-self.values, kind="stable"), max(map(len, self.names))
        head = f"loss {self.loss:.4g}; it grows by, with {self.coverage:.0%} intervals:"
        lines = [
            f"  {self.names[j]:<{width}}  {self.values[j]:.4g} [{self.low[j]:.4g}, {self.high[j]:.4g}]" for j in order
        ]
        return "\n".join([head, *lines])


def column_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    loss: Any = "auto",
    groups: Any = None,
    n_repeats: int = 10,
    coverage: float = 0.95,
    random_state: Any = None,
) -> Importances:
    r"""Measure what a model's loss grows by where a column's values are shuffled among the rows.

    The importance of a column is the mean over pairs of rows :math:`i \ne k` of the loss of row i with the column's
    value of row k, less its own loss. Its interval holds for new rows like these, not only for new shuffles.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor of mercer, scikit-learn or LightGBM.
    X : {array-like, DataFrame} of shape (n, d)
        Rows that the model was not fitted to.
    y : array-like of shape (n,)
        Their targets.
    loss : {"auto", "squared", "absolute", "log", "zero_one"} or callable, default="auto"
        The loss of a row; "auto" is "squared" for numbers, and for classes "log" where there are probabilities, else
        "zero_one". A callable takes `y` and the predictions, and returns the losses (n,).
    groups : list of lists, dict of lists, "correlated" or None, default=None
        Columns that are shuffled together. "correlated" joins numeric columns whose rank correlation is 0.7 or more in
        absolute value: shuffled alone, each would be replaced by the others.
    n_repeats : int, default=10
        Shuffles of each column.
    coverage : float, default=0.95
        The probability of the intervals.
    random_state : int, Generator or None, default=None
        Draws the shuffles.

    Returns
    -------
    Importances

    References
    ----------
    A. Fisher, C. Rudin and F. Dominici, All models are wrong, but many are useful, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.explain import column_importance
    >>> from mercer.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> model = LinearRegression().fit(X, X @ [1.0, 3.0])
    >>> found = column_importance(model, X, X @ [1.0, 3.0], random_state=0)
    >>> bool(found.low[1] < 18.0 < found.high[1])
    True
    """
    check_fitted("column_importance", model)
    rows, truth = Table.read("column_importance", X, model), np.asarray(y)
    if truth.ndim != 1 or len(truth) != len(rows):
        raise DataError(f"column_importance: y must have {len(rows)} values; got an array of shape {truth.shape}.")
    if len(rows) < 3:
        raise DataError(f"column_importance: an interval needs 3 rows or more; got {len(rows)}.")
    if not 0.0 < coverage < 1.0:
        raise ParameterError(f"column_importance: coverage must be in (0, 1); got {coverage!r}.")
    if not isinstance(n_repeats, int | np.integer) or n_repeats < 1:
        raise ParameterError(f"column_importance: n_repeats must be an integer in [1, inf); got {n_repeats!r}.")
    groups = _group_correlated(rows) if isinstance(groups, str) and groups == "correlated" else groups
    players = Players.read("column_importance", groups, rows.names)
    measure, rng = _choose_loss(model, loss), np.random.default_rng(random_state)
    own = measure(truth, rows.rows)
    mixer, n = Mixer(rows, rows), len(rows)
    values, errors = np.empty(len(players)), np.empty(len(players))
    for player in range(len(players)):
        known = np.broadcast_to(players.of_column != player, (n, rows.n_columns))
        # What a row's loss grows by, and what its value does in the place of others': two parts of its influence.
        taken, given = np.zeros(n), np.zeros(n)
        for _ in range(n_repeats):
            donor = _derange(n, rng)
            grown = measure(truth, mixer.mix(np.arange(n), donor, known)) - own
            taken += grown / n_repeats
            given[donor] += grown / n_repeats
        values[player] = taken.mean()
        errors[player] = np.std(taken + given, ddof=1) / np.sqrt(n)
    reach = student.ppf((1.0 + coverage) / 2.0, n - 1) * errors
    return Importances(players.names, values, errors, values - reach, values + reach, float(own.mean()), coverage)


def _derange(n: int, rng: np.random.Generator) -> Array:
    """Return a donor for each row that is not the row itself: a random cycle through all rows."""
    order, donor = rng.permutation(n), np.empty(n, np.int64)
    donor[order] = np.roll(order, 1)
    return donor


def _group_correlated(rows: Table, least: float = 0.7) -> list[list[int]]:
    """Return groups of columns whose rank correlations are at least `least`, by complete linkage."""
    ranks = rankdata(rows.to_floats("column_importance"), axis=0)
    if rows.n_columns < 2:
        return []
    with np.errstate(invalid="ignore", divide="ignore"):
        gaps = 1.0 - np.abs(np.nan_to_num(np.corrcoef(ranks, rowvar=False)))
    np.fill_diagonal(gaps, 0.0)
    labels = fcluster(linkage(squareform((gaps + gaps.T) / 2.0, checks=False), "complete"), 1.0 - least, "distance")
    members = [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]
    return [group for group in members if len(group) > 1]


def _choose_loss(model: Any, loss: Any) -> Callable[[Array, Any], Array]:
    """Return a function from targets and rows to the losses (n,) of a model."""
    if callable(loss):
        return lambda y, X: np.asarray(loss(y, model.predict(X)), np.float64)
    if loss == "auto":
        has_chances = hasattr(model, "predict_proba")
        loss = ("log" if has_chances else "zero_one") if is_classifier(model) else "squared"
    if loss not in LOSSES:
        raise ParameterError(
            f"column_importance: loss must be 'auto', one of {list(LOSSES)} or callable; got {loss!r}."
        )
    if loss == "zero_one":
        return lambda y, X: (np.asarray(model.predict(X)) != y).astype(np.float64)
    if loss == "log":
        return lambda y, X: _measure_surprise(model, y, X)
    power = 2.0 if loss == "squared" else 1.0
    return lambda y, X: np.abs(np.asarray(model.predict(X), np.float64) - y) ** power


def _measure_surprise(model: Any, y: Array, X: Any) -> Array:
    classes = np.asarray(model.classes_)
    order = np.argsort(classes)
    place = order[np.searchsorted(classes, y, sorter=order).clip(0, len(classes) - 1)]
    if (classes[place] != y).any():
        raise DataError(
            f"column_importance: y must have classes of the fit; got {y[classes[place] != y][0]!r}. Drop these rows."
        )
    chances = np.asarray(model.predict_proba(X))[np.arange(len(y)), place]
    return np.asarray(-np.log(np.maximum(chances, _LEAST_CHANCE)))
