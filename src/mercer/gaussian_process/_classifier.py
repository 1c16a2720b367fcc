"""Gaussian process classification by Laplace's approximation."""

from functools import partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from sklearn.gaussian_process.kernels import CompoundKernel
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, few_rows, fitting, open_new_rows
from mercer._base.model_placement import check_placement
from mercer._base.parameter import Boolean, Choice, Integer, attribute, parameter
from mercer._base.scoring import ClassifierMixin
from mercer._base.validation import check_labels, check_rows
from mercer._solver.device_matrices import check_device_room, compute_device_noise
from mercer._source import Source, place_of
from mercer._source.memory import require_memory
from mercer._source.namespace import to_numpy
from mercer._source.placement import HOST, Placement, is_on_device
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, members, part, size
from mercer._types import Array
from mercer.errors import ModelFileError, ParameterError, UnsupportedError
from mercer.gaussian_process._covariance import (
    has_array_form,
    make_covariance,
    make_default_kernel,
    replace_theta,
    takes_vectors,
)
from mercer.gaussian_process._device_laplace import (
    DeviceLaplaceEvidence,
    average_sigmoids_on_device,
    predict_latent_on_device,
)
from mercer.gaussian_process._evidence import compute_own_noise
from mercer.gaussian_process._hyperparameters import EvidenceModel
from mercer.gaussian_process._laplace import LaplaceEvidence, LaplaceModel, average_sigmoids, predict_latent
from mercer.gaussian_process._maximisation import MaximumState
from mercer.gaussian_process._targets import check_classes, list_problems
from mercer.kernels import Kernel

# Values in a tile of kernel values between rows to predict and points: 16 MB of float64.
_TILE = 2**21


