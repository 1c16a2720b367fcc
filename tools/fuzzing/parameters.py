"""Attack parameters: ``python -m tools.fuzzing parameters --classes KMeans Ridge``.

Each parameter of each class is set to odd values: numbers at the ends of their types and beyond, numbers of other
libraries, ragged and empty lists, keys that are no names, functions that answer nonsense, splits that name rows there
are none of. Fitting to ordinary rows must end in finite answers, or in an error in words, before `--limit` seconds and
below `--memory` GiB. Children try the cases, so that a crash or a hang costs one case.
"""

import argparse
import contextlib
import io
import os
import resource
import tempfile
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tests.laws.subjects import Subject, subjects
from tools.fuzzing.choice import add_choice, choose_subjects
from tools.fuzzing.estimators.outcome import judge_answers, judge_error
from tools.fuzzing.ledger import Tally, run_jobs, try_cases
from tools.fuzzing.results import Report

# Rows and columns of the ordinary data.
_ROWS = 40
_COLUMNS = 5
# Seconds and GiB that one case may take.
_LIMIT = 20.0
_MEMORY = 6.0
# Fits that take a limit of time get this one, in seconds: a billion iterations are not an error.
_MAX_TIME = 0.3
# Parameters of which a large value asks for as much work as it says.
_ASKS_FOR_WORK = ("n_estimators", "n_init", "max_iter", "n_alphas", "max_trials", "n_restarts", "n_restarts_optimizer")


def _ragged() -> list[Any]:
    return [[1.0, 2.0], [3.0]]


def _cycle() -> list[Any]:
    made: list[Any] = [1.0]
    made.append(made)
    return made


