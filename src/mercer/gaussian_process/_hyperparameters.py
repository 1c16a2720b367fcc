"""What estimators that choose hyper-parameters by the evidence share."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import validate_data

from mercer._base import LimitedEstimator, seed_sequence
from mercer._base.parameter import Boolean, Choice, Function, Integer, Nothing, Real, Seed, parameter
from mercer._base.validation import check_weight
from mercer._solver import Outcome, Solver
from mercer._source import Source, open_source
from mercer._stored import Stored, floats
from mercer.errors import ParameterError
from mercer.gaussian_process._covariance import IsKernel, make_covariance, takes_vectors, warn_of_bounds
from mercer.gaussian_process._evidence import Evidence
from mercer.gaussian_process._maximisation import MaximumState, evaluate_once, maximise_by, maximise_evidence
from mercer.kernels import Kernel, warn_of_scale


class EvidenceModel(LimitedEstimator):
    """An estimator that opens any rows that its kernel takes, and maximises the evidence."""

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    kernel: Any = parameter(IsKernel() | Nothing(), default=None, kw_only=False)
    optimizer: Any = parameter(Choice("fmin_l_bfgs_b") | Function() | Nothing(), default="fmin_l_bfgs_b")
    n_restarts_optimizer: int = parameter(Integer(0), default=0)
    copy_X_train: bool = parameter(
        Boolean(), default=True, doc="Whether the model keeps a copy of the rows, not the array that was given."
    )
    random_state: Any = parameter(Seed(), default=None)
    tol: float = parameter(Real(0), default=1e-4)
    max_iter: int = parameter(Integer(1), default=200)

    _documents = {
        "max_time": "Seconds after which the climb ends with what it has.",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "X_train_": floats("rows, columns", finite=True),
        "log_marginal_likelihood_value_": floats(),
    }
    _depends_on_units = ("columns", "scale")

    def _open_process(self, X: Any, y: Any, sample_weight: Any, kernel: Any, targets: str) -> tuple[Source, Any]:
        """Return the source of a fit, and the rows; if these are no vectors, the source holds their indices."""
        if takes_vectors(kernel):
            source = self._open(X, y, sample_weight, targets=targets)
            return source, source.whole()
        kind = {"multi_output": True, "y_numeric": True} if targets == "numbers" else {}
        X, y = validate_data(self, X, y, ensure_2d=False, dtype=None, **kind)
        indices = np.arange(len(X), dtype=np.float64)[:, None]
        threads = self._threads()
        return open_source(indices, y, check_weight(self, sample_weight, len(X)), threads), X

    def _make_solver(self, evidences: list[Evidence], kernel: Any) -> Callable[[Any], Solver]:
        """Return the function from a state to resume from to the solver that the parameter `optimizer` asks for."""
        covariance = make_covariance(kernel, type(self).__name__)
        starts = self._draw_starts(covariance)

        def solve(state: MaximumState | None) -> Solver:
            if self.optimizer is None or not len(covariance.theta):
                return evaluate_once(evidences, covariance)
            if callable(self.optimizer):
                return maximise_by(self.optimizer, evidences, covariance, starts, self.tol)
            return maximise_evidence(evidences, covariance, starts, self.tol, self.max_iter, state)

        return solve

    def _draw_starts(self, kernel: Kernel) -> np.ndarray:
        """Return logarithms of hyper-parameters to start from: those given, and others drawn within the bounds."""
        bounds = kernel.bounds
        if self.n_restarts_optimizer and len(bounds) and not np.isfinite(bounds).all():
            raise ParameterError(
                "Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds are finite."
            )
        children = seed_sequence(self.random_state).spawn(1)[0].spawn(self.n_restarts_optimizer)
        drawn = [np.random.default_rng(child).uniform(bounds[:, 0], bounds[:, 1]) for child in children]
        return np.array([kernel.theta, *drawn])

    def _warn_of_kernels(self, kernels: list[Any], rows: Any, outcome: Outcome) -> None:
        """Warn of hyper-parameters at their bounds, if they were optimised, or of a scale that suits no rows."""
        kernel = kernels[0]
        given = isinstance(kernel, Kernel) and (self.optimizer is None or not len(kernel.theta))
        if given and isinstance(rows, np.ndarray):
            warn_of_scale(type(self).__name__, kernel, rows)
        if self.optimizer is not None and outcome.converged:
            for kernel in kernels:
                warn_of_bounds(kernel, stacklevel=6)
