"""Sampling, marginal and conditional mixtures, and densities of rows for fitted Gaussian mixtures."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer._base import open_new_rows
from mercer._base.parameter import attribute
from mercer._source import Block
from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError
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


class GaussianParts(MixtureModel):
    """A fitted Gaussian mixture."""

    covariance_type: str = attribute()
    weights_: Array = attribute()
    means_: Array = attribute()
    covariances_: Array = attribute()
    precisions_cholesky_: Array = attribute()
    _takes_gaps = True

    def _components(self) -> GaussianComponents:
        """Return the fitted components as NumPy arrays of float64."""
        parts = (to_numpy(part) for part in (self.weights_, self.means_, self.precisions_cholesky_))
        weights, means, factors = (np.asarray(part, dtype=np.float64) for part in parts)
        if "covariances_" in vars(self):
            covariances = np.asarray(to_numpy(self.covariances_), dtype=np.float64)
            return GaussianComponents(self.covariance_type, weights, means, covariances, factors)
        return GaussianComponents.from_factors(self.covariance_type, weights, means, factors)

    def _attributes(self, components: GaussianComponents, dtype: Any) -> dict[str, Any]:
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

    def _rows(self, X: Any) -> Any:
        source = open_new_rows(self, X, ensure_all_finite=False, logarithms=True)
        source.allow_missing()
        return source

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        free = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}
        return free[self.covariance_type] + k * d + k - 1

    def parameters(self) -> dict[str, Any]:
        """Return the shares of the components, their means and their covariances."""
        check_is_fitted(self)
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

    def marginal(self, columns: Any) -> "GaussianParts":
        """Return the mixture of some columns by themselves.

        Parameters
        ----------
        columns : array-like of int
            Which, in the order wanted.

        Returns
        -------
        GaussianMixture
            Of full covariances, fitted.
        """
        check_is_fitted(self)
        chosen, parts = self._choose(columns), self._components()
        covariances = parts.each_covariance()[:, chosen[:, None], chosen]
        return self._make(parts.weights, parts.means[:, chosen], covariances)

    def conditional(self, columns: Any, values: Any) -> "GaussianParts":
        """Return the mixture of the other columns, given the values of some.

        A component's mean moves by its regression on the given columns, its covariance shrinks by what they explain,
        and its share grows or falls with its density at the values.

        Parameters
        ----------
        columns : array-like of int
            Which columns are given.
        values : array-like of shape (len(columns),)
            Their values.

        Returns
        -------
        GaussianMixture
            Of full covariances, over the columns that are left, in their order; fitted.
        """
        check_is_fitted(self)
        chosen, parts = self._choose(columns), self._components()
        rest = np.setdiff1d(np.arange(parts.n_columns), chosen)
        values = np.asarray(values, dtype=np.float64).reshape(-1)
        if len(values) != len(chosen) or len(rest) == 0:
            raise DataError(
                f"{type(self).__name__}: conditional takes a value for each given column, and leaves at least one "
                f"column; got {len(values)} values for {len(chosen)} of {parts.n_columns} columns."
            )
        # Bayes: a component's weight is multiplied by its marginal density at the given values.
        given = self.marginal(chosen)
        scores = given._density().complete.offset - 0.5 * np.array(
            [np.sum(((values - mean) @ factor) ** 2) for mean, factor in zip(given.means_, given.precisions_cholesky_)],
            dtype=np.float64,
        )
        shares = np.exp(scores - scores.max())
        covariances = parts.each_covariance()
        across = covariances[:, rest[:, None], chosen]
        # Regression on the given columns g: slopes C_gg^-1 C_gr; the conditional covariance is C_rr - C_rg C_gg^-1
        # C_gr.
        slopes = np.linalg.solve(covariances[:, chosen[:, None], chosen], np.swapaxes(across, 1, 2))
        means = parts.means[:, rest] + np.einsum("kgr,kg->kr", slopes, values - parts.means[:, chosen])
        left = covariances[:, rest[:, None], rest] - across @ slopes
        return self._make(shares / shares.sum(), means, 0.5 * (left + np.swapaxes(left, 1, 2)))

    def _choose(self, columns: Any) -> Array:
        chosen, d = np.atleast_1d(np.asarray(columns)), self.means_.shape[1]
        whole = chosen.ndim == 1 and len(chosen) > 0 and chosen.dtype.kind in "iu"
        if not whole or len(np.unique(chosen)) < len(chosen) or chosen.min() < 0 or chosen.max() >= d:
            raise DataError(
                f"{type(self).__name__}: columns must be different numbers in [0, {d - 1}]; got {columns!r}."
            )
        return chosen

    def _make(self, weights: Array, means: Array, covariances: Array) -> Any:
        """Return a fitted mixture with these components of full covariances."""
        other = clone(self).set_params(covariance_type="full", weights_init=None, means_init=None, precisions_init=None)
        # A weight of zero has no logarithm; the smallest normal number stands for it.
        weights = np.maximum(weights, np.finfo(np.float64).tiny)
        components = GaussianComponents.of("full", weights, means, covariances)
        for name, value in self._attributes(components, np.float64).items():
            setattr(other, name, value)
        other.n_features_in_ = means.shape[1]
        return other
