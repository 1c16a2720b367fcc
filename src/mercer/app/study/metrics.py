"""The metrics by which models can be compared."""

import difflib
from dataclasses import dataclass

from mercer.errors import ParameterError


@dataclass(frozen=True)
class Metric:
    """A metric: scikit-learn's name for its scorer, its name in sentences, and its least and largest possible value."""

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


def find_metric(name: str | None, task: str) -> Metric:
    """Return the metric of that name for `task`; None means the first one in ``METRICS``."""
    known = METRICS[task]
    if name is not None and name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        cure = f" Did you mean {near[0]}?" if near else ""
        raise ParameterError(f"metric: must be one of {', '.join(known)} for {task}; got {name!r}.{cure}")
    return next(iter(known.values())) if name is None else known[name]
