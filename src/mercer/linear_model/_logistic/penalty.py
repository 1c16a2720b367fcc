"""The penalty parameters of logistic regression, scikit-learn's deprecated spellings among them."""

import math
import warnings
from typing import Any

import numpy as np

from mercer._objective import ElasticNetPenalty
from mercer.errors import DataError, ParameterError

_DEPRECATED = (
    "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, leave 'penalty' set "
    "to its default value and use 'l1_ratio' or 'C' instead: l1_ratio=0 for penalty='l2', l1_ratio=1 for "
    "penalty='l1', l1_ratio between 0 and 1 for penalty='elasticnet', and C=np.inf for penalty=None."
)


def read_penalty(estimator: Any) -> tuple[float, float]:
    """Return the effective C and l1_ratio; warn as scikit-learn does of deprecated or contradictory parameters."""
    penalty, ratio, C = estimator.penalty, estimator.l1_ratio, float(estimator.C)
    if penalty == "deprecated":
        if ratio is None:
            warnings.warn(
                "'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use 0<=l1_ratio<=1.",
                FutureWarning,
                stacklevel=6,
            )
        return C, 0.0 if ratio is None else float(ratio)
    warnings.warn(_DEPRECATED, FutureWarning, stacklevel=6)
    if penalty == "elasticnet" and ratio is None:
        raise ParameterError(
            f"{type(estimator).__name__}: l1_ratio must be specified when penalty is elasticnet; got None. Give one."
        )
    if penalty != "elasticnet" and ratio is not None and 0 < ratio < 1:
        warnings.warn(
            f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})", stacklevel=6
        )
    if (penalty == "l2" and ratio != 0) or (penalty == "l1" and ratio != 1):
        warnings.warn(
            f"Inconsistent values: penalty={penalty} with l1_ratio={ratio}. penalty is deprecated. "
            f"Please use l1_ratio only.",
            stacklevel=6,
        )
    if penalty is None and C != 1.0:
        warnings.warn("Setting penalty=None will ignore the C and l1_ratio parameters", stacklevel=6)
    if penalty is None:
        return math.inf, 0.0
    return C, {"l1": 1.0, "l2": 0.0}.get(penalty, float(ratio or 0.0))


def check_solver(estimator: Any, C: float, ratio: float) -> None:
    """Refuse what a named solver cannot do."""
    solver, name = estimator.solver, type(estimator).__name__
    # The l1 ratio alone names the penalty.
    penalty = "l2" if ratio == 0 else ("l1" if ratio == 1 else "elasticnet")
    message = ""
    if penalty == "elasticnet" and solver not in ("saga", "auto"):
        message = f"Only 'saga' solver supports elasticnet penalty, got solver={solver}"
    elif penalty != "l2" and solver not in ("liblinear", "saga", "auto"):
        message = f"Solver {solver} supports only 'l2' or None penalties, got {penalty} penalty"
    elif estimator.dual and (solver != "liblinear" or penalty != "l2"):
        message = f"Solver {solver} supports only dual=False, got dual=True with penalty {penalty}"
    elif solver == "liblinear" and math.isinf(C):
        message = "C=np.inf as well as penalty=None is not supported for the liblinear solver"
    if message:
        message = f"{name}: {message}. Use solver='auto' to have one chosen."
        raise ParameterError(message)


def strengths(estimator: Any, C: float, ratio: float, n_features: int, total_weight: float) -> ElasticNetPenalty:
    """Return penalty strengths on the scale of the mean loss: 1 / (C S) a column; the intercept's as in liblinear."""
    if not total_weight > 0:
        raise DataError(
            f"{type(estimator).__name__}: the rows of a fit, or of a training fold, must have a positive total weight; "
            f"got {total_weight:g}. Give fewer folds, or drop rows of weight zero first."
        )
    strength = 0.0 if math.isinf(C) else 1.0 / (C * total_weight)
    columns = np.ones(n_features + 1)
    columns[-1] = 0.0
    l1, l2 = strength * ratio * columns, strength * (1.0 - ratio) * columns
    if estimator.solver == "liblinear" and estimator.fit_intercept:
        # liblinear's intercept is s v, with v the weight of a column of constant s, under penalty like any other.
        l1[-1] = strength * ratio / estimator.intercept_scaling
        l2[-1] = strength * (1.0 - ratio) / estimator.intercept_scaling**2
    return ElasticNetPenalty(l1, l2)
