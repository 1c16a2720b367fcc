"""What every kind of emission shares: its interface, sums that can be added, and how missing steps are found."""

from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from scipy.special import xlogy

from mercer._types import Array
from mercer.errors import DataError


class Emission(Protocol):
    """The densities of the steps in each state. Tables have a lane per state; see ``mercer.hmm._chain``."""

    @property
    def n_columns(self) -> int:
        """The number of columns of a row."""

    def scores(self, X: Array, out: Array) -> None:
        """Write the log density of each row in each state to `out`: zeros where a row is missing (NaN throughout), and
        minus infinity in the lanes beyond the states.
        """

    def sums(self, X: Array, shares: Array) -> Any:
        """Return what the M step needs of rows that the states take with `shares`; sums of pieces are added."""

    def maximise(self, sums: Any, params: str, prior: Any) -> "Emission":
        """Return the emission that maximises the expected log density plus the log prior."""

    def take_expected(self, sums: Any, reference: "Emission") -> float:
        """Return the expected log density of rows whose `sums` were taken under `reference`; NaN if unknown."""

    def log_prior(self, prior: Any) -> float:
        """Return the log prior of the parameters, up to a constant."""

    def draw(self, states: Array, generator: np.random.Generator) -> Array:
        """Draw a row for each state."""

    def count_parameters(self) -> int:
        """Return the number of free parameters."""


@dataclass(frozen=True, eq=False)
class AddedSums:
    """A record of arrays that is added entry by entry."""

    def __add__(self, other: Any) -> Any:
        names = [field.name for field in fields(self)]
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in names))

    def scale(self, factor: float) -> Any:
        """Return the sums times a number."""
        values = (getattr(self, field.name) for field in fields(self))
        return type(self)(*(part.scale(factor) if hasattr(part, "scale") else part * factor for part in values))

    def recentre(self, old: Any, new: Any) -> Any:
        """Return the sums as the emission `new` would have taken them, in place of `old`; counts stay."""
        return self


def find_missing(X: Array, subject: str) -> Array:
    """Return which rows are missing throughout, or None if all entries are finite; raise for infinite entries."""
    # A sum is finite unless a value is not: one pass finds NaN and infinity.
    if np.isfinite(X.sum(dtype=np.float64)):
        return None
    if np.isinf(X).any():
        raise DataError(
            f"{subject}: Input X contains infinity or a value too large for dtype('float64'). Mark missing steps and "
            f"entries by NaN, and correct the infinite ones."
        )
    return np.isnan(X).all(axis=1)


def check_columns(subject: str, emission: Any, n_features: int) -> None:
    """Raise if rows have other columns than the states emit."""
    if emission.n_columns != n_features:
        raise DataError(
            f"{subject}: X has {n_features} features, but the parameters of the states are for {emission.n_columns} "
            f"features. Give rows with those columns, or set parameters that fit the rows."
        )


def normalise_counts(counts: Array, prior: Array, old: Array) -> Array:
    """Return rows of probabilities that maximise sum (counts + prior - 1) log p; zeros of `old` stay zero.

    A row without counts keeps its old probabilities.
    """
    raised = np.where(old > 0, np.maximum(counts + (prior - 1.0), 0.0), 0.0)
    total = raised.sum(axis=-1, keepdims=True)
    return np.where(total > 0, raised / np.where(total > 0, total, 1.0), old)


def take_log_prior(probabilities: Array, prior: Array) -> float:
    """Return the log density of a Dirichlet prior up to its constant; entries that must be zero do not count."""
    prior = np.broadcast_to(prior, probabilities.shape)
    if np.all(prior == 1.0):
        return 0.0
    chosen = probabilities > 0
    return float(np.sum(xlogy(prior[chosen] - 1.0, probabilities[chosen])))
