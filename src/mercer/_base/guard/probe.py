"""Ask a model that was fitted to extreme inputs about ordinary rows: its numbers may be finite and its answers not."""

import warnings
from typing import Any

import numpy as np

from mercer._base.guard.extremes import NOTED
from mercer._base.guard.finite import is_finite

_METHODS = ("predict", "predict_proba", "decision_function", "transform", "score_samples", "mahalanobis", "kneighbors")
# Rows that are asked about: enough for every column to have values of both signs.
_ROWS = 4


def find_infinite_answer(model: Any) -> str | None:
    """Return the name of a method whose answer about ordinary rows is not finite or fails; None if all is well."""
    columns = getattr(model, "n_features_in_", None)
    if not columns:
        return None
    # Sines of 1, 2, 3, ... are ordinary numbers in (-1, 1) that need no random generator.
    rows = np.sin(np.arange(1.0, _ROWS * columns + 1)).reshape(_ROWS, columns)
    tags = model.__sklearn_tags__().input_tags
    if tags.positive_only or tags.categorical:
        rows = np.abs(rows)
    if tags.pairwise or not tags.two_d_array:
        return None
    noted, NOTED.extreme = NOTED.extreme, False
    try:
        return _ask(model, rows)
    finally:
        NOTED.extreme = noted


def _ask(model: Any, rows: np.ndarray) -> str | None:
    for name in _METHODS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if not hasattr(model, name):
                    continue
                answer = getattr(model, name)(rows)
        except (ArithmeticError, IndexError):
            return name
        except Exception:
            # What a model refuses in words, such as categories that it has not seen, says nothing about its numbers.
            continue
        if not is_finite(answer, name):
            return name
    return None
