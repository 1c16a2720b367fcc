"""Gaussian process regression: a prior over functions, conditioned on what was seen of one."""

import warnings
from contextlib import nullcontext
from functools import partial
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.metrics import r2_score

from mercer._base import Estimator, few_rows, fitting, open_new_rows, seed_sequence
from mercer._base.interface import MultiOutputMixin
from mercer._base.model_placement import check_placement
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, attribute, parameter
from mercer._base.scoring import RegressorMixin
from mercer._base.validation import check_rows
from mercer._solver.device_matrices import check_device_room, compute_device_noise
from mercer._solver.tiled_cholesky import inverse_factor
from mercer._source import Source, place_of
from mercer._source.memory import is_allowed, require_memory
from mercer._source.namespace import to_numpy
from mercer._source.placement import Placement, is_on_device
from mercer._source.threads import one_blas_thread, run_numbered
from mercer._stored import Stored, alike, floats, part
from mercer._types import Array
from mercer.errors import ParameterError, UnsupportedError
from mercer.gaussian_process._closed_form import make_exact_evidence
from mercer.gaussian_process._covariance import (
    Foreign,
    has_array_form,
    make_covariance,
    make_default_kernel,
    replace_theta,
    takes_vectors,
)
from mercer.gaussian_process._device_evidence import DeviceEvidence, predict_on_device
from mercer.gaussian_process._evidence import Evidence, check_noise, check_room, compute_own_noise
from mercer.gaussian_process._explained_covariance import ExactExplanation, Explanation, InducingExplanation
from mercer.gaussian_process._hyperparameters import EvidenceModel
from mercer.gaussian_process._inducing import InducingEvidence, choose_points
from mercer.gaussian_process._iterative import IterativeEvidence, IterativeExplanation, Products
from mercer.gaussian_process._maximisation import MaximumState
from mercer.gaussian_process._targets import check_targets, compute_scales, read_noise
from mercer.kernels import Kernel, Prepared

# The most rows that "auto" factorises, where memory allows: one evaluation of the evidence then takes minutes on two
# cores.
_MOST_EXACT = 12_000
# The most rows for which "auto" iterates: an evaluation takes minutes here too.
_MOST_ITERATIVE = 50_000
_CURE = "use solver='iterative', which keeps no such matrix, or solver='inducing'"
# Values in a tile of kernel values between rows to predict and points: 16 MB of float64.
_TILE = 2**21
# The most values in rows to predict for which a BLAS computes the product of the mean on one thread in any case.
_FEW = 8
_NEGATIVE = "Predicted variances smaller than 0. Setting those variances to 0."
_READY: "WeakKeyDictionary[Any, Any]" = WeakKeyDictionary()


