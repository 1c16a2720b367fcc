"""What a benchmark case is: data, contestants, a quality computed by us, and the rule by which contestants agree.

A contestant returns its answer as plain arrays (its *solution*); the case computes the objective from them in float64,
the same way for everyone, so that nobody is faster by stopping earlier or by measuring itself kindly.
"""

import hashlib
import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

Data = Mapping[str, np.ndarray]


class AbsentError(Exception):
    """A contestant's library, or the class it would run, is not installed."""


@dataclass(frozen=True)
class Contestant:
    """One way to solve a case.

    Attributes
    ----------
    name : str
        The library, and its variant where there are several: ``sklearn``, ``sklearn_newton``.
    path : str
        Dotted path of the class or function it needs; it is imported before the clock starts.
    fit : callable
        ``fit(tool, data, threads) -> model``, where ``tool`` is what ``path`` names; the timed part.
    solution : callable
        ``solution(model) -> arrays by name``, what the case's quality is computed from.
    predict : callable
        ``predict(model, rows)``, timed on all test rows and on one row.
    """

    name: str
    path: str
    fit: Callable[[Any, Data, int], Any]
    solution: Callable[[Any], dict[str, np.ndarray]]
    predict: Callable[[Any, np.ndarray], Any]

    @property
    def is_peer(self) -> bool:
        return not self.path.startswith("mercer.")

    def load(self) -> Any:
        """Import the tool, or raise AbsentError with the reason."""
        module_name, _, attribute = self.path.rpartition(".")
        try:
            return getattr(importlib.import_module(module_name), attribute)
        except ModuleNotFoundError as error:
            # A module missing somewhere else means a broken install, which must not pass for an absent peer.
            if error.name is None or not module_name.startswith(error.name):
                raise
            raise AbsentError(f"{self.name}: {self.path} is not installed (no module {error.name}).") from error
        except AttributeError as error:
            raise AbsentError(f"{self.name}: {module_name} has no {attribute}.") from error


@dataclass(frozen=True)
class Agreement:
    """The number on which contestants must agree: at most ``tolerance`` (relative) worse than the best of all."""

    measure: str
    better: Literal["lower", "higher"]
    tolerance: float

    def best(self, values: Iterable[float]) -> float:
        return min(values) if self.better == "lower" else max(values)

    def holds(self, value: float, best: float) -> bool:
        loss = value - best if self.better == "lower" else best - value
        return bool(loss <= self.tolerance * abs(best))


@dataclass(frozen=True)
class Case:
    """A benchmark: ``make(scale)`` gives the data, always from the same seed; ``headline`` is the number compared."""

    name: str
    title: str
    make: Callable[[float], dict[str, np.ndarray]]
    contestants: tuple[Contestant, ...]
    quality: Callable[[Mapping[str, np.ndarray], Data], dict[str, float]]
    agreement: Agreement
    headline: Literal["fit_seconds", "one_row_microseconds"] = "fit_seconds"

    def contestant(self, name: str) -> Contestant:
        found = {contestant.name: contestant for contestant in self.contestants}
        if name not in found:
            raise KeyError(f"Case {self.name}: the contestants are {', '.join(found)}; got {name!r}.")
        return found[name]


def scaled(rows: int, scale: float, at_least: int = 500) -> int:
    """Return how many rows a case has when it is run at a fraction of its full size."""
    return max(int(rows * scale), min(rows, at_least))


def split(X: np.ndarray, test_rows: int, y: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Return the first rows as training data and the last ``test_rows`` as test data."""
    parts = {"X": X[:-test_rows], "X_test": X[-test_rows:]}
    return parts if y is None else parts | {"y": y[:-test_rows], "y_test": y[-test_rows:]}


def fit_estimator(tool: Any, data: Data, threads: int, parameters: Mapping[str, Any]) -> Any:
    """Fit a scikit-learn style estimator; parameters whose value is callable are computed from the data first."""
    chosen = {name: value(data) if callable(value) else value for name, value in parameters.items()}
    estimator = tool(**chosen)
    # scikit-learn's own linear models ignore n_jobs or have deprecated it: there the environment sets the threads.
    if not tool.__module__.startswith("sklearn.") and "n_jobs" in estimator.get_params():
        estimator.set_params(n_jobs=threads)
    return estimator.fit(data["X"], data["y"]) if "y" in data else estimator.fit(data["X"])


def estimators(
    names: Mapping[str, str], solution: Callable, verb: str = "predict", **parameters: Any
) -> tuple[Contestant, ...]:
    """Return one contestant per ``{name: dotted path of an estimator}``, all with the same parameters."""
    return tuple(
        Contestant(name, path, partial(fit_estimator, parameters=parameters), solution, partial(_call, verb=verb))
        for name, path in names.items()
    )


def digest(solution: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 of a solution's arrays: equal digests mean equal bits."""
    total = hashlib.sha256()
    for name in sorted(solution):
        array = np.ascontiguousarray(solution[name])
        total.update(f"{name} {array.dtype.str} {array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def _call(model: Any, rows: np.ndarray, verb: str) -> Any:
    return getattr(model, verb)(rows)
