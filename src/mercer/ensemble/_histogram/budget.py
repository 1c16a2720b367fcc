"""One parameter instead of many: a budget finds leaves, learning rate and rounds of boosting on validation rows."""

import inspect
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import ParameterError

# Parameters that a budget decides, so that the user must not set them.
_DECIDED = (
    *("learning_rate", "max_iter", "max_leaf_nodes", "early_stopping", "validation_fraction", "n_iter_no_change"),
    "warm_start",
)
# The learning rate of the first trials at a budget of one.
_RATE = 0.2
# How often the learning rate may be halved.
_HALVINGS = 2
# Leaves of the first trial.
_LEAVES = 16
# Fewest leaves that are tried.
_FEWEST_LEAVES = 2
# Most leaves that are tried.
_MOST_LEAVES = 256
# Validation rows that are enough to tell a good model from a better one; at most a quarter of the rows are used.
_VALIDATION_ROWS = 2000
# With more rows ``early_stopping="auto"`` stops early, as in scikit-learn.
_MANY_ROWS = 10_000


@dataclass(frozen=True)
class Plan:
    """How the rounds of a fit are run.

    Attributes
    ----------
    learning_rate : float
    max_leaf_nodes : int or None
    max_iter : int
    early_stopping : bool
    seconds : float
        Time that the trials of a budget took.
    trials : list of dict or None
        The trials of a budget: ``learning_rate``, ``max_leaf_nodes``, ``max_iter`` and ``score``.
    """

    learning_rate: float
    max_leaf_nodes: int | None
    max_iter: int
    early_stopping: bool = False
    seconds: float = 0.0
    trials: list[dict[str, float]] | None = None


def read_plan(model: Any, n_rows: int, has_validation: bool) -> Plan:
    """Return the plan that the parameters of `model` set."""
    early = model.early_stopping
    if early == "auto":
        early = n_rows > _MANY_ROWS or has_validation
    return Plan(model.learning_rate, model.max_leaf_nodes, model.max_iter, bool(early))


def plan_rounds(model: Any, fit: Callable[[Any], Any], n_rows: int, seed: int) -> Plan:
    """Try numbers of leaves, then learning rates, and plan what scores best on validation rows.

    Parameters
    ----------
    model : estimator
        Its parameter `budget` is spent.
    fit : callable
        Fits a model to the rows.
    n_rows : int
    seed : int
        Draws the validation rows, which are the same in all trials.
    """
    _check_left_to_budget(model)
    began, budget = time.perf_counter(), float(model.budget)
    trials: list[dict[str, float]] = []

    def score(leaves: int, rate: float) -> float:
        max_time = None
        if model.max_time is not None:
            # The search may use half of the time, each trial a quarter of the rest of it.
            max_time = max(0.0, 0.25 * (0.5 * model.max_time - (time.perf_counter() - began)))
        trial = _make_trial(model, leaves, rate, n_rows, seed).set_params(max_time=max_time)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit(trial)
        scores = trial.validation_score_
        best = int(np.argmax(scores))
        trials.append(
            {"learning_rate": rate, "max_leaf_nodes": leaves, "max_iter": max(1, best), "score": float(scores[best])}
        )
        return float(scores[best])

    # A larger budget means a smaller learning rate, hence more rounds.
    rate = min(_RATE / budget, 0.5)
    leaves = _search_leaves(lambda number: score(number, rate))
    # Smaller rates are tried as long as the validation score still rises.
    best = max(trial["score"] for trial in trials)
    for _ in range(_HALVINGS):
        rate /= 2
        score_of_rate = score(leaves, rate)
        if score_of_rate <= best:
            break
        best = score_of_rate
    winner = max(trials, key=lambda trial: trial["score"])
    decided = winner["learning_rate"], int(winner["max_leaf_nodes"]), int(winner["max_iter"])
    return Plan(*decided, seconds=time.perf_counter() - began, trials=trials)


def _check_left_to_budget(model: Any) -> None:
    """Raise if a parameter that the budget decides was set."""
    known = inspect.signature(type(model)).parameters
    for name in _DECIDED:
        value = getattr(model, name)
        if value != known[name].default:
            raise ParameterError(
                f"{type(model).__name__}: {name} must be left at {known[name].default!r} with budget={model.budget!r}, "
                f"which decides it; got {value!r}. Leave out one of the two."
            )


def _make_trial(model: Any, leaves: int, rate: float, n_rows: int, seed: int) -> Any:
    """Return a model with these leaves and learning rate that stops early on validation rows."""
    return type(model)(**model.get_params(deep=False)).set_params(
        budget=None,
        learning_rate=rate,
        max_leaf_nodes=leaves,
        # Enough rounds that early stopping, not this bound, ends the trial.
        max_iter=max(10, round(200 / rate)),
        early_stopping=True,
        validation_fraction=min(0.25, max(0.1, _VALIDATION_ROWS / n_rows)),
        n_iter_no_change=max(5, round(10 * float(model.budget))),
        random_state=seed,
        verbose=0,
    )


def _search_leaves(score: Callable[[int], float]) -> int:
    """Halve or double the number of leaves, whichever scores better, as long as the score rises."""
    scores = {leaves: score(leaves) for leaves in (_LEAVES, _LEAVES // 2, 2 * _LEAVES)}
    best = max(scores, key=scores.__getitem__)
    # Which way the number of leaves went: 2, 1/2, or 1 if the middle was best.
    factor = best / _LEAVES
    while factor != 1.0 and _FEWEST_LEAVES <= (leaves := int(best * factor)) <= _MOST_LEAVES:
        scores[leaves] = score(leaves)
        if scores[leaves] <= scores[best]:
            break
        best = leaves
    return best
