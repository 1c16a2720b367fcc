"""Predictions of a Gaussian process: means, deviations, covariances, gradients by inputs, samples, left-out rows."""

import warnings
from contextlib import nullcontext
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from mercer._base import Estimator, few_rows, open_new_rows, seed_sequence
from mercer._base.model_placement import check_placement
from mercer._base.parameter import attribute
from mercer._base.validation import check_rows
from mercer._solver.tiled_cholesky import inverse_factor
from mercer._source import place_of
from mercer._source.memory import require_memory
from mercer._source.placement import is_on_device
from mercer._source.threads import one_blas_thread, run_numbered
from mercer._stored import Stored, alike, floats, part
from mercer._types import Array
from mercer.errors import ParameterError, UnsupportedError
from mercer.gaussian_process._covariance import Foreign, make_covariance, make_default_kernel, takes_vectors
from mercer.gaussian_process._device_evidence import predict_on_device
from mercer.gaussian_process._evidence import compute_own_noise
from mercer.gaussian_process._iterative import IterativeEvidence, IterativeTerms, Products
from mercer.gaussian_process._terms import ExactTerms, InducingTerms, Terms
from mercer.kernels import Kernel, Prepared

# Values in a tile of kernel values between rows to predict and points: 16 MB of float64.
_TILE = 2**21
# The most values in rows to predict for which a BLAS computes the product of the mean on one thread in any case.
_FEW = 8
_NEGATIVE = "Predicted variances smaller than 0. Setting those variances to 0."
_READY: "WeakKeyDictionary[Any, Any]" = WeakKeyDictionary()


class ProcessPrediction(Estimator):
    """The predictions of a fitted process; before a fit, those of its prior."""

    _stored: ClassVar[dict[str, Stored]] = {
        "kernel_": part("Kernel"),
        "y_train_": floats("rows | rows, targets"),
        **alike(floats(" | rows | none"), "noise_variance_", "weight_", "jitter_"),
        **alike(floats(" | *"), "_y_train_mean", "_y_train_std"),
        "alpha_": floats("bases | bases, targets"),
        **alike(floats("bases, bases | none"), "L_", "inducing_factor_"),
        "inducing_points_": floats("bases, columns | none"),
    }

    n_targets: int | None = attribute()
    n_inducing: int = attribute()
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

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False, return_gradient: bool = False) -> Any:
        """Predict the mean at each row, with deviations, covariance and gradients if asked; before a fit, by the prior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
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
        kernel, points, prepared, terms = self._prepare_points()
        alpha = self.alpha_.reshape(len(points), -1).astype(np.float64, copy=False)
        # K alpha for the means; variances only if they are asked for.
        mean, variance = self._predict_tiles(kernel, prepared, X, alpha, terms if std else None)
        scale = self._y_train_std * np.ones(alpha.shape[1])
        results = [_squeeze(mean * scale + self._y_train_mean)]
        if std:
            results.append(_squeeze(np.sqrt(variance)[:, None] * scale))
        if cov:
            results.append(self._compute_joint(kernel, prepared, X, terms, scale))
        if gradient:
            results += self._compute_gradients(
                kernel, points, prepared, X, alpha, scale, np.sqrt(variance) if std else None, terms
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

    def _prepare_points(self) -> tuple[Kernel, Array, Prepared, Terms]:
        """Return the kernel, the points as they are and prepared, and the terms; a cache keeps them between calls."""
        # A new fit replaces both objects, so that their identity tells whether the cache is up to date.
        known = _READY.get(self)
        if known is not None and known[0] is self.kernel_ and known[1] is self.alpha_:
            return known[2]
        kernel = make_covariance(self.kernel_, type(self).__name__)
        points = self._points()
        points = points.astype(np.float64, copy=False) if takes_vectors(self.kernel_) else points
        ready = (kernel, points, kernel.prepare(points), self._make_terms(kernel, points))
        _READY[self] = (self.kernel_, self.alpha_, ready)
        return ready

    def _points(self) -> Any:
        return self.inducing_points_ if self.solver_used_ == "inducing" else self.X_train_

    def _make_terms(self, kernel: Kernel, points: Array) -> Terms:
        if self.solver_used_ == "inducing":
            return InducingTerms(self.L_, self.inducing_factor_)
        if self.solver_used_ == "iterative":
            # Products with the covariance do not read the targets; the evidence only carries rows, noise and
            # preconditioner.
            rank = min(self.n_inducing, len(points))
            Y, none = np.zeros((len(points), 1)), np.zeros(4, dtype=np.uint32)
            evidence = IterativeEvidence(points, Y, self.noise_variance_, self.weight_, rank, none)
            return IterativeTerms(Products(evidence, kernel, 1))
        return ExactTerms(self.L_.astype(np.float64, copy=False))

    def _predict_tiles(
        self, kernel: Kernel, prepared: Prepared, X: Any, alpha: Array, terms: Terms | None
    ) -> tuple[Any, Any]:
        """Return the means of all rows and, with `terms`, their variances."""
        m, size = len(X), max(1, _TILE // len(prepared))
        mean, variance = np.empty((m, alpha.shape[1])), np.empty(m if terms is not None else 0)

        def fill(number: int) -> None:
            part = slice(number * size, min((number + 1) * size, m))
            K = kernel.between(kernel.prepare(X[part], like=prepared), prepared)
            mean[part] = K @ alpha
            if terms is not None:
                variance[part] = kernel.diagonal(X[part]) - terms.explain_variance(K.T)

        # One tile needs no threads; starting them costs more than a prediction of a few rows.
        if m <= size:
            fill(0)
        else:
            run_numbered(fill, -(-m // size), self._threads())
        if variance.min(initial=0.0) < 0:
            warnings.warn(_NEGATIVE, stacklevel=5)
            np.maximum(variance, 0.0, out=variance)
        return mean, variance

    def _compute_joint(self, kernel: Kernel, prepared: Prepared, X: Any, terms: Terms, scale: Array) -> Array:
        subject, m = type(self).__name__, len(X)
        cure = "ask for return_std, or for fewer rows at a time"
        require_memory(subject, 8.0 * m * (m * (1 + len(scale)) + 2 * len(prepared)), f"the {m} x {m} covariance", cure)
        rows = kernel.prepare(X, like=prepared)
        covariance = kernel.between(rows, rows) - terms.explain_covariance(kernel.between(rows, prepared).T)
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
        terms: Any,
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
                S = terms.solve_rows(kernel.between(kernel.prepare(X[part], like=prepared), prepared).T)
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
