"""Compare new rows with the training rows of a study: column by column, as a whole, and by the score of the model.

The study keeps a sample of its rows for this. Numbers and dates are compared by the Kolmogorov-Smirnov test, categories
by the chi-square test, gaps by Fisher's exact test. The p values of all columns are corrected by Holm's method, so that
with a level of 0.05 an alarm where nothing has changed comes in one watch of twenty. A classifier that is trained to
tell new rows from old ones sees changes of several columns together.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.app.study.formatting import spell_amount
from mercer.app.study.record import Reference

# Rows of the training table that a study keeps, and of new rows that are compared.
_MOST_ROWS = 1000
_FEWEST_ROWS = 100
# Cells that a study keeps, about 300 kB of the record.
_MOST_CELLS = 40_000
_MOST_NEW = 20_000
# Categories with fewer expected rows are merged: the chi-square test is not exact for them.
_LEAST_EXPECTED = 5.0
# Rows of each side for the classifier, and folds.
_MOST_TRAINED = 2000
_FOLDS = 5


@dataclass(frozen=True)
class ColumnDrift:
    """How one column differs: the test, its p value after correction, and the size of the difference, 0 to 1."""

    column: str
    test: str
    p_value: float
    size: float
    changed: bool
    text: str


@dataclass(frozen=True)
class Drift:
    """What is known about new rows, in sentences too."""

    n_rows: int
    changed: bool
    columns: list[ColumnDrift]
    area: float | None = None  # of a classifier that tells new rows from old ones; 0.5 if it cannot
    area_p_value: float | None = None
    score: float | None = None  # of the model on the new rows, if they have the target
    score_expected: list[float] = field(default_factory=list)  # score of the study, low and high
    sentences: list[str] = field(default_factory=list)


def store_reference(frame: Any, kinds: dict[str, str], seed: int) -> Reference:
    """Return a sample of the training rows, as plain values."""
    most = max(_FEWEST_ROWS, min(_MOST_ROWS, _MOST_CELLS // max(1, len(kinds))))
    if len(frame) > most:
        frame = frame.iloc[np.sort(np.random.default_rng(seed).choice(len(frame), most, replace=False))]
    columns = {name: kind for name, kind in kinds.items() if kind in ("number", "category", "date")}
    return Reference(columns, {name: _list_values(frame[name], kind) for name, kind in columns.items()})


def _list_values(column: Any, kind: str) -> list[Any]:
    """Return a column as numbers, days or texts, with None for missing values."""
    if kind == "category":
        from mercer._source.table.column_type import spell_categories

        return [None if value is None or value != value else str(value) for value in spell_categories(column).tolist()]
    if column.dtype.kind == "M":
        days = column.to_numpy().astype("datetime64[s]").astype("int64") / 86_400
        return [None if missing else float(day) for day, missing in zip(days, column.isna())]
    try:
        values = column.to_numpy(dtype=float)
    except (TypeError, ValueError):
        return [None] * len(column)
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]


def compare_rows(reference: Reference, frame: Any, level: float = 0.05, seed: int = 0) -> Drift:
    """Return how the rows of a frame differ from the reference."""
    if len(frame) > _MOST_NEW:
        frame = frame.iloc[np.sort(np.random.default_rng(seed).choice(len(frame), _MOST_NEW, replace=False))]
    old = reference.values
    new = {name: _list_values(frame[name], kind) for name, kind in reference.kinds.items()}
    tests = [_compare_column(name, kind, old[name], new[name]) for name, kind in reference.kinds.items()]
    corrected = correct_by_holm([test[2] for test in tests])
    columns = [
        ColumnDrift(name, kind, p_value, size, p_value < level, text)
        for (name, kind, _, size, text), p_value in zip(tests, corrected)
    ]
    columns.sort(key=lambda column: (column.p_value, -column.size))
    area, area_p_value = _tell_apart(reference, old, new, seed)
    changed = any(column.changed for column in columns) or (area_p_value is not None and area_p_value < level)
    return Drift(
        len(frame), changed, columns, area, area_p_value, sentences=_describe(columns, area, area_p_value, level)
    )


def correct_by_holm(p_values: list[float]) -> list[float]:
    """Return p values corrected by Holm's method for the number of tests."""
    order = np.argsort(p_values)
    corrected, highest = np.empty(len(p_values)), 0.0
    for place, test in enumerate(order):
        highest = max(highest, min(1.0, p_values[test] * (len(p_values) - place)))
        corrected[test] = highest
    return corrected.tolist()


