"""The results of a study as plain data: everything that the report says.

A :class:`Record` is written as ``run.json`` beside the report, so that the report can be made again, two studies can be
compared, and programs can read it. Every part is a frozen dataclass of texts, numbers and lists; parts that a study
does not have are None or empty. Lists of points are thinned first, so that a record stays below a megabyte.
"""

import json
import math
import types
import typing
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Union

from mercer._source.table.table import Notice
from mercer._written_file import write_whole
from mercer.errors import DataError


@dataclass(frozen=True)
class Question:
    """What was asked: the task, the target and the metric."""

    task: str  # "classification", "regression" or "structure"
    table: str  # the name of the table, without its folder
    n_rows: int
    n_columns: int
    target: str | None = None
    classes: list[str] = field(default_factory=list)
    positive: str | None = None  # of two classes, the one whose probability the curves show
    metric: str = ""  # in words: "balanced accuracy", "R²"
    greater_is_better: bool = True
    splits: str = ""  # in words: "5 folds, stratified", "5 folds, forward in time by `date`"


@dataclass(frozen=True)
class Column:
    """One column of the table: the role it was given, why, and what is in it."""

    name: str
    # "target"; a kind of values; "group", "time", "weight", "cost"; left out: "id", "constant", "leak", "ignored"
    role: str
    reason: str  # why this role: "12 distinct texts", "given by --category"
    missing: int
    distinct: int
    summary: str  # "mean 3.2, from 0 to 17", "most often `red` (41 %)"
    association: float | None = None  # how well this column alone predicts the target, 0 to 1
    counts: list[int] = field(default_factory=list)  # a histogram of numbers and dates, or of the commonest categories
    edges: list[float] = field(default_factory=list)  # one more than counts, for numbers and dates
    labels: list[str] = field(default_factory=list)  # one per count, for categories


@dataclass(frozen=True)
class Data:
    """What the table holds."""

    columns: list[Column] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    duplicate_rows: int = 0


@dataclass(frozen=True)
class SplitScore:
    """The score of a quick model under one kind of split, to see whether rows depend on each other."""

    splits: str  # "rows at random", "rows of one `pig` together", "forward in time by `day`"
    score: float
    used: bool  # whether the study splits the rows so


@dataclass(frozen=True)
class Sureness:
    """The score to expect of the chosen model on new rows, and how certain it is."""

    score: float  # on rows of the outer folds, which fitted no model that predicts them
    low: float
    high: float
    level: float  # of the interval: 0.95
    method: str  # how the interval was made, in a sentence
    baseline: float  # the score of the constant guess
    baseline_name: str = "the constant guess"
    selection_bias: float | None = None  # inner score of the winner minus its outer score
    floor: float | None = None  # an estimate of the best score that any model could reach, or None
    floor_text: str = ""
    other_metrics: dict[str, list[float]] = field(default_factory=dict)  # name: [value, low, high]
    n_apart: int = 0  # rows that were kept apart from comparison and fit, if they give the score


@dataclass(frozen=True)
class Candidate:
    """One candidate in the comparison."""

    name: str
    family: str
    complexity: float  # effective number of parameters, or the rank of the candidate if it cannot be counted
    complexity_text: str  # "12 coefficients", "140 leaves"
    status: str  # "chosen", "best", "as good", "worse", "skipped", "failed"
    text: str = ""  # why skipped or failed; what it is
    score: float | None = None
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    train_score: float | None = None
    seconds: float | None = None  # of all its fits
    fold_scores: list[float] = field(default_factory=list)
    settings: list[dict[str, Any]] = field(default_factory=list)  # chosen by the inner folds, one per outer fold
    lag: float | None = None  # behind the best score, mean over the same folds
    lag_error: float | None = None  # the standard error of the lag, corrected for shared training rows


@dataclass(frozen=True)
class Curve:
    """Scores on training and on unseen rows against something: the number of rows, or complexity."""

    label: str
    x: list[float]
    train: list[float]
    test: list[float]
    train_spread: list[float] = field(default_factory=list)  # one standard deviation
    test_spread: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # names of the points, if x is only their order
    marked: int | None = None  # the point that was chosen
    text: str = ""  # what the curve says, in a sentence


@dataclass(frozen=True)
class BiasVariance:
    """The error of several candidates on unseen rows, split by training them on random halves."""

    names: list[str]
    bias: list[float]  # includes the noise, which real data do not let us separate
    variance: list[float]
    text: str = ""


@dataclass(frozen=True)
class Confusion:
    """Counts of unseen rows by true and predicted class."""

    classes: list[str]
    counts: list[list[float]]


