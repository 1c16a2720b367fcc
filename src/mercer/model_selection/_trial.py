"""Fit one contender to the training rows of one split, and score it on the test rows."""

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer._base.wrapping import take_rows


@dataclass(frozen=True)
class Contender:
    """A model in a comparison.

    Attributes
    ----------
    name : str
        Its name in the results.
    estimator : estimator
        Unfitted. Steps that prepare columns belong into a pipeline, so that they are fitted inside each fold.
    space : mapping of str to sequence
        Settings to choose from, as scikit-learn's ``ParameterGrid`` takes them.
    rank : float
        Its complexity; among contenders within one standard error of the best, the one of lowest rank is chosen.
    """

    name: str
    estimator: Any
    space: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    rank: float = 0.0


@dataclass(frozen=True)
class Rows:
    """The rows of a comparison, with target, weights and the scorer."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    scorer: Callable[..., float]

    def score(self, model: Any, X: Any, rows: np.ndarray) -> float:
        """Return the score of `model` on `X`, the features of `rows` as the model takes them."""
        weight = {} if self.weight is None else {"sample_weight": self.weight[rows]}
        return float(self.scorer(model, X, self.y[rows], **weight))


@dataclass(frozen=True)
class ScoredFit:
    """The scores of one setting on one split, and the seconds that fitting and scoring took.

    `model` and `answers`, what it says about the test rows, are there if they were asked for.
    """

    test: float
    train: float | None
    seconds: float
    model: Any = None
    answers: Any = None


def _list_weights(model: Any, weight: np.ndarray | None) -> dict[str, Any]:
    """Return the keyword that passes weights to ``model.fit``; nothing if it does not take any."""
    if weight is None or "sample_weight" not in inspect.signature(model.fit).parameters:
        return {}
    return {"sample_weight": weight}


class OutOfTimeError(Exception):
    """The deadline came before a trial was finished."""


def check_deadline(deadline: float | None) -> None:
    """Raise OutOfTimeError if the deadline is over."""
    if deadline is not None and time.monotonic() > deadline:
        raise OutOfTimeError


def fit_settings(
    estimator: Any,
    settings: Sequence[Mapping[str, Any]],
    rows: Rows,
    train: np.ndarray,
    test: np.ndarray,
    *,
    train_score: bool = False,
    keep: bool = False,
    ask: Callable[[Any, Any], Any] | None = None,
    deadline: float | None = None,
) -> list[ScoredFit]:
    """Fit every setting to `train` and score it on `test`; ``ask(model, X)`` gives what is kept of its answers.

    If the settings change only the last step of a pipeline, the steps before it are fitted once, to the training rows.
    `deadline` is a time of ``time.monotonic``: if it is over before a fit, `OutOfTimeError` is raised.
    """
    check_deadline(deadline)
    last = estimator.steps[-1][0] if isinstance(estimator, Pipeline) and len(estimator.steps) > 1 else None
    X, y = take_rows(rows.X, train), rows.y[train]
    unseen = take_rows(rows.X, test)
    weight = None if rows.weight is None else rows.weight[train]
    # Transformed rows are the same for all settings of the last step: one fit of the other steps serves them all.
    shared = last is not None and all(name.startswith(f"{last}__") for setting in settings for name in setting)
    first: Pipeline | None = None
    template: Any = estimator
    if shared:
        first, template = clone(estimator[:-1]), estimator.steps[-1][1]
        X, unseen = first.fit_transform(X, y), first.transform(unseen)
    results = []
    for setting in settings:
        check_deadline(deadline)
        # The shared steps are not counted: their time does not depend on the setting.
        began = time.perf_counter()
        model = clone(template).set_params(
            **({name.removeprefix(f"{last}__"): value for name, value in setting.items()} if shared else setting)
        )
        model.fit(X, y, **fit_weights(model, weight))
        scored = ScoredFit(
            rows.score(model, unseen, test),
            rows.score(model, X, train) if train_score else None,
            time.perf_counter() - began,
            (Pipeline([*first.steps, (last, model)]) if first is not None else model) if keep else None,
            None if ask is None else ask(model, unseen),
        )
        results.append(scored)
    return results


def fit_weights(model: Any, weight: np.ndarray | None) -> dict[str, Any]:
    """Return the keyword that passes weights to the last step of a pipeline, or to a model."""
    if weight is None or not isinstance(model, Pipeline):
        return _list_weights(model, weight)
    name, last = model.steps[-1]
    return {f"{name}__{key}": value for key, value in _list_weights(last, weight).items()}


def respond(model: Any, X: Any, classes: np.ndarray | None) -> np.ndarray:
    """Return class probabilities in the order of `classes`, or predictions if the model has no probabilities."""
    if classes is None or not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X))
    shares = np.asarray(model.predict_proba(X), dtype=float)
    if np.array_equal(model.classes_, classes):
        return shares
    # The training rows may lack a rare class; its probability is then zero.
    whole = np.zeros((len(shares), len(classes)))
    whole[:, np.searchsorted(classes, model.classes_)] = shares
    return whole
