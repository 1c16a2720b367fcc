"""What every fitted mixture of Gaussian components shares: its attributes, its density, draws of rows."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._base.parameter import Boolean, Choice, Real, attribute, parameter
from mercer._source import Block
from mercer._source.memory import require_memory
from mercer._source.namespace import to_numpy
from mercer._stored import Stored, alike, floats
from mercer._types import Array
from mercer.errors import DataError, ModelFileError
from mercer.mixture._components import GaussianComponents
from mercer.mixture._gaussian_expectation import CentredExpectation, MissingExpectation
from mercer.mixture._mixture_model import MixtureModel


@dataclass(frozen=True, eq=False)
class GaussianDensity:
    """Scores of rows, complete or with missing entries."""

    complete: CentredExpectation
    components: GaussianComponents

    def scores(self, block: Block) -> Array:
        """Return log weight + log density of each component at the observed entries of each row, (n, k)."""
        # A sum is finite unless a value is not: one pass finds NaN and infinity.
        if block.xp is not np or np.isfinite(np.sum(block.X, dtype=np.float64)):
            return self.complete.scores(block)
        if np.isinf(block.X).any():
            raise DataError(
                "GaussianMixture: Input X contains infinity or a value too large for dtype('float64'). Mark missing "
                "entries by NaN, and correct or drop the infinite ones."
            )
        if (empty := int(np.isnan(block.X).all(axis=1).sum())) > 0:
            raise DataError(
                f"GaussianMixture: every row needs an observed entry; {empty} are NaN throughout. Drop them."
            )
        parts = self.components
        return MissingExpectation(parts.weights, parts.means, parts.each_covariance(), "full").scores(block)


# Times reg_covar, a variance of a column below which reg_covar is more than rounding: a group's own is smaller still.
_BLURRED = 100.0
# Times reg_covar, a variance that rounding leaves of a constant column.
_ROUNDING = 1e-9
# The shapes of full, tied, diagonal and spherical covariances.
_SPREADS = floats("components, columns, columns | columns, columns | components, columns | components")


class FittedComponents(MixtureModel):
    """A mixture of Gaussian components, described by their weights, means and covariances."""

    covariance_type: str = parameter(
        Choice("full", "tied", "diag", "spherical"),
        default="full",
        doc="A covariance for each component, one for all, a variance for each column, or one variance.",
    )
    reg_covar: float = parameter(
        Real(0),
        default=1e-6,
        after="tol",
        doc="Added to every variance: without a floor the likelihood is unbounded, at a component that has shrunk "
        "to a point.",
    )
    warm_start: bool = parameter(
        Boolean(),
        default=False,
        after="random_state",
        doc="Whether a further ``fit`` goes on from the components of the last.",
    )

    _depends_on_units = ("columns",)
    _stored: ClassVar[dict[str, Stored]] = {
        "weights_": floats("components"),
        "means_": floats("components, columns"),
        **alike(_SPREADS, "covariances_", "precisions_cholesky_", "precisions_"),
        "precisions_cholesky_": floats(
            "components, columns, columns | columns, columns | components, columns | components"
        ),
    }
    weights_: Array = attribute()
    means_: Array = attribute()
    covariances_: Array = attribute()
    precisions_cholesky_: Array = attribute()

    def _check_structure(self) -> None:
        if "means_" not in vars(self):
            return
        k, d = self.means_.shape
        # A tied covariance is one matrix for all components; a spherical one is a variance for each.
        shape = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}[self.covariance_type]
        for name in ("covariances_", "precisions_", "precisions_cholesky_"):
            if name in vars(self) and np.shape(getattr(self, name)) != shape:
                raise ModelFileError(
                    f"{type(self).__name__}.{name} must have the shape {shape}; the file's has another."
                )

    def _forecast(self, d: int) -> None:
        """Check that memory holds the covariances, their factors and sums, of this step and the one before."""
        count = {"full": self.n_components * d * d, "tied": d * d}.get(self.covariance_type, self.n_components * d)
        purpose = f"the covariances of {self.n_components} components with {d} columns"
        require_memory(type(self).__name__, 8.0 * 8 * count, purpose, "use covariance_type='diag', or fewer columns")

    def _earlier(self) -> GaussianComponents:
        """Return the fitted components to continue from; raise if their number or covariance type has changed."""
        k, d = self.means_.shape
        # The shape that covariances of this type have.
        shape = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}[self.covariance_type]
        if k != self.n_components or tuple(self.covariances_.shape) != shape:
            raise DataError(
                f"{type(self).__name__}: n_components and covariance_type must not change where a fit goes on; it has "
                f"{k} components and covariances of shape {tuple(self.covariances_.shape)}. Set them back, or fit "
                f"afresh."
            )
        return self._components()

    def _components(self) -> GaussianComponents:
        """Return the fitted components as NumPy arrays of float64."""
        parts = (to_numpy(part) for part in (self.weights_, self.means_, self.precisions_cholesky_))
        weights, means, factors = (np.asarray(part, dtype=np.float64) for part in parts)
        if "covariances_" in vars(self):
            covariances = np.asarray(to_numpy(self.covariances_), dtype=np.float64)
            return GaussianComponents(self.covariance_type, weights, means, covariances, factors)
        return GaussianComponents.from_factors(self.covariance_type, weights, means, factors)

    def _attributes(self, components: Any, dtype: Any) -> dict[str, Any]:
        return {
            "weights_": components.weights.astype(dtype),
            "means_": components.means.astype(dtype),
            "covariances_": components.covariances.astype(dtype),
            "precisions_cholesky_": components.factors.astype(dtype),
            "precisions_": components.precisions().astype(dtype),
        }

    def _density(self) -> GaussianDensity:
        components = self._components()
        factors = components.each_factor()
        factors = factors if factors.flags.c_contiguous else np.ascontiguousarray(factors)
        return GaussianDensity(CentredExpectation(components.offsets(), components.means, factors, "full"), components)

    def _warn_of_floor(self, column: int, spread: float) -> None:
        """Warn where `reg_covar` is as large as `spread`, the least variance of a column without it."""
        # A column that does not vary, to rounding, has no structure to lose.
        if _ROUNDING * self.reg_covar < spread < _BLURRED * self.reg_covar:
            warnings.warn(
                f"{type(self).__name__}: reg_covar ({self.reg_covar:g}) blurs the groups: it is added to the variance "
                f"of column {column}, which is {spread:.2g}. Scale the column, or lower reg_covar.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        free = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}
        return free[self.covariance_type] + k * d + k - 1

    def parameters(self) -> dict[str, Any]:
        """Return the shares of the components, their means and their covariances."""
        return {"weights": self.weights_, "means": self.means_, "covariances": self.covariances_}

    def _draw(self, n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        components = self._components()
        # Weights stored in single precision sum to one only up to rounding, which multinomial would refuse.
        counts = generator.multinomial(n, components.weights / components.weights.sum())
        labels = np.repeat(np.arange(len(counts)), counts)
        noise = generator.standard_normal((n, components.n_columns))
        # If L L^T = Sigma and z is standard normal, mu + L z has the covariance Sigma; rows hold z^T L^T.
        roots = np.linalg.cholesky(components.each_covariance())
        X = np.concatenate([noise[labels == q] @ roots[q].T + components.means[q] for q in range(len(counts))])
        return X.astype(to_numpy(self.means_).dtype), labels
