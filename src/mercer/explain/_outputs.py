"""The answers of a model that are explained: predictions, probabilities or scores, as numbers (n, k)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer.errors import ParameterError

OUTPUTS = {"probability": "predict_proba", "score": "decision_function", "prediction": "predict"}


@dataclass(frozen=True, eq=False)
class Outputs:
    """Answers of a model.

    Attributes
    ----------
    ask : callable
        From rows to numbers (n, k).
    kind : str
        A key of `OUTPUTS`, or what else is explained.
    names : list or None
        Of several outputs.
    is_flat : bool
        Whether there is one output, without an axis of its own.
    """

    ask: Callable[[Any], np.ndarray]
    kind: str
    names: list[Any] | None
    is_flat: bool


def check_fitted(subject: str, model: Any) -> None:
    """Raise NotFittedError if an estimator is not fitted, ParameterError if something has no answers."""
    if isinstance(model, type) or not (callable(model) or any(hasattr(model, name) for name in OUTPUTS.values())):
        raise ParameterError(
            f"{subject}: model must be a fitted estimator or a function of rows; got {model!r}. Fit one first."
        )
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)


def list_kinds(model: Any, output: str) -> list[str]:
    """Return the outputs that may be explained: the one asked for, or those that a model has, the natural one first."""
    if output not in ("auto", *OUTPUTS):
        raise ParameterError(f"shapley: output must be one of {['auto', *OUTPUTS]}; got {output!r}.")
    if callable(model) and not hasattr(model, "predict"):
        return ["prediction"]
    order = ["probability", "score", "prediction"] if is_classifier(model) else ["prediction", "score", "probability"]
    have = [kind for kind in order if hasattr(model, OUTPUTS[kind])]
    if output == "auto":
        return have
    if output not in have:
        raise ParameterError(f"shapley: {type(model).__name__} has no {OUTPUTS[output]}; choose output from {have}.")
    return [output]


def open_outputs(model: Any, kind: str, rows: Any) -> Outputs:
    """Return the answers of one kind; `rows` are a few to learn their shape from."""
    answer = getattr(model, OUTPUTS[kind]) if hasattr(model, OUTPUTS[kind]) else model
    classes = getattr(model, "classes_", None)
    first = np.asarray(answer(rows))
    if first.dtype.kind not in "biuf":
        # Labels have no sums: the share of each class that is predicted has.
        labels = np.asarray(classes) if classes is not None else np.unique(first)
        return Outputs(lambda X: _mark_labels(answer(X), labels), "predicted class", labels.tolist(), False)
    names = None
    if first.ndim == 2 and classes is not None and len(classes) == first.shape[1]:
        names = list(np.asarray(classes).tolist())
    return Outputs(lambda X: _read_answers(answer(X)), kind, names, first.ndim == 1)


def _read_answers(answers: Any) -> np.ndarray:
    answers = np.asarray(answers, np.float64)
    return answers[:, None] if answers.ndim == 1 else answers


def _mark_labels(answers: Any, labels: np.ndarray) -> np.ndarray:
    return (np.asarray(answers)[:, None] == labels).astype(np.float64)
