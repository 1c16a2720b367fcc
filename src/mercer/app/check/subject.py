"""The model that is tested, its rows, and what it answers to them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier

from mercer._source.table.column_type import spell_categories
from mercer._source.table.reading import make_frame, read_table
from mercer._source.table.table import Table
from mercer.app.table.roles import Roles, guess_roles
from mercer.errors import DataError

# The fewest rows on which anything is said.
_FEWEST_ROWS = 30


@dataclass(frozen=True)
class Subject:
    """A fitted model with rows that it was not fitted to.

    Attributes
    ----------
    model : estimator
        What is tested.
    X : array or frame
        The rows as the model takes them.
    frame : DataFrame
        The same rows with names.
    y : ndarray of shape (n,)
        The truth: numbers, or labels as the model writes them.
    classes : ndarray of shape (n_classes,) or None
        The labels of a classifier.
    shares : ndarray of shape (n, n_classes) or None
        The probabilities of a classifier that has any.
    predicted : ndarray of shape (n,)
        What the model predicts.
    """

    model: Any
    X: Any
    frame: Any
    y: np.ndarray
    classes: np.ndarray | None
    shares: np.ndarray | None
    predicted: np.ndarray
    seed: int
    level: float

    def __len__(self) -> int:
        return len(self.y)

    @property
    def losses(self) -> np.ndarray:
        """How wrong each answer is: one less the probability of the true class, a mistake, or the absolute error."""
        if self.classes is None:
            return np.abs(self.y - self.predicted)
        if self.shares is None:
            return np.asarray(self.predicted != self.y, dtype=np.float64)
        return 1.0 - self.shares[np.arange(len(self.y)), np.searchsorted(self.classes, self.y)]

    @property
    def loss_name(self) -> str:
        """The name of the losses."""
        if self.classes is None:
            return "absolute error"
        return "share of mistakes" if self.shares is None else "probability given to wrong classes"

    @property
    def residuals(self) -> np.ndarray:
        """What the model leaves unexplained, a row for each class: truth less prediction, event less probability."""
        if self.classes is None:
            return (self.y - self.predicted)[None]
        events = (self.y[:, None] == self.classes).astype(np.float64)
        guessed = (self.predicted[:, None] == self.classes) if self.shares is None else self.shares
        return np.asarray(events - guessed).T

    @cached_property
    def table(self) -> Table:
        """The rows with the truth as one table."""
        return read_table(self.frame.assign(**{self.target: self.y}))

    @cached_property
    def target(self) -> str:
        """A name for the truth that no column has."""
        name = "target"
        while name in self.frame.columns:
            name += "_"
        return name

    @cached_property
    def roles(self) -> Roles:
        """What each column is, and how well it alone tells the target."""
        task = "regression" if self.classes is None else "classification"
        return guess_roles(self.table, target=self.target, task=task)[0]

    def ask(self, model: Any, X: Any) -> np.ndarray:
        """Return what a model answers as numbers: probabilities, events, or predictions."""
        if self.shares is not None:
            return np.asarray(model.predict_proba(X), dtype=np.float64)
        answers = np.asarray(model.predict(X))
        if self.classes is None:
            return answers.astype(np.float64).reshape(-1, 1)
        return (answers[:, None] == self.classes).astype(np.float64)


def read_subject(model: Any, X: Any, y: Any, seed: int, level: float) -> Subject:
    """Return the model with its rows and answers; DataError if they do not belong to each other."""
    if not hasattr(model, "predict"):
        raise DataError(f"check: model must be fitted and have predict; got {type(model).__name__}.")
    frame = read_frame("X", X, model)
    truth = np.asarray(y)
    if truth.ndim == 2 and truth.shape[1] == 1:
        truth = truth[:, 0]
    if truth.shape != (len(frame),):
        raise DataError(f"check: y must have a value for each of {len(frame)} rows; got the shape {truth.shape}.")
    if len(frame) < _FEWEST_ROWS:
        raise DataError(f"check: {_FEWEST_ROWS} rows or more are needed; got {len(frame)}. Give more rows.")
    predicted = np.asarray(model.predict(X)).reshape(len(frame), -1)
    if predicted.shape[1] != 1:
        raise DataError(f"check: a model of one target is tested; it predicts {predicted.shape[1]}. Take one of them.")
    if not is_classifier(model) and not hasattr(model, "classes_"):
        return Subject(model, X, frame, _to_floats(truth), None, None, _to_floats(predicted[:, 0]), seed, level)
    classes = np.asarray(model.classes_)
    if classes.dtype.kind in "UO" and truth.dtype.kind not in "UO":
        # A model of a study has learnt the texts of its labels.
        truth = np.asarray(spell_categories(_as_series(truth)), dtype=str)
    unknown = ~np.isin(truth, classes)
    if unknown.any():
        raise DataError(
            f"check: the model does not know the class {str(truth[unknown][0])!r} in y. Give rows of its classes: "
            f"{', '.join(map(str, classes[:5]))}."
        )
    shares = np.asarray(model.predict_proba(X), dtype=np.float64) if hasattr(model, "predict_proba") else None
    order = np.argsort(classes, kind="stable")
    shares = None if shares is None else shares[:, order]
    return Subject(model, X, frame, truth, classes[order], shares, predicted[:, 0], seed, level)


def read_frame(name: str, X: Any, model: Any = None) -> Any:
    """Return rows as a frame with names."""
    import pandas

    if issparse(X):
        raise DataError(f"check: {name} must be dense rows or a frame; got a sparse matrix. Give {name}.toarray().")
    if hasattr(X, "columns") or hasattr(X, "__dataframe__") or hasattr(X, "__arrow_c_stream__"):
        return make_frame(X, name)[0].reset_index(drop=True)
    rows = np.asarray(X)
    if rows.ndim != 2 or not len(rows):
        raise DataError(f"check: {name} must be a table of rows; got the shape {rows.shape}.")
    names = getattr(model, "feature_names_in_", None)
    if names is None or len(names) != rows.shape[1]:
        names = [f"column {place}" for place in range(rows.shape[1])]
    return pandas.DataFrame(rows, columns=list(map(str, names)))


def _to_floats(values: np.ndarray) -> np.ndarray:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise DataError("check: a regressor needs y and predictions that are finite numbers. Leave other rows out.")
    return numbers


def _as_series(values: np.ndarray) -> Any:
    import pandas

    return pandas.Series(values)
