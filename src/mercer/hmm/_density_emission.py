"""States with a density of any kind: an object with ``fit``, ``logpdf`` (or ``score_samples``) and ``sample``."""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._plain import plain
from mercer._types import Array
from mercer.errors import DataError
from mercer.hmm._emission import find_missing

__all__ = ["DensityEmission", "copy_density", "evaluate_density", "fit_density"]

# Rows whose share in a state is below this part of the largest share do not change the state's density.
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class RowSums:
    """The rows and shares of pieces; a density is fitted to all of them at once."""

    rows: tuple[Array, ...]
    shares: tuple[Array, ...]

    def __add__(self, other: "RowSums") -> "RowSums":
        return RowSums(self.rows + other.rows, self.shares + other.shares)


def copy_density(density: Any) -> Any:
    """Return an unfitted copy; an object that is no estimator is shared, and its ``fit`` must return a new one."""
    return clone(density) if hasattr(density, "get_params") else density


def evaluate_density(density: Any, X: Array) -> Array:
    """Return the log density of each row."""
    evaluate = density.logpdf if hasattr(density, "logpdf") else density.score_samples
    values = np.asarray(evaluate(X), dtype=np.float64)
    return values.reshape(len(X), -1)[:, 0]


def fit_density(density: Any, X: Array, weight: Array) -> Any:
    """Return a copy of a density fitted to weighted rows."""
    chosen = weight > _NEGLIGIBLE * weight.max()
    fresh = copy_density(density)
    fitted = fresh.fit(X[chosen], sample_weight=weight[chosen])
    return fresh if fitted is None else fitted


def draw_from(density: Any, count: int, generator: np.random.Generator) -> Array:
    """Draw rows from a density, whatever form its ``sample`` has."""
    seed = int(generator.integers(2**31))
    names = inspect.signature(density.sample).parameters
    if "random_state" in names:
        drawn = density.sample(count, random_state=seed)
    else:
        # scikit-learn's mixtures take their seed from the constructor.
        if hasattr(density, "random_state"):
            density.random_state = seed
        drawn = density.sample(count)
    # Mixtures return rows and labels, rows of one component after the other: mix them.
    rows = np.asarray(drawn[0] if isinstance(drawn, tuple) else drawn)
    return generator.permutation(rows.reshape(count, -1))


@plain
@dataclass(frozen=True, eq=False)
class DensityEmission:
    """One fitted density per state."""

    densities: tuple[Any, ...]
    n_columns: int

    subject = "DensityHMM"

    def scores(self, X: Array, out: Array) -> None:
        k = len(self.densities)
        find_missing(X, self.subject)  # raises for infinite entries
        seen = ~np.isnan(X).any(axis=1)
        out[:, k:] = -np.inf
        out[:, :k] = 0.0
        rows = X[seen]
        for state, density in enumerate(self.densities):
            if len(rows):
                out[seen, state] = evaluate_density(density, rows)

    def sums(self, X: Array, shares: Array) -> RowSums:
        seen = ~np.isnan(X).any(axis=1)
        return RowSums((X[seen].copy(),), (shares[seen, : len(self.densities)].copy(),))

    def maximise(self, sums: RowSums, params: str, prior: Any) -> "DensityEmission":
        if "d" not in params:
            return self
        X, shares = np.concatenate(sums.rows), np.concatenate(sums.shares)
        densities = [
            fit_density(density, X, shares[:, state]) if shares[:, state].sum() > _NEGLIGIBLE else density
            for state, density in enumerate(self.densities)
        ]
        return DensityEmission(tuple(densities), self.n_columns)

    def take_expected(self, sums: RowSums, reference: Any) -> float:
        return float("nan")

    def log_prior(self, prior: Any) -> float:
        return 0.0

    def draw(self, states: Array, generator: np.random.Generator) -> Array:
        out = np.empty((len(states), self.n_columns))
        for state, density in enumerate(self.densities):
            chosen = np.flatnonzero(states == state)
            if len(chosen):
                out[chosen] = draw_from(density, len(chosen), generator)
        return out

    def count_parameters(self) -> int:
        counted = [getattr(density, "_n_parameters", None) for density in self.densities]
        if not all(callable(count) for count in counted):
            message = (
                "DensityHMM: the number of free parameters of these densities is not known, and AIC and BIC need it. "
                "Compare models by cross-validation: select_n_components(..., criterion='cv')."
            )
            raise DataError(message)
        return int(sum(count() for count in counted if count is not None))
