"""How well one column alone predicts the target, judged on rows that were not used to learn it.

A tree of a few leaves for numbers, dates and categories in the order of their means, or the line through all points
where that does better, each made from some folds and tried on the others. Classes are judged by balanced accuracy,
scaled so that guessing is 0 and no mistake is 1; numbers by R² of their ranks, which a few large values cannot rule.
"""

from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mercer.app.table.column_type import category_texts

__all__ = ["FEWEST_ROWS", "LEAK", "associations"]

# More rows would say the same: the standard error of a share is below 1 % from here on.
_MOST_ROWS = 10_000
# Below this many rows a column can seem perfect by luck.
FEWEST_ROWS = 30
# Fewer rows in a leaf would learn the noise of weak columns; more would blur the ranks of a copy of the target.
_LEAVES = {"classification": {"max_leaf_nodes": 16, "min_samples_leaf": 3}, "regression": {"min_samples_leaf": 10}}
# From here on a column is a suspect. No single column of the well-known tables comes near: of iris the best has 0.94.
LEAK = {"classification": 0.98, "regression": 0.995}


def associations(frame: Any, target: Any, task: str, kinds: dict[str, str]) -> dict[str, float]:
    """For each column with a kind: how well it alone predicts the target, from 0 to 1."""
    rows = np.flatnonzero(target.notna().to_numpy())
    if len(rows) > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, _MOST_ROWS, replace=False))
    if len(rows) < FEWEST_ROWS:
        return {}
    truth = target.iloc[rows]
    if task == "classification":
        y = np.unique(category_texts(truth).to_numpy(dtype=str), return_inverse=True)[1]
        n_folds = min(3, int(np.bincount(y).min()))
        if n_folds < 2:
            return {}
        folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(y, y))
    else:
        y = truth.rank().to_numpy()
        folds = list(KFold(3, shuffle=True, random_state=0).split(y))
    found = {}
    for name, kind in kinds.items():
        if kind in ("number", "date", "category"):
            found[name] = _association(_coded(frame[name].iloc[rows], kind), kind, y, task, folds)
    return found


def _coded(column: Any, kind: str) -> np.ndarray:
    """The column as numbers from 0 to 1, missing as NaN; categories in the order of their names.

    Trees keep seven digits: dates that are close together and numbers that are huge would fall together unscaled.
    """
    if kind == "category" or column.dtype.kind not in "ifbM":
        texts = category_texts(column).fillna("").to_numpy(dtype=str)
        return np.unique(texts, return_inverse=True)[1].astype(float)
    missing = column.isna().to_numpy()
    values = column.to_numpy()
    numbers = values.astype("datetime64[s]").astype(np.int64) if values.dtype.kind == "M" else values
    known = numbers[~missing].astype(float)
    if len(known) == 0:
        return np.full(len(column), np.nan)
    # Halves, for the difference of two numbers may be too large where neither is.
    low, high = known.min() / 2, known.max() / 2
    return np.where(missing, np.nan, (numbers / 2 - low) / (high - low if high > low else 1.0))


def _association(x: np.ndarray, kind: str, y: np.ndarray, task: str, folds: list[Any]) -> float:
    guessed, followed = np.empty(len(y)), np.zeros(len(y))
    for train, test in folds:
        inputs = x
        if task == "regression" and kind != "category":
            followed[test] = _followed(x, y, train, test)
        if kind == "category":
            inputs = _ordered(x, y, train, task)
        tree = (
            DecisionTreeClassifier(**_LEAVES[task], class_weight="balanced", random_state=0)
            if task == "classification"
            else DecisionTreeRegressor(**_LEAVES[task], max_leaf_nodes=64, random_state=0)
        )
        tree.fit(inputs[train, None], y[train])
        guessed[test] = tree.predict(inputs[test, None])
    best = _skill(y, guessed, task)
    if task == "regression" and kind != "category":
        best = max(best, _skill(y, followed, task))
    return float(np.clip(best, 0.0, 1.0))


def _followed(x: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """The line through all training rows: what a copy of the target has no error against, and noise a large one."""
    known = train[~np.isnan(x[train])]
    if len(known) == 0:
        return np.full(len(test), y[train].mean())
    places, codes = np.unique(x[known], return_inverse=True)
    means = np.bincount(codes, weights=y[known]) / np.bincount(codes)
    guessed = np.interp(x[test], places, means)
    return np.where(np.isnan(x[test]), y[train].mean(), guessed)


def _ordered(x: np.ndarray, y: np.ndarray, train: np.ndarray, task: str) -> np.ndarray:
    """Categories replaced by what the training rows say of them, so that a tree splits them where it matters."""
    codes = x.astype(int)
    size = codes.max() + 1
    counts = np.bincount(codes[train], minlength=size)
    if task == "regression" or y.max() == 1:
        means = np.bincount(codes[train], weights=y[train], minlength=size) / np.maximum(counts, 1)
        means[counts == 0] = y[train].mean()
        return means[codes]
    # Of more than two classes the commonest one, relative to its share: a step for each.
    table = np.zeros((size, int(y.max()) + 1))
    np.add.at(table, (codes[train], y[train]), 1.0)
    return (table / np.maximum(table.sum(axis=0), 1.0)).argmax(axis=1)[codes].astype(float)


def _skill(y: np.ndarray, guessed: np.ndarray, task: str) -> float:
    if task == "regression":
        return 1.0 - float(((y - guessed) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    hits = np.bincount(y, weights=(y == guessed).astype(float)) / np.bincount(y)
    chance = 1.0 / len(hits)
    return (float(hits.mean()) - chance) / (1.0 - chance)
