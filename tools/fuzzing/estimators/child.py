"""Try hostile inputs on one estimator, in a process of its own."""

import json
import os
import sys
import warnings
from typing import Any

import numpy as np

from tests.laws.subjects import Subject
from tools.fuzzing.estimators.cases import make_case
from tools.fuzzing.estimators.outcome import try_case

__all__ = ["prepare", "start_child", "try_number"]

# Rows and columns of the ordinary data.
_ROWS = 40
_COLUMNS = 5


def prepare(subject: Subject) -> tuple[np.ndarray, np.ndarray | None, Any]:
    """Return ordinary rows and targets, and a model that was fitted to them."""
    X, y = subject.data(_ROWS, _COLUMNS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        usual = subject.make().fit(X, y)
    return X, y, usual


def try_number(subject: Subject, number: int, X: np.ndarray, y: np.ndarray | None, usual: Any) -> tuple[str, list[str]]:
    """Return the name and the faults of one case."""
    case = make_case(number, X, y, subject.fit_takes("sample_weight"))
    return case.name, try_case(subject.make(), case, usual, X)


def start_child(subject: Subject, first: int, last: int) -> tuple[int, int]:
    """Fork a process that tries the cases from `first` to `last`; return its id and the end of a pipe to read.

    The parent has imported everything and runs no threads, so that a child starts in milliseconds.
    """
    reading, writing = os.pipe()
    identifier = os.fork()
    if identifier:
        os.close(writing)
        return identifier, reading
    os.close(reading)
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 2)
        _tell_all(subject, first, last, writing)
    finally:
        sys.stdout.flush()
        os._exit(0)


def _tell_all(subject: Subject, first: int, last: int, writing: int) -> None:
    """Write a line before each case, which tells the parent where this process stands, and one after it."""
    X, y, usual = prepare(subject)
    takes_weight = subject.fit_takes("sample_weight")
    for number in range(first, last):
        _tell(writing, {"case": make_case(number, X, y, takes_weight).name})
        name, faults = try_number(subject, number, X, y, usual)
        _tell(writing, {"case": name, "faults": faults})


def _tell(writing: int, what: dict[str, Any]) -> None:
    os.write(writing, (json.dumps(what) + "\n").encode())
