"""Gaussian process regression: a prior over functions, conditioned on what was seen of one."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import r2_score

from mercer._base import Estimator, fitting, seed_sequence
from mercer._base.interface import MultiOutputMixin
from mercer._base.parameter import Array, Boolean, Choice, Integer, Nothing, Real, parameter
from mercer._base.scoring import RegressorMixin
from mercer._source import Source, place_of
from mercer._source.memory import is_allowed, require_memory
from mercer._source.namespace import to_numpy
from mercer._source.placement import Placement, is_on_device
from mercer._source.threads import one_blas_thread
from mercer.errors import ParameterError
from mercer.gaussian_process._climb import ClimbState
from mercer.gaussian_process._climbing import Climbing
from mercer.gaussian_process._covariance import (
    has_array_form,
    make_covariance,
    make_default_kernel,
    replace_theta,
    takes_vectors,
)
from mercer.gaussian_process._device_blocks import check_device_room, compute_device_noise
from mercer.gaussian_process._device_evidence import DeviceEvidence
from mercer.gaussian_process._evidence import Evidence, check_noise, check_room, compute_own_noise
from mercer.gaussian_process._inducing import InducingEvidence, choose_points
from mercer.gaussian_process._iterative import IterativeEvidence
from mercer.gaussian_process._prediction import ProcessPrediction
from mercer.gaussian_process._targets import check_targets, compute_scales, read_noise
from mercer.gaussian_process._tile import make_exact_evidence

# The most rows that "auto" factorises, where memory allows: one evaluation of the evidence then takes minutes on two
# cores.
_MOST_EXACT = 12_000
# The most rows for which "auto" iterates: an evaluation takes minutes here too.
_MOST_ITERATIVE = 50_000
_CURE = "use solver='iterative', which keeps no such matrix, or solver='inducing'"


class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, ProcessPrediction, Climbing, Estimator):
    """Gaussian process regression.

    A function f has the prior f ~ N(0, k), and targets are y_i = f(x_i) + e_i with noise of variance s_i (``alpha``,
    plus white noise of the kernel). With C = K + diag(s), predictions at x are Gaussian with

        mean k(x)^T C^-1 y,    variance k(x, x) - k(x)^T C^-1 k(x),

    and the free hyper-parameters of the kernel are those of the greatest evidence

        log p(y) = -1/2 y^T C^-1 y - 1/2 log |C| - n/2 log 2 pi.

    Parameters
    ----------
    kernel : a kernel of mercer.kernels or of scikit-learn or None, default=None
        The prior covariance; None is ``Constant(1.0) * RBF(1.0)``.
    alpha : a number in [0, inf) or an array-like, default=1e-10
        The variance of the noise, or one for each row.
    optimizer : one of 'fmin_l_bfgs_b' or a callable or None, default='fmin_l_bfgs_b'
        How hyper-parameters are chosen. The word is scikit-learn's; the method is Newton's in a box, with the average
        of observed and expected information as curvature far from a maximum and BFGS near to it. More than 256 rows
        of an amplitude times RBF or Matern of one length scale, with white noise or without, have curvatures of their
        own; without noise, the climb starts where one on parts of the rows has ended. A callable is called
        as ``optimizer(obj_func, initial_theta, bounds=bounds)`` and returns theta and the least value; None keeps them
        as given.
    n_restarts_optimizer : an integer in [0, inf), default=0
        Further starts, drawn log-uniformly within the bounds; all starts climb side by side.
    normalize_y : a boolean, default=False
        Whether targets are given mean zero and variance one first; predictions are in the units given.
    copy_X_train : a boolean, default=True
        Whether the model keeps a copy of the rows, not the array that was given.
    n_targets : an integer in [1, inf) or None, default=None
        The number of targets, for samples of the prior.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed of restarts, of probes of the iterative solver and of inducing points.
    solver : one of 'auto', 'exact', 'iterative', 'inducing', default='auto'
        'exact' factorises C. 'iterative' solves by preconditioned conjugate gradients on tiles of kernels and
        estimates log |C| by Lanczos' method on random probes. 'inducing' bounds the evidence from below by a process
        that is known at ``n_inducing`` points (Titsias). 'auto' is the first whose memory and time are in bounds.
    n_inducing : an integer in [1, inf), default=512
        Inducing points of 'inducing', and columns of the preconditioner of 'iterative' at most.
    tol : a number in [0, inf), default=0.0001
        The climb ends where the derivatives of the evidence by the logarithms of hyper-parameters are below this, or
        where what is left to gain is lost in the rounding of the evidence.
    max_iter : an integer in [1, inf), default=200
        The most evaluations of the evidence.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the climb ends with what it has.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all that are free. Never changes a result.

    Attributes
    ----------
    X_train_, y_train_ : ndarray
        Rows and targets (normalised) of the fit, without rows of weight zero.
    kernel_ : kernel
        With the hyper-parameters found.
    L_ : ndarray of shape (n, n)
        The lower Cholesky factor of C; with 'inducing', of the kernels between inducing points.
    alpha_ : ndarray of shape (n,) or (n, n_targets)
        C^-1 y; with 'inducing', the weights of the inducing points.
    log_marginal_likelihood_value_ : float
        The evidence at ``kernel_``, or its estimate or bound; see ``solver_used_``.
    noise_variance_, weight_ : ndarray of shape (n,); weight_ may be None
        The noise of each row and its weight.
    jitter_ : float
        What had to be added to the diagonal of C beyond the noise for it to have a factor.
    inducing_points_ : ndarray of shape (n_inducing, n_features), inducing_factor_ : ndarray
        With 'inducing' only.
    solver_used_ : str
        'exact', 'iterative' or 'inducing'.
    history_, converged_, n_iter_, certificate_
        How the climb went, evaluation by evaluation; the certificate is the largest derivative of the evidence, or the
        gain still expected beside the rounding of the evidence where that ended it; of estimates there is none.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Notes
    -----
    'exact' costs n^3 multiplications an evaluation, shared by all threads with the same bits on any number of them,
    and 16 n^2 bytes. 'iterative' costs some dozens of n^2 d and O(n * n_inducing) memory; its evidence is an estimate
    with fixed probes, its means are exact to 1e-8. 'inducing' costs n n_inducing^2. A row of weight two is the row
    twice, with noise of its own each time. Rows: NumPy, frames; with scikit-learn's kernels anything these take; torch
    and CuPy arrays on a device, by 'exact' and with 16 n^2 bytes there, of kernels whose derivatives have a closed form
    (constants, white noise, RBF, Matern of 1/2, 3/2 and 5/2, RationalQuadratic, their sums, products and powers).

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006. J. R. Gardner and others,
    GPyTorch: blackbox matrix-matrix inference, 2018. M. Titsias, Variational learning of inducing variables, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gaussian_process import GaussianProcessRegressor
    >>> from mercer.kernels import RBF
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> model = GaussianProcessRegressor(1.0 * RBF(), alpha=1e-4).fit(X, y)
    >>> mean, std = model.predict([[1.5], [9.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.5)) < 0.01), bool(std[1] > 10 * std[0])
    (True, True)
    """

    alpha: Any = parameter(Real(0) | Array(), default=1e-10)
    normalize_y: bool = parameter(Boolean(), default=False, after="n_restarts_optimizer")
    n_targets: int | None = parameter(Integer(1) | Nothing(), default=None, after="copy_X_train")
    solver: str = parameter(Choice("auto", "exact", "iterative", "inducing"), default="auto", after="random_state")
    n_inducing: int = parameter(Integer(1), default=512)

    _objective_moves = "up"
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the covariance of all pairs of rows is factorised, and the rows are kept: 16 n^2 + 8 n d bytes"
    }

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GaussianProcessRegressor":
        """Fit the process.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,) or None, default=None
            Weights: how often a row was seen, with noise of its own each time.

        Returns
        -------
        self : GaussianProcessRegressor
        """
        kernel = make_default_kernel() if self.kernel is None else self.kernel
        source, rows = self._open_process(X, y, sample_weight, kernel, "numbers")
        with one_blas_thread():
            evidence, known = self._prepare(source, rows, kernel)
        outcome = self._drive(
            self._make_climber([evidence], kernel),
            source,
            fitted=partial(self._list_attributes, evidence, known["y_train_"].ndim == 1, kernel),
            max_steps=self.max_iter,
            attributes=known,
        )
        self._warn_of_kernels([self.kernel_], rows, outcome)
        self._conclude(outcome)
        return self

    @property
    def _places(self) -> tuple[str, ...]:  # type: ignore[override]
        """Where rows may be: a device has the exact evidence only, of kernels in array-API operations."""
        return ("memory", "device") if self.solver in ("auto", "exact") and has_array_form(self.kernel) else ("memory",)

    def _prepare(self, source: Source, X: Any, kernel: Any) -> tuple[Any, dict[str, Any]]:
        """Return the evidence to climb, and the fitted attributes that are known before the climb."""
        if source.place == "device":
            return self._prepare_on_device(source, X, kernel)
        weight, y = source.weight, source.y.astype(np.float64)
        check_targets(y, self.n_targets)
        noise = read_noise(type(self).__name__, self.alpha, len(y))
        if self.copy_X_train:
            X = X.copy()
        # Rows of weight zero have no part in the likelihood.
        if weight is not None and not weight.all():
            kept = weight > 0
            X, y, noise, weight = X[kept], y[kept], noise[kept], weight[kept]
        mean, std = compute_scales(y, weight, self.normalize_y)
        y = (y - mean) / std
        known = {
            "X_train_": X, "y_train_": y, "kernel_": kernel, "noise_variance_": noise, "weight_": weight,
            "_y_train_mean": mean, "_y_train_std": std,
        }  # fmt: skip
        rows = X.astype(np.float64, copy=False) if takes_vectors(kernel) else X
        evidence, chosen = self._make_evidence(rows, y.reshape(len(y), -1), noise, weight, kernel)
        return evidence, known | chosen

    def _prepare_on_device(self, source: Source, X: Any, kernel: Any) -> tuple[Any, dict[str, Any]]:
        """Return the evidence and the known attributes for rows on a device, where all arrays stay."""
        name, xp, wide, put = type(self).__name__, source.xp, source.placement.wide, source.placement.put
        y, weight = xp.astype(source.y, wide), source.weight
        check_targets(y, self.n_targets)
        noise = put(read_noise(name, self.alpha, X.shape[0]))
        if weight is not None:
            weight = xp.astype(weight, wide)
            kept = xp.nonzero(weight > 0)[0]
            X, y, noise, weight = (xp.take(array, kept, axis=0) for array in (X, y, noise, weight))
            d = noise + compute_device_noise(make_covariance(kernel, name), xp, xp.astype(X, wide))
            check_noise(name, to_numpy(xp.min(d)))
        X = xp.asarray(X, copy=True) if self.copy_X_train else X
        # Scales are computed on the host: they are two values for each target.
        mean, std = compute_scales(to_numpy(y), None if weight is None else to_numpy(weight), self.normalize_y)
        y = (y - put(mean if y.ndim > 1 else mean[0])) / put(std if y.ndim > 1 else std[0])
        n = X.shape[0]
        what = f"the {n} x {n} covariance of the rows and its factor"
        cure = "Take fewer rows, or move them to memory and use solver='inducing'."
        check_device_room(name, X, 2.0 * n * n, what, cure)
        known = {
            "X_train_": X, "y_train_": y, "kernel_": kernel, "noise_variance_": noise, "weight_": weight,
            "_y_train_mean": put(mean), "_y_train_std": put(std), "solver_used_": "exact",
        }  # fmt: skip
        Y = xp.reshape(y, (y.shape[0], -1))
        return DeviceEvidence(xp, xp.astype(X, wide), Y, noise, weight), known

    def _make_evidence(self, X: Any, Y: Any, noise: Any, weight: Any, kernel: Any) -> tuple[Evidence, dict[str, Any]]:
        """Return the evidence that the parameter `solver` names, and the attributes that describe the choice."""
        name, n = type(self).__name__, len(Y)
        covariance = make_covariance(kernel, name)
        if weight is not None:
            check_noise(name, noise + compute_own_noise(covariance, covariance.prepare(X), X))
        used = self._choose_solver(n, takes_vectors(kernel))
        chosen: dict[str, Any] = {"solver_used_": used}
        if used == "exact":
            check_room(name, n, 2.0, _CURE)
            return make_exact_evidence(X, Y, noise, weight), chosen
        # The first child of the seed draws the restarts.
        seed = seed_sequence(self.random_state).spawn(2)[1]
        count = min(self.n_inducing, n)
        if used == "iterative":
            chosen["probe_seed_"] = seed.generate_state(4)
            evidence: Evidence = IterativeEvidence(X, Y, noise, weight, count, chosen["probe_seed_"])
        else:
            evidence = InducingEvidence(X, Y, noise, weight, choose_points(covariance, X, count, seed))
        require_memory(name, evidence.count_bytes(), f"solver={used!r}", "lower n_inducing")
        return evidence, chosen

    def _restore_evidence(self, X: Any, Y: Any) -> Any:
        """Return the evidence of a fitted model, from its attributes and its rows `X` and targets `Y`."""
        given = (X, Y, self.noise_variance_, self.weight_)
        if is_on_device(X):
            return DeviceEvidence(Placement.of(X).xp, *given)
        if self.solver_used_ == "inducing":
            return InducingEvidence(*given, self.inducing_points_)
        if self.solver_used_ == "iterative":
            return IterativeEvidence(*given, min(self.n_inducing, len(Y)), self.probe_seed_)
        return make_exact_evidence(*given)

    def _choose_solver(self, n: int, vectors: bool) -> str:
        """Return the solver that the parameter names; for "auto" one that suits `n` rows."""
        if self.solver != "auto":
            return self.solver
        if not vectors or (n <= _MOST_EXACT and is_allowed(16.0 * n * n)):
            return "exact"
        return "iterative" if n <= _MOST_ITERATIVE else "inducing"

    def _list_attributes(self, evidence: Any, flat: bool, kernel: Any, state: ClimbState) -> dict[str, Any]:
        """Return the fitted attributes of a `state` of the climb; `flat` says that y was one-dimensional."""
        theta = state.theta[state.best[0]]
        covariance = make_covariance(kernel, type(self).__name__).with_theta(theta)
        with one_blas_thread():
            attributes = evidence.fitted(covariance, self._threads())
        if flat:
            attributes["alpha_"] = attributes["alpha_"][:, 0]
        return {"kernel_": replace_theta(kernel, theta), **attributes}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Before a fit, predictions are those of the prior.
        tags.requires_fit = False
        return tags

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination of the means, averaged over targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        if place_of(X, y) == "memory":
            return float(super().score(X, y, sample_weight))
        weight = None if sample_weight is None else to_numpy(sample_weight)
        return float(r2_score(to_numpy(y), to_numpy(self.predict(X)), sample_weight=weight))

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True) -> Any:
        """Return the log marginal likelihood of the training targets.

        Parameters
        ----------
        theta : array-like of shape (n_free,) or None, default=None
            Logarithms of the hyper-parameters; None means those of ``kernel_``, whose value is known.
        eval_gradient : bool, default=False
            Whether to return the gradient by theta too; theta must be given.
        clone_kernel : bool, default=True
            If False, ``kernel_`` takes these hyper-parameters on.

        Returns
        -------
        value : float
        gradient : ndarray of shape (n_free,)
            If asked for.
        """
        if theta is None:
            if eval_gradient:
                raise ParameterError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        if not clone_kernel:
            self.kernel_ = replace_theta(self.kernel_, theta)
        vectors, y = takes_vectors(self.kernel_), self.y_train_
        if is_on_device(self.X_train_):
            placement = Placement.of(self.X_train_)
            X, y = placement.xp.astype(self.X_train_, placement.wide), placement.xp.reshape(y, (y.shape[0], -1))
        else:
            X, y = self.X_train_.astype(np.float64, copy=False) if vectors else self.X_train_, y.reshape(len(y), -1)
        kernel = make_covariance(self.kernel_, type(self).__name__).with_theta(theta)
        evidence = self._restore_evidence(X, y)
        with one_blas_thread():
            value, slope = evidence.evaluate(kernel, eval_gradient, self._threads())
        return (np.float64(value), slope) if eval_gradient else np.float64(value)
