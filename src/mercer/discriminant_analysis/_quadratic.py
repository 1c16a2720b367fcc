"""Quadratic discriminant analysis: Gaussian classes, each with its own covariance."""

import math
import numbers
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError
from scipy.special import xlogy

from mercer._base import Estimator, _crossovers
from mercer._base.joint_scores import JointScores, as_scores
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, HasFit, Nothing, Real, parameter
from mercer._base.priors import class_priors
from mercer._plain import plain
from mercer._solver import Dense
from mercer._solver.eigenpairs import find_eigenpairs
from mercer._solver.graded import find_graded_eigenpairs, is_graded
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._source.namespace import multiply_within_rows, to_numpy
from mercer._statistic import Statistic
from mercer._statistic.by_class import ClassMoments, number_labels
from mercer._stored import Stored, floats, members, part
from mercer._types import Array
from mercer.discriminant_analysis._class_covariance import fit_covariances, shrink_by_class
from mercer.discriminant_analysis._gaussian_classes import GaussianClasses
from mercer.errors import DataError


class SingularCovarianceError(DataError, LinAlgError):
    """A class has a covariance without an inverse."""


@plain
@dataclass(frozen=True, eq=False)
class QuadraticState:
    """Sums by class; priors; and of each class the variances along its principal axes (k, d), the axes (k, d, d), a map
    to columns without correlation and of variance one (k, d, d), and its covariance (k, d, d) or None.
    """

    sums: Any
    priors: Array
    means: Array
    scalings: Array
    rotations: Array
    maps: Array
    covariances: Array


@plain
@dataclass(frozen=True, eq=False)
class QuadraticScores:
    """offset_k - |(x - m_k)^T whitening_k|^2 / 2 for each row and class."""

    means: Array
    whitenings: Array
    offsets: Array

    _stored: ClassVar[dict[str, Stored]] = {
        "means": floats("classes, columns"),
        "whitenings": floats("classes, columns, *"),
        "offsets": floats("classes"),
    }

    def __call__(self, block: Block) -> Array:
        xp, means = block.xp, block.xp.astype(self.means, block.wide, copy=False)
        if block.n * means.shape[0] * means.shape[1] < _crossovers.SPLIT_SCORES:
            gaps = xp.astype(block.X, block.wide, copy=False)[None, :, :] - means[:, None, :]
            rows = gaps @ self.whitenings
            # log P_k - log|S_k| / 2 - |whitened gap|^2 / 2.
            return self.offsets - 0.5 * xp.sum(rows * rows, axis=2).T
        columns = []
        for k in range(means.shape[0]):
            rows = block.centre(means[k, :]) @ self.whitenings[k, :, :]
            columns.append(self.offsets[k] - 0.5 * multiply_within_rows(rows, rows, xp))
        return xp.stack(columns, axis=1)