# Makers, so that no case changes the value of another one.
VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "0": lambda: 0,
    "-1": lambda: -1,
    "1": lambda: 1,
    "3": lambda: 3,
    "1000": lambda: 1000,
    "2**31": lambda: 2**31,
    "2**63": lambda: 2**63,
    "10**400": lambda: 10**400,
    "-(10**400)": lambda: -(10**400),
    "0.0": lambda: 0.0,
    "0.5": lambda: 0.5,
    "1.0": lambda: 1.0,
    "5e-324": lambda: 5e-324,
    "1e-160": lambda: 1e-160,
    "1e-140": lambda: 1e-140,
    "1e-40": lambda: 1e-40,
    "1e60": lambda: 1e60,
    "1e140": lambda: 1e140,
    "1e155": lambda: 1e155,
    "1e308": lambda: 1e308,
    "inf": lambda: float("inf"),
    "nan": lambda: float("nan"),
    "Decimal": lambda: Decimal(3),
    "Decimal nan": lambda: Decimal("sNaN"),
    "Fraction": lambda: Fraction(1, 3),
    "float16": lambda: np.float16(0.5),
    "float32 inf": lambda: np.float32("inf"),
    "longdouble": lambda: np.longdouble(0.5),
    "int8": lambda: np.int8(3),
    "complex": lambda: 1 + 2j,
    "date": lambda: np.datetime64("2020-01-01"),
    "array of no axes": lambda: np.array(3.0),
    "empty array": lambda: np.array([]),
    "column": lambda: np.ones((_COLUMNS, 1)),
    "one for each column": lambda: np.ones(_COLUMNS),
    "square": lambda: np.eye(_COLUMNS),
    "zeros": lambda: np.zeros((_ROWS, _COLUMNS)),
    "two rows": lambda: np.arange(2.0 * _COLUMNS).reshape(2, _COLUMNS),
    "NaN in rows": lambda: np.full((2, _COLUMNS), np.nan),
    "array of texts": lambda: np.array(["ash", "birch"]),
    "array of objects": lambda: np.array([None, "ash", 3.0], dtype=object),
    "record array": lambda: np.zeros(2, dtype=[("a", float)]),
    "three axes": lambda: np.ones((2, 2, 2)),
    "sparse": lambda: csr_array(np.eye(3)),
    "empty list": list,
    "list of zeros": lambda: [0, 0],
    "list of negatives": lambda: [-1.0, 2.0],
    "list of infinities": lambda: [float("inf")],
    "list of NaN": lambda: [float("nan"), 1.0],
    "list of None": lambda: [None],
    "list of texts": lambda: ["ash", "birch"],
    "list of large": lambda: [2**40, 2**40],
    "list of huge integers": lambda: [10**400],
    "list of dictionaries": lambda: [{"a": 1}],
    "ragged": _ragged,
    "list in itself": _cycle,
    "tuple": lambda: (0.25, 0.75),
    "empty tuple": tuple,
    "range": lambda: range(3),
    "set": lambda: {1, 2},
    "iterator": lambda: iter([1.0, 2.0]),
    "endless": count,
    "empty dictionary": dict,
    "key that is no name": lambda: {1: 2},
    "unknown key": lambda: {"no such key": 1.0},
    "key with None": lambda: {"p": None},
    "empty text": str,
    "unknown text": lambda: "no such thing",
    "surrogate": lambda: "\ud800",
    "long text": lambda: "x" * 100_000,
    "bytes": lambda: b"auto",
    "ellipsis": lambda: ...,
    "class": lambda: dict,
    "function of nothing": lambda: lambda: 1.0,
    "function to None": lambda: lambda *given, **named: None,
    "function to NaN": lambda: lambda *given, **named: float("nan"),
    "function to text": lambda: lambda *given, **named: "ash",
    "function that fails": lambda: lambda *given, **named: {}["no such key"],
    "splits out of range": lambda: [([0, 1, 10**6], [2])],
    "splits without rows": lambda: [([], [])],
    "splits of texts": lambda: [("ash", "birch")],
    "pairs of text and None": lambda: [("ash", None)],
    "pairs of text and class": lambda: [("ash", dict), ("ash", dict)],
}
_NAMES = list(VALUES)
_CALLED = ("class", "function of nothing", "function that fails")
# What they raise when they are called: `dict` with rows, too many arguments, a missing key.
_OF_THE_FUNCTION = (
    "dictionary update sequence",
    "dict expected at most",
    "keyword argument",
    "positional argument",
    "no such key",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this attack."""
    add_choice(parser)
    parser.add_argument("--values", nargs="*", default=_NAMES, metavar="VALUE", help="names of values; none means all")
    parser.add_argument("--limit", type=float, default=_LIMIT, help="seconds that one case may take")
    parser.add_argument("--memory", type=float, default=_MEMORY, help="GiB of address space that one case may add")


def list_cases(subject: Subject, values: list[str]) -> list[tuple[str, str]]:
    """Return (parameter, name of the value) of each case of a class."""
    return [(name, value) for name in subject.estimator._parameters for value in values]


def try_value(subject: Subject, parameter: str, value: str, X: np.ndarray, y: np.ndarray | None) -> tuple[str, str]:
    """Fit with one odd value; return the outcome, and what was wrong."""
    limits = {"max_time": _MAX_TIME} if parameter != "max_time" and subject.takes("max_time") else {}
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = subject.make(**limits).set_params(**{parameter: VALUES[value]()})
            model.fit(X, y)
        except MemoryError as error:
            # A forecast says what would be taken; Python's own error says nothing.
            return ("refused", "") if str(error) else ("raw", f"[{parameter}={value}] MemoryError without words")
        except Exception as error:
            faults, outcome = judge_error("fit", error), "refused"
        else:
            faults, outcome = judge_answers(model, X), "answered"
    # What a function of the user's raises is the user's to see, in a fit or when the model answers.
    if value in _CALLED:
        faults = [fault for fault in faults if not any(words in fault for words in _OF_THE_FUNCTION)]
    return ("raw", f"{faults[0]} [{parameter}={value}]") if faults else (outcome, "")


def _work(
    subject: Subject, cases: list[tuple[str, str]], gib: float, first: int, last: int
) -> Iterator[tuple[str, str]]:
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    most = pages * resource.getpagesize() + int(gib * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    X, y = subject.data(_ROWS, _COLUMNS)
    # A text may be the name of a folder that keeps what was computed.
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for parameter, value in cases[first:last]:
            yield try_value(subject, parameter, value, X, y)


def _attack(options: argparse.Namespace, number: int) -> Tally:
    subject = subjects()[number]
    cases = list_cases(subject, options.values)
    work = partial(_work, subject, cases, options.memory)
    tally = try_cases(repr(subject), work, lambda case: str(cases[case]), range(len(cases)), options.limit)
    meant = [one for one in tally.findings if one[0] == "hang" and _asks_for_work(one[1])]
    tally.findings = [one for one in tally.findings if one not in meant]
    tally.counts["hang"] -= len(meant)
    tally.counts["answered"] += len(meant)
    return tally


def _asks_for_work(case: str) -> bool:
    """Return whether a case asks for as much work as it takes, such as a thousand components of forty rows."""
    asked = any(f"('{name}', '1000')" in case for name in ("n_components", "n_units"))
    return asked or any(f"'{name}'" in case for name in _ASKS_FOR_WORK)


def run(options: argparse.Namespace) -> int:
    """Attack, print, and return 1 if a value got through."""
    report = Report("parameters", options)
    jobs = [number for number, _ in choose_subjects(options, 1)]
    for tally in run_jobs(partial(_attack, options), jobs, options.jobs, options.seconds):
        report.add(tally)
    return report.end()
