"""States with a density of any kind: an object with ``fit``, ``logpdf`` (or ``score_samples``) and ``sample``."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._base.density import Density, as_density
from mercer._plain import plain
from mercer._types import Array
from mercer.errors import DataError
from mercer.hmm._emission import find_missing

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
    """Return the log density of each row; a density of one number is that of independent columns."""
    # Objects of the user's own get rows; what has `rvs` is SciPy's, whose methods have other names.
    own = hasattr(density, "logpdf") and not hasattr(density, "rvs")
    evaluate = density.logpdf if own else as_density(density, "DensityHMM").logpdf
    return np.asarray(evaluate(X), dtype=np.float64).reshape(len(X), -1).sum(axis=1)


def fit_density(density: Any, X: Array, weight: Array) -> Any:
    """Return a copy of a density fitted to weighted rows."""
    chosen = weight > _NEGLIGIBLE * weight.max()
    fresh = copy_density(density)
    fitted = as_density(fresh, "DensityHMM").fit(X[chosen], sample_weight=weight[chosen])
    if isinstance(fresh, Density):
        return fitted
    # What as_density has wrapped is kept without its wrapper.
    return getattr(fitted, "density", fitted)


def draw_from(density: Any, count: int, generator: np.random.Generator) -> Array:
    """Draw rows from a density."""
    drawn = as_density(density, "DensityHMM").sample(count, random_state=int(generator.integers(2**31)))
    # Mixtures draw the rows of one component after the other: mix them.
    return generator.permutation(np.asarray(drawn).reshape(count, -1))


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
        # A missing step says nothing: log density zero in every state.
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
            raise DataError(
                "DensityHMM: the number of free parameters of these densities is not known, and AIC and BIC need it. "
                "Compare models by cross-validation: select_n_components(..., criterion='cv')."
            )
        return int(sum(count() for count in counted if count is not None))
