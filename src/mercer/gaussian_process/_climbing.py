"""What the estimators share that choose hyper-parameters by their evidence."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from mercer._base import Estimator, seed_sequence
from mercer._base.validation import check_weight
from mercer._solver import Outcome, Solver
from mercer._source import Source, open_source
from mercer.errors import ParameterError
from mercer.gaussian_process._climb import ClimbState, climb, climb_by, stand_still
from mercer.gaussian_process._covariance import covariance_of, takes_vectors, warn_of_bounds
from mercer.gaussian_process._evidence import Evidence
from mercer.kernels import Kernel

__all__ = ["Climbing"]


class Climbing(Estimator):
    """Opens rows of any kind that a kernel takes, and climbs."""

    optimizer: Any
    n_restarts_optimizer: int
    random_state: Any
    tol: float
    max_iter: int

    def _opened(self, X: Any, y: Any, sample_weight: Any, kernel: Any, targets: str) -> tuple[Source, Any]:
        """The source that a fit is driven over, and the rows; those that are no vectors are numbered in the source."""
        if takes_vectors(kernel):
            source = self._open(X, y, sample_weight, targets=targets)
            return source, source.whole()
        kind = {"multi_output": True, "y_numeric": True} if targets == "numbers" else {}
        X, y = validate_data(self, X, y, ensure_2d=False, dtype=None, **kind)
        numbers = np.arange(len(X), dtype=np.float64)[:, None]
        threads = self._threads()
        return open_source(numbers, y, check_weight(self, sample_weight, len(X)), threads), X

    def _climber(self, evidences: list[Evidence], kernel: Any) -> Callable[[Any], Solver]:
        """From a state to resume from to the solver that this estimator asks for."""
        covariance = covariance_of(kernel, type(self).__name__)
        starts = self._starts(covariance)

        def solve(state: ClimbState | None) -> Solver:
            if self.optimizer is None or not len(covariance.theta):
                return stand_still(evidences, covariance)
            if callable(self.optimizer):
                return climb_by(self.optimizer, evidences, covariance, starts, self.tol)
            return climb(evidences, covariance, starts, self.tol, self.max_iter, state)

        return solve

    def _starts(self, kernel: Kernel) -> np.ndarray:
        """Logarithms of hyper-parameters to begin with: those given, and others drawn within the bounds."""
        bounds = kernel.bounds
        if self.n_restarts_optimizer and len(bounds) and not np.isfinite(bounds).all():
            message = "Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds are finite."
            raise ParameterError(message)
        children = seed_sequence(self.random_state).spawn(1)[0].spawn(self.n_restarts_optimizer)
        drawn = [np.random.default_rng(child).uniform(bounds[:, 0], bounds[:, 1]) for child in children]
        return np.array([kernel.theta, *drawn])

    def _warn(self, kernels: list[Any], outcome: Outcome) -> None:
        """Warn of hyper-parameters at their bounds, where they were chosen and not given."""
        if self.optimizer is not None and outcome.converged:
            for kernel in kernels:
                warn_of_bounds(kernel, stacklevel=6)
