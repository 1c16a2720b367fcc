"""What a study is asked to do, and how it tells of its progress."""

from dataclasses import dataclass, field
from typing import Any

from mercer.errors import ParameterError

__all__ = ["METRICS", "Metric", "Options", "ProgressEvent"]


@dataclass(frozen=True)
class Metric:
    """A measure: scikit-learn's name for its scorer, its words, and the values it can take."""

    scorer: str
    words: str
    greater_is_better: bool = True
    least: float | None = None
    most: float | None = None


METRICS = {
    "classification": {
        "balanced_accuracy": Metric("balanced_accuracy", "balanced accuracy", True, 0.0, 1.0),
        "accuracy": Metric("accuracy", "accuracy", True, 0.0, 1.0),
        "f1_macro": Metric("f1_macro", "F1, mean over classes", True, 0.0, 1.0),
        "roc_auc": Metric("roc_auc_ovr", "area under the ROC curve", True, 0.0, 1.0),
        "log_loss": Metric("neg_log_loss", "log loss", False, 0.0, None),
    },
    "regression": {
        "r2": Metric("r2", "R²", True, None, 1.0),
        "mae": Metric("neg_mean_absolute_error", "mean absolute error", False, 0.0, None),
        "rmse": Metric("neg_root_mean_squared_error", "root mean squared error", False, 0.0, None),
    },
}


@dataclass(frozen=True)
class Options:
    """How a study is made.

    Attributes
    ----------
    seed : int
        Draws folds, samples and shuffles: the same seed gives the same study.
    budget : float or None
        Seconds for everything; None takes what is needed.
    metric : str or None
        One of ``METRICS`` for the task; None takes the first.
    folds, inner, repeats : int
        Outer folds, inner folds, and how often the outer folds are drawn.
    costs : list of lists or None
        Actions x classes, classes in sorted order.
    actions : list of str or None
        Names of the actions; None names them after the classes.
    reject : float or None
        What it costs to decline; None never declines.
    false_alarm : float
        With a cost column, which says what it costs to miss the positive class: the cost of acting without need.
    positive : str or None
        Of two classes, the one whose probability is shown; None guesses.
    level : float
        Of the intervals.
    candidates : list of str or None
        Names to choose from; None takes all that suit the table.
    max_rows : int
        Candidates are compared on at most so many rows; the model is fitted to all.
    quick : bool
        Leave out what takes long: bias and variance, repeated shuffles.
    n_jobs : int or None
        Threads; None takes all.
    command : str
        What was typed, for the record.
    shown : dict
        Options as the user gave them, for the record.
    debug : bool
        Let a part of the study that fails stop it; else the report says so and goes on.
    """

    seed: int = 0
    budget: float | None = None
    metric: str | None = None
    folds: int = 5
    inner: int = 3
    repeats: int = 1
    costs: list[list[float]] | None = None
    actions: list[str] | None = None
    reject: float | None = None
    false_alarm: float = 1.0
    positive: str | None = None
    level: float = 0.95
    candidates: list[str] | None = None
    max_rows: int = 100_000
    quick: bool = False
    n_jobs: int | None = None
    command: str = ""
    shown: dict[str, Any] = field(default_factory=dict)
    debug: bool = False

    def measure(self, task: str) -> Metric:
        """The measure by which candidates for `task` are judged."""
        known = METRICS[task]
        name = next(iter(known)) if self.metric is None else self.metric
        if name not in known:
            message = f"metric: must be one of {', '.join(known)} for {task}; got {name!r}."
            raise ParameterError(message)
        return known[name]


@dataclass(frozen=True)
class ProgressEvent:
    """Where a study is: what it does now, how much of everything is done, and how long the rest may take."""

    text: str
    share: float
    seconds_left: float | None = None
