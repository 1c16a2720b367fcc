"""The rows of a table that are unlike the others, and the columns that make them so."""

from typing import Any

import numpy as np

from mercer.app.study.dataset import Dataset, draw_rows
from mercer.app.study.formatting import spell_amount, spell_range
from mercer.app.study.record import StrangeRow
from mercer.ensemble import IsolationForest
from mercer.outliers import explain_outlier

# With fewer rows nothing can be called usual.
_FEWEST_ROWS = 20
# Rows that are looked at: these take about a tenth of a second.
_MOST_ROWS = 100_000
# Rows that are listed, and reasons given for each.
_LISTED = 5
_REASONS = 3
# The quantiles of a column between which a value is usual: nine rows in ten.
_USUAL = (0.05, 0.95)
# A value is far out if it lies outside the usual range by this many times the width of the range: of Gaussian values,
# more than 8 standard deviations from the mean.
_FAR_OUT = 2.0
# A value outside the range by less than this share of its width is no reason to name the column.
_OUTSIDE = 0.25
# A row is separated by few splits if its score is lower than the median by this many standard deviations, estimated
# from the median absolute deviation, and lower than the threshold: an average row has -0.5.
_FAR_SCORE = 6.0
_SEPARATED = -0.65
# With fewer columns the ends of any distribution are separated by few splits, and ranges show the same rows.
_FOREST_COLUMNS = 3
# The standard deviation of Gaussian values over their median absolute deviation.
_GAUSSIAN_RATIO = 1.4826


def find_strange_rows(dataset: Dataset, seed: int = 0) -> list[StrangeRow]:
    """Return the rows with a value far outside the range of nine rows in ten, and those that few splits separate.

    An isolation forest of the numeric columns finds rows that are rare in several columns together; it overlooks a
    single wrong value among many columns, which the ranges show. The list is empty where no row stands out, and where
    there are too few rows or no numeric column that varies.
    """
    sample = draw_rows(dataset, _MOST_ROWS, seed)
    names, X = _read_numbers(sample)
    if len(X) < _FEWEST_ROWS or not names:
        return []
    low, high = np.nanquantile(X, _USUAL, axis=0)
    straight = np.column_stack([_straighten(column) for column in X.T])
    excess = np.column_stack([_measure_excess(column) for column in straight.T])
    model = IsolationForest(random_state=seed).fit(straight)
    scores = model.score_samples(straight)
    middle = float(np.median(scores))
    spread = _GAUSSIAN_RATIO * float(np.median(np.abs(scores - middle)))
    limit = min(middle - _FAR_SCORE * spread, _SEPARATED) if len(names) >= _FOREST_COLUMNS else -np.inf
    is_separated = scores < limit
    farthest = excess.max(axis=1)
    # Rows with the most extreme values first, then those of the lowest scores.
    order = np.lexsort((scores, -np.where(farthest > _FAR_OUT, farthest, 0.0)))
    chosen = [int(row) for row in order if farthest[row] > _FAR_OUT or is_separated[row]][:_LISTED]
    listed = []
    for row in chosen:
        reasons = _name_values(X[row], excess[row], low, high, names) or _name_combination(
            model, straight, X[row], row, names
        )
        listed.append(StrangeRow(int(sample.rows[row]) + 1, -float(scores[row]), reasons))
    return listed


def _straighten(values: np.ndarray) -> np.ndarray:
    """Return the logarithms of positive values if fewer of them are far out: a long tail is not a mistake."""
    if np.nanmin(values) <= 0:
        return values
    logarithms = np.log(values)
    return logarithms if _measure_excess(logarithms).max() < _measure_excess(values).max() else values


def _measure_excess(values: np.ndarray) -> np.ndarray:
    """Return by how many widths of the usual range each value lies outside of it; zero inside, and where missing."""
    low, high = np.nanquantile(values, _USUAL)
    # Halves, so that a range from -1e300 to 1e300 does not overflow.
    width = 0.5 * high - 0.5 * low
    if width <= 0:
        # Nine rows in ten have the same value: other ones are rare, not far.
        return np.zeros(len(values))
    outside = np.maximum(0.5 * low - 0.5 * values, 0.5 * values - 0.5 * high) / width
    return np.nan_to_num(np.maximum(outside, 0.0), nan=0.0, posinf=np.finfo(np.float64).max)


def _read_numbers(sample: Dataset) -> tuple[list[str], np.ndarray]:
    """Return the numeric columns that vary, as floats; what is missing or infinite is NaN."""
    names, columns = [], []
    for name, kind in sample.kinds.items():
        if kind != "number":
            continue
        values = np.array(_to_floats(sample.X[name]), dtype=np.float64)
        values[~np.isfinite(values)] = np.nan
        known = values[~np.isnan(values)]
        if len(known) and known.min() < known.max():
            names.append(str(name))
            columns.append(values)
    return names, np.column_stack(columns) if columns else np.zeros((len(sample), 0))


def _to_floats(column: Any) -> np.ndarray:
    """Return a column of a frame as floats; what cannot be read as a number is missing."""
    import pandas

    return pandas.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)


def _name_values(
    values: np.ndarray, excess: np.ndarray, low: np.ndarray, high: np.ndarray, names: list[str]
) -> list[str]:
    """Return the columns whose values lie outside the usual range, the farthest first."""
    order = [column for column in np.argsort(-excess, kind="stable") if excess[column] > _OUTSIDE]
    return [
        f"{names[column]} is {spell_amount(values[column], 4)} (usually {spell_range(low[column], high[column], 4)})"
        for column in order[:_REASONS]
    ]


def _name_combination(
    model: IsolationForest, straight: np.ndarray, values: np.ndarray, row: int, names: list[str]
) -> list[str]:
    """Return the columns that make a row strange though each value is usual, or that values are missing."""
    explanation = explain_outlier(model, straight[row], straight)
    weighty = [column for column in explanation.order if explanation.contributions[column] > 0]
    parts = [f"{names[column]} {spell_amount(values[column], 4)}" for column in weighty if not np.isnan(values[column])]
    if parts:
        return [f"a rare combination: {', '.join(parts[:_REASONS])}"]
    missing = [names[column] for column in np.flatnonzero(np.isnan(values))]
    return [f"values are missing: {', '.join(missing[:_REASONS])}"] if missing else ["a rare combination of values"]
