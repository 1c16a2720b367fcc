"""Targets of models that predict one number a row."""

from typing import Any

from mercer._base.validation import flatten_targets
from mercer._source import Source, place_of
from mercer.errors import DataError


def open_single_target(estimator: Any, X: Any, y: Any, sample_weight: Any, **options: Any) -> Source:
    """Open rows with one number each for a target; a matrix of one column is taken as that, with a warning."""
    if place_of(X, y) == "memory" and y is not None and not isinstance(y, str):
        y = flatten_targets(y)
    source = estimator._open(X, y, sample_weight, targets="numbers", accept_sparse="csr", **options)
    if source.target_shape != ():
        raise DataError(
            f"{type(estimator).__name__}: y must be one number for each row; got {source.n_targets} in "
            f"{source.description}. Give one column, or use Ridge."
        )
    return source
