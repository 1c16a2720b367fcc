"""Dichotomies of learners and of lists of functions, where no formula says which labellings they realise."""

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from mercer._base.randomness import generators
from mercer._types import Array
from mercer.errors import DataError, DataTypeError

# A learner is fitted to every labelling of at most this number of points: 2^12 fits.
_MOST_POINTS = 12


def list_realised(subject: str, rows: Array, model_class: Any) -> Array:
    """List the labellings of points that a learner reproduces, or that some of a list of functions give."""
    if isinstance(model_class, Sequence) and len(model_class) and all(callable(member) for member in model_class):
        return np.stack([_sign(subject, np.asarray(function(rows))) for function in model_class])
    if not (hasattr(model_class, "fit") and is_classifier(model_class)):
        raise DataTypeError(
            f"{subject}: model_class must be a name, a classifier or a list of functions of points; "
            f"got {model_class!r}."
        )
    if len(rows) > _MOST_POINTS:
        raise DataError(
            f"{subject}: a learner is fitted to all 2^n labellings, so that points must be at most {_MOST_POINTS}; got "
            f"{len(rows)}. Give fewer points."
        )
    labellings = np.array(list(product((-1, 1), repeat=len(rows))), dtype=np.int8)
    return labellings[[_reproduces(model_class, rows, labels) for labels in labellings]]


def _sign(subject: str, labels: Array) -> Array:
    """Return the answers of a function as labels -1 and 1."""
    if labels.dtype == np.bool_:
        return np.where(labels, 1, -1)
    if not np.isin(labels, (-1, 1)).all():
        raise DataError(f"{subject}: functions must return labels -1 and 1, or truth values; got {labels.flat[0]!r}.")
    return labels


def _reproduces(model: Any, rows: Array, labels: Array) -> bool:
    """Return whether a fit to a labelling gives it back; learners need not take labels that are all the same."""
    if (labels == labels[0]).all():
        return True
    return bool((np.asarray(clone(model).fit(rows, labels).predict(rows)) == labels).all())


def find_dimension(model: Any, n_features: int) -> float | None:
    """Return the VC dimension of a classifier's class where a formula gives it."""
    if hasattr(model, "n_neighbors") and hasattr(model, "kneighbors"):
        # Clusters of k equal labels, far from each other, are labelled in every way.
        return math.inf
    fields = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    if fields.get("kernel") not in (None, "linear"):
        return math.inf if fields["kernel"] == "rbf" else None
    rows = generators(0, 1)[0].normal(size=(4 * (n_features + 2), n_features))
    labels = np.where(rows[:, 0] > np.median(rows[:, 0]), 1, -1)
    fitted = clone(model).fit(rows, labels)
    if np.shape(getattr(fitted, "coef_", ())) in ((1, n_features), (n_features,)):
        return n_features + (1.0 if fields.get("fit_intercept", True) else 0.0)
    return None


def draw_points(n_features: int, random_state: Any) -> Array:
    """Draw points in general position, as many as a search tries."""
    return generators(random_state, 1)[0].normal(size=(min(2 * n_features + 3, 8), n_features))
