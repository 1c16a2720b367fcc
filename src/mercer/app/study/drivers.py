"""Which columns drive the predictions on unseen rows, and how."""

import time
from typing import Any

import numpy as np

from mercer._source.threads import n_threads, run_numbered
from mercer.app.options import Options
from mercer.app.study.choice.selection import Selection
from mercer.app.study.dataset import Dataset
from mercer.app.study.record import Dependence, Driver
from mercer.model_selection import score_interval

# Test rows of a fold on which columns are shuffled.
_MOST_ROWS = 1000
# Columns that are shuffled, and how often each.
_MOST_COLUMNS = 60
_REPEATS = 3
# Values of a column, and rows, at which a dependence is measured.
_GRID = 20
_BACKGROUND = 200
_MOST_CATEGORIES = 8


def find_drivers(
    selection: Selection, dataset: Dataset, options: Options, strength: dict[str, float], seconds: float = np.inf
) -> list[Driver]:
    """Return the loss of score when a column is shuffled, the most important column first.

    The model of each outer split is scored on its own test rows. If there are many columns, those with the strongest
    association with the target are shuffled; if `seconds` are few, fewer columns are shuffled, and less often.
    """
    names = sorted(dataset.kinds, key=lambda name: -strength.get(name, 0.0))[:_MOST_COLUMNS]
    plan, models = selection.plan, selection.winner.models[: selection.plan.folds]
    threads = n_threads(options.n_jobs)
    names, repeats = _afford(plan, models[0], names, seconds / len(models), options.seed)
    falls: list[list[float]] = []

    def shuffle(fold: int) -> list[float]:
        # A generator for each fold makes the shuffles independent of the number of threads.
        random = np.random.default_rng([options.seed, fold])
        rows = _sample_rows(plan.outer[fold][1], random)
        frame = plan.rows.X.iloc[rows]
        whole = plan.rows.score(models[fold], frame, rows)
        return [
            whole
            - float(np.mean([_score_shuffled(plan, models[fold], frame, rows, name, random) for _ in range(repeats)]))
            for name in names
        ]

    run_numbered(shuffle, len(models), threads, falls.append)
    table = np.array(falls).T
    drivers = []
    for name, losses in zip(names, table):
        interval = score_interval(losses, test_share=plan.test_share, level=options.level)
        drivers.append(Driver(name, interval.mean, interval.low, interval.high))
    return sorted(drivers, key=lambda losses: -losses.mean)


def _sample_rows(rows: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return at most `_MOST_ROWS` of the rows."""
    return rows if len(rows) <= _MOST_ROWS else np.sort(random.choice(rows, _MOST_ROWS, replace=False))


def _afford(plan: Any, model: Any, names: list[str], seconds: float, seed: int) -> tuple[list[str], int]:
    """Return the columns, and the number of shuffles of each, for which there is time."""
    if not np.isfinite(seconds):
        return names, _REPEATS
    random = np.random.default_rng(seed)
    rows = _sample_rows(plan.outer[0][1], random)
    began = time.perf_counter()
    _score_shuffled(plan, model, plan.rows.X.iloc[rows], rows, names[0], random)
    # One shuffle is timed, and the seconds left are divided by its time.
    n_shuffles = int(seconds / max(time.perf_counter() - began, 1e-6))
    # Fewer repetitions come first; columns are dropped only when even one shuffle of each is too much.
    repeats = int(np.clip(n_shuffles // len(names), 1, _REPEATS))
    return names[: max(1, n_shuffles // repeats)], repeats


def _score_shuffled(
    plan: Any, model: Any, frame: Any, rows: np.ndarray, name: str, random: np.random.Generator
) -> float:
    """Return the score of `model` after the values of one column are shuffled."""
    other = frame.copy(deep=False)
    other[name] = frame[name].to_numpy()[random.permutation(len(frame))]
    return plan.rows.score(model, other.astype({name: frame[name].dtype}), rows)


def measure_dependences(model: Any, dataset: Dataset, names: list[str], options: Options) -> list[Dependence]:
    """Return the mean prediction as each column varies, with the middle half of the rows around it."""
    random = np.random.default_rng(options.seed)
    rows = np.arange(len(dataset))
    if len(rows) > _BACKGROUND:
        rows = np.sort(random.choice(rows, _BACKGROUND, replace=False))
    background = dataset.X.iloc[rows]
    return [
        dependence
        for name in names
        if (dependence := _measure_dependence(model, dataset, name, background)) is not None
    ]


def _measure_dependence(model: Any, dataset: Dataset, name: str, background: Any) -> Dependence | None:
    """Return the mean prediction as one column varies, or None if it has no order or categories to vary over."""
    kind, column = dataset.kinds[name], dataset.X[name]
    if kind == "text":
        return None
    if kind == "category":
        values = column.value_counts().index[:_MOST_CATEGORIES].tolist()
        shown: list[Any] = [str(value) for value in values]
    else:
        known = column.dropna()
        # The range ends at 2 % and 98 %: beyond it the model extrapolates from a few rows.
        values = list(dict.fromkeys(known.quantile(np.linspace(0.02, 0.98, _GRID), interpolation="nearest").tolist()))
        shown = [_spell_date(value) if hasattr(value, "isoformat") else float(value) for value in values]
    if len(values) < 2:
        return None
    means, lows, highs = [], [], []
    for value in values:
        # A shallow copy shares all other columns.
        other = background.copy(deep=False)
        other[name] = value
        predictions = _respond(model, other.astype({name: column.dtype}), dataset)
        means.append(float(predictions.mean()))
        low, high = np.quantile(predictions, [0.25, 0.75])
        lows.append(float(low))
        highs.append(float(high))
    return Dependence(name, shown, means, lows, highs, _name_response(dataset))


def _spell_date(moment: Any) -> str:
    """Return a moment as text, without the time of day if it is midnight."""
    return str(moment.isoformat()).removesuffix("T00:00:00")


def _choose_shown_class(dataset: Dataset) -> str:
    """Return the class whose probability is shown: the positive one, or else the most frequent."""
    if dataset.positive is not None:
        return dataset.positive
    names, counts = np.unique(dataset.y, return_counts=True)
    return str(names[counts.argmax()])


def _name_response(dataset: Dataset) -> str:
    """Return what is predicted, for the axis of a figure."""
    return f"probability of `{_choose_shown_class(dataset)}`" if dataset.classes else "prediction"


def _respond(model: Any, frame: Any, dataset: Dataset) -> np.ndarray:
    """Return the probability of the shown class, or the predicted value, of each row."""
    if not dataset.classes:
        return np.asarray(model.predict(frame), dtype=float)
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(frame) == _choose_shown_class(dataset), dtype=float)
    return np.asarray(model.predict_proba(frame))[:, list(model.classes_).index(_choose_shown_class(dataset))]