@dataclass(frozen=True)
class Calibration:
    """Predicted probability against observed share, in bins of equal counts."""

    predicted: list[float]
    observed: list[float]
    low: list[float]
    high: list[float]
    counts: list[int]
    error: float  # expected calibration error
    text: str = ""


@dataclass(frozen=True)
class Rates:
    """ROC and precision-recall curves of one class against the rest, on unseen rows."""

    name: str
    false_positive: list[float]
    true_positive: list[float]
    recall: list[float]
    precision: list[float]
    roc_area: float
    average_precision: float
    share: float  # of this class among the rows


@dataclass(frozen=True)
class Residuals:
    """True values, predictions and residuals on unseen rows."""

    true: list[float]
    predicted: list[float]
    quantiles: list[float]  # of the residual: 2.5, 25, 50, 75 and 97.5 per cent
    text: str = ""


@dataclass(frozen=True)
class Conformal:
    """How wrong predictions of unseen rows were, for intervals and sets around predictions."""

    names: list[str]  # classes; one empty name for numbers
    counts: list[int]  # rows of each
    scores: list[list[float]]  # sorted: absolute residuals, or one less the probability of the true class
    least: float | None = None  # 0 if no number of the target is below it


@dataclass(frozen=True)
class OtherQuestion:
    """The score of the chosen model on another kind of new rows than the splits of the study assume."""

    rows: str  # "rows with new values of `country`"
    assumed: str  # "new rows with known values of `country`"
    score: float
    low: float
    high: float
    option: str  # what to type for a study of these rows: "--group country"
    column: str = ""  # whose new values tell these rows from others, if it is one of the inputs
    known: list[str] = field(default_factory=list)  # the values with which the model was fitted
    conformal: Conformal | None = None  # how wrong predictions of such rows were


@dataclass(frozen=True)
class HoldOut:
    """The score of the model on a table that the study has not seen."""

    table: str
    n_rows: int
    score: float
    low: float
    high: float


@dataclass(frozen=True)
class Reference:
    """A sample of the training rows, with which new rows are compared."""

    kinds: dict[str, str]  # "number", "category" or "date", by column
    values: dict[str, list[Any]]  # numbers, days since 1970 or texts; None where missing


@dataclass(frozen=True)
class CostCurve:
    """Mean cost per row against the threshold on the probability of the positive class."""

    threshold: list[float]
    cost: list[float]
    low: list[float]
    high: list[float]
    best: float


@dataclass(frozen=True)
class Decision:
    """Decisions by expected cost, and what they cost on unseen rows."""

    actions: list[str]
    costs: list[list[float]]  # actions x classes; empty where each row has its own
    cost: float  # per row, of decisions by expected cost
    low: float
    high: float
    alternatives: dict[str, float]  # cost per row by rule: "always approve"
    shares: list[float]  # share of rows that get each action
    curve: CostCurve | None = None
    text: str = ""


@dataclass(frozen=True)
class Driver:
    """How much the score falls when a column is shuffled."""

    column: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Dependence:
    """The mean prediction as one column varies and the others keep their values."""

    column: str
    values: list[Any]  # numbers, or names of categories
    mean: list[float]
    low: list[float] = field(default_factory=list)  # middle half of the rows
    high: list[float] = field(default_factory=list)
    label: str = ""  # what is on the other axis: "probability of `fraud`"


@dataclass(frozen=True)
class Map:
    """The rows in a plane."""

    method: str  # "principal components"
    x: list[float]
    y: list[float]
    groups: list[str] = field(default_factory=list)  # class or cluster of each point
    values: list[float] = field(default_factory=list)  # or a number of each point
    wrong: list[float] = field(default_factory=list)  # loss of each point on unseen rows, 0 to 1
    explained: list[float] = field(default_factory=list)  # share of variance of the two axes
    text: str = ""


@dataclass(frozen=True)
class HardRow:
    """A row with one of the worst predictions while it was unseen."""

    row: int  # counted from 1, as a reader of the file would
    true: str
    predicted: str
    loss: float
    values: dict[str, str] = field(default_factory=dict)  # of the most important columns


@dataclass(frozen=True)
class StrangeRow:
    """A row whose numbers are unlike those of the other rows."""

    row: int  # counted from 1, as a reader of the file would
    strangeness: float  # 0 to 1; about 0.5 for an average row
    reasons: list[str] = field(default_factory=list)  # "income is 9e+06 (usually 1.2e+04 to 9.1e+04)"


@dataclass(frozen=True)
class Fit:
    """What the final fit reports about itself."""

    model: str
    converged: bool | None = None
    steps: int | None = None
    solver: str = ""
    certificate: str = ""
    objective: list[float] = field(default_factory=list)
    objective_name: str = "objective"
    seconds: float | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    threshold: float | None = None  # of two classes, the positive one is predicted from this probability on


