"""The options of a study, each declared once.

The command line, TOML files, ``mercer.run`` and the table in ``docs/guides/run.md`` are all made from the fields of
:class:`Options`.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from mercer.app.option_kinds import COSTS, DURATION, FLAG, INTEGER, MODELS, NAMES, NUMBER, TARGETS, TEXT, Kind
from mercer.errors import DataError, MercerError, ParameterError

# Sections of the help text, in its order, with a sentence about each.
SECTIONS = {
    "question": "",
    "columns": "Give column names, separated by commas. mercer guesses the role of every other column.",
    "study": "",
    "reading the table": "",
}


@dataclass(frozen=True)
class Option:
    """One option.

    Attributes
    ----------
    name : str
        The keyword of ``mercer.run`` and the key in a TOML file.
    kind : Kind
        What values it takes.
    text : str
        What it does, for the help text and the guide.
    section : str
        One of ``SECTIONS``.
    default : object
        The value if it is not given.
    otherwise : str
        What happens if it is not given, where `default` does not say so.
    metavar : str
        The placeholder of its value in the help text.
    flag : str
        How it is typed on the command line; by default made from `name`.
    also : tuple of str
        Other names under which it is accepted.
    choices : tuple of str
        All values that it takes; empty if there are others.
    role : str
        The role that it gives to the columns it names.
    recorded : bool
        Whether the record of a study repeats it.
    """

    name: str
    kind: Kind
    text: str
    section: str
    default: Any = None
    otherwise: str = ""
    metavar: str = ""
    flag: str = ""
    also: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    role: str = ""
    recorded: bool = True

    @property
    def spellings(self) -> list[str]:
        """How it may be typed on the command line, the preferred spelling first."""
        names = [self.flag or self.name, *self.also]
        return list(dict.fromkeys(f"--{name.replace('_', '-')}" for name in names))

    @property
    def default_text(self) -> str:
        """The default in words."""
        if self.otherwise or self.default is None or self.default is False or self.default == ():
            return self.otherwise
        return f"{self.default}"

    def read(self, value: Any, typed: bool = False) -> Any:
        """Return `value` as it is stored; ValueError if this option does not take it. `typed` values are texts."""
        converted = (self.kind.parse if typed else self.kind.convert)(value)
        if self.choices and converted not in self.choices:
            raise ValueError
        return converted

    def describe_values(self) -> str:
        """Return in words which values it takes."""
        return f"one of {', '.join(self.choices)}" if self.choices else self.kind.words


def _option(kind: Kind, section: str, text: str, default: Any = None, **further: Any) -> Any:
    """Return the field of a dataclass that declares one option; `further` are attributes of :class:`Option`."""
    declared = {"kind": kind, "section": section, "text": text, "default": default, **further}
    return field(default=default, metadata={"option": declared})


def _column(text: str, **further: Any) -> Any:
    """Return the field of an option that names one column."""
    return _option(TEXT, "columns", text, metavar="COLUMN", **further)


def _columns(text: str, role: str) -> Any:
    """Return the field of an option that gives `role` to the columns it names."""
    return _option(NAMES, "columns", text, default=(), metavar="COLUMNS", role=role)


@dataclass(frozen=True)
class Options:
    """Everything that a study can be asked for. The last four fields are no options: the program sets them."""

    target: str | Sequence[str] | None = _option(
        TARGETS,
        "question",
        "column to predict; several, given one by one or with commas between them, get a study each",
        otherwise="look for groups of similar rows",
        metavar="COLUMN",
    )
    task: str | None = _option(
        TEXT,
        "question",
        "what kind of study to make",
        otherwise="guessed from the target",
        choices=("classification", "regression", "structure"),
    )
    positive: str | None = _option(
        TEXT,
        "question",
        "of two classes, the one whose probability the report shows",
        otherwise="guessed",
        metavar="CLASS",
    )
    threshold: float | None = _option(
        NUMBER,
        "question",
        "of two classes, predict the positive one from this probability on",
        otherwise="where both errors weigh the same: the share of the positive class, 0.5 for accuracy",
        metavar="SHARE",
    )
    group: str | None = _column("rows with the same value in this column always stay in the same fold")
    time: str | None = _column(
        "column of times: each model is tested on rows that are later than those it was fitted to", also=("order",)
    )
    weight: str | None = _column("column of weights: a row of weight 2 counts as two rows", otherwise="1 for every row")
    cost: str | None = _column("column that says what it costs to miss the row, if it is of the positive class")
    false_alarm: float = _option(
        NUMBER,
        "columns",
        "with --cost: what it costs to predict the positive class where it is not true",
        1.0,
        metavar="COST",
    )
    number: Sequence[str] = _columns("columns to read as numbers", "number")
    category: Sequence[str] = _columns("columns to read as categories", "category")
    date: Sequence[str] = _columns("columns to read as dates", "date")
    text: Sequence[str] = _columns("columns to read as free text", "text")
    ignore: Sequence[str] = _columns("columns that the models must not use", "ignored")
    keep: Sequence[str] = _columns("columns to use although mercer would leave them out", "keep")
    increasing: Sequence[str] = _option(
        NAMES,
        "columns",
        "columns of numbers with which predictions may only rise: of two classes, the probability of the positive one",
        default=(),
        metavar="COLUMNS",
    )
    decreasing: Sequence[str] = _option(
        NAMES,
        "columns",
        "columns of numbers with which predictions may only fall",
        default=(),
        metavar="COLUMNS",
    )
    keep_leaks: bool = _option(
        FLAG, "columns", "use columns that predict the target almost perfectly on their own", default=False
    )
    holdout: str | None = _option(
        TEXT,
        "study",
        "a table of further rows with the target, which the study does not see: the finished model is scored on it",
        metavar="FILE",
    )
    budget: float | None = _option(
        DURATION,
        "study",
        "the longest time that the study may take, such as 60s, 5m or 1.5h",
        otherwise="no limit",
        metavar="TIME",
    )
    metric: str | None = _option(
        TEXT,
        "study",
        "the score by which models are compared: balanced_accuracy, accuracy, f1_macro, roc_auc or log_loss for "
        "classes; r2, mae or rmse for numbers",
        otherwise="the first of each",
        metavar="NAME",
    )
    folds: int = _option(INTEGER, "study", "number of outer folds, which estimate the score", 5, metavar="N")
    inner: int = _option(
        INTEGER, "study", "number of inner folds, which choose the settings of each model", 3, metavar="N"
    )
    splits: str = _option(
        TEXT,
        "study",
        "how rows are split without --group and --time: auto looks for keys that repeat and for dates and respects "
        "them if the score depends on it",
        "auto",
        choices=("auto", "random"),
    )
    repeats: int = _option(INTEGER, "study", "how many times to draw the outer folds", 1, metavar="N")
    costs: Mapping[Any, Mapping[Any, float]] | Sequence[Sequence[float]] | None = _option(
        COSTS,
        "study",
        "what each action costs where each class is true",
        otherwise="none",
        metavar="ACTION/CLASS=COST,...",
    )
    reject: float | None = _option(
        NUMBER, "study", "what it costs to leave a row undecided", otherwise="every row is decided", metavar="COST"
    )
    candidates: Sequence[str] | None = _option(
        MODELS,
        "study",
        "names of the models to compare, separated by semicolons",
        otherwise="all that suit the table",
        metavar="NAMES",
    )
    level: float = _option(NUMBER, "study", "confidence level of the intervals", 0.95, metavar="SHARE")
    max_rows: int = _option(
        INTEGER,
        "study",
        "compare models on at most this many rows; the chosen one is fitted to all",
        100_000,
        metavar="N",
    )
    sample: int | None = _option(
        INTEGER,
        "study",
        "study a table by this many rows, drawn at random, and fit the chosen model to all, block by block",
        otherwise="500000 of a table that does not fit into memory",
        metavar="N",
    )
    cluster: str | None = _option(
        TEXT,
        "study",
        "address of a Dask scheduler, such as tcp://host:8786, whose workers fit the model to a table in Parquet",
        otherwise="this process",
        metavar="ADDRESS",
    )
    quick: bool = _option(
        FLAG, "study", "skip the slowest part, which measures the bias and variance of every model", default=False
    )
    no_rows: bool = _option(
        FLAG,
        "study",
        "store no sample of training rows in run.json; mercer watch then has nothing to compare new rows with",
        default=False,
    )
    seed: int = _option(
        INTEGER, "study", "seed of all random draws; the same seed gives the same study", 0, metavar="N", recorded=False
    )
    n_jobs: int | None = _option(
        INTEGER,
        "study",
        "number of threads",
        otherwise="one for each core",
        metavar="N",
        flag="jobs",
        also=("jobs",),
        recorded=False,
    )
    columns: Sequence[str] | None = _option(
        NAMES, "reading the table", "read only these columns", otherwise="all columns", metavar="COLUMNS"
    )
    delimiter: str | None = _option(
        TEXT,
        "reading the table",
        "the character between columns of a text file",
        otherwise="guessed",
        metavar="CHARACTER",
    )
    encoding: str | None = _option(
        TEXT, "reading the table", "the encoding of a text file", otherwise="guessed", metavar="NAME"
    )
    decimal: str | None = _option(
        TEXT,
        "reading the table",
        "the decimal mark of numbers that are texts",
        otherwise="guessed",
        choices=("point", "comma"),
    )
    missing: Sequence[str] = _option(
        NAMES,
        "reading the table",
        "values that mean a missing one, such as -999, beside the usual spellings",
        default=(),
        metavar="VALUES",
    )
    day_first: bool = _option(FLAG, "reading the table", "read 3/4/2020 as the third of April", default=False)
    sheet: str | None = _option(
        TEXT, "reading the table", "the sheet of an Excel file to read", otherwise="the first", metavar="NAME"
    )
    query: str | None = _option(
        TEXT, "reading the table", "the table of an SQLite file to read", otherwise="the only one", metavar="TABLE"
    )
    max_unpacked: str | None = _option(
        TEXT,
        "reading the table",
        "the most bytes that a packed file may unpack to, such as 20GB",
        otherwise="1 GiB, or a hundred times its size",
        metavar="SIZE",
    )
    actions: Sequence[str] | None = None  # names of the rows of `costs`, where it is a matrix; None means the classes
    command: str = ""  # what was typed, for the record
    shown: dict[str, Any] = field(default_factory=dict)  # the options that were given, for the record
    spent: float = 0.0  # seconds of the given budget that reading the table has taken; `budget` is what was left
    n_targets: int = 1  # targets that divide the given budget; `budget` is the part of one
    many_rows: bool = False  # whether the whole table has many rows, also where fewer are compared
    debug: bool = False  # let an error in one part of the study end it, instead of a notice in the report


OPTIONS = tuple(
    Option(declared.name, **declared.metadata["option"]) for declared in fields(Options) if declared.metadata
)
# Where the command writes to: it may stand in a TOML file too, but it is no option of a study.
OUTPUT = Option("output", TEXT, "folder for the report", "study", default="report", metavar="FOLDER")


def list_options(section: str) -> list[Option]:
    """Return the options of one section."""
    return [option for option in OPTIONS if option.section == section]


def parse_options(typed: Mapping[str, Any], options: Iterable[Option]) -> dict[str, Any]:
    """Return the values of those of `options` that were typed on the command line; the others are None in `typed`."""
    values = {}
    for option in options:
        if typed[option.name] is not None:
            try:
                values[option.name] = option.read(typed[option.name], typed=option.kind is not FLAG)
            except ValueError:
                got = ",".join(typed[option.name]) if option.kind.repeats else typed[option.name]
                raise DataError(f"{option.spellings[0]} must be {option.describe_values()}; got {got!r}.") from None
    return values


def convert_options(
    given: Mapping[str, Any],
    options: Iterable[Option],
    subject: str = "run",
    error: type[MercerError] = ParameterError,
) -> dict[str, Any]:
    """Return options from a TOML file or from Python by name, checked; `error` says what `subject` got wrong.

    Raises
    ------
    MercerError
        If a name is unknown or a value is not one that the option takes.
    """
    known = {name: option for option in options for name in (option.name, *option.also)}
    values = {}
    for name, value in given.items():
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=1)
            cure = f"Did you mean `{nearest[0]}`?" if nearest else f"The options are {', '.join(sorted(known))}."
            raise error(f"{subject}: there is no option `{name}`. {cure}")
        option = known[name]
        try:
            values[option.name] = option.read(value) if value is not None else None
        except ValueError:
            raise error(f"{subject}: {name} must be {option.describe_values()}; got {value!r}.") from None
    return {name: value for name, value in values.items() if value is not None}
