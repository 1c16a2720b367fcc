"""The mean cost of decisions that were made."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from mercer._base.reading import read_costs, read_weight
from mercer.errors import DataError


def cost_weighted_error(
    y_true: Any, y_pred: Any, costs: Any, *, classes: Any = None, actions: Any = None, sample_weight: Any = None
) -> float:
    """Return the mean cost of decisions: the error rate where wrong labels cost one and right ones nothing.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Classes.
    y_pred : array-like of shape (n,)
        Decisions: classes, or other actions.
    costs : array-like of shape (n_actions, n_classes)
        The cost of each action where each class is true, as :mod:`mercer.decision` takes them; gains are negative.
    classes : array-like of shape (n_classes,) or None, default=None
        The class of each column; None means the labels in `y_true` and, without `actions`, in `y_pred`, sorted.
    actions : array-like of shape (n_actions,) or None, default=None
        The action of each row; None means `classes`.
    sample_weight : array-like of shape (n,) or None, default=None
        Weights.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.metrics import cost_weighted_error
    >>> said, true = ["well", "well", "ill", "ill"], ["well", "ill", "ill", "well"]
    >>> cost_weighted_error(true, said, [[0, 1], [10, 0]], classes=["ill", "well"])  # to miss an illness costs ten
    2.75
    """
    subject = "cost_weighted_error"
    true, said = _read_labels(y_true), _read_labels(y_pred)
    check_consistent_length(true, said)
    if not len(true):
        raise DataError(f"{subject}: at least one label is needed; got none.")
    if classes is None:
        classes = np.unique(true) if actions is not None else np.unique(np.concatenate([true, said]))
    columns = _read_labels(classes)
    rows = columns if actions is None else _read_labels(actions)
    matrix = read_costs(subject, costs, len(columns))
    if matrix.shape != (len(rows), len(columns)):
        raise DataError(
            f"{subject}: costs must have shape ({len(rows)}, {len(columns)}), actions by classes; got {matrix.shape}. "
            f"Name classes and actions."
        )
    # The cost table is read at (action taken, true class), one entry per row.
    each = matrix[_find(subject, "y_pred", said, rows), _find(subject, "y_true", true, columns)]
    return float(np.average(each, weights=read_weight(subject, sample_weight, len(true))))


def _read_labels(labels: Any) -> np.ndarray:
    """Return labels as objects: a list of numbers and texts, such as an action "reject", keeps both."""
    if isinstance(labels, list | tuple):
        entries = np.empty(len(labels), dtype=object)
        entries[:] = labels
        return entries
    return column_or_1d(labels)


def _find(subject: str, name: str, labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the index of each label among the known ones."""
    places = {label: place for place, label in enumerate(known.tolist())}
    unknown = [label for label in dict.fromkeys(labels.tolist()) if label not in places]
    if unknown:
        raise DataError(f"{subject}: {name} must hold labels out of {list(places)}; got {unknown[0]!r}.")
    return np.array([places[label] for label in labels.tolist()], dtype=np.intp)
