"""From the labels of the rows, wherever they are, to classes and to the indices that a loss takes."""

from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight

from mercer._base.validation import check_labels
from mercer._source import Labelling, Source
from mercer._statistic.labels import LabelCounts, Labels
from mercer.errors import DataError


def label_classes(estimator: Any, source: Source) -> tuple[np.ndarray, Source]:
    """Return the classes, sorted, and the rows with class indices (0.0 and 1.0 for two) and class weights.

    Labels in memory are seen at once; elsewhere they cost a pass.
    """
    if source.place == "memory":
        check_labels(source.y)
    # Equal weights need only the names of the classes; the number of rows in each serves the balanced weights alone.
    if source.place == "memory" and estimator.class_weight != "balanced":
        counts = LabelCounts(np.unique(source.y), None, source.n_rows)
    else:
        counts = source.reduce(Labels())
    classes = counts.classes
    if len(classes) < 2:
        raise DataError(
            f"{type(estimator).__name__}: This solver needs samples of at least 2 classes in the data, but the data "
            f"contains only one class: {classes[0]!r}. Add rows of another."
        )
    return classes, source.relabel(Labelling(classes, _class_weights(estimator, counts)))


def _class_weights(estimator: Any, counts: LabelCounts) -> np.ndarray | None:
    """Return a factor for the weights of the rows of each class, as scikit-learn reads ``class_weight``."""
    wish, classes = estimator.class_weight, counts.classes
    if wish is None:
        return None
    if wish != "balanced":
        return compute_class_weight(wish, classes=classes, y=classes).astype(np.float64)
    if not np.all(counts.weights > 0):
        raise DataError(
            f"{type(estimator).__name__}: class_weight='balanced' needs rows of positive weight in every class; class "
            f"{classes.tolist()[np.argmin(counts.weights)]!r} has none. Drop the rows of weight zero."
        )
    # n / (k n_c) with weights for counts: every class weighs n / k in total.
    return counts.weights.sum() / (len(classes) * counts.weights)
