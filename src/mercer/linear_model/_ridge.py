"""Ridge regression: least squares with a quadratic penalty, by every classical method."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from mercer._base import checked_rows_and_targets, fitting
from mercer._base.parameter import Array, Boolean, Choice, Integer, Nothing, Real, Rule, Seed
from mercer._solver import Solver
from mercer._solver.dual_equations import by_dual_equations
from mercer._solver.normal_equations import by_normal_equations, by_orthogonal_triangle
from mercer._source import Source
from mercer._source.memory import forecast
from mercer.errors import ParameterError
from mercer.linear_model._prediction import LinearRegressor

__all__ = ["Ridge"]


class Ridge(LinearRegressor):
    _parameters: ClassVar[dict[str, Rule]] = {
        "alpha": Real(0) | Array(),
        "fit_intercept": Boolean(),
        "copy_X": Boolean(),
        "max_iter": Integer(1) | Nothing(),
        "tol": Real(0),
        "solver": Choice("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"),
        "positive": Boolean(),
        "random_state": Seed(),
        "max_time": Real(0) | Nothing(),
        "n_jobs": Integer() | Nothing(),
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.max_time = max_time
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Ridge":
        X, y = checked_rows_and_targets(
            self, X, y, threads=self._threads(), accept_sparse="csr", multi_output=True, y_numeric=True
        )
        source = self._open(X, y, sample_weight)
        self._dtype, self._n_targets = X.dtype, 0 if y.ndim == 1 or y.shape[1] == 1 else y.shape[1]
        outcome = self._drive(lambda start: self._solver(source), source, max_steps=1)
        self._conclude(outcome)
        return self

    def _solver(self, source):
        alpha = np.full(1 if source.y.ndim == 1 else source.y.shape[1], self.alpha, dtype=np.float64)
        eps=np.finfo(float).eps
        if source.n_rows < source.n_features:
            return by_dual_equations(alpha, source.y.reshape(source.n_rows,-1), source.weight, self.fit_intercept, self.tol, eps)
        return by_normal_equations(
            alpha,
            self.fit_intercept,
            self.tol,
            cutoff=eps,
            refine_below=1e-5,
            orthogonal_below=1e-13,
        )