class GaussianProcessClassifier(ClassifierMixin, EvidenceModel, Estimator):
    """Gaussian process classification.

    A latent function f ~ N(0, k) gives the probability sigmoid(f(x)) of the second of two classes. The posterior of f
    is approximated by a Gaussian about its mode (Laplace), with the evidence

        log q(y) = -1/2 f^T K^-1 f + sum_i w_i log p(y_i | f_i) - 1/2 log |1 + W^(1/2) K W^(1/2)|

    at the mode, W its second derivatives and w the ``sample_weight``; hyper-parameters are those of the greatest
    evidence. Several classes are several problems of two.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    kernel_ : kernel
        With the hyper-parameters found; of several problems, a tuple (with scikit-learn's kernels a CompoundKernel).
    kernels_ : tuple of kernels
        One for each problem.
    models_ : tuple of records
        One for each problem: ``pi_``, ``W_sr_``, ``L_``, ``y_train_``, the mode.
    X_train_ : ndarray of shape (n, n_features)
        The rows of the fit, without those of weight zero. This and the arrays of ``models_`` are where the rows were.
    log_marginal_likelihood_value_ : float
        The evidence, the mean over problems.
    history_, converged_, n_iter_, certificate_
        How the climb went, evaluation by evaluation; the objective is the sum of the evidences.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Notes
    -----
    A problem costs some ten factorisations of n^3 / 3 an evaluation and 32 n^2 bytes. Problems climb side by side. The
    probabilities integrate over the Gaussian of f exactly. A weight of two is the row twice; kernels with white noise,
    which would tell the two apart, take no weights. Rows: NumPy, frames; with scikit-learn's kernels anything these
    take; torch and CuPy arrays on a device, of kernels whose derivatives have a closed form, as in
    :class:`GaussianProcessRegressor`. There problems climb one after the other, and there are 16 n^2 bytes beside the
    factors of B, 8 n^2 bytes for each problem, which the model keeps there.

    References
    ----------
    C. K. I. Williams and D. Barber, Bayesian classification with Gaussian processes, 1998. C. E. Rasmussen and C. K. I.
    Williams, Gaussian Processes for Machine Learning, 2006, chapters 3 and 5.

    Examples
    --------
    >>> from mercer.gaussian_process import GaussianProcessClassifier
    >>> from mercer.kernels import RBF
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianProcessClassifier(1.0 * RBF(1.0)).fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    """

    max_iter_predict: int = parameter(
        Integer(1), default=100, after="n_restarts_optimizer", doc="The most Newton steps to a mode."
    )
    warm_start: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether Newton's steps begin at the modes of the last fit, where that had the same rows and classes.",
    )
    multi_class: str = parameter(
        Choice("one_vs_rest", "one_vs_one"),
        default="one_vs_rest",
        after="random_state",
        doc="Each class against all others, or every pair of classes, which gives votes and no probabilities.",
    )

    _documents = {
        "kernel": 'The prior covariance of f; None is ``Constant(1.0, "fixed") * RBF(1.0, "fixed")``.',
        "optimizer": "How hyper-parameters are chosen, as in :class:`GaussianProcessRegressor`.",
        "n_restarts_optimizer": "Further starts, drawn log-uniformly within the bounds.",
        "random_state": "The seed of restarts.",
        "tol": "The climb ends where derivatives of the evidence by logarithms of hyper-parameters are below this.",
        "max_iter": "The most evaluations of the evidence of each problem.",
    }

    _objective_moves = "up"
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the covariance of all pairs of rows is factorised, and the rows are kept: 32 n^2 + 8 n d bytes"
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "n_classes_": size("classes"),
        "kernels_": members(part("Kernel"), "models"),
        "models_": members(part("LaplaceModel"), "models"),
    }

    X_train_: Array = attribute()
    classes_: Array = attribute()
    n_classes_: int = attribute()
    kernels_: tuple[Any, ...] = attribute()
    models_: tuple[LaplaceModel, ...] = attribute()

    @property
    def _places(self) -> tuple[str, ...]:  # type: ignore[override]
        """Where rows may be: on a device too if the kernel computes in array-API operations."""
        return ("memory", "device") if has_array_form(self.kernel) else ("memory",)

    def _check_structure(self) -> None:
        for model in vars(self).get("models_", ()):
            if model.rows.max(initial=-1) >= len(self.X_train_) or len(self.kernels_) != len(self.models_):
                raise ModelFileError(
                    "GaussianProcessClassifier.models_ must have rows of X_train_; the file's have others."
                )
        n_models = len(vars(self).get("models_", ()))
        if n_models and n_models not in (1, len(self.classes_), len(self.classes_) * (len(self.classes_) - 1) // 2):
            raise ModelFileError(
                "GaussianProcessClassifier.models_ must be one, one a class or one a pair; the file has others."
            )

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GaussianProcessClassifier":
        """Fit the process.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels of two classes or more.
        sample_weight : float or array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice.
        """
        if isinstance(self.kernel, CompoundKernel):
            raise ParameterError("kernel cannot be a CompoundKernel")
        source, rows = self._open_process(X, y, sample_weight, self._prior(), "labels")
        problems, known = self._prepare(source, rows)
        outcome = self._drive(
            self._make_solver([evidence for evidence, _ in problems], self._prior()),
            source,
            fitted=partial(self._list_attributes, problems),
            max_steps=self.max_iter,
            attributes=known,
        )
        self._warn_of_kernels(list(self.kernels_), rows, outcome)
        self._conclude(outcome)
        return self

    def _prepare(self, source: Source, X: Any) -> tuple[list[Any], dict[str, Any]]:
        """Return the evidence and the row indices of each problem, and the attributes known before the search."""
        if source.place == "device":
            return self._prepare_on_device(source, X)
        y, weight = source.y, source.weight
        check_labels(y)
        X = X.copy() if self.copy_X_train else X
        if weight is not None:
            self._check_weights(X)
            # A row of weight zero has no likelihood, but its class would still count as a class.
            kept = weight > 0
            X, y, weight = X[kept], y[kept], weight[kept]
        classes = np.unique(y)
        check_classes(classes)
        # Four n x n matrices of float64 are in use at a time.
        require_memory(
            type(self).__name__, 32.0 * len(y) ** 2, f"the {len(y)} x {len(y)} covariance", "fit to fewer rows"
        )
        points = X.astype(np.float64, copy=False) if takes_vectors(self._prior()) else X
        weight = np.ones(len(y)) if weight is None else weight
        problems = [
            (
                LaplaceEvidence(
                    points[rows],
                    second.astype(np.float64),
                    weight[rows],
                    self.max_iter_predict,
                    self._choose_latent_start(number, len(rows)),
                ),
                rows,
            )
            for number, (rows, second) in enumerate(list_problems(np, y, list(classes), self.multi_class))
        ]
        known = {"X_train_": X, "classes_": classes, "n_classes_": len(classes)}
        return problems, known

    def _prepare_on_device(self, source: Source, X: Any) -> tuple[list[Any], dict[str, Any]]:
        """Return the same for rows on a device, where all arrays stay; only the classes come to the host."""
        name, xp, wide = type(self).__name__, source.xp, source.placement.wide
        y, weight = source.y, source.weight
        X = xp.asarray(X, copy=True) if self.copy_X_train else X
        if weight is not None:
            if bool(xp.any(compute_device_noise(make_covariance(self._prior(), name), xp, X[:1, :]) > 0)):
                self._refuse_weights()
            kept = xp.nonzero(weight > 0)[0]
            X, y, weight = (xp.take(array, kept, axis=0) for array in (X, y, weight))
        classes = np.sort(to_numpy(xp.unique_values(y)))
        check_classes(classes)
        listed = list_problems(xp, y, classes.tolist(), self.multi_class)
        sizes = [rows.shape[0] for rows, _ in listed]
        # Beside the factors of all problems, which the model keeps, a kernel matrix and the matrix that is factorised.
        n_values = 2.0 * max(sizes) ** 2 + sum(size**2 for size in sizes)
        what = f"the {max(sizes)} x {max(sizes)} covariance of the rows and factors of {len(sizes)} problem(s)"
        check_device_room(name, X, n_values, what, "Take fewer rows, or move them to memory.")
        points = xp.astype(X, wide)
        weight = xp.ones_like(points[:, 0]) if weight is None else weight
        problems = []
        for number, (rows, second) in enumerate(listed):
            t, start = xp.astype(second, wide), self._choose_latent_start(number, rows.shape[0], source.placement)
            own, heavy = xp.take(points, rows, axis=0), xp.take(weight, rows, axis=0)
            problems.append((DeviceLaplaceEvidence(own, t, heavy, self.max_iter_predict, start, xp), rows))
        return problems, {"X_train_": X, "classes_": classes, "n_classes_": len(classes)}

    def _choose_latent_start(self, number: int, n: int, placement: Placement = HOST) -> Array:
        """Return latent values to start from: those of the last fit, if `warm_start` and of `n` rows; else zeros."""
        models = getattr(self, "models_", ()) if self.warm_start else ()
        known = number < len(models) and models[number].latent.shape[0] == n
        # The last fit may have been elsewhere.
        return placement.put(to_numpy(models[number].latent).astype(np.float64) if known else np.zeros(n))

    def _check_weights(self, X: Any) -> None:
        kernel = make_covariance(self._prior(), type(self).__name__)
        if compute_own_noise(kernel, kernel.prepare(X[:1]), X[:1]).any():
            self._refuse_weights()

    def _refuse_weights(self) -> None:
        raise UnsupportedError(
            f"{type(self).__name__}: sample_weight cannot be used with white noise in the kernel, which tells a "
            f"row from its repetition; got {self.kernel}. Drop the noise, or repeat the rows."
        )

    def _list_attributes(self, problems: list[Any], state: MaximumState) -> dict[str, Any]:
        """Return the fitted attributes of a `state` of the search."""
        kernels, models = [], []
        for best, (evidence, rows) in zip(state.best, problems, strict=True):
            theta = state.theta[best]
            kernel = make_covariance(self._prior(), type(self).__name__).with_theta(theta)
            kernels.append(replace_theta(self._prior(), theta))
            with one_blas_thread():
                models.append(evidence.fitted(kernel, rows, self._threads()))
        value = float(np.mean([model.log_marginal_likelihood_value_ for model in models]))
        return {"kernels_": tuple(kernels), "models_": tuple(models), "log_marginal_likelihood_value_": value}

    @property
    def kernel_(self) -> Any:
        """The kernel, or those of all problems."""
        if len(self.kernels_) == 1:
            return self.kernels_[0]
        return self.kernels_ if isinstance(self.kernels_[0], Kernel) else CompoundKernel(list(self.kernels_))

    @property
    def base_estimator_(self) -> Any:
        """The record of the problem, or of all problems."""
        return self.models_[0] if len(self.models_) == 1 else self.models_

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose predicted class is their own."""
        if place_of(X, y) == "memory":
            return super().score(X, y, sample_weight)
        source = self._open(X, y, sample_weight, targets="labels", reset=False)
        right = source.xp.astype(self.predict(X) == source.y, source.placement.wide)
        weight = source.xp.ones_like(right) if source.weight is None else source.weight
        return float(weight @ right) / float(source.xp.sum(weight))

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True) -> Any:
        """Return the approximate log marginal likelihood of the labels, the mean over problems.

        Parameters
        ----------
        theta : array-like or None, default=None
            Logarithms of the hyper-parameters, of one kernel or of all one after the other; None means those found.
        eval_gradient : bool, default=False
            Whether to return the gradient by theta too; for two classes only.
        clone_kernel : bool, default=True
            If False, the fitted kernels take these hyper-parameters on.

        Returns
        -------
        value : float
        gradient : ndarray of shape (n_free,)
            If asked for.
        """
        check_is_fitted(self)
        if theta is None:
            if eval_gradient:
                raise ParameterError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        if eval_gradient and len(self.models_) > 1:
            raise UnsupportedError("Gradient of log-marginal-likelihood not implemented for multi-class GPC.")
        thetas = self._split_theta(np.asarray(theta, dtype=np.float64))
        evaluations = [self._evaluate_problem(number, part, eval_gradient) for number, part in enumerate(thetas)]
        if not clone_kernel:
            self.kernels_ = tuple(
                replace_theta(kernel, part) for kernel, part in zip(self.kernels_, thetas, strict=True)
            )
        value = np.float64(np.mean([value for value, _ in evaluations]))
        return (value, evaluations[0][1]) if eval_gradient else value

    def _split_theta(self, theta: Array) -> list[Array]:
        """Return the hyper-parameters of each problem, from one vector for all or one after the other."""
        size, count = len(make_covariance(self.kernels_[0], type(self).__name__).theta), len(self.kernels_)
        if len(theta) not in (size, size * count):
            raise ParameterError(
                f"Shape of theta must be either {size} or {size * count}. Obtained theta with shape {len(theta)}."
            )
        return [theta] * count if len(theta) == size else list(theta.reshape(count, size))

    def _evaluate_problem(self, number: int, theta: Array, slope: bool) -> tuple[float, Array]:
        """Return the evidence of problem `number` at `theta` and, with `slope`, its gradient."""
        kernel = make_covariance(self.kernels_[number], type(self).__name__).with_theta(theta)
        with one_blas_thread():
            return self._restore_evidence(number).evaluate(kernel, slope, self._threads())

    def _restore_evidence(self, number: int) -> LaplaceEvidence:
        """Return the evidence of problem `number` of a fitted model, from its record."""
        model, points = self.models_[number], self._points(number)
        arrays = model.y_train_, model.weight, model.latent
        if is_on_device(points):
            xp = Placement.of(points).xp
            t, weight, latent = arrays
            start = latent if self.warm_start else xp.zeros_like(latent)
            return DeviceLaplaceEvidence(points, t, weight, self.max_iter_predict, start, xp)
        # A model that comes from a device without float64 has float32.
        t, weight, latent = (array.astype(np.float64, copy=False) for array in arrays)
        return LaplaceEvidence(
            points, t, weight, self.max_iter_predict, latent if self.warm_start else np.zeros(len(t))
        )

    def _prior(self) -> Any:
        return make_default_kernel(fixed=True) if self.kernel is None else self.kernel

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class of each row."""
        xp, rows, _ = self._read_rows(X)
        if self.n_classes_ == 2:
            mean, _ = self._predict_latent(xp, rows, 0, variance=False)
            chosen = xp.astype(mean > 0, xp.int64)
        elif self.multi_class == "one_vs_rest":
            chosen = xp.argmax(self._compute_probabilities(xp, rows), axis=1)
        else:
            chosen = xp.argmax(self._count_votes(xp, rows), axis=1)
        return xp.take(self.classes_, chosen, axis=0)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class."""
        xp, rows, dtype = self._read_rows(X)
        if self.n_classes_ > 2 and self.multi_class == "one_vs_one":
            raise UnsupportedError(
                "one_vs_one multi-class mode does not support predicting probability estimates. Use one_vs_rest mode "
                "instead."
            )
        return xp.astype(self._compute_probabilities(xp, rows), dtype, copy=False)

    def latent_mean_and_variance(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the latent function of two classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        mean, variance : ndarray of shape (n_samples,)
        """
        xp, rows, dtype = self._read_rows(X)
        if self.n_classes_ > 2:
            raise UnsupportedError(
                "Returning the mean and variance of the latent function f is only supported for binary "
                "classification, received "
                f"{self.n_classes_} classes."
            )
        mean, variance = self._predict_latent(xp, rows, 0)
        return xp.astype(mean, dtype, copy=False), xp.astype(variance, dtype, copy=False)

    def _points(self, number: int) -> Any:
        """Return the rows of problem `number`, vectors in the widest type of where they are."""
        rows = self.models_[number].rows
        if is_on_device(self.X_train_):
            placement = Placement.of(self.X_train_)
            return placement.xp.astype(placement.xp.take(self.X_train_, rows, axis=0), placement.wide)
        points = self.X_train_[rows]
        return points.astype(np.float64, copy=False) if takes_vectors(self._prior()) else points

    def _read_rows(self, X: Any) -> tuple[Any, Any, Any]:
        """Return the namespace of rows to predict, the rows in its widest type, and the type of the answer."""
        check_is_fitted(self)
        if not takes_vectors(self._prior()):
            return np, np.asarray(X), np.float64
        if place_of(X) == "device":
            source = open_new_rows(self, X)
            return source.xp, source.xp.astype(source.whole(), source.placement.wide), source.dtype
        rows = few_rows(self, X)
        if rows is None:
            check_placement(self, X)
            rows = check_rows(self, X, reset=False)
        return np, rows.astype(np.float64, copy=False), rows.dtype

    def _predict_latent(self, xp: Any, X: Any, number: int, variance: bool = True) -> tuple[Array, Array]:
        """Return mean and variance of the latent function of problem `number`, computed tile by tile."""
        model = self.models_[number]
        kernel = make_covariance(self.kernels_[number], type(self).__name__)
        if xp is not np:
            return predict_latent_on_device(model, kernel, xp, self._points(number), X, variance)
        with one_blas_thread():
            points = kernel.prepare(self._points(number))
            size = max(1, _TILE // len(points))
            parts = [
                predict_latent(model, kernel, points, X[first : first + size], variance)
                for first in range(0, len(X), size)
            ]
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))  # type: ignore[return-value]

    def _compute_probabilities(self, xp: Any, X: Any) -> Array:
        """Return the probability of each class: of two classes exactly, else by normalising those against the rest."""
        average = average_sigmoids if xp is np else partial(average_sigmoids_on_device, xp)
        second = xp.stack(
            [average(*self._predict_latent(xp, X, number)) for number in range(len(self.models_))], axis=1
        )
        if second.shape[1] == 1:
            return xp.concat([1.0 - second, second], axis=1)
        total = xp.sum(second, axis=1, keepdims=True)
        one = xp.ones_like(second)
        return xp.where(total > 0, second / xp.where(total > 0, total, one), one / second.shape[1])

    def _count_votes(self, xp: Any, X: Any) -> Array:
        """Return the votes of the pairs for each class; latent values, scaled below a vote, break ties."""
        votes = [0.0] * self.n_classes_
        for number, (i, j) in enumerate(combinations(range(self.n_classes_), 2)):
            mean, _ = self._predict_latent(xp, X, number, variance=False)
            sure = mean / (3.0 * (xp.abs(mean) + 1.0)) / len(self.models_)
            second = xp.astype(mean > 0, mean.dtype)
            votes[j] = votes[j] + (second + sure)
            votes[i] = votes[i] + (1.0 - second - sure)
        return xp.stack(votes, axis=1)
