"""The parts of the page: sections with text, figures and facts, and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mercer._source.table.table import Notice
from mercer.app.report import figures
from mercer.app.report.chart import format_number, format_percent
from mercer.app.study.formatting import spell_range
from mercer.app.study.record import Candidate, HardRow, Record, StrangeRow

# Characters from which on a text takes several lines in a column of a phone.
_LONG = 60


@dataclass(frozen=True)
class Table:
    """A table of texts; `drawings` are the indices of columns that hold a picture."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool]
    marked: int | None = None  # index of a highlighted row
    drawings: frozenset[int] = field(default_factory=frozenset)

    @property
    def cards(self) -> bool:
        """Whether a phone shows each row as a card: the table has many columns, or long texts beside others."""
        longest = max((len(cell) for row in self.rows for cell in row), default=0)
        return len(self.columns) > 3 or (len(self.columns) > 2 and longest > _LONG)


def make_metric_table(record: Record) -> Table:
    """Return every metric of the chosen model, with its interval."""
    sureness = record.sureness
    assert sureness is not None
    rows = [
        [record.question.metric, format_number(sureness.score), _format_interval(sureness.low, sureness.high)],
        *(
            [name, format_number(value[0]), _format_interval(*value[1:])]
            for name, value in sureness.other_metrics.items()
        ),
        [f"{record.question.metric} of {sureness.baseline_name}", format_number(sureness.baseline), "–"],
    ]
    return Table(
        "Metrics on unseen rows",
        ["metric", "value", f"{format_percent(sureness.level)} interval"],
        rows,
        [False, True, False],
    )


def _format_lag(candidate: Candidate) -> str:
    """Return how far a candidate is behind the best score, with the standard error of that difference."""
    if candidate.lag is None or candidate.lag_error is None:
        return "–"
    return "0" if candidate.status == "best" else f"{candidate.lag:.2g} ± {candidate.lag_error:.2g}"


def _format_interval(low: float | None = None, high: float | None = None) -> str:
    """Return "low to high", or a dash without an interval."""
    if low is None or high is None:
        return "–"
    # Below 10 000 there are no separators of thousands, and both ends get as many decimals: "0.200 to 0.294".
    plain = all(1e-4 <= abs(end) < 1e4 for end in (low, high))
    return spell_range(low, high) if plain else f"{format_number(low)} to {format_number(high)}"


def make_column_table(record: Record) -> Table:
    """Return one row per column of the table."""
    n = max(record.question.n_rows, 1)
    rows = [
        [
            column.name,
            column.role,
            figures.draw_histogram(column),
            format_percent(column.missing / n) if column.missing else "0",
            str(column.distinct),
            "–" if column.association is None else f"{column.association:.2f}",
            column.summary,
            column.reason,
        ]
        for column in record.data.columns
    ]
    names = ["column", "role", "shape", "missing", "distinct", "predicts target", "summary", "why this role"]
    numeric = [False, False, False, True, True, True, False, False]
    if record.question.task == "structure":
        # Without a target there is nothing to predict.
        place = names.index("predicts target")
        names, numeric = names[:place] + names[place + 1 :], numeric[:place] + numeric[place + 1 :]
        rows = [row[:place] + row[place + 1 :] for row in rows]
    return Table("Columns", names, rows, numeric, drawings=frozenset({2}))


def make_candidate_table(record: Record) -> Table:
    """Return one row per candidate; skipped ones have the reason."""
    rows, marked = [], None
    for place, candidate in enumerate(record.candidates):
        if candidate.status == "chosen":
            marked = place
        rows.append(
            [
                candidate.name,
                candidate.status,
                format_number(candidate.score),
                _format_interval(candidate.low, candidate.high),
                _format_lag(candidate),
                format_number(candidate.train_score),
                candidate.complexity_text or format_number(candidate.complexity),
                format_number(candidate.seconds, 2),
                candidate.text,
            ]
        )
    names = ["candidate", "verdict", "score", "interval", "behind the best", "score on training rows", "complexity"]
    names += ["seconds", "remark"]
    numeric = [False, False, True, False, False, True, False, True, False]
    if record.question.task == "structure":
        # Methods that group rows are not tested on unseen rows: they have one score and no interval.
        kept = [names.index(name) for name in ("candidate", "verdict", "score", "complexity", "remark")]
        names, numeric = [names[place] for place in kept], [numeric[place] for place in kept]
        rows = [[row[place] for place in kept] for row in rows]
        return Table("Methods", ["method", *names[1:]], rows, numeric, marked)
    return Table("Candidates", names, rows, numeric, marked)


def make_row_table(hard_rows: Sequence[HardRow], title: str, structure: bool = False) -> Table:
    """Return rows of the studied table with the values of the most important columns."""
    columns = list(dict.fromkeys(name for row in hard_rows for name in row.values))
    names = ["row", "unusualness"] if structure else ["row", "true value", "prediction", "loss"]
    rows = []
    for row in hard_rows:
        judged = [] if structure else [row.true, row.predicted]
        values = [row.values.get(name, "") for name in columns]
        rows.append([str(row.row), *judged, format_number(row.loss), *values])
    numeric = [name in ("row", "unusualness", "loss") for name in names]
    return Table(title, [*names, *columns], rows, [*numeric, *([False] * len(columns))])


def make_strange_table(strange_rows: Sequence[StrangeRow]) -> Table:
    """Return the rows that are unlike the others, with what is unusual about them."""
    rows = [[str(row.row), format_number(row.strangeness), "; ".join(row.reasons)] for row in strange_rows]
    return Table("Strange rows", ["row", "strangeness", "what is unusual"], rows, [True, True, False])


def _format_setting(value: Any) -> str:
    """Return a setting as text; of a number that was computed, such as a penalty, six digits are enough."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def make_setting_table(settings: Mapping[str, Any]) -> Table:
    """Return the settings of the model."""
    rows = [[name, _format_setting(value)] for name, value in settings.items()]
    return Table("Settings", ["setting", "value"], rows, [False, False])


@dataclass(frozen=True)
class Figure:
    """A picture with a line below it."""

    svg: str
    caption: str
    wide: bool = False


@dataclass(frozen=True)
class Section:
    """One part of the page."""

    name: str  # the anchor
    short: str  # the title in the list of sections
    title: str
    text: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)

    @property
    def beside(self) -> bool:
        """Whether a wide screen shows the figures beside the tables, which must be narrow."""
        return bool(self.figures and self.tables) and self._narrow

    @property
    def halved(self) -> bool:
        """Whether a wide screen shows the text on the left, and a wide figure or narrow tables on the right."""
        if not self.text:
            return False
        return self.figures[0].wide if self.figures else bool(self.tables) and self._narrow

    @property
    def _narrow(self) -> bool:
        return max(len(table.columns) for table in self.tables) <= 4
