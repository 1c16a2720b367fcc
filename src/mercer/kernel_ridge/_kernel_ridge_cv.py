"""Kernel ridge regression with the penalty chosen by leaving out each row, from one eigendecomposition."""

from typing import Any, ClassVar

import numpy as np

from mercer._base import Estimator
from mercer._base.kernel_choice import KERNEL_RULES
from mercer._base.parameter import Array, Boolean, Integer, Nothing, Real, Rule
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer.errors import ParameterError
from mercer.kernel_ridge._exact import STATEMENT, TOLERANCE, Equations, Gather, Spectrum, Task, assembled
from mercer.kernel_ridge._kernel_ridge import KernelRidge
from mercer.kernels import Kernel

__all__ = ["KernelRidgeCV"]


class KernelRidgeCV(KernelRidge):
    r"""Kernel ridge regression with the penalty of least leave-one-out error.

    The kernels are decomposed once, :math:`K = U V U^T`; then each penalty costs n^2: the residual of row i by the
    model of all other rows is :math:`a_i / (K + \alpha I)^{-1}_{ii}`, with a the coefficients of the model of all rows.

    Parameters
    ----------
    alphas : an array-like, default=(0.001, 0.01, 0.1, 1.0, 10.0)
        Penalties to try.
    kernel : one of 'linear', 'poly', 'polynomial', 'rbf', 'sigmoid', 'laplacian', 'matern', 'cosine', 'chi2',
        'additive_chi2', 'precomputed' or a callable, default='linear'
        The kernel by name, as an object of :mod:`mercer.kernels`, or a function of two rows.
    gamma : a number in (0, inf) or None, default=None
        Of kernels by name; None means 1 / d.
    degree : a number in [0, inf), default=3
    coef0 : a number in (-inf, inf), default=1
        Of polynomials and of tanh.
    kernel_params : a dictionary or None, default=None
        Further arguments of a function.
    fit_intercept : a boolean, default=False
        Whether to fit an intercept, which is not penalised.
    alpha_per_target : a boolean, default=False
        Whether each target has a penalty of its own.
    max_time : a number in [0, inf) or None, default=None
        There for all fits alike.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all cores. Changes no result.

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
    history_, converged_, n_iter_, certificate_, n_features_in_, feature_names_in_
        As every estimator has them.

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

    _parameters: ClassVar[dict[str, Rule]] = {
        "alphas": Array(),
        **KERNEL_RULES,
        "fit_intercept": Boolean(),
        "alpha_per_target": Boolean(),
        "max_time": Real(0) | Nothing(),
        "n_jobs": Integer() | Nothing(),
    }
    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | {
        f"check_sample_weight_equivalence_on_{kind}_data": (
            "a row is left out with all of its weight, while of a repeated row the other copies stay: another choice"
        )
        for kind in ("dense", "sparse")
    }
    _places: ClassVar[tuple[str, ...]] = ("memory",)  # type: ignore[assignment]
    solver = "eigen"
    leave_one_out = True
    max_iter = 1
    alpha = "chosen"

    def __init__(
        self,
        alphas: Any = (0.001, 0.01, 0.1, 1.0, 10.0),
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        fit_intercept: bool = False,
        alpha_per_target: bool = False,
        max_time: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.alpha_per_target = alpha_per_target
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _penalties(self, n_targets: int) -> np.ndarray:
        alphas = np.atleast_1d(np.asarray(self.alphas, dtype=np.float64)).ravel()
        if len(alphas) == 0 or not (alphas > 0).all() or not np.isfinite(alphas).all():
            message = f"{type(self).__name__}: every alpha must be a number in (0, inf); got {self.alphas!r}."
            raise ParameterError(message)
        return alphas

    def _resolved(self, source: Source, alpha: np.ndarray) -> str:
        return "eigen"

    def _solver(self, source: Source, kernel: Kernel, alpha: np.ndarray, start: Any) -> Solver:
        subject, threads = type(self).__name__, self._threads()
        rows, y, weight = yield Gather(subject)
        n = rows.shape[0]
        require_memory(subject, 24.0 * n * n, f"the {n} x {n} kernels", "use KernelRidge with solver='falkon'")
        equations = yield Dense(lambda: Equations.of(kernel, rows, y, weight, threads))
        spectrum = yield Dense(lambda: Spectrum.of(equations.matrix), heavy=True)
        sides, n_targets = equations.sides(self.fit_intercept), equations.right.shape[1]
        targets = np.asarray(y, dtype=np.float64).reshape(n, -1)
        share = np.ones(n) / n if weight is None else weight / weight.sum()
        errors = np.empty((len(alpha), n_targets))
        for number, one in enumerate(alpha):
            answers = {float(one): spectrum.solve(float(one), sides)}
            task = Task(subject, kernel, np.full(n_targets, one), self.fit_intercept, True, "eigen", threads)
            errors[number] = share @ (assembled(task, equations, rows, answers, "eigen")[0].left_out - targets) ** 2
        per_target = errors if self.alpha_per_target else errors.mean(axis=1, keepdims=True)
        chosen = np.broadcast_to(alpha[per_target.argmin(axis=0)], n_targets).copy()
        answers = {float(one): spectrum.solve(float(one), sides) for one in np.unique(chosen)}
        task = Task(subject, kernel, chosen, self.fit_intercept, True, "eigen", threads)
        state, objective = assembled(task, equations, rows, answers, "eigen")
        self._found = chosen, per_target
        certificate = Certificate.of("residual", spectrum.residual(chosen, answers, sides), TOLERANCE, STATEMENT)
        yield Step(objective, state, certificate)
        return Solution(state, True, certificate)

    def _fitted(self, state: Any) -> dict[str, Any]:
        found = super()._fitted(state)
        chosen, errors = self._found
        single = self._flat or not self.alpha_per_target
        found["alpha_"] = float(chosen[0]) if single else chosen
        found["loo_errors_"] = errors[:, 0] if single else errors
        return found
