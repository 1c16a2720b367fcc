"""Kernel ridge regression with the penalty chosen by leaving out each row, from one eigendecomposition."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base import Estimator
from mercer._base.parameter import Array, Boolean, attribute, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._stored import Stored, floats
from mercer.errors import ParameterError
from mercer.kernel_ridge._exact import (
    STATEMENT,
    TOLERANCE,
    Equations,
    Gather,
    KernelRidgeState,
    Spectrum,
    Task,
    assemble,
)
from mercer.kernel_ridge._kernel_ridge import KernelRidge
from mercer.kernels import Kernel


@plain
@dataclass(frozen=True, eq=False)
class ChosenRidgeState(KernelRidgeState):
    """A model with the penalty chosen for each target, and the leave-one-out errors by penalty."""

    alpha: Any
    errors: Any


class KernelRidgeCV(KernelRidge):
    r"""Kernel ridge regression with the penalty of least leave-one-out error.

    The kernels are decomposed once, :math:`K = U V U^T`; then each penalty costs n^2: the residual of row i by the
    model of all other rows is :math:`a_i / (K + \alpha I)^{-1}_{ii}`, with a the coefficients of the model of all rows.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
        The penalty chosen.
    loo_errors_ : ndarray of shape (n_alphas,) or (n_alphas, n_targets)
        Weighted mean squared leave-one-out error of each penalty.
    loo_predictions_ : ndarray of the shape of y
        The prediction for each row by the model of all others, with the penalty chosen.
    dual_coef_, X_fit_, intercept_, kernel_, solver_used_
        As in :class:`KernelRidge`.

    Notes
    -----
    Costs about 9 n^3, and n^2 a penalty; memory 24 n^2 bytes. Rows in memory.

    References
    ----------
    R. Rifkin and R. Lippert, Notes on regularized least squares, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernel_ridge import KernelRidgeCV
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(0, 6, size=(60, 1))
    >>> y = np.sin(X[:, 0]) + 0.3 * generator.normal(size=60)
    >>> float(KernelRidgeCV(alphas=(1e-6, 1e-2, 1.0, 100.0), kernel="rbf").fit(X, y).alpha_)
    1.0
    """

    alphas: Any = parameter(Array(), default=(0.001, 0.01, 0.1, 1.0, 10.0), kw_only=False, doc="Penalties to try.")
    alpha_per_target: bool = parameter(
        Boolean(), default=False, after="fit_intercept", doc="Whether each target has a penalty of its own."
    )

    _documents = {
        "fit_intercept": "Whether to fit an intercept, which is not penalised.",
        "max_time": "Accepted as by every estimator.",
    }

    n_centres: Any = attribute()
    random_state: Any = attribute()
    tol: Any = attribute()

    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | {
        f"check_sample_weight_equivalence_on_{kind}_data": (
            "a row is left out with all of its weight, while of a repeated row the other copies stay: another choice"
        )
        for kind in ("dense", "sparse")
    }
    _places: ClassVar[tuple[str, ...]] = ("memory",)  # type: ignore[assignment]
    solver: Any = attribute("eigen")
    leave_one_out: Any = attribute(True)
    max_iter: Any = attribute(1)
    alpha: Any = attribute("chosen")

    _stored: ClassVar[dict[str, Stored]] = {
        "alpha_": floats(" | *"),
        "loo_errors_": floats("*"),
    }

    def _read_penalties(self, n_targets: int) -> np.ndarray:
        alphas = np.atleast_1d(np.asarray(self.alphas, dtype=np.float64)).ravel()
        if len(alphas) == 0 or not (alphas > 0).all() or not np.isfinite(alphas).all():
            raise ParameterError(
                f"{type(self).__name__}: every alpha must be a number in (0, inf); got {self.alphas!r}."
            )
        return alphas

    def _choose_method(self, source: Source, alpha: np.ndarray) -> str:
        return "eigen"

    def _make_solver(self, source: Source, kernel: Kernel, alpha: np.ndarray, method: str, start: Any) -> Solver:
        subject, threads = type(self).__name__, self._threads()
        rows, y, weight = yield Gather(subject)
        n = rows.shape[0]
        # Three n x n matrices of float64 are held at a time.
        require_memory(subject, 24.0 * n * n, f"the {n} x {n} kernels", "use KernelRidge with solver='falkon'")
        equations = yield Dense(lambda: Equations.of(kernel, rows, y, weight, threads))
        spectrum = yield Dense(lambda: Spectrum.of(equations.matrix), heavy=True)
        sides, n_targets = equations.list_sides(self.fit_intercept), equations.right.shape[1]
        targets = np.asarray(y, dtype=np.float64).reshape(n, -1)
        share = np.ones(n) / n if weight is None else weight / weight.sum()
        # One eigendecomposition serves all penalties: each then costs n^2.
        errors = np.empty((len(alpha), n_targets))
        for trial, penalty in enumerate(alpha):
            answers = {float(penalty): spectrum.solve(float(penalty), sides)}
            task = Task(subject, kernel, np.full(n_targets, penalty), self.fit_intercept, True, method, threads)
            left_out = assemble(task, equations, rows, answers, method)[0].left_out
            errors[trial] = share @ (left_out - targets) ** 2
        per_target = errors if self.alpha_per_target else errors.mean(axis=1, keepdims=True)
        # One penalty for each target, or one that is best on average for all.
        chosen = np.broadcast_to(alpha[per_target.argmin(axis=0)], n_targets).copy()
        answers = {float(penalty): spectrum.solve(float(penalty), sides) for penalty in np.unique(chosen)}
        task = Task(subject, kernel, chosen, self.fit_intercept, True, method, threads)
        model, objective = assemble(task, equations, rows, answers, method)
        state = ChosenRidgeState(model.rows, model.dual, model.intercept, model.left_out, method, chosen, per_target)
        certificate = Certificate.of(
            "residual", spectrum.compute_residual(chosen, answers, sides), TOLERANCE, STATEMENT
        )
        yield Step(objective, state, certificate)
        return Solution(state, True, certificate)

    def _list_attributes(self, state: ChosenRidgeState, flat: bool, dtype: Any) -> dict[str, Any]:
        single = flat or not self.alpha_per_target
        return super()._list_attributes(state, flat, dtype) | {
            "alpha_": float(state.alpha[0]) if single else state.alpha,
            "loo_errors_": state.errors[:, 0] if single else state.errors,
        }
