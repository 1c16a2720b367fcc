"""Separable classes: without a penalty, losses that are positive everywhere have no finite optimum."""

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from mercer._source import Source
from mercer._statistic.loss import Mistakes


def warn_if_separable(estimator: Any, source: Source, parameters: Any, cure: str) -> None:
    """Say that no finite optimum exists, if the model makes no mistake on the rows it was fitted to."""
    if source.reduce(Mistakes(parameters)) == 0:
        warnings.warn(
            f"{type(estimator).__name__}: the classes are separable and nothing is penalised, so no finite optimum "
            f"exists: the coefficients grow without bound, and the fit stops at tol={estimator.tol:g} on their way; "
            f"{cure}.",
            ConvergenceWarning,
            stacklevel=6,
        )