class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, EvidenceModel, Estimator):
    """Gaussian process regression.

    A function f has the prior f ~ N(0, k), and targets are y_i = f(x_i) + e_i with noise of variance s_i (``alpha``,
    plus white noise of the kernel). With C = K + diag(s), predictions at x are Gaussian with

        mean k(x)^T C^-1 y,    variance k(x, x) - k(x)^T C^-1 k(x),

    and the free hyper-parameters of the kernel are those of the greatest evidence

        log p(y) = -1/2 y^T C^-1 y - 1/2 log |C| - n/2 log 2 pi.

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

    alpha: Any = parameter(Real(0) | ArrayRule(), default=1e-10, doc="The variance of the noise, or one for each row.")
    normalize_y: bool = parameter(
        Boolean(),
        default=False,
        after="n_restarts_optimizer",
        doc="Whether targets are given mean zero and variance one first; predictions are in the units given.",
    )
    n_targets: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        after="copy_X_train",
        doc="The number of targets, for samples of the prior.",
    )
    solver: str = parameter(
        Choice("auto", "exact", "iterative", "inducing"),
        default="auto",
        after="random_state",
        doc="'exact' factorises C. 'iterative' solves by preconditioned conjugate gradients on tiles of kernels and "
        "estimates log |C| by Lanczos' method on random probes. 'inducing' bounds the evidence from below by a "
        "process that is known at ``n_inducing`` points (Titsias). 'auto' is the first whose memory and time "
        "are in bounds.",
    )
    n_inducing: int = parameter(
        Integer(1),
        default=512,
        doc="Inducing points of 'inducing', and columns of the preconditioner of 'iterative' at most.",
    )

    _documents = {
        "kernel": "The prior covariance; None is ``Constant(1.0) * RBF(1.0)``.",
        "optimizer": (
            "How hyper-parameters are chosen. The word is scikit-learn's; the method is Newton's in a box, with the "
            "average of observed and expected information as curvature far from a maximum and BFGS near to it. More "
            "than 256 rows of an amplitude times RBF or Matern of one length scale, with white noise or without, "
            "have curvatures of their own; without noise, the climb starts where one on parts of the rows has "
            "ended. A callable is called as ``optimizer(obj_func, initial_theta, bounds=bounds)`` and returns theta "
            "and the least value; None keeps them as given."
        ),
        "n_restarts_optimizer": "Further starts, drawn log-uniformly within the bounds; all starts climb side by side.",
        "random_state": "The seed of restarts, of probes of the iterative solver and of inducing points.",
        "tol": (
            "The climb ends where the derivatives of the evidence by the logarithms of hyper-parameters are below "
            "this, or where what is left to gain is lost in the rounding of the evidence."
        ),
        "max_iter": "The most evaluations of the evidence.",
    }

    _objective_moves = "up"
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the covariance of all pairs of rows is factorised, and the rows are kept: 16 n^2 + 8 n d bytes"
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "kernel_": part("Kernel"),
        "y_train_": floats("rows | rows, targets"),
        **alike(floats(" | rows | none"), "noise_variance_", "weight_", "jitter_"),
        **alike(floats(" | *"), "_y_train_mean", "_y_train_std"),
        "alpha_": floats("bases | bases, targets"),
        **alike(floats("bases, bases | none"), "L_", "inducing_factor_"),
        "inducing_points_": floats("bases, columns | none"),
    }
    solver_used_: str = attribute()
    X_train_: Array = attribute()
    y_train_: Array = attribute()
    kernel_: Any = attribute()
    L_: Array = attribute()
    alpha_: Array = attribute()
    noise_variance_: Array = attribute()
    weight_: Array = attribute()
    inducing_points_: Array = attribute()
    inducing_factor_: Array = attribute()
    _y_train_mean: Array = attribute()
    _y_train_std: Array = attribute()

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GaussianProcessRegressor":
        """Fit the process.

        Parameters
        ----------
        sample_weight : float or array-like of shape (n_samples,) or None, default=None
            Weights: how often a row was seen, with noise of its own each time.
        """
        kernel = make_default_kernel() if self.kernel is None else self.kernel
        source, rows = self._open_process(X, y, sample_weight, kernel, "numbers")
        with one_blas_thread():
            evidence, known = self._prepare(source, rows, kernel)
        outcome = self._drive(
            self._make_solver([evidence], kernel),
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
        """Return the evidence to maximise, and the fitted attributes that are known before the search."""
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

    def _list_attributes(self, evidence: Any, flat: bool, kernel: Any, state: MaximumState) -> dict[str, Any]:
        """Return the fitted attributes of a `state` of the search; `flat` says that y was one-dimensional."""
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
        """Return the coefficient of determination of the means, averaged over targets."""
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

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False, return_gradient: bool = False) -> Any:
        """Predict the mean at each row, with deviations, covariance and gradients if asked; before a fit, by the prior.

        Parameters
        ----------
        return_std : bool, default=False
            Whether to return standard deviations too. They include white noise of the kernel, not ``alpha``.
        return_cov : bool, default=False
            Whether to return the joint covariance too; not with `return_std`.
        return_gradient : bool, default=False
            Whether to return derivatives with respect to the columns of X, of the mean and with `return_std` of the
            deviation.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
        std : ndarray of the same shape, or cov of shape (n_samples, n_samples) or (n_samples, n_samples, n_targets)
            If asked for.
        mean_gradient : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_targets)
            If asked for.
        std_gradient : ndarray of the same shape
            If asked for with `return_std`; zero where the deviation is.
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        if place_of(X) == "device":
            return self._predict_on_device(X, return_std, return_cov, return_gradient)
        rows, dtype = self._read_rows(X)
        # Small products use one thread in any case, and the guard would cost more than they do.
        few = takes_vectors(self.kernel) and rows.size <= _FEW and not (return_std or return_cov or return_gradient)
        with nullcontext() if few else one_blas_thread():
            results = self._predict_in_memory(rows, return_std, return_cov, return_gradient)
        results = [array.astype(dtype, copy=False) for array in results]
        return results[0] if len(results) == 1 else tuple(results)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draw functions from the process and evaluate them at `X`; before a fit, from the prior.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        n_samples : int, default=1
        random_state : int, RandomState, Generator or None, default=0

        Returns
        -------
        samples : ndarray of shape (n_rows, n_samples) or (n_rows, n_targets, n_samples)
        """
        if place_of(X) == "device":
            self._need_memory("sample_y")
        mean, covariance = self.predict(X, return_cov=True)
        generator = np.random.default_rng(seed_sequence(random_state))
        if mean.ndim == 1:
            return _draw_samples(mean, covariance, n_samples, generator)
        parts = [_draw_samples(mean[:, k], covariance[..., k], n_samples, generator) for k in range(mean.shape[1])]
        return np.stack(parts, axis=1)

    def leave_one_out(self, return_std: bool = False) -> Any:
        """Predict each training row from all others, in closed form: m_i = y_i - a_i / (C^-1)_ii.

        Hyper-parameters stay those of all rows. A row of weight two is left out with its repetition.

        Parameters
        ----------
        return_std : bool, default=False

        Returns
        -------
        mean : ndarray of shape (n_rows,) or (n_rows, n_targets)
        std : ndarray of the same shape
            If asked for; as in :meth:`predict` with white noise of the kernel, and without ``alpha``.
        """
        if getattr(self, "solver_used_", None) != "exact":
            raise UnsupportedError(
                f"{type(self).__name__}: leave_one_out needs the factor of all rows; got solver_used_="
                f"{getattr(self, 'solver_used_', None)!r}. Fit with solver='exact'."
            )
        if is_on_device(self.L_):
            self._need_memory("leave_one_out")
        # (C^-1)_ii is the squared length of column i of the inverse factor, since C^-1 = V^T V.
        V = inverse_factor(self.L_, self._threads())
        precision = np.einsum("ij,ij->j", V, V)[:, None]
        Y = self.y_train_.reshape(len(V), -1).astype(np.float64)
        mean = Y - self.alpha_.reshape(Y.shape) / precision
        kernel = make_covariance(self.kernel_, type(self).__name__)
        own = compute_own_noise(kernel, kernel.prepare(self.X_train_), self.X_train_)
        weight = 1.0 if self.weight_ is None else self.weight_
        # 1 / (C^-1)_ii is the variance of the left-out target; its noise is subtracted, white noise added again.
        variance = 1.0 / precision[:, 0] - (self.noise_variance_ + own) / weight + own
        std = np.sqrt(np.maximum(variance, 0.0))[:, None] * np.ones(Y.shape[1])
        shape = self.y_train_.shape
        mean = (mean * self._y_train_std + self._y_train_mean).reshape(shape)
        return (mean, (std * self._y_train_std).reshape(shape)) if return_std else mean

    def _read_rows(self, X: Any) -> tuple[Any, Any]:
        """Return the rows to predict as float64, and the type of the answer."""
        if not takes_vectors(self.kernel):
            return X, np.float64
        fitted = hasattr(self, "X_train_")
        rows = few_rows(self, X) if fitted else None
        if rows is None:
            check_placement(self, X)
            rows = check_rows(self, X, reset=False)
        return rows.astype(np.float64, copy=False), rows.dtype

    def _predict_on_device(self, X: Any, std: bool, cov: bool, gradient: bool) -> Any:
        """Return the predictions for rows on a device, where the model is; all arrays stay there."""
        source = open_new_rows(self, X)
        if gradient:
            self._need_memory("return_gradient=True")
        xp, wide, dtype = source.xp, source.placement.wide, source.dtype
        alpha = xp.reshape(self.alpha_, (self.X_train_.shape[0], -1))
        kernel, points = make_covariance(self.kernel_, type(self).__name__), xp.astype(self.X_train_, wide)
        rows = xp.astype(source.whole(), wide)
        mean, variance, joint = predict_on_device(kernel, xp, points, self.L_, alpha, rows, std, cov)
        scale, shift = source.placement.put(self._y_train_std), source.placement.put(self._y_train_mean)
        results = [mean * scale + shift]
        if std:
            if bool(xp.any(variance < 0)):
                warnings.warn(_NEGATIVE, stacklevel=4)
            # Variances below zero are rounding.
            results.append(xp.sqrt(xp.maximum(variance, xp.zeros_like(variance)))[:, None] * scale)
        if cov:
            results.append(joint[:, :, None] * scale**2)
        results = [xp.astype(_squeeze(array), dtype) for array in results]
        return results[0] if len(results) == 1 else tuple(results)

    def _need_memory(self, what: str) -> None:
        raise UnsupportedError(
            f"{type(self).__name__}: {what} needs a model in memory; this one is on {vars(self).get('_placement')}. "
            f"Move it with mercer.to_device(model, 'cpu')."
        )

    def _predict_in_memory(self, X: Any, std: bool, cov: bool, gradient: bool) -> list[Array]:
        if not hasattr(self, "X_train_"):
            return self._predict_prior(X, std, cov, gradient)
        kernel, points, prepared, explanation = self._prepare_points()
        alpha = self.alpha_.reshape(len(points), -1).astype(np.float64, copy=False)
        # K alpha for the means; variances only if they are asked for.
        mean, variance = self._predict_tiles(kernel, prepared, X, alpha, explanation if std else None)
        scale = self._y_train_std * np.ones(alpha.shape[1])
        results = [_squeeze(mean * scale + self._y_train_mean)]
        if std:
            results.append(_squeeze(np.sqrt(variance)[:, None] * scale))
        if cov:
            results.append(self._compute_joint(kernel, prepared, X, explanation, scale))
        if gradient:
            results += self._compute_gradients(
                kernel, points, prepared, X, alpha, scale, np.sqrt(variance) if std else None, explanation
            )
        return results

    def _predict_prior(self, X: Any, std: bool, cov: bool, gradient: bool) -> list[Array]:
        if gradient:
            raise ParameterError(f"{type(self).__name__}: return_gradient needs a fitted model; call fit first.")
        kernel = make_covariance(make_default_kernel(True) if self.kernel is None else self.kernel, type(self).__name__)
        k = 1 if self.n_targets is None else self.n_targets
        results = [np.zeros((len(X), k)) if k > 1 else np.zeros(len(X))]
        if cov:
            rows = kernel.prepare(X)
            results.append(_repeat(kernel.between(rows, rows), k))
        if std:
            results.append(_repeat(np.sqrt(kernel.diagonal(X)), k))
        return results

    def _prepare_points(self) -> tuple[Kernel, Array, Prepared, Explanation]:
        """Return the kernel, the points as they are and prepared, and the explanation, kept between calls."""
        # A new fit replaces both objects, so that their identity tells whether the cache is up to date.
        known = _READY.get(self)
        if known is not None and known[0] is self.kernel_ and known[1] is self.alpha_:
            return known[2]
        kernel = make_covariance(self.kernel_, type(self).__name__)
        points = self._points()
        points = points.astype(np.float64, copy=False) if takes_vectors(self.kernel_) else points
        ready = (kernel, points, kernel.prepare(points), self._make_explanation(kernel, points))
        _READY[self] = (self.kernel_, self.alpha_, ready)
        return ready

    def _points(self) -> Any:
        return self.inducing_points_ if self.solver_used_ == "inducing" else self.X_train_

    def _make_explanation(self, kernel: Kernel, points: Array) -> Explanation:
        if self.solver_used_ == "inducing":
            return InducingExplanation(self.L_, self.inducing_factor_)
        if self.solver_used_ == "iterative":
            # Products with the covariance do not read the targets; the evidence only carries rows, noise and
            # preconditioner.
            rank = min(self.n_inducing, len(points))
            Y, none = np.zeros((len(points), 1)), np.zeros(4, dtype=np.uint32)
            evidence = IterativeEvidence(points, Y, self.noise_variance_, self.weight_, rank, none)
            return IterativeExplanation(Products(evidence, kernel, 1))
        return ExactExplanation(self.L_.astype(np.float64, copy=False))

    def _predict_tiles(
        self, kernel: Kernel, prepared: Prepared, X: Any, alpha: Array, explanation: Explanation | None
    ) -> tuple[Any, Any]:
        """Return the means of all rows and, with `explanation`, their variances."""
        m, size = len(X), max(1, _TILE // len(prepared))
        mean, variance = np.empty((m, alpha.shape[1])), np.empty(m if explanation is not None else 0)

        def fill(number: int) -> None:
            part = slice(number * size, min((number + 1) * size, m))
            K = kernel.between(kernel.prepare(X[part], like=prepared), prepared)
            mean[part] = K @ alpha
            if explanation is not None:
                variance[part] = kernel.diagonal(X[part]) - explanation.explain_variance(K.T)

        # One tile needs no threads; starting them costs more than a prediction of a few rows.
        if m <= size:
            fill(0)
        else:
            run_numbered(fill, -(-m // size), self._threads())
        if variance.min(initial=0.0) < 0:
            warnings.warn(_NEGATIVE, stacklevel=5)
            np.maximum(variance, 0.0, out=variance)
        return mean, variance

    def _compute_joint(
        self, kernel: Kernel, prepared: Prepared, X: Any, explanation: Explanation, scale: Array
    ) -> Array:
        subject, m = type(self).__name__, len(X)
        cure = "ask for return_std, or for fewer rows at a time"
        require_memory(subject, 8.0 * m * (m * (1 + len(scale)) + 2 * len(prepared)), f"the {m} x {m} covariance", cure)
        rows = kernel.prepare(X, like=prepared)
        covariance = kernel.between(rows, rows) - explanation.explain_covariance(kernel.between(rows, prepared).T)
        return covariance * scale[0] ** 2 if len(scale) == 1 else covariance[:, :, None] * scale**2

    def _compute_gradients(
        self,
        kernel: Kernel,
        points: Array,
        prepared: Prepared,
        X: Array,
        alpha: Array,
        scale: Array,
        std: Any,
        explanation: Any,
    ) -> list[Array]:
        """Return the derivatives by the inputs of means and, with `std`, of deviations."""
        if isinstance(kernel, Foreign):
            raise UnsupportedError(
                f"{type(self).__name__}: derivatives by inputs are known for kernels of mercer.kernels; got "
                f"{self.kernel_}. Write the kernel with those."
            )
        mean = np.empty((*X.shape, alpha.shape[1]))
        spread = np.zeros(X.shape)
        size = max(1, _TILE // points.size)
        for first in range(0, len(X), size):
            part = slice(first, min(first + size, len(X)))
            slopes = kernel.input_gradient(X[part], points)
            # d mean / dx = sum_n dk(x, x_n)/dx alpha_n.
            mean[part] = np.einsum("inj,nk->ijk", slopes, alpha)
            if std is not None:
                S = explanation.solve_rows(kernel.between(kernel.prepare(X[part], like=prepared), prepared).T)
                # Half of d variance / dx: dk(x, x)/dx / 2 less slopes times C^-1 k.
                spread[part] = _compute_diagonal_slopes(kernel, X[part]) - np.einsum("inj,ni->ij", slopes, S)
        results = [_squeeze(mean * scale)]
        if std is not None:
            # d sqrt(v) = dv / (2 sqrt(v)), and `spread` is half of dv.
            safe = np.where(std > 0, std, np.inf)
            results.append(_squeeze((spread / safe[:, None])[:, :, None] * scale))
        return results


def _compute_diagonal_slopes(kernel: Kernel, X: Array) -> Array:
    """Return half the derivative of k(x, x), which is the derivative by the first argument."""
    if kernel.stationary:
        return np.zeros(X.shape)
    return np.stack([kernel.input_gradient(x, x[None])[0] for x in X])


def _squeeze(values: Array) -> Array:
    return values[..., 0] if values.shape[-1] == 1 else values


def _repeat(values: Array, k: int) -> Array:
    return np.repeat(values[..., None], k, axis=-1) if k > 1 else values


def _draw_samples(mean: Array, covariance: Array, n_samples: int, generator: np.random.Generator) -> Array:
    """Draw samples by the symmetric root, since covariances of close rows are singular to rounding."""
    values, vectors = np.linalg.eigh(covariance.astype(np.float64))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return (mean[:, None] + root @ generator.standard_normal((len(mean), n_samples))).astype(mean.dtype)
