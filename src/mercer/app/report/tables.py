"""The report's tables; columns of numbers sort as numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mercer.app.report import figures
from mercer.app.report.scale import number, percent
from mercer.app.study.record import HardRow, Record

__all__ = ["Table", "candidate_table", "column_table", "hard_table", "metric_table", "setting_table"]


@dataclass(frozen=True)
class Table:
    """Cells of text; `drawings` are cells that hold a picture."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool]
    marked: int | None = None  # a row that stands out
    drawings: frozenset[int] = field(default_factory=frozenset)


def metric_table(record: Record) -> Table:
    """Every measure of the chosen model, with its interval."""
    found = record.sureness
    assert found is not None
    rows = [
        [record.question.metric, number(found.score), f"{number(found.low)} to {number(found.high)}"],
        *(
            [name, number(value[0]), f"{number(value[1])} to {number(value[2])}" if len(value) == 3 else "–"]
            for name, value in found.other_metrics.items()
        ),
        [f"{record.question.metric} of {found.baseline_name}", number(found.baseline), "–"],
    ]
    return Table(
        "Measures on unseen rows", ["measure", "value", f"{percent(found.level)} interval"], rows, [False, True, False]
    )


def column_table(record: Record) -> Table:
    """One row per column of the table."""
    n = max(record.question.n_rows, 1)
    rows = [
        [
            one.name,
            one.role,
            figures.spark(one),
            percent(one.missing / n) if one.missing else "0",
            str(one.distinct),
            "–" if one.association is None else f"{one.association:.2f}",
            one.summary,
            one.reason,
        ]
        for one in record.data.columns
    ]
    names = ["column", "role", "shape", "missing", "distinct", "alone", "summary", "why this role"]
    numeric = [False, False, False, True, True, True, False, False]
    return Table("Columns", names, rows, numeric, drawings=frozenset({2}))


def candidate_table(record: Record) -> Table:
    """One row per candidate, skipped ones with the reason."""
    rows, marked = [], None
    for place, one in enumerate(record.candidates):
        if one.status == "chosen":
            marked = place
        interval = "–" if one.low is None or one.high is None else f"{number(one.low)} to {number(one.high)}"
        rows.append(
            [
                one.name,
                one.status,
                number(one.score),
                interval,
                number(one.train_score),
                one.complexity_text or number(one.complexity),
                number(one.seconds, 2),
                one.text,
            ]
        )
    names = ["candidate", "verdict", "score", "interval", "on training rows", "complexity", "seconds", ""]
    return Table("Candidates", names, rows, [False, False, True, False, True, True, True, False], marked)


def hard_table(found: Sequence[HardRow], title: str, structure: bool = False) -> Table:
    """Rows with the values of the columns that matter most."""
    columns = list(dict.fromkeys(name for one in found for name in one.values))
    if structure:
        rows = [[str(one.row), number(one.loss), *(one.values.get(name, "") for name in columns)] for one in found]
        return Table(title, ["row", "oddness", *columns], rows, [True, True, *([False] * len(columns))])
    rows = [
        [str(one.row), one.true, one.predicted, number(one.loss), *(one.values.get(name, "") for name in columns)]
        for one in found
    ]
    return Table(
        title,
        ["row", "true", "predicted", "loss", *columns],
        rows,
        [True, False, False, True, *([False] * len(columns))],
    )


def setting_table(settings: Mapping[str, Any]) -> Table:
    """The model's settings."""
    return Table(
        "Settings", ["setting", "value"], [[name, str(value)] for name, value in settings.items()], [False, False]
    )
