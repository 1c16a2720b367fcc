"""Tests by fitting copies: what changes with the units of the columns, the order of the rows, and one extreme value."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._base.wrapping import take_rows
from mercer.app.check.finding import Finding
from mercer.app.check.subject import Subject
from mercer.app.report.chart import Chart

# Rows that copies are fitted to.
_MOST_ROWS = 2000
# Columns that are written in another unit one by one; of more, the first.
_MOST_COLUMNS = 8
# The factor of another unit, as from metres to millimetres, and of an extreme value.
_FACTOR = 1000.0
# The change of the answers, as a share of their spread, from which on it matters.
_LARGEST = 0.1
NAMES = ("units", "order of the rows", "one extreme value")


def find_changes(subject: Subject) -> list[Finding]:
    """Return what changes in copies that are fitted to changed rows."""
    draw = np.random.default_rng(subject.seed)
    rows = np.sort(draw.permutation(len(subject))[:_MOST_ROWS])
    X, y = take_rows(subject.X, rows), subject.y[rows]
    fits = _Fits(subject, X)
    try:
        plain = fits.fit(X, y)
    except Exception as error:
        why = (str(error).splitlines() or [type(error).__name__])[0][:160].rstrip(".")
        return [Finding(name, "not tried", f"A copy could not be fitted to these rows: {why}.") for name in NAMES]
    spread = float(np.sqrt(((plain - plain.mean(axis=0)) ** 2).mean())) or 1.0

    def compare(make: Callable[[], tuple[Any, np.ndarray, Any]], kept: np.ndarray | None = None) -> float:
        """Return the root mean squared change of the answers, as a share of their spread."""
        try:
            answers = fits.fit(*make())
        except Exception:
            return float("inf")
        change = (answers - plain) ** 2
        return float(np.sqrt((change if kept is None else change[kept]).mean())) / spread

    order = draw.permutation(len(rows))
    again = compare(lambda: (X, y, X))
    turned = compare(lambda: (take_rows(X, order), y[order], X))
    columns = _list_numbers(X)[:_MOST_COLUMNS]
    units = {name: compare(partial(_rescale, X, place, y)) for place, name in columns}
    return [
        _judge_units(units, again),
        _judge_order(turned, again, fits),
        _judge_extreme(subject, compare, X, y, int(draw.integers(len(rows))), turned),
    ]


class _Fits:
    """Copies of a model, each fitted to other rows and asked about some."""

    def __init__(self, subject: Subject, X: Any) -> None:
        self.subject, self.X = subject, X

    def fit(self, X: Any, y: np.ndarray, asked: Any = None) -> np.ndarray:
        """Return what a copy fitted to rows answers; about the rows of the test, unless others are given."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            copy = clone(self.subject.model).fit(X, y)
            return self.subject.ask(copy, self.X if asked is None else asked)


def _list_numbers(X: Any) -> list[tuple[Any, str]]:
    """Return the columns of numbers: where they are, and their names."""
    if hasattr(X, "columns"):
        return [
            (name, str(name)) for name in X.columns if str(X[name].dtype).lower().startswith(("float", "int", "uint"))
        ]
    rows = np.asarray(X)
    if rows.dtype.kind not in "iuf":
        return []
    return [(place, f"column {place}") for place in range(rows.shape[1])]


def _rescale(X: Any, place: Any, y: np.ndarray) -> tuple[Any, np.ndarray, Any]:
    """Return the rows with a column in another unit, both for the fit and for the questions."""
    changed = _change(X, place, slice(None))
    return changed, y, changed


def _change(X: Any, place: Any, rows: Any) -> Any:
    """Return rows with some values of a column times the factor."""
    if hasattr(X, "columns"):
        frame = X.copy()
        values = frame[place].to_numpy(dtype=np.float64, copy=True)
        values[rows] *= _FACTOR
        frame[place] = values
        return frame
    table = np.array(X, dtype=np.float64)
    table[rows, place] *= _FACTOR
    return table


