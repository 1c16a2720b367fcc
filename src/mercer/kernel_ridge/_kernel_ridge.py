"""Kernel ridge regression: ridge regression in the feature space of a kernel."""

import math
import warnings
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgWarning
from sklearn.metrics import r2_score

from mercer._base import LimitedEstimator, few_rows, fitting, open_new_rows, seed_sequence
from mercer._base.interface import MultiOutputMixin
from mercer._base.kernel_choice import KernelChoice, KernelSum, prepare_for_kernel
from mercer._base.parameter import Array, Boolean, Choice, Function, Integer, Nothing, Real, Seed, attribute, parameter
from mercer._base.scoring import RegressorMixin
from mercer._solver import Solver
from mercer._source import Source, place_of
from mercer._source.memory import is_allowed
from mercer._source.namespace import to_numpy
from mercer._stored import Stored, floats
from mercer.errors import ParameterError, UnsupportedError
from mercer.kernel_ridge._exact import Gather, Task, solve_exactly
from mercer.kernel_ridge._falkon import FalkonState, FalkonTask, solve_with_centres
from mercer.kernels import KERNEL_NAMES, Kernel, warn_of_scale

# The most rows that "auto" solves in closed form: 20000 rows need 3.2 GB and about a minute on two cores.
_EXACT_ROWS = 20_000


