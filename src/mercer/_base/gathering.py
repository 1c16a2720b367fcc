"""Rows of a file, a stream or a cluster for an estimator that needs all at once: one pass brings them to memory.

The memory is forecast first, and a fit that would not fit says so before it takes any. The fitted model answers about
rows elsewhere block by block.
"""

import copy
import inspect
from functools import partial, wraps
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._base.later import map_later
from mercer._source import Block, Source, open_place, place_of
from mercer._stored import collect_stored
from mercer._types import Array

# The methods that answer about each row by itself.
_ANSWERS = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples"),
    *("apply", "mahalanobis"),
)


def gather_arguments(
    estimator: Any, names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any], columns: Any = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a fit, with rows, targets and weights in memory if it cannot read them where they are.

    `names` are the parameters of the fit, and `columns` those of a table that are read; None reads all. Arguments whose
    rows are in memory or on a device come back as they are.
    """
    if type(args[0] if args else kwargs.get(names[0])) is np.ndarray:
        return args, kwargs
    given = kwargs | dict(zip(names, args))
    # Some of scikit-learn's classes name several targets so.
    targets = "Y" if "Y" in names else "y"
    X, y = given.get(names[0]), given.get(targets)
    if X is None or (place := _find_place(estimator, X, y)) is None:
        return args, kwargs
    X, y, weight = gather_rows(estimator, place, X, y, given.get("sample_weight"), columns)
    given |= {names[0]: X} | ({} if y is None else {targets: y}) | ({} if weight is None else {"sample_weight": weight})
    return (), given


def gather_rows(estimator: Any, place: str, X: Any, y: Any, weight: Any, columns: Any) -> tuple[Any, Array, Array]:
    """Return rows, targets and weights as arrays in memory; named columns come as a frame."""
    source = open_place(
        place,
        X,
        y,
        weight,
        subject=type(estimator).__name__,
        targets=_find_target_kind(estimator),
        threads=estimator._threads(),
        columns=columns,
    )
    if estimator.__sklearn_tags__().input_tags.allow_nan:
        source.keep_missing()
    rows, targets, weights = source.gather()
    return name_columns(rows, source.feature_names), targets, weights


def name_columns(rows: Any, names: list[str] | None) -> Any:
    """Return rows as a frame of named columns; as they are where there are no names, or no frames to hold them."""
    if names is None or not isinstance(rows, np.ndarray):
        return rows
    import pandas

    # The frame shares the memory of the array.
    return pandas.DataFrame(rows, columns=names, copy=False)


def _find_target_kind(estimator: Any) -> str | None:
    """Return which targets a fit wants: numbers, labels, or none."""
    if is_classifier(estimator) or estimator._learns_labels:
        return "labels"
    required = is_regressor(estimator) or estimator.__sklearn_tags__().target_tags.required
    return "numbers" if required else None


def _find_place(estimator: Any, X: Any, y: Any = None) -> str | None:
    """Return the place of rows that an estimator does not read where they are; None if it does."""
    place = place_of(X, y)
    if place in ("memory", "device") or not estimator._gathers or place in estimator.__sklearn_tags__().places:
        return None
    sequences = place == "stream" and isinstance(X, list | tuple) and estimator._lists_are_sequences
    return None if sequences else place


def answer_elsewhere(cls: Any) -> None:
    """Let the methods of a class, whose fits gather rows, answer about rows in files, streams and Dask collections."""
    for name in (*_ANSWERS, "score", "fit_transform"):
        method = inspect.getattr_static(cls, name, None)
        wrap = {"score": _score_elsewhere, "fit_transform": _fit_and_transform}.get(name, _answer_elsewhere)
        # scikit-learn's mark of a method that is there for some parameters only holds the function and the condition.
        inner = getattr(method, "fn", None)
        if inspect.isfunction(method) and not hasattr(method, "answers_elsewhere"):
            setattr(cls, name, wrap(method))
        elif inspect.isfunction(inner) and not hasattr(inner, "answers_elsewhere"):
            setattr(cls, name, available_if(vars(method)["check"])(wrap(inner)))


def _answer_elsewhere(method: Any) -> Any:
    """Return the method for rows in any place: of rows elsewhere it is asked block by block."""

    @wraps(method)
    def answer(self: Any, *args: Any, **kwargs: Any) -> Any:
        X = args[0] if args else kwargs.get("X")
        if X is None or type(X) is np.ndarray or (place := _find_place(self, X)) is None:
            return method(self, *args, **kwargs)
        check_is_fitted(self)
        if not args:
            kwargs.pop("X")
        ask = partial(_Ask, method.__name__, args[1:], kwargs)
        if method.__name__ == "transform" and place != "dask":
            tags = self.__sklearn_tags__().input_tags
            return map_later(self, X, place, ask, sparse=tags.sparse, gaps=tags.allow_nan)
        source = _open_new(self, place, X)
        if self._lists_are_sequences:
            # What is said of a row depends on those before it.
            return method(self, name_columns(source.gather()[0], ask(self).names), *args[1:], **kwargs)
        return source.map(ask(copy.copy(self)))

    answer.answers_elsewhere = True  # type: ignore[attr-defined]
    return answer


class _Ask:
    """Asks a method of a model about the rows of a block."""

    def __init__(self, method: str, further: tuple[Any, ...], options: dict[str, Any], model: Any) -> None:
        self.method, self.further, self.options, self.model = method, further, options, model
        known = getattr(model, "feature_names_in_", None)
        self.names = None if known is None else [str(name) for name in known]

    def __call__(self, block: Block) -> Any:
        answer = getattr(self.model, self.method)(name_columns(block.X, self.names), *self.further, **self.options)
        return answer.to_numpy() if hasattr(answer, "columns") else answer


def _open_new(model: Any, place: str, X: Any) -> Source:
    """Open rows for a fitted model."""
    known = getattr(model, "feature_names_in_", None)
    source = open_place(place, X, None, None, subject=type(model).__name__, targets=None, threads=1, columns=known)
    if model.__sklearn_tags__().input_tags.allow_nan:
        source.keep_missing()
    return source


def _fit_and_transform(method: Any) -> Any:
    """Return the method for rows in any place: those elsewhere are transformed when the next step reads them."""
    names = list(inspect.signature(method).parameters)[1:]

    @wraps(method)
    def fit_transform(self: Any, *args: Any, **kwargs: Any) -> Any:
        X = args[0] if args else kwargs.get(names[0])
        if X is None or type(X) is np.ndarray or _find_place(self, X) is None:
            return method(self, *args, **kwargs)
        cls: Any = type(self)
        if not hasattr(self, "transform") or "embedding_" in collect_stored(cls):
            # What is made of the rows of the fit is not what is said of new ones.
            args, kwargs = gather_arguments(self, names, args, kwargs)
            return method(self, *args, **kwargs)
        return self.fit(*args, **kwargs).transform(X)

    fit_transform.answers_elsewhere = True  # type: ignore[attr-defined]
    return fit_transform


def _score_elsewhere(method: Any) -> Any:
    """Return the score for rows in any place: those elsewhere are brought to memory with their targets."""
    names = list(inspect.signature(method).parameters)[1:]

    @wraps(method)
    def score(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = gather_arguments(self, names, args, kwargs, getattr(self, "feature_names_in_", None))
        return method(self, *args, **kwargs)

    score.answers_elsewhere = True  # type: ignore[attr-defined]
    return score
