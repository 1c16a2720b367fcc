"""The parameters of cross-validated logistic regression as they hold, with scikit-learn's warnings of what changes."""

import math
import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from mercer.errors import ParameterError
from mercer.linear_model._logistic.penalty import check_solver

_LATER = {
    "l1_ratios": (
        "The default value for l1_ratios will change from None to (0.0,) in version 1.10. From version 1.10 onwards, "
        "only array-like with values in [0, 1] will be allowed, None will be forbidden. To avoid this warning, set a "
        "value, e.g. l1_ratios=(0,)."
    ),
    "scoring": (
        "The default value of the parameter 'scoring' will change from None, i.e. accuracy, to 'neg_log_loss' in "
        "version 1.11. To silence this warning, set scoring='neg_log_loss' for the new default, or 'accuracy' for the "
        "old one."
    ),
    "use_legacy_attributes": (
        "The fitted attributes of LogisticRegressionCV will be simplified in scikit-learn 1.10 to remove redundancy. "
        "Set `use_legacy_attributes=False` to have the new ones now, or True to silence this warning and keep the old. "
        "The default value of use_legacy_attributes will change from True to False in scikit-learn 1.10."
    ),
    "penalty": (
        "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, leave 'penalty' "
        "set to its default value and use 'l1_ratios' and 'Cs' instead: l1_ratios=(0,) for penalty='l2', (1,) for "
        "'l1', values between for 'elasticnet', and Cs=(np.inf,) for no penalty."
    ),
    "none": (
        "'l1_ratios=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use an array-like with "
        "values in [0, 1] instead."
    ),
}


@dataclass(frozen=True, eq=False)
class Choices:
    """Penalties to search, and how their results are to be shown.

    ``has_ratios`` says whether l1 ratios were given, and so have an axis of their own in scikit-learn's old attributes.
    """

    Cs: np.ndarray
    ratios: np.ndarray
    has_ratios: bool
    legacy: bool


def read_choices(estimator: Any) -> Choices:
    """Read and check the parameters of a LogisticRegressionCV."""
    given = estimator.l1_ratios
    if isinstance(given, str):
        _warn("l1_ratios")
        given = None
    elif given is None and estimator.penalty == "deprecated":
        _warn("none")
    if estimator.penalty != "deprecated":
        _warn("penalty")
        if given is not None and estimator.penalty != "elasticnet":
            warnings.warn(
                f"l1_ratios parameter is only used when penalty is 'elasticnet'. Got (penalty={estimator.penalty})",
                stacklevel=5,
            )
    for name in ("scoring", "use_legacy_attributes"):
        if isinstance(getattr(estimator, name), str) and getattr(estimator, name) == "warn":
            _warn(name)
    ratios, Cs = _ratios(estimator, given), _strengths(estimator)
    # Before the first fit, so that a combination without a solver does not surface after some folds.
    for C in Cs:
        for ratio in ratios:
            check_solver(estimator, float(C), float(ratio))
    return Choices(Cs, ratios, given is not None, estimator.use_legacy_attributes is not False)


def _warn(name: str) -> None:
    warnings.warn(_LATER[name], FutureWarning, stacklevel=6)


def _ratios(estimator: Any, given: Any) -> np.ndarray:
    fixed = {"l1": 1.0, "l2": 0.0, "deprecated": 0.0}
    if estimator.penalty in ("l1", "l2") or (given is None and estimator.penalty in fixed):
        return np.array([fixed[estimator.penalty]] * (1 if given is None else len(given)))
    values = [] if given is None else list(np.ravel(np.asarray(given, dtype=object)))
    if not values or not all(isinstance(ratio, Real) and 0 <= float(ratio) <= 1 for ratio in values):
        raise ParameterError(
            f"{type(estimator).__name__}: l1_ratios must be an array-like of numbers between 0 and 1; got "
            f"(l1_ratios={given!r})."
        )
    return np.asarray(values, dtype=np.float64)


def _strengths(estimator: Any) -> np.ndarray:
    if np.ndim(estimator.Cs) == 0:
        # scikit-learn's grid: Cs values from 1e-4 to 1e4 at equal ratios.
        return np.logspace(-4, 4, int(estimator.Cs))
    Cs = np.asarray(estimator.Cs, dtype=np.float64)
    if Cs.size == 0 or not (Cs > 0).all():
        worst = "none" if Cs.size == 0 else f"{Cs.min():g}"
        raise ParameterError(
            f"{type(estimator).__name__}: every C in Cs must be a number in (0, {math.inf}]; got {worst}. Drop it."
        )
    return Cs
