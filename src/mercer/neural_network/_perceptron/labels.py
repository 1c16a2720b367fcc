"""From labels to the numbers of classes, for all rows at once or in parts, with one label or several for a row."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from mercer._base.linear.classifier import label_classes
from mercer._base.validation import check_labels
from mercer._source import Block, Labelling, Source
from mercer.errors import DataError, ParameterError


def label_rows(model: Any, source: Source) -> tuple[np.ndarray, Source]:
    """Return the classes, and the rows with the numbers of their classes; several labels stay zeros and ones."""
    if is_multilabel(source):
        return np.arange(source.y.shape[1]), source
    if source.place == "memory" and source.y.ndim == 2:
        raise DataError(
            f"Unknown label type: {type_of_target(source.y)}; {type(model).__name__} takes labels or zeros and ones."
        )
    if source.place == "memory":
        check_labels(source.y)
        classes = np.unique(source.y)
        if len(classes) == 1 and model.class_weight is None:
            # One class, as in scikit-learn: one output that learns to say yes.
            return classes, source.relabel(_OneLabel(classes))
    return label_classes(model, source)


def check_classes(model: Any, classes: Any, first: bool, source: Source) -> np.ndarray:
    """Return all classes of a fit by parts; raise if they are missing or differ from those of the first call."""
    name = type(model).__name__
    # Several labels a row are columns of 0 and 1, and the classes are the columns' numbers.
    if is_multilabel(source):
        return np.arange(source.y.shape[1])
    if first and classes is None:
        raise DataError(f"{name}: classes must be passed on the first call to partial_fit; got None. Give all labels.")
    given = model.classes_ if classes is None else np.unique(classes)
    if not first and not np.array_equal(given, model.classes_):
        raise DataError(
            f"{name}: classes={classes!r} is not the same as on last call to partial_fit, was: {model.classes_!r}. "
            f"Give the same, or none."
        )
    return given


def read_factors(model: Any, classes: np.ndarray) -> np.ndarray | None:
    """Return the factor of each class's rows, for a fit by parts."""
    if model.class_weight == "balanced":
        raise ParameterError(
            f"{type(model).__name__}: class_weight='balanced' needs all rows; partial_fit sees some. Give a dict."
        )
    if model.class_weight is None:
        return None
    return np.array([float(model.class_weight.get(label, 1.0)) for label in classes.tolist()])


def is_multilabel(source: Source) -> bool:
    """Return whether the targets are a matrix of zeros and ones: several labels for a row."""
    shape = source.target_shape
    return shape is not None and len(shape) == 1 and bool(np.isin(np.asarray(source.y), (0, 1)).all())


def count_outputs(classes: np.ndarray, source: Source) -> int:
    """Return the number of outputs: one for two classes, otherwise one for each class or label."""
    if is_multilabel(source):
        return len(classes)
    return 1 if len(classes) <= 2 else len(classes)


@dataclass(frozen=True, eq=False)
class KnownLabels(Labelling):
    """Turns labels into class indices; raises an error if a label is not among the known classes."""

    def on(self, block: Block) -> Block:
        known = np.isin(block.y, self.classes)
        if not known.all():
            strange = np.unique(np.asarray(block.y)[~known])
            raise DataError(
                f"`y` has classes not in `self.classes_`: {strange[:5]!r}; known are {self.classes!r}. Name all "
                f"classes in the first call."
            )
        return super().on(block) if len(self.classes) > 1 else _OneLabel(self.classes).on(block)


@dataclass(frozen=True, eq=False)
class _OneLabel(Labelling):
    """Turns the labels of one class into ones."""

    def on(self, block: Block) -> Block:
        xp = block.xp
        y = xp.ones(block.n, dtype=block.wide)
        return type(block)(block.X, block.start, y, block.weight, xp, block.wide)
