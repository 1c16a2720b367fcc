"""One knob instead of many: leaves, learning rate and rounds of boosting, decided by rows held out."""

import inspect
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import ParameterError

__all__ = ["Plan", "check_undecided", "plan_rounds"]

Array = Any
# What a budget decides, so that the user must not.
_DECIDED = (
    *("learning_rate", "max_iter", "max_leaf_nodes", "early_stopping", "validation_fraction", "n_iter_no_change"),
    "warm_start",
)
# The learning rate of the first trials at a budget of one, and how often it may be halved.
_RATE, _HALVINGS = 0.2, 2
_LEAVES, _FEWEST, _MOST = 16, 2, 256
# Held-out rows that are enough to tell a good model from a better one, as far as a quarter of the rows goes.
_HELD = 2000


@dataclass(frozen=True)
class Plan:
    """What the rounds are to be."""

    learning_rate: float
    max_leaf_nodes: int | None
    max_iter: int
    early_stopping: Any = False
    seconds: float = 0.0

    @classmethod
    def given(cls, model: Any) -> "Plan":
        """The plan of a user who decides everything."""
        return cls(model.learning_rate, model.max_leaf_nodes, model.max_iter, model.early_stopping)


def check_undecided(model: Any) -> None:
    """Raise if a parameter that the budget decides was set."""
    known = inspect.signature(type(model)).parameters
    for name in _DECIDED:
        value = getattr(model, name)
        if value != known[name].default:
            message = (
                f"{type(model).__name__}: {name} must be left at {known[name].default!r} with budget={model.budget!r}, "
                f"which decides it; got {value!r}. Leave out one of the two."
            )
            raise ParameterError(message)


def plan_rounds(model: Any, fit: Callable[[Any], Any], n: int, seed: int) -> tuple[Plan, list[dict[str, float]]]:
    """Try leaves, then learning rates, and keep what scores best on rows held out.

    Parameters
    ----------
    model : estimator
        Whose `budget` is to be spent.
    fit : callable
        Fits a model to the rows.
    n : int
        Rows.
    seed : int
        The same rows are held out in all trials.

    Returns
    -------
    plan : Plan
    trials : list of dict
        What was tried: ``learning_rate``, ``max_leaf_nodes``, ``max_iter`` and ``score``.
    """
    began, budget = time.perf_counter(), float(model.budget)
    trials: list[dict[str, float]] = []

    def score(leaves: int, rate: float) -> float:
        left = None
        if model.max_time is not None:
            # The search may use half of the time, each trial a quarter of what is left of it.
            left = max(0.0, 0.25 * (0.5 * model.max_time - (time.perf_counter() - began)))
        trial = _trial(model, budget, leaves, rate, n, seed).set_params(max_time=left)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit(trial)
        scores = trial.validation_score_
        best = int(np.argmax(scores))
        trials.append(
            {"learning_rate": rate, "max_leaf_nodes": leaves, "max_iter": max(1, best), "score": float(scores[best])}
        )
        return float(scores[best])

    rate = min(_RATE / budget, 0.5)
    leaves = _best_leaves(lambda number: score(number, rate))
    best = max(one["score"] for one in trials)
    for _ in range(_HALVINGS):
        rate /= 2
        found = score(leaves, rate)
        if found <= best:
            break
        best = found
    winner = max(trials, key=lambda one: one["score"])
    decided = winner["learning_rate"], int(winner["max_leaf_nodes"]), int(winner["max_iter"])
    return Plan(*decided, seconds=time.perf_counter() - began), trials


def _trial(model: Any, budget: float, leaves: int, rate: float, n: int, seed: int) -> Any:
    """A model that stops by itself on rows held out."""
    patience = max(5, round(10 * budget))
    return type(model)(**model.get_params(deep=False)).set_params(
        budget=None,
        learning_rate=rate,
        max_leaf_nodes=leaves,
        # Rounds enough that the held-out rows have the last word.
        max_iter=max(10, round(200 / rate)),
        early_stopping=True,
        validation_fraction=min(0.25, max(0.1, _HELD / n)),
        n_iter_no_change=patience,
        random_state=seed,
        verbose=0,
    )


def _best_leaves(score: Callable[[int], float]) -> int:
    """Halve or double the leaves, whichever is better, as long as that is better still."""
    found = {leaves: score(leaves) for leaves in (_LEAVES, _LEAVES // 2, 2 * _LEAVES)}
    best = max(found, key=found.__getitem__)
    factor = best / _LEAVES
    while factor != 1.0 and _FEWEST <= (other := int(best * factor)) <= _MOST:
        found[other] = score(other)
        if found[other] <= found[best]:
            break
        best = other
    return best