class KernelRidge(KernelChoice, MultiOutputMixin, RegressorMixin, LimitedEstimator):
    r"""Ridge regression in the feature space of a kernel.

    Predicts :math:`f(x) = \sum_j a_j k(x, x_j) + b` with the coefficients a (``dual_coef_``) of the least

    .. math:: \sum_i w_i (y_i - f(x_i))^2 + \alpha \, a^T K a

    which solve :math:`(K + \alpha W^{-1}) a = y - b`. The intercept b is zero unless asked for.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n,) or (n, n_targets)
        The coefficients a; with 'falkon' one for each centre.
    X_fit_ : {ndarray, sparse matrix} of shape (n, d)
        The rows, or the centres, that predictions take kernels with.
    intercept_ : float or ndarray of shape (n_targets,)
    kernel_ : Kernel
        The kernel used.
    loo_predictions_ : ndarray of the shape of y
        With ``leave_one_out=True``: the prediction for each row by the model of all others.
    solver_used_ : str
        What solved the equations.
    history_, converged_, n_iter_, certificate_
        One step of the closed forms, one a pass of 'falkon'; the certificate is the relative ``"residual"``, with
        'falkon' the ``"preconditioned residual"``.

    Notes
    -----
    Closed forms: n^3 / 3 ('cholesky', in place, 8 n^2 bytes) or about 9 n^3 ('eigen', 24 n^2 bytes), in float64; rows
    dependent to rounding have the shortest solution by 'eigen', with a warning. 'falkon' costs n M a pass and M^3 once,
    with M centres, and needs 24 M^2 bytes; it approximates. Kernels of float32 rows are made in float32 and summed in
    float64, and predictions have four to five digits then. A weight is a repetition. With 'auto' and 'falkon' rows may
    be in memory, files, streams, Dask collections and on devices; 'cholesky' factors where they are, in memory or on a
    device.

    References
    ----------
    A. Rudi, L. Carratino and L. Rosasco, FALKON: an optimal large scale kernel method, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernel_ridge import KernelRidge
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = KernelRidge(alpha=1e-3, kernel="rbf", gamma=0.5, leave_one_out=True).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.loo_predictions_ - np.sin(X[:, 0])).max() < 0.1)
    True
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    alpha: Any = parameter(Real(0) | Array(), default=1, kw_only=False, doc="The penalty, or one for each target.")
    kernel: Any = parameter(Choice(*KERNEL_NAMES) | Function(), default="linear")
    fit_intercept: bool = parameter(
        Boolean(), default=False, after="kernel_params", doc="Whether to fit b, which is not penalised."
    )
    leave_one_out: bool = parameter(
        Boolean(), default=False, doc="Whether to predict each row by the model of all others, in closed form."
    )
    solver: str = parameter(
        Choice("auto", "cholesky", "eigen", "falkon"),
        default="auto",
        doc="'cholesky' and 'eigen' factor the n x n kernels; 'falkon' uses some rows as centres and passes over "
        "the rows, wherever they are. 'auto' is 'cholesky' up to 20000 rows and where memory allows, else "
        "'falkon'.",
    )
    n_centres: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="Of 'falkon': rows drawn as centres; None means four times the root of n, and at least 500.",
    )
    tol: float = parameter(Real(0), default=1e-7, doc="Of 'falkon': relative residual at which it ends.")
    max_iter: int = parameter(Integer(1), default=100, doc="Of 'falkon': most passes.")
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the centres.")

    _documents = {
        "gamma": "The factor gamma of kernels by name; None means 1 / d.",
        "coef0": "The constant of polynomial and sigmoid kernels.",
        "kernel_params": "Further arguments of a kernel function.",
        "max_time": "Seconds after which 'falkon' ends with what it has.",
    }

    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the kernel values of all pairs of rows are n^2 floats, forecast before they are computed"
    }
    solver_used_: str = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "X_fit_": floats("rows, columns", sparse=True, finite=True),
        "dual_coef_": floats("rows | rows, targets"),
        "intercept_": floats(" | targets"),
        "loo_predictions_": floats("rows | rows, targets"),
    }
    _depends_on_units = ("columns", "scale", "target place")

    @property
    def _places(self) -> tuple[str, ...]:  # type: ignore[override]
        """Where rows may be: a matrix of all pairs is factored in memory or on a device; "auto" loads few rows."""
        if self._is_precomputed or self.solver == "eigen":
            return ("memory",)
        return ("memory", "device") if self.solver == "cholesky" else ("memory", "file", "stream", "dask", "device")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelRidge":
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), or (n, n) with ``kernel="precomputed"``
        sample_weight : float or array-like of shape (n,), default=None
        """
        sparse = False if self.solver == "falkon" else "csr"
        source = self._open(X, y, sample_weight, targets="numbers", accept_sparse=sparse)
        alpha = self._read_penalties(source.n_targets)
        kernel = self._make_kernel(source)
        method = self._choose_method(source, alpha)
        flat, dtype = source.target_shape == (), source.host_dtype
        outcome = self._drive(
            lambda start: self._make_solver(source, kernel, alpha, method, start),
            source,
            fitted=lambda state: self._list_attributes(state, flat, dtype),
            max_steps=self.max_iter if method == "falkon" else 1,
            attributes={"kernel_": kernel, "solver_used_": method},
        )
        self._describe(outcome.state)
        self._conclude(outcome)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.solver != "falkon"
        return tags

    def _make_kernel(self, source: Source) -> Kernel:
        """Return the kernel as an object; warn if it cannot tell the rows apart."""
        rows = source.whole() if source.place == "memory" else _Shape((source.n_rows, source.n_features))
        kernel = self._choose_kernel(rows)
        if source.place == "memory":
            warn_of_scale(type(self).__name__, kernel, rows)
        return kernel

    def _choose_method(self, source: Source, alpha: np.ndarray) -> str:
        """Return the solver that the parameter `solver` names; for "auto" one that suits the rows."""
        if self.solver == "falkon" and (self._is_precomputed or self.leave_one_out or source.is_sparse):
            raise UnsupportedError(
                f"{type(self).__name__}: solver='falkon' takes dense rows and leaves none out; got "
                f"kernel={self.kernel!r}, leave_one_out={self.leave_one_out!r}. Use solver='cholesky'."
            )
        if self.solver != "auto":
            return self.solver
        n = source.n_rows
        small = n <= _EXACT_ROWS and is_allowed(8.0 * n * n)
        if small or self._is_precomputed or self.leave_one_out or source.is_sparse:
            # An eigendecomposition costs as much as about thirty Cholesky factors, one for each penalty.
            return "eigen" if len(np.unique(alpha)) > 30 else "cholesky"
        return "falkon"

    def _make_solver(self, source: Source, kernel: Kernel, alpha: np.ndarray, method: str, start: Any) -> Solver:
        """Return the solver named `method`, resumed from the state `start` if that is not None."""
        if method != "falkon":
            subject, threads = type(self).__name__, self._threads()
            on_device = source.place == "device" and method == "cholesky"
            options = (self.fit_intercept, self.leave_one_out, method, threads, on_device)
            return solve_exactly(Task(subject, kernel, alpha, *options))
        n = source.n_rows
        count = min(n, max(500, math.ceil(4.0 * math.sqrt(n))) if self.n_centres is None else self.n_centres)
        generator = np.random.default_rng(seed_sequence(self.random_state))
        # In the order of the rows, one pass over a file or stream reads all centres.
        centres = np.sort(generator.choice(n, count, replace=False))
        task = FalkonTask(kernel, alpha, self.fit_intercept, centres, self.tol, self.max_iter, self._threads())
        return solve_with_centres(task, start)

    def _read_penalties(self, n_targets: int) -> np.ndarray:
        """Return the penalty of each target."""
        alpha = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64)).ravel()
        name = type(self).__name__
        if alpha.shape[0] not in (1, n_targets):
            raise ParameterError(
                f"{name}: alpha must be one number, or one for each of {n_targets} targets; got {alpha.shape[0]}."
            )
        if not (alpha >= 0).all() or not np.isfinite(alpha).all():
            raise ParameterError(f"{name}: every alpha must be a number in [0, inf); got {self.alpha!r}.")
        return np.broadcast_to(alpha, (n_targets,)).copy()

    def _list_attributes(self, state: Any, flat: bool, dtype: Any) -> dict[str, Any]:
        """Return the fitted attributes of a `state` in `dtype`; `flat` says that the targets were one-dimensional."""
        rows = state.centres if isinstance(state, FalkonState) else state.rows
        dual, intercept = state.dual.astype(dtype), state.intercept.astype(dtype)
        attributes = {
            "X_fit_": rows,
            "dual_coef_": dual[:, 0] if flat else dual,
            "intercept_": intercept[0] if flat else intercept,
        }
        left_out = getattr(state, "left_out", None)
        if left_out is not None:
            left_out = left_out.astype(dtype)
            attributes["loo_predictions_"] = left_out[:, 0] if flat else left_out
        return attributes

    def _describe(self, state: Any) -> None:
        """Warn if the equations were singular and the eigenvectors solved them instead of a Cholesky factor."""
        if not self.leave_one_out:
            self.__dict__.pop("loo_predictions_", None)
        method = getattr(state, "method", self.solver_used_)
        if method != self.solver_used_:
            message = (
                f"{type(self).__name__}: the kernels are singular to rounding, so solver='eigen' was used instead of "
                f"'cholesky'; raise alpha (now {self.alpha!r}), or choose solver='eigen' to silence this."
            )
            self.solver_used_ = method
            warnings.warn(message, LinAlgWarning, stacklevel=4)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, d), or with ``kernel="precomputed"`` (m, n)
        """
        if (rows := few_rows(self, X)) is not None:
            return self._make_sum(ready=True).of_rows(rows)
        source = open_new_rows(self, X, accept_sparse="csr")
        return source.map(self._make_sum(ready=source.place == "memory"))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination of the predictions, averaged over targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, d), or rows in any other place
        """
        if place_of(X, y) == "memory":
            return super().score(X, y, sample_weight)
        source = self._open(X, y, sample_weight, targets="numbers", reset=False)
        predicted = to_numpy(source.map(self._make_sum(ready=False)))
        _, targets, weight = Gather(type(self).__name__).answer(source)
        return float(r2_score(targets, predicted, sample_weight=weight))

    def _make_sum(self, ready: bool) -> KernelSum:
        """Return the sums that predict; `ready` says that rows are in memory, where prepared points are kept."""
        others = prepare_for_kernel(self, self.kernel_, self.X_fit_) if ready and not self._is_precomputed else None
        return KernelSum(self.kernel_, self.X_fit_, self.dual_coef_, self.intercept_, others)


class _Shape:
    """The shape of rows that are not in memory, which is all that a kernel by name needs of them."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
