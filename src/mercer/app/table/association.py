"""Measure how well one column alone predicts the target, on rows that were not used for fitting.

Numbers, dates and categories (in the order of their means) get a small decision tree. Numbers in regression also get
the piecewise linear curve through all training rows, and the better of the two counts. Classes are scored by balanced
accuracy, scaled so that guessing is 0 and perfect is 1; numbers by the R² of their ranks, which limits the influence of
outliers.
"""

from typing import Any

import numpy as np

from mercer._source.table.column_type import spell_categories

# Rows that are used; the standard error of a share is then below 1 %.
_MOST_ROWS = 10_000
# With fewer rows a column can look perfect by chance.
FEWEST_ROWS = 30
_FOLDS = 3
# With more columns than this, those that cannot be leaks by their first fold are measured by it alone.
_MANY_COLUMNS = 200
# With fewer rows per leaf a weak column would fit noise; with more, a copy of the target would lose its order.
_LEAVES = {"classification": {"max_leaf_nodes": 16, "min_samples_leaf": 3}, "regression": {"min_samples_leaf": 10}}
# A column with at least this association is called a leak. The best column of iris, for comparison, has 0.94.
LEAK = {"classification": 0.98, "regression": 0.995}
# Bins of a number whose means are compared in a table of many columns, and the share of the variance between them from
# which on a tree measures the column too.
_BINS = 20
_WORTH_A_TREE = 0.3
# Folds have slightly different shares of classes and means, so that the skill is not exactly the mean of the folds'.
_FOLD_SLACK = 0.02


def measure_associations(frame: Any, target: Any, task: str, kinds: dict[str, str]) -> dict[str, float]:
    """Return for each column with a kind how well it alone predicts the target, from 0 to 1."""
    # Loaded here: commands that only predict do not need it, and it takes a tenth of a second or more to load.
    from sklearn.model_selection import KFold, StratifiedKFold

    known = target.notna()
    if task == "classification":
        # A class with fewer rows than there are folds cannot be tested.
        counts = spell_categories(target[known]).map(spell_categories(target[known]).value_counts())
        known = known & (counts.reindex(target.index, fill_value=0) >= _FOLDS)
    rows = np.flatnonzero(known.to_numpy())
    if len(rows) > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, _MOST_ROWS, replace=False))
    if len(rows) < FEWEST_ROWS:
        return {}
    truth = target.iloc[rows]
    if task == "classification":
        y = np.unique(spell_categories(truth).to_numpy(dtype=str), return_inverse=True)[1]
        n_folds = min(_FOLDS, int(np.bincount(y).min()))
        if n_folds < 2 or y.max() == 0:
            return {}
        folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(y, y))
    else:
        y = truth.rank().to_numpy()
        folds = list(KFold(_FOLDS, shuffle=True, random_state=0).split(y))
    limit = None if len(kinds) <= _MANY_COLUMNS else LEAK[task]
    strengths = {}
    for name, kind in kinds.items():
        if kind in ("number", "date", "category"):
            strengths[name] = _measure_association(_encode(frame[name].iloc[rows], kind), kind, y, task, folds, limit)
    return strengths


def _encode(column: Any, kind: str) -> np.ndarray:
    """Return the column as numbers from 0 to 1, missing values as NaN; categories are ordered by name.

    Trees use float32, with seven digits: without scaling, close dates and huge numbers would become equal.
    """
    if kind == "category" or column.dtype.kind not in "ifbM":
        texts = spell_categories(column).fillna("").to_numpy(dtype=str)
        return np.unique(texts, return_inverse=True)[1].astype(float)
    missing = column.isna().to_numpy()
    values = column.to_numpy()
    numbers = values.astype("datetime64[s]").astype(np.int64) if values.dtype.kind == "M" else values
    known = numbers[~missing].astype(float)
    if len(known) == 0:
        return np.full(len(column), np.nan)
    # Halve first: the difference of two large numbers may overflow.
    low, high = known.min() / 2, known.max() / 2
    return np.where(missing, np.nan, (numbers / 2 - low) / (high - low if high > low else 1.0))