def _judge_units(units: dict[str, float], again: float) -> Finding:
    name = NAMES[0]
    if not units:
        return Finding(name, "not tried", "No column holds numbers.")
    figure = _draw("Change of the answers with the unit of a column.", units)
    largest = max(units, key=lambda one: units[one])
    numbers = {"changes": units, "refit": again}
    if units[largest] > max(_LARGEST, 3.0 * again):
        text = (
            f"With `{largest}` in a unit {_FACTOR:g} times smaller, a fit answers otherwise by "
            f"{_spell(units[largest])} of the spread of the answers: "
            f"scale the columns in a pipeline, so that the unit does not decide."
        )
        return Finding(name, "warning", text, numbers, figure)
    text = f"No unit matters: the answers change by {_spell(units[largest])} of their spread at most."
    return Finding(name, "fine", text, numbers, figure)


def _judge_order(turned: float, again: float, fits: _Fits) -> Finding:
    name = NAMES[1]
    numbers = {"change": turned, "refit": again}
    figure = _draw("Change of the answers of a second fit.", {"the same rows": again, "in another order": turned})
    if turned <= _LARGEST:
        text = f"A fit to the rows in another order answers the same, up to {_spell(turned)} of the spread."
        return Finding(name, "fine", text, numbers, figure)
    why = (
        "and so does a second fit to the same rows: fix random_state, or take more members"
        if again > 0.5 * turned
        else "which chance or a dependence on the order explains: take more members, or a longer fit"
    )
    text = f"A fit to the rows in another order answers otherwise by {_spell(turned)} of the spread, {why}."
    return Finding(name, "warning", text, numbers, figure)


def _judge_extreme(
    subject: Subject, compare: Callable[..., float], X: Any, y: np.ndarray, row: int, turned: float
) -> Finding:
    """Return how far one value that is wrong by a factor moves the answers to all other rows."""
    name = NAMES[2]
    others = np.arange(len(y)) != row
    changes = {
        label: compare(lambda place=place: (_change(X, place, row), y, None), others)
        for place, label in _list_numbers(X)[:_MOST_COLUMNS]
    }
    if subject.classes is None:
        wrong = y.copy()
        wrong[row] = y.mean() + _FACTOR * (y.std() or 1.0)
        changes["the target"] = compare(lambda: (X, wrong, None), others)
    if not changes:
        return Finding(name, "not tried", "No column holds numbers.")
    figure = _draw("Change of the answers to other rows with one extreme value.", changes)
    largest = max(changes, key=lambda one: changes[one])
    numbers = {"changes": changes}
    if changes[largest] > max(_LARGEST, 3.0 * turned):
        text = (
            f"One value of `{largest}` that is {_FACTOR:g} times too large moves the answers to the other rows by "
            f"{_spell(changes[largest])} of their spread: check values before a fit, or take a robust loss or a scaler "
            f"by ranks."
        )
        return Finding(name, "warning", text, numbers, figure)
    text = (
        f"One extreme value moves the answers to the other rows by {_spell(changes[largest])} of their spread at most."
    )
    return Finding(name, "fine", text, numbers, figure)


def _spell(change: float) -> str:
    return "more than can be measured" if not np.isfinite(change) else f"{100 * change:.2g} %"


def _draw(alt: str, changes: dict[str, float]) -> str:
    """Draw the changes as bars, with the line from which on they matter."""
    names = sorted(changes, key=lambda one: -changes[one])
    most = max(0.2, min(2.0, max((value for value in changes.values() if np.isfinite(value)), default=0.2) * 1.05))
    size = 60.0 + 30.0 * len(names)
    chart = Chart(
        alt, (0.0, most), (len(names) - 0.4, -0.6), x_label="share of the spread", left=150.0, width=480.0, height=size
    )
    for place, name in enumerate(names):
        value = min(changes[name], most)
        chart.bar((0.0, value), (place - 0.3, place + 0.3), "c0", f"{name}: {_spell(changes[name])}")
    chart.rule(x=_LARGEST)
    return chart.svg(y_names=names)
