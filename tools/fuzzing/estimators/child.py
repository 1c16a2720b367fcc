"""Try hostile inputs on one estimator."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.laws.subjects import Subject
from tools.fuzzing.estimators.cases import make_case
from tools.fuzzing.estimators.outcome import try_case

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


def try_all(subject: Subject, first: int, last: int) -> Iterator[dict[str, Any]]:
    """Yield the name of each case from `first` to `last`, which tells where this process stands, and its faults."""
    X, y, usual = prepare(subject)
    takes_weight = subject.fit_takes("sample_weight")
    for number in range(first, last):
        yield {"case": make_case(number, X, y, takes_weight).name}
        name, faults = try_number(subject, number, X, y, usual)
        yield {"case": name, "faults": faults}
