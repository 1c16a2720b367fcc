"""Least-squares regression: the best linear unbiased estimator, with its rank, its noise and its errors."""

import warnings
from typing import Any, ClassVar

import numpy as np

from mercer._base import checked_rows_and_targets, fitting
from mercer._base.parameter import Boolean, Integer, Nothing, Real, Rule
from mercer._solver.linear_state import LinearState
from mercer._solver.normal_equations import by_normal_equations, by_orthogonal_triangle
from mercer.linear_model._prediction import LinearRegressor

__all__ = ["LinearRegression"]

# The seminormal equations with one correction match an orthogonal method down to here; see normal_equations.
_WELL_CONDITIONED = 1e-8


class LinearRegression(LinearRegressor):
    _parameters: ClassVar[dict[str, Rule]] = {
        "fit_intercept": Boolean(),
        "copy_X": Boolean(),
        "tol": Real(0),
        "n_jobs": Integer() | Nothing(),
        "positive": Boolean(),
        "max_time": Real(0) | Nothing(),
    }

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        positive: bool = False,
        max_time: float | None = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive
        self.max_time = max_time

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinearRegression":
        X, y = checked_rows_and_targets(
            self, X, y, threads=self._threads(), accept_sparse="csr", multi_output=True, y_numeric=True
        )
        source = self._open(X, y, sample_weight)
        self._dtype, self._n_targets = X.dtype, 0 if y.ndim == 1 else y.shape[1]
        outcome = self._drive(lambda start: self._solver(source), source, max_steps=1)
        self._conclude(outcome)
        return self

    def _solver(self, source):
        alpha = np.zeros(1 if source.y.ndim == 1 else source.y.shape[1])
        cutoff = max(self.tol, max(source.n_rows, source.n_features) * np.finfo(np.float64).eps)
        if source.n_rows < source.n_features:
            return by_orthogonal_triangle(alpha, self.fit_intercept, self.tol, cutoff=cutoff)
        return by_normal_equations(
            alpha,
            self.fit_intercept,
            self.tol,
            cutoff=cutoff,
            refine_below=np.inf,
            orthogonal_below=max(_WELL_CONDITIONED, 10 * cutoff**2),
            spectrum=True,
        )
