"""Collect the candidates of all families."""

import importlib
from functools import cache
from importlib.resources import files
from typing import Any

from sklearn.dummy import DummyClassifier, DummyRegressor

from mercer._base.candidate import TASKS, Candidate, Shape
from mercer._families import FAMILIES
from mercer.errors import ParameterError


def _make_class_guess(shape: Shape) -> Any:
    return DummyClassifier(strategy="prior")


def _make_mean_guess(shape: Shape) -> Any:
    return DummyRegressor(strategy="mean")


def _describe_constant(model: Any) -> tuple[float, str]:
    return 0.0, "no columns used"


_CONSTANTS = (
    Candidate(
        "the constant guess",
        "baseline",
        ("classification",),
        0,
        _make_class_guess,
        complexity=_describe_constant,
        text="The shares of the classes, the same for every row.",
    ),
    Candidate(
        "the constant guess",
        "baseline",
        ("regression",),
        0,
        _make_mean_guess,
        complexity=_describe_constant,
        text="The mean of the target, the same for every row.",
    ),
)


def candidates(task: str) -> list[Candidate]:
    """List the candidates for a task, from simple to complex.

    The modules ``_candidates`` of all families are read, so that a new family needs no registration.

    Parameters
    ----------
    task : {"classification", "regression", "clustering"}
        What the models are for.

    Returns
    -------
    list of Candidate
        In the order of their ranks; the constant guess comes first.

    Examples
    --------
    >>> from mercer.model_selection import candidates
    >>> candidates("regression")[0].name
    'the constant guess'
    """
    if task not in TASKS:
        raise ParameterError(f"candidates: task must be one of {', '.join(map(repr, TASKS))}; got {task!r}.")
    return sorted(
        (candidate for candidate in (*_CONSTANTS, *_list_offers()) if task in candidate.tasks),
        key=lambda candidate: (candidate.rank, candidate.name),
    )


@cache
def _list_offers() -> tuple[Candidate, ...]:
    """Return the candidates of all families that have a module of them; other families are not imported."""
    listed: list[Candidate] = []
    for family in FAMILIES:
        if files("mercer").joinpath(family, "_candidates.py").is_file():
            listed.extend(importlib.import_module(f"mercer.{family}._candidates").CANDIDATES)
    return tuple(listed)