@dataclass(frozen=True)
class Cluster:
    """One group of rows: its size and what distinguishes it."""

    name: str
    size: int
    traits: list[str] = field(default_factory=list)  # "income is 2.1 standard deviations above the mean"


@dataclass(frozen=True)
class Structure:
    """The structure of a table without a target: groups, their number, unusual rows."""

    method: str
    clusters: list[Cluster] = field(default_factory=list)
    number: Curve | None = None  # a measure against the number of groups, `test` only
    stability: float | None = None  # mean agreement of the groups between resampled halves, 0 to 1
    text: str = ""
    odd_rows: list[HardRow] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)  # of variance, by principal component


@dataclass(frozen=True)
class Origin:
    """What is needed to repeat the study."""

    command: str
    seed: int
    digest: str  # SHA-256 of the table's bytes or values
    seconds: float
    date: str
    versions: dict[str, str]
    options: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    budget: float | None = None  # seconds asked for


@dataclass(frozen=True)
class Record:
    """All results of a study."""

    question: Question
    answer: str  # in one sentence
    data: Data
    origin: Origin
    findings: list[str] = field(default_factory=list)  # further sentences, most important first
    sureness: Sureness | None = None
    candidates: list[Candidate] = field(default_factory=list)
    learning: Curve | None = None
    complexity: Curve | None = None
    bias_variance: BiasVariance | None = None
    confusion: Confusion | None = None
    calibration: Calibration | None = None
    rates: list[Rates] = field(default_factory=list)
    residuals: Residuals | None = None
    decision: Decision | None = None
    drivers: list[Driver] = field(default_factory=list)
    dependences: list[Dependence] = field(default_factory=list)
    map: Map | None = None
    hardest: list[HardRow] = field(default_factory=list)
    fit: Fit | None = None
    structure: Structure | None = None
    splits: list[SplitScore] = field(default_factory=list)
    strange: list[StrangeRow] = field(default_factory=list)
    conformal: Conformal | None = None
    reference: Reference | None = None
    other: OtherQuestion | None = None
    holdout: HoldOut | None = None
    format: int = 1


NAME = "run.json"


def write_record(record: Record, folder: Path) -> Path:
    """Write the record into `folder`, whole or not at all."""
    path = folder / NAME
    write_whole(path, json.dumps(_replace_infinite(asdict(record)), allow_nan=False, ensure_ascii=False))
    return path


def _replace_infinite(value: Any) -> Any:
    """Return the content with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _replace_infinite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_replace_infinite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_record(path: Path) -> Record:
    """Read the record at `path`, or in the folder `path`."""
    place = path / NAME if path.is_dir() else path
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            f"{place}: there is no record. Give the folder that `mercer run` wrote, which holds {NAME}."
        ) from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise DataError(
            f"{place}: this is not the record of a study. Give the folder that `mercer run` wrote, which holds {NAME}."
        ) from None
    if not isinstance(content, dict) or content.get("format") != Record.format:
        held = content.get("format") if isinstance(content, dict) else type(content).__name__
        raise DataError(f"{place}: format must be {Record.format}; got {held}. Run the study again with this version.")
    try:
        return _build(Record, content)
    except (KeyError, TypeError, ValueError, OverflowError) as wrong:
        raise DataError(f"{place}: the record is damaged ({wrong}). Run the study again.") from None


def _build(kind: Any, value: Any, where: str = "the record") -> Any:
    """Return `value`, as JSON holds it, as an instance of the annotation `kind`; TypeError if it is none."""
    if is_dataclass(kind):
        assert isinstance(kind, type)
        if not isinstance(value, dict):
            raise TypeError(f"{where} must be an object")
        hints = typing.get_type_hints(kind)
        known = [field.name for field in fields(kind)]
        return kind(**{name: _build(hints[name], value[name], name) for name in known if name in value})
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        others = [argument for argument in arguments if argument is not type(None)]
        return None if value is None else _build(others[0], value, where)
    if origin is list:
        if not isinstance(value, list):
            raise TypeError(f"{where} must be a list")
        return [_build(arguments[0], item, where) for item in value]
    if origin is dict:
        if not isinstance(value, dict):
            raise TypeError(f"{where} must be an object")
        return {name: _build(arguments[1], item, where) for name, item in value.items()}
    return _check_plain(kind, value, where)


def _check_plain(kind: Any, value: Any, where: str) -> Any:
    """Return a text, a number or a truth value; TypeError if it is of another type."""
    # NaN and infinity were written as null.
    if kind is Any or (kind is float and value is None):
        return value
    fits = isinstance(value, int | float if kind is float else kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{where} must be of type {kind.__name__}; it is {type(value).__name__}")
    if kind is float:
        float(value)  # OverflowError beyond the range of floats
    return value