class QuadraticDiscriminantAnalysis(JointScores, GaussianClasses):
    """Quadratic discriminant analysis: Gaussian classes, each with its own covariance.

    The classes have densities N(m_k, C_k) and priors P_k, so that by Bayes' rule a row x belongs to the class of
    largest

        score_k(x) = -log det C_k / 2 - (x - m_k)^T C_k^-1 (x - m_k) / 2 + log P_k

    whose boundaries are quadrics; with equal C_k it is :class:`LinearDiscriminantAnalysis`.

    Attributes
    ----------
    means_, priors_ : ndarray of shape (n_classes, n_features) and (n_classes,)
        Class means, and priors.
    scalings_ : list of ndarray of shape (n_features,)
        For each class, its variances along its principal axes, falling.
    rotations_ : list of ndarray of shape (n_features, n_features)
        For each class, its principal axes, in columns.
    covariance_ : list of ndarray of shape (n_features, n_features)
        C_k divided by the number of rows; only if stored.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean log-likelihood of rows and labels.

    Notes
    -----
    One pass, n d^2 multiplications, O(k d^2) memory ('auto' makes one pass more). Exact to rounding. Rows: NumPy,
    frames, files, streams (also such as can be read only once), Dask, devices. :meth:`from_parameters` makes the
    classifier of known means, covariances and priors.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman, The elements of statistical learning, 2009, section 4.3. J. H. Friedman,
    Regularized discriminant analysis, 1989.

    Examples
    --------
    >>> from mercer.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> QuadraticDiscriminantAnalysis().fit(X, y).score(X, y)
    0.98
    """

    solver: str = parameter(
        Choice("svd", "eigen"),
        default="svd",
        doc="Both take the eigenvectors of C_k. 'svd' goes with `reg_param`; 'eigen' with `shrinkage` and "
        "`covariance_estimator`.",
    )
    shrinkage: Any = parameter(
        Choice("auto") | Real(0, 1) | Nothing(),
        default=None,
        doc="The share of tr(C_k)/d I in C_k; 'auto' is that of Ledoit and Wolf, of standardised columns.",
    )
    priors: Any = parameter(
        ArrayRule() | Nothing(),
        default=None,
        doc="P_k in the order of the sorted labels; None means the classes' shares of the rows.",
    )
    reg_param: float = parameter(
        Real(0, 1),
        default=0.0,
        doc="With 'svd': the variances s along principal axes become (1 - reg_param) s + reg_param.",
    )
    store_covariance: bool = parameter(Boolean(), default=False, doc="Whether to keep C_k.")
    tol: float = parameter(
        Real(0),
        default=1.0e-4,
        doc="C_k is singular, which is an error, if a variance along a principal axis is at most this, both for the "
        "columns as they are and for columns of unit variance.",
    )
    covariance_estimator: Any = parameter(
        HasFit() | Nothing(), default=None, doc="Estimates C_k instead; for 'eigen', and rows in memory."
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "means_": floats("classes, columns"),
        "priors_": floats("classes"),
        "covariance_": members(floats("columns, columns"), "classes"),
        "scalings_": members(floats("*"), "classes"),
        "rotations_": members(floats("columns, *"), "classes"),
        "_scores": part("QuadraticScores"),
    }

    @property
    def _depends_on_units(self) -> tuple[str, ...]:  # type: ignore[override]
        """Without a share of the identity in covariances the discriminants are the same in any units."""
        if self.solver == "svd":
            return ("columns", "scale") if self.reg_param > 0 else ()
        return ("columns",) if isinstance(self.shrinkage, numbers.Real) else ()

    @property
    def _check_exceptions(self) -> dict[str, str]:  # type: ignore[override]
        if self.solver == "svd" and self.reg_param > 0:
            return Estimator._check_exceptions
        reason = "a class whose rows are alike, or fewer than columns, has no covariance to invert; the error says so"
        return Estimator._check_exceptions | {
            "check_array_api_input": reason,
            "check_sample_weights_shape": reason,
            "check_sample_weights_not_overwritten": reason,
            "check_sample_weight_equivalence_on_dense_data": reason,
        }

    @classmethod
    def from_parameters(
        cls, means: Any, covariances: Any, priors: Any, classes: Any = None
    ) -> "QuadraticDiscriminantAnalysis":
        """Return the optimal classifier of known Gaussian classes.

        Parameters
        ----------
        means : array-like of shape (n_classes, n_features)
            Class means.
        covariances : array-like of shape (n_classes, n_features, n_features)
            Class covariances.
        priors : array-like of shape (n_classes,)
            Prior probabilities.
        classes : array-like of shape (n_classes,) or None, default=None
            Labels in rising order; None means numbers from 0 on.

        Returns
        -------
        QuadraticDiscriminantAnalysis
            As if fitted.
        """
        means, covariances = (np.asarray(array, dtype=np.float64) for array in (means, covariances))
        chosen = class_priors(cls.__name__, priors, np.ones(len(means)), exact=True)
        model = cls(solver="eigen", priors=priors, tol=0.0)
        labels = np.arange(len(means)) if classes is None else np.asarray(classes)
        # Any positive weight: zero would mean a class without rows.
        axes = [model._principal(C, label, 2.0) for C, label in zip(covariances, labels, strict=True)]
        scalings, rotations, maps = (np.stack(part) for part in zip(*axes, strict=True))
        state = QuadraticState(None, chosen, means, scalings, rotations, maps, None)
        model.__dict__.update(model._describe(state, labels, "float64") | {"n_features_in_": means.shape[1]})
        return model

    def decision_function(self, X: Any) -> Any:
        """Return the scores of each row.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            log P_k p(x | k) up to a constant; of two classes, the second less the first.
        """
        scores = self._map(X, as_scores)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _sum_rows(self, source: Source, additive: bool) -> Statistic:
        n_classes = len(number_labels(source.y)[0]) if source.place == "memory" else 2
        # Each thread holds a few of the sums that it merges.
        n_bytes = 8.0 * n_classes * source.n_features**2 * (4 + 6 * source.threads)
        purpose = f"the covariances of {n_classes} classes"
        require_memory(type(self).__name__, n_bytes, purpose, "select columns, or use LinearDiscriminantAnalysis")
        if self.covariance_estimator is not None:
            self._needs_memory(source, "covariance_estimator", "use shrinkage")
        return ClassMoments("own")

    def _state(self, sums: Any, source: Source) -> Generator[Any, Any, tuple[Any, float]]:
        self._check_sums(sums)
        name = type(self).__name__
        if self.covariance_estimator is not None:
            covariances = np.stack(fit_covariances(self.covariance_estimator, name, source, sums.classes)[:-1])
        else:
            covariances = yield from shrink_by_class(sums, self.shrinkage)
        priors = class_priors(name, self.priors, sums.weights)
        axes = []
        for covariance, label, weight in zip(covariances, sums.classes, sums.weights, strict=True):
            axes.append((yield Dense(partial(self._principal, covariance, label, weight))))
        scalings, rotations, maps = (np.stack(part) for part in zip(*axes, strict=True))
        stored = None
        if self.store_covariance:
            # S = R diag(s) R^T.
            stored = np.stack([(R * s) @ R.T for s, R in zip(scalings, rotations, strict=True)])
        state = QuadraticState(sums, priors, sums.means, scalings, rotations, maps, stored)
        return state, _mean_log_likelihood(state)

    def _check_sums(self, sums: Any) -> None:
        n_classes = int((sums.weights > 0).sum())
        if n_classes < 2:
            raise DataError(
                f"{type(self).__name__}: The number of classes has to be greater than one. Got {n_classes} class; add "
                f"rows of another."
            )
        for label, count, weight in zip(sums.classes, sums.counts, sums.weights, strict=True):
            # A row of weight two is two rows, which are alike: a matter of rank.
            if count == 1 and weight <= 1:
                raise DataError(
                    f"{type(self).__name__}: y has only 1 sample in class {label}, covariance is ill defined. Add rows "
                    f"of it, or leave it out."
                )

    def _principal(self, covariance: Array, label: Any, weight: float) -> tuple[Array, Array, Array]:
        """Return variances along principal axes, in decreasing order, the axes, and a map to white columns.

        A class without rows gets the unit matrix: its weight is zero.
        """
        d = len(covariance)
        if weight == 0:
            return np.ones(d), np.eye(d), np.eye(d)
        values, vectors = find_eigenpairs(covariance, check_finite=True)
        # eigh sorts in rising order; the largest variance comes first here.
        values, vectors = values[::-1].copy(), vectors[:, ::-1].copy()
        share = self.reg_param if self.solver == "svd" else 0.0
        if self.solver == "svd":
            # Shrinking C towards the identity moves its eigenvalues and leaves its eigenvectors.
            values = (1.0 - share) * np.maximum(values, 0.0) + share
        if not (values.min() > self.tol or _is_full_rank(covariance, self.tol)):
            raise SingularCovarianceError(self._singular(label, weight, d))
        if is_graded(np.diagonal(covariance)):
            return _decompose_graded((1.0 - share) * covariance + share * np.eye(d))
        return values, vectors, vectors / np.sqrt(values)

    def _singular(self, label: Any, weight: float, d: int) -> str:
        message = f"{type(self).__name__}: The covariance matrix of class {label} is not full rank. "
        if self.solver == "svd" and weight <= d:
            return message + (
                f"When using `solver='svd'` the number of samples in each class should be more than the number of "
                f"features, but class {label} has {weight:g} samples and {d} features. Try using `solver='eigen'` and "
                f"setting the parameter `shrinkage` for regularization."
            )
        parameter = "shrinkage" if self.solver == "eigen" else "reg_param"
        return message + f"Increase the value of `{parameter}` to reduce the collinearity."

    def _attributes_of(self, state: QuadraticState, dtype: str) -> dict[str, Any]:
        return self._list_class_attributes(state.sums, dtype) | self._describe(state, state.sums.classes, dtype)

    def _describe(self, state: QuadraticState, classes: Array, dtype: str) -> dict[str, Any]:
        """Return the attributes of a state; `classes` are its labels."""
        with np.errstate(divide="ignore"):
            # log P_k - log det(C_k) / 2; the constant d log(2 pi) / 2 is the same for all classes.
            offsets = np.log(state.priors) - 0.5 * np.sum(np.log(state.scalings), axis=1)
        attributes = {
            "classes_": classes,
            "means_": state.means.astype(dtype),
            "priors_": state.priors.astype(dtype),
            "scalings_": list(state.scalings.astype(dtype)),
            "rotations_": list(state.rotations.astype(dtype)),
            # Kept, so that one row is scored in microseconds.
            "_scores": QuadraticScores(state.means.astype(dtype), state.maps, offsets),
        }
        if state.covariances is not None:
            attributes["covariance_"] = list(state.covariances.astype(dtype))
        return attributes

    def _log_priors(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(to_numpy(self.priors_).astype(np.float64))

    def _scorer(self) -> QuadraticScores:
        return self._scores


def _decompose_graded(covariance: Array) -> tuple[Array, Array, Array]:
    """Return what ``_principal`` does for columns in very different units.

    Distances to a mean add up terms of all columns, in which entries that are small beside others must be right: the
    map is that of columns of variance one, put back into their units.
    """
    unit = np.sqrt(np.diagonal(covariance))
    correlations = covariance / unit[:, None] / unit
    values, vectors = find_eigenpairs(correlations)
    maps = vectors / np.sqrt(values) / unit[:, None]
    rows, variances = find_graded_eigenpairs(covariance, len(covariance) * float(np.finfo(np.float64).eps))
    return variances, np.ascontiguousarray(rows.T), maps


def _mean_log_likelihood(state: QuadraticState) -> float:
    """Return the mean log-likelihood of rows and labels, class by class from the scatter."""
    sums, total = state.sums, 0.0
    for k, weight in enumerate(sums.weights):
        # The scatter in white columns, diag(M^T S M), is the Mahalanobis sum.
        white = np.sum((sums.scatter[k] @ state.maps[k]) * state.maps[k])
        logarithms = np.sum(np.log(2.0 * math.pi * state.scalings[k]))
        total -= 0.5 * (weight * float(logarithms) + float(white))
    return (total + float(xlogy(sums.weights, state.priors).sum())) / sums.weight


def _is_full_rank(covariance: Array, tol: float) -> bool:
    """Return whether columns of unit variance with these correlations have a variance above `tol` in all directions.

    This does not depend on the columns' units: rows divided by 100 are of the same rank.
    """
    spread = np.sqrt(np.diagonal(covariance))
    if not spread.all():
        return False
    correlations = covariance / spread[:, None] / spread
    return bool(np.linalg.eigvalsh(correlations)[0] > tol)