def _measure_association(
    x: np.ndarray, kind: str, y: np.ndarray, task: str, folds: list[Any], limit: float | None
) -> float:
    """Return the skill of the better of tree and curve, between 0 and 1.

    With a `limit`, that of the first fold if the others cannot lift it to the limit even by perfect predictions.
    """
    if limit is not None and task == "regression" and kind != "category":
        # Means over a few bins see any relation that could be a leak, at a tenth of the time of a tree.
        share = _explain_by_bins(x, y)
        if share < _WORTH_A_TREE:
            return share
    if limit is not None:
        first = _measure_association(x, kind, y, task, folds[:1], None)
        if (first + len(folds) - 1) / len(folds) < limit - _FOLD_SLACK:
            return first
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    guessed, interpolated = np.empty(len(y)), np.zeros(len(y))
    # Each row is predicted while it is unseen, so a column with many values gains nothing by memory.
    for train, test in folds:
        inputs = x
        if task == "regression" and kind != "category":
            interpolated[test] = _interpolate(x, y, train, test)
        if kind == "category":
            # Categories are ordered by the target of the training rows only.
            inputs = _order_categories(x, y, train, task)
        # Trees use float32. Of rows without gaps scikit-learn's checks, which take longer than a fit of few rows, are
        # left out; they also find where gaps are.
        rows, weight = inputs[:, None].astype(np.float32), None
        gaps = bool(np.isnan(rows).any())
        if task == "classification":
            tree = DecisionTreeClassifier(**_LEAVES[task], random_state=0)
            # Each class weighs the same.
            weight = 1.0 / np.bincount(y[train])[y[train]]
        else:
            tree = DecisionTreeRegressor(**_LEAVES[task], max_leaf_nodes=64, random_state=0)
        tree.fit(rows[train], y[train], sample_weight=weight, check_input=gaps)
        guessed[test] = tree.predict(rows[test], check_input=gaps)
    tested = np.sort(np.concatenate([test for _, test in folds]))
    best = _measure_skill(y[tested], guessed[tested], task)
    if task == "regression" and kind != "category":
        # A step function fits a smooth relation badly, and an interpolation a noisy one; the better counts.
        best = max(best, _measure_skill(y[tested], interpolated[tested], task))
    return float(np.clip(best, 0.0, 1.0))


def _explain_by_bins(x: np.ndarray, y: np.ndarray) -> float:
    """Return the share of the variance of `y` between bins of `x` of equal counts, less what chance gives them."""
    places = np.argsort(np.argsort(x, kind="stable"), kind="stable") * _BINS // len(x)
    counts = np.bincount(places, minlength=_BINS)
    means = np.bincount(places, weights=y, minlength=_BINS) / np.maximum(counts, 1)
    between = float(counts @ (means - y.mean()) ** 2 / ((y - y.mean()) ** 2).sum())
    return max(0.0, 1 - (1 - between) * (len(y) - 1) / max(len(y) - _BINS, 1))


def _interpolate(x: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Predict test rows by linear interpolation between the training rows; a copy of the target has no error then."""
    known = train[~np.isnan(x[train])]
    if len(known) == 0:
        return np.full(len(test), y[train].mean())
    places, codes = np.unique(x[known], return_inverse=True)
    means = np.bincount(codes, weights=y[known]) / np.bincount(codes)
    guessed = np.interp(x[test], places, means)
    return np.where(np.isnan(x[test]), y[train].mean(), guessed)


def _order_categories(x: np.ndarray, y: np.ndarray, train: np.ndarray, task: str) -> np.ndarray:
    """Replace categories by their mean target in the training rows, so that a tree can split them in that order."""
    codes = x.astype(int)
    size = codes.max() + 1
    counts = np.bincount(codes[train], minlength=size)
    if task == "regression" or y.max() == 1:
        means = np.bincount(codes[train], weights=y[train], minlength=size) / np.maximum(counts, 1)
        means[counts == 0] = y[train].mean()
        return means[codes]
    # With more than two classes: the class that is most frequent in the category, relative to its overall share.
    table = np.zeros((size, int(y.max()) + 1))
    np.add.at(table, (codes[train], y[train]), 1.0)
    return (table / np.maximum(table.sum(axis=0), 1.0)).argmax(axis=1)[codes].astype(float)


def _measure_skill(y: np.ndarray, guessed: np.ndarray, task: str) -> float:
    """Return R² for numbers, and balanced accuracy scaled to 0 for guessing and 1 for perfect for classes."""
    if task == "regression":
        return 1.0 - float(((y - guessed) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    hits = np.bincount(y, weights=(y == guessed).astype(float)) / np.bincount(y)
    chance = 1.0 / len(hits)
    return (float(hits.mean()) - chance) / (1.0 - chance)