def _compare_column(name: str, kind: str, old: list[Any], new: list[Any]) -> tuple[str, str, float, float, str]:
    """Return name, test, p value, size of the difference and a sentence; the smaller of two p values, doubled."""
    from scipy.stats import fisher_exact, ks_2samp

    gaps = [[sum(value is None for value in side), sum(value is not None for value in side)] for side in (old, new)]
    shares = [missing / max(1, missing + known) for missing, known in gaps]
    gap_p = float(fisher_exact(gaps).pvalue) if gaps[0][0] + gaps[1][0] else 1.0
    here, there = ([value for value in side if value is not None] for side in (old, new))
    test, p_value, size, text = "none", 1.0, 0.0, ""
    if here and there and kind == "category":
        test, (p_value, size, text) = "chi-square", _compare_categories(here, there)
    elif here and there:
        result = ks_2samp(here, there, method="asymp")
        test, p_value, size = "Kolmogorov-Smirnov", float(result.pvalue), float(result.statistic)
        text = "the dates differ"
        if kind == "number":
            before, now = (spell_amount(float(np.median(values)), 4) for values in (here, there))
            text = f"the median was {before} and is {now}"
    if gap_p < p_value:
        test, size = "Fisher's exact", abs(shares[1] - shares[0])
        text = f"{100 * shares[0]:.0f} % of the values were missing, and {100 * shares[1]:.0f} % are"
    return name, test, min(1.0, 2 * min(p_value, gap_p)), size, text


def _compare_categories(here: list[str], there: list[str]) -> tuple[float, float, str]:
    """Return the p value of the chi-square test, half the sum of differences of shares, and the largest difference."""
    from scipy.stats import chi2_contingency

    names = sorted({*here, *there})
    counts = np.array([[side.count(name) for name in names] for side in (here, there)], dtype=float)
    shares = counts / counts.sum(axis=1, keepdims=True)
    most = int(np.abs(shares[1] - shares[0]).argmax())
    text = f"`{names[most]}` was {100 * shares[0, most]:.0f} % of the rows and is {100 * shares[1, most]:.0f} %"
    expected = counts.sum(axis=0) * counts.sum(axis=1).min() / counts.sum()
    rare = expected < _LEAST_EXPECTED
    merged = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)]) if rare.any() else counts
    merged = merged[:, merged.sum(axis=0) > 0]
    p_value = float(chi2_contingency(merged).pvalue) if merged.shape[1] > 1 else 1.0
    return p_value, float(np.abs(shares[1] - shares[0]).sum() / 2), text


def _tell_apart(reference: Reference, old: Any, new: Any, seed: int) -> tuple[float | None, float | None]:
    """Return the area under the ROC curve of a forest that tells new rows from old ones, and its p value."""
    import pandas
    from scipy.stats import mannwhitneyu
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline

    from mercer.ensemble import RandomForestClassifier
    from mercer.preprocessing import TableEncoder

    # Dates of new rows are later than those of old ones: that alone is no change.
    used = {name: kind for name, kind in reference.kinds.items() if kind != "date"}
    if not used:
        return None, None
    sides = [pandas.DataFrame({name: side[name] for name in used}) for side in (old, new)]
    random = np.random.default_rng(seed)
    size = min(_MOST_TRAINED, *map(len, sides))
    if size < 4 * _FOLDS:
        return None, None
    rows = pandas.concat(
        [side.iloc[random.choice(len(side), size, replace=False)] for side in sides], ignore_index=True
    )
    is_new = np.repeat([0, 1], size)
    numbers = [name for name, kind in used.items() if kind == "number"]
    rows[numbers] = rows[numbers].astype(float)
    model = make_pipeline(
        TableEncoder(used, categories="code", missing="keep", sparse_output=False, handle_unknown="ignore"),
        RandomForestClassifier(50, min_samples_leaf=5, random_state=seed),
    )
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    shares = cross_val_predict(model, rows, is_new, cv=folds, method="predict_proba")[:, 1]
    test = mannwhitneyu(shares[is_new == 1], shares[is_new == 0], alternative="greater")
    return float(test.statistic / size**2), float(test.pvalue)


def _describe(columns: list[ColumnDrift], area: float | None, p_value: float | None, level: float) -> list[str]:
    """Return what was found, in sentences."""
    changed = [column for column in columns if column.changed]
    sentences = [
        f"`{column.column}` has changed: {column.text} (p = {column.p_value:.2g} after correction)."
        for column in changed
    ]
    if not changed:
        sentences.append("No column on its own differs from the training rows by more than chance explains.")
    if area is not None and p_value is not None:
        sentences.append(
            f"A forest can tell the new rows from the training rows (area under the ROC curve {area:.2f}, p = "
            f"{p_value:.2g}; 0.5 means that it cannot)."
            if p_value < level
            # Below 0.5, as for copies of the training rows, it guesses worse than a coin.
            else "A forest cannot tell the new rows from the training rows (area under the ROC curve "
            f"{max(area, 0.5):.2f}, where 0.5 is a guess)."
        )
    return sentences
