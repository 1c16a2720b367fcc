"""What a study found, as plain data: everything the report says, and nothing it does not.

A :class:`Record` is written as ``run.json`` beside the report, so that the page can be made again, two studies compared
and a machine read it. Every part is a frozen dataclass of text, numbers and lists; parts that a study has not are None
or empty. Lists of points are thinned before they come here: a record stays below a megabyte.
"""

from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "BiasVariance",
    "Calibration",
    "Candidate",
    "Cluster",
    "Column",
    "Confusion",
    "CostCurve",
    "Curve",
    "Data",
    "Decision",
    "Dependence",
    "Driver",
    "Fit",
    "HardRow",
    "Map",
    "Notice",
    "Origin",
    "Question",
    "Rates",
    "Record",
    "Residuals",
    "Structure",
    "Sureness",
]


@dataclass(frozen=True)
class Question:
    """What was asked: the task, the target and the measure by which answers are judged."""

    task: str  # "classification", "regression" or "structure"
    table: str  # the name of the table, without its folder
    n_rows: int
    n_columns: int
    target: str | None = None
    classes: list[str] = field(default_factory=list)
    positive: str | None = None  # of two classes, the one whose probability the curves show
    metric: str = ""  # in words: "balanced accuracy", "R²"
    greater_is_better: bool = True
    splits: str = ""  # in words: "5 folds, stratified", "5 folds, whole groups of `patient`", "forward in `date`"


@dataclass(frozen=True)
class Notice:
    """One thing the reader should know about the data or the study, and what to do about it."""

    level: str  # "note", "warning" or "danger"
    subject: str  # a column, a candidate, or "the table"
    text: str
    cure: str = ""


@dataclass(frozen=True)
class Column:
    """One column of the table: the role it was given, why, and what is in it."""

    name: str
    # "target", "number", "category", "date", "text"; "group", "time", "weight", "cost"; left out: "id", "constant",
    # "leak", "ignored"
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
    """The table at a glance."""

    columns: list[Column] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    duplicate_rows: int = 0


@dataclass(frozen=True)
class Sureness:
    """How good the chosen model will be on rows it has not seen, and how sure that is."""

    score: float  # by the outer folds of nested cross-validation
    low: float
    high: float
    level: float  # of the interval: 0.95
    method: str  # how the interval was made, in a sentence
    baseline: float  # the same score of the constant guess
    baseline_name: str = "the constant guess"
    selection_bias: float | None = None  # inner score of the winner less its outer score
    floor: float | None = None  # an estimate of the best score that anyone could reach, where one can be made
    floor_text: str = ""
    other_metrics: dict[str, list[float]] = field(default_factory=dict)  # name: [value, low, high]


@dataclass(frozen=True)
class Candidate:
    """One candidate in the comparison."""

    name: str
    family: str
    complexity: float  # effective number of parameters, or the registry's rank where none can be counted
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


@dataclass(frozen=True)
class Curve:
    """Scores on training and on unseen rows against something: the number of rows, or complexity."""

    label: str
    x: list[float]
    train: list[float]
    test: list[float]
    train_spread: list[float] = field(default_factory=list)  # one standard deviation
    test_spread: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # names of the points, where x is no more than their order
    marked: int | None = None  # the point that was chosen
    text: str = ""  # what the curve says, in a sentence


@dataclass(frozen=True)
class BiasVariance:
    """Error of several candidates on unseen rows, split by repeated training on resampled halves."""

    names: list[str]
    bias: list[float]  # with noise inside it: on real data the two cannot be told apart
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
    """True values, predictions and what is left, on unseen rows."""

    true: list[float]
    predicted: list[float]
    quantiles: list[float]  # of the residual: 2.5, 25, 50, 75 and 97.5 per cent
    text: str = ""


@dataclass(frozen=True)
class CostCurve:
    """Expected cost a row against the threshold on the probability of the positive class."""

    threshold: list[float]
    cost: list[float]
    low: list[float]
    high: list[float]
    best: float


@dataclass(frozen=True)
class Decision:
    """What to do: actions by expected cost, and what they cost on unseen rows."""

    actions: list[str]
    costs: list[list[float]]  # actions x classes; empty where each row has its own
    cost: float  # a row, deciding by expected cost
    low: float
    high: float
    alternatives: dict[str, float]  # "always approve": cost a row
    shares: list[float]  # of rows that get each action
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
    """The mean prediction as one column varies and the others stay."""

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
    """A row that the model got most wrong while it was unseen."""

    row: int  # counted from 1, as a reader of the file would
    true: str
    predicted: str
    loss: float
    values: dict[str, str] = field(default_factory=dict)  # of the most important columns


@dataclass(frozen=True)
class Fit:
    """What the final fit says of itself."""

    model: str
    converged: bool | None = None
    steps: int | None = None
    solver: str = ""
    certificate: str = ""
    objective: list[float] = field(default_factory=list)
    objective_name: str = "objective"
    seconds: float | None = None
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cluster:
    """One group of rows: its size and what sets it apart."""

    name: str
    size: int
    traits: list[str] = field(default_factory=list)  # "income 2.1 spreads above the mean"


@dataclass(frozen=True)
class Structure:
    """What a table without a target has to show: groups, their number, odd rows."""

    method: str
    clusters: list[Cluster] = field(default_factory=list)
    number: Curve | None = None  # a measure against the number of groups, `test` only
    stability: float | None = None  # mean agreement of the groups between resampled halves, 0 to 1
    text: str = ""
    odd_rows: list[HardRow] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)  # of variance, by principal component


@dataclass(frozen=True)
class Origin:
    """How to do it again."""

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
    """Everything a study found."""

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
    format: int = 1
