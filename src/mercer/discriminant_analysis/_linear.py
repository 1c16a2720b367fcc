"""Linear discriminant analysis: Gaussian classes with one covariance, and Fisher's axes."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, few_rows, open_new_rows
from mercer._base.linear.classifier import LinearClassifier
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, HasFit, Integer, Nothing, Real, Rule
from mercer._base.priors import class_priors
from mercer._solver import Dense
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._statistic import Statistic
from mercer._statistic.by_class import ClassMoments
from mercer._statistic.shrinkage import shrink_covariance
from mercer._types import Array
from mercer.discriminant_analysis._class_covariance import fit_covariances, shrink_by_class, shrink_total
from mercer.discriminant_analysis._gaussian_classes import GaussianClasses
from mercer.discriminant_analysis._linear_solvers import (
    Axes,
    DiscriminantState,
    by_eigenvectors,
    by_least_squares,
    by_rows,
    by_spectrum,
    mean_log_density,
)
from mercer.errors import DataError, ParameterError

__all__ = ["LinearDiscriminantAnalysis"]


@dataclass(frozen=True, eq=False)
class _Projected:
    """The rows of a block along some axes, less a centre where there is one."""

    axes: Array
    centre: Array

    def __call__(self, block: Block) -> Array:
        # Differences are taken first: rows far from zero keep their digits.
        rows = block.X if self.centre is None else block.X - self.centre
        return block.xp.matmul(rows, self.axes)


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, LinearClassifier, TransformerMixin, GaussianClasses):
    """Linear discriminant analysis: Gaussian classes with one covariance; also Fisher's projection.

    The classes have densities N(m_k, S) and priors P_k, so that by Bayes' rule a row x belongs to the class of largest

        score_k(x) = x^T S^-1 m_k - m_k^T S^-1 m_k / 2 + log P_k

    which is linear in x (``coef_``, ``intercept_``); posteriors are the softmax of the scores. m_k are the class means
    (``means_``), S the covariance within classes, sum_k P_k C_k. The axes w that :meth:`transform` projects to maximise
    Fisher's criterion J(w) = w^T S_b w / w^T S w, with S_b the covariance of the class means.

    Parameters
    ----------
    solver : one of 'svd', 'lsqr', 'eigen', default='svd'
        'svd' whitens by the spectrum of the within-class correlation and leaves singular directions out; 'lsqr' solves
        S c_k = m_k - m and combines the c_k to axes; 'eigen' solves S_b w = J S w. The last two can shrink S.
    shrinkage : one of 'auto' or a number in [0, 1] or None, default=None
        The share of tr(S)/d I in S; 'auto' is that of Ledoit and Wolf, class by class, of standardised columns.
    priors : an array-like or None, default=None
        P_k in the order of the sorted labels; None means the classes' shares of the rows.
    n_components : an integer in [1, inf) or None, default=None
        How many axes; None means min(n_classes - 1, n_features).
    store_covariance : a boolean, default=False
        Whether 'svd' keeps S; the others do.
    tol : a number in [0, inf), default=0.0001
        Singular values of standardised rows within classes up to this count as zero, with 'svd'.
    covariance_estimator : an object with a method fit or None, default=None
        Estimates the covariance of each class instead; for 'lsqr' and 'eigen', and rows in memory.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all that are free. Never changes a result.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (n_classes, n_features) and (n_classes,)
        The scores, about the prior mean of the class means; of two classes, one row: second less first.
    means_, priors_ : ndarray of shape (n_classes, n_features) and (n_classes,)
        Class means, and priors.
    covariance_ : ndarray of shape (n_features, n_features)
        S, divided by the number of rows; with 'svd' only if stored.
    scalings_ : ndarray of shape (n_features, rank or n_features)
        The axes; within classes they have unit variance.
    fisher_criterion_ : ndarray of shape (n_components,)
        J along each axis: variance between classes over variance within.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of each axis in the sum of J.
    xbar_ : ndarray of shape (n_features,)
        Prior mean of the class means, with 'svd' and 'lsqr'.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean log-likelihood of rows and labels.
    n_features_in_, feature_names_in_
        Number and names of the columns.

    Notes
    -----
    One pass, n d^2 multiplications, O(d^2) memory (k d^2 with given priors or 'auto', which makes one pass more, two
    with 'eigen'); 'svd' of fewer rows than columns in memory, n^2 d and a copy of the rows. Exact to rounding. Rows:
    NumPy, frames, files, streams (also such as can be read only once), Dask, devices. :meth:`from_parameters` makes the
    classifier of known means, covariance and priors.

    References
    ----------
    R. A. Fisher, The use of multiple measurements in taxonomic problems, 1936. R. O. Duda, P. E. Hart and D. G. Stork,
    Pattern classification, 2001. O. Ledoit and M. Wolf, Honey, I shrunk the sample covariance matrix, 2004.

    Examples
    --------
    >>> from mercer.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> model.score(X, y), model.fisher_criterion_.round(2)
    (0.98, array([32.19,  0.29]))
    """

    _parameters: ClassVar[dict[str, Rule]] = {
        "solver": Choice("svd", "lsqr", "eigen"),
        "shrinkage": Choice("auto") | Real(0, 1) | Nothing(),
        "priors": ArrayRule() | Nothing(),
        "n_components": Integer(1) | Nothing(),
        "store_covariance": Boolean(),
        "tol": Real(0),
        "covariance_estimator": HasFit() | Nothing(),
        "n_jobs": Integer() | Nothing(),
    }

    @property
    def _check_exceptions(self) -> dict[str, str]:  # type: ignore[override]
        if self.solver != "eigen":
            return Estimator._check_exceptions
        reason = "classes whose rows are alike, or fewer than columns, have no covariance to invert; the error says so"
        names = ["check_sample_weights_shape"]
        if self.shrinkage is None:
            names += [
                "check_array_api_input",
                "check_sample_weights_not_overwritten",
                "check_sample_weight_equivalence_on_dense_data",
            ]
        return Estimator._check_exceptions | dict.fromkeys(names, reason)

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.n_jobs = n_jobs

    @classmethod
    def from_parameters(
        cls, means: Any, covariance: Any, priors: Any, classes: Any = None
    ) -> "LinearDiscriminantAnalysis":
        """Return the optimal classifier of known Gaussian classes.

        Parameters
        ----------
        means : array-like of shape (n_classes, n_features)
            Class means.
        covariance : array-like of shape (n_features, n_features)
            The covariance of every class.
        priors : array-like of shape (n_classes,)
            Prior probabilities.
        classes : array-like of shape (n_classes,) or None, default=None
            Labels in rising order; None means numbers from 0 on.

        Returns
        -------
        LinearDiscriminantAnalysis
            As if fitted.
        """
        means, covariance = (np.asarray(array, dtype=np.float64) for array in (means, covariance))
        chosen = class_priors(cls.__name__, priors, np.ones(len(means)), exact=True)
        centre = chosen @ means
        model = cls(solver="lsqr", priors=priors)
        n_axes = min(len(means) - 1, means.shape[1])
        axes = by_least_squares(means, centre, chosen, covariance, n_axes)
        parts = (axes.coef, axes.intercept, covariance, axes.scalings, axes.ratio, axes.criterion)
        labels = np.arange(len(means)) if classes is None else np.asarray(classes)
        state = DiscriminantState(None, n_axes, chosen, means, centre, *parts)
        model.__dict__.update(model._describe(state, labels, "float64") | {"n_features_in_": means.shape[1]})
        return model

    def transform(self, X: Any) -> Any:
        """Project rows to the axes that separate the classes best.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            With 'svd' and 'lsqr' rows are centred first.
        """
        if (rows := few_rows(self, X)) is not None:
            return (rows if self.solver == "eigen" else rows - self.xbar_) @ self._axes()
        check_is_fitted(self)
        centre = None if self.solver == "eigen" else self.xbar_
        return open_new_rows(self, X).map(_Projected(self._axes(), centre))

    def _axes(self) -> Array:
        return self.scalings_[:, : self._n_features_out]

    @property
    def _n_features_out(self) -> int:
        return min(self._most_axes, self.scalings_.shape[1])

    def _check_batch(self) -> None:
        seen = self.__dict__.get("_seen")
        if seen is not None and seen.sums.kind == "diagonal":
            message = (
                f"{type(self).__name__}: partial_fit cannot add to a fit of fewer rows than columns, which keeps no "
                f"products of columns; give all rows to partial_fit, of a new estimator."
            )
            raise DataError(message)
        if seen is not None and self._kind == "own" and seen.sums.kind != "own":
            message = (
                f"{type(self).__name__}: priors must be given before the first rows, whose covariances were pooled by "
                f"their shares; got {self.priors!r} now. Call fit."
            )
            raise ParameterError(message)

    def _is_wide(self, source: Source) -> bool:
        """Return whether to work with n x n products of rows: all rows are in memory and fewer than the columns."""
        needs_products = self.solver != "svd" or self.store_covariance
        return source.place == "memory" and not needs_products and source.n_rows < source.n_features

    @property
    def _kind(self) -> str:
        """Whether covariances are needed class by class: priors weigh them otherwise than the rows do."""
        weighs = self.priors is not None and (self.solver != "svd" or self.store_covariance)
        return "own" if self.shrinkage == "auto" or weighs else "pooled"

    def _sum_rows(self, source: Source, additive: bool) -> Statistic:
        # Products of rows cannot be added to: later rows would need products with these.
        if self._is_wide(source) and not additive:
            n_bytes = 16.0 * source.n_rows * source.n_features
            require_memory(type(self).__name__, n_bytes, "a copy of the centred rows", "select columns")
            return ClassMoments("diagonal")
        n_bytes = 8.0 * source.n_features**2 * (6 + 4 * source.threads)
        require_memory(type(self).__name__, n_bytes, f"the covariance of {source.n_features} columns", "select columns")
        if self.covariance_estimator is not None:
            self._needs_memory(source, "covariance_estimator", "use shrinkage")
        return ClassMoments(self._kind)

    def _state(self, sums: Any, source: Source) -> Generator[Any, Any, tuple[Any, float]]:
        n_axes = self._count_axes(sums)
        priors = class_priors(type(self).__name__, self.priors, sums.weights)
        # A class without rows so far stands at the common mean, and its prior is zero.
        means = np.where((sums.weights > 0)[:, None], sums.means, sums.mean)
        centre = priors @ means
        if sums.kind == "diagonal":
            return (yield from self._wide_state(sums, priors, means, centre, n_axes, source))
        within = covariance = sums.within() / sums.weight
        if self.solver == "svd":
            axes = yield Dense(lambda: by_spectrum(sums, means, centre, priors, n_axes, self.tol))
            if self.store_covariance:
                covariance, _ = yield from self._estimate_covariances(sums, priors, source)
        else:
            covariance, axes = yield from self._solve_axes(sums, priors, means, centre, n_axes, source)
        stored = covariance if self.solver != "svd" or self.store_covariance else None
        density = yield Dense(lambda: mean_log_density(within, covariance))
        return _combine_state(sums, n_axes, priors, means, centre, axes, stored, density)

    def _wide_state(
        self, sums: Any, priors: Array, means: Array, centre: Array, n_axes: int, source: Source
    ) -> Generator[Any, Any, tuple[Any, float]]:
        heavy = np.ones(source.n_rows) if source.weight is None else source.weight
        numbers = np.clip(np.searchsorted(sums.classes, source.y), 0, len(sums.classes) - 1)
        rows = source.whole().astype(np.float64) - means[numbers]
        # Rows Z with Z^T Z = S, the covariance within classes: d x d products are never formed.
        rows *= np.sqrt(heavy / sums.weight)[:, None]
        axes, density = yield Dense(lambda: by_rows(rows, sums, means, centre, priors, n_axes, self.tol))
        return _combine_state(sums, n_axes, priors, means, centre, axes, None, density)

    def _count_axes(self, sums: Any) -> int:
        """Check that the sums suffice, and return the number of axes: k class means span k - 1 directions."""
        n_classes, n_features = sums.means.shape
        if int((sums.weights > 0).sum()) < 2:
            message = (
                f"{type(self).__name__}: the rows must be of two classes at least; got one class, {sums.classes}. Add "
                f"rows of another."
            )
            raise DataError(message)
        if sums.counts.sum() <= n_classes:
            message = (
                f"{type(self).__name__}: The number of samples must be more than the number of classes; got "
                f"{int(sums.counts.sum())} for {n_classes}. Add rows."
            )
            raise DataError(message)
        most = min(n_classes - 1, n_features)
        if self.n_components is not None and self.n_components > most:
            message = (
                f"{type(self).__name__}: n_components cannot be larger than min(n_features, n_classes - 1). It must "
                f"be an integer in [1, {most}]; got {self.n_components}."
            )
            raise DataError(message)
        return self.n_components or most

    def _estimate_covariances(
        self, sums: Any, priors: Array, source: Source
    ) -> Generator[Any, Any, tuple[Array, Array | None]]:
        """Return the covariance within classes, each weighted by its prior, and that of all rows if it is known."""
        if self.covariance_estimator is not None:
            *parts, total = fit_covariances(self.covariance_estimator, type(self).__name__, source, sums.classes)
            return np.tensordot(priors, np.stack(parts), axes=1), total
        if sums.kind == "own":
            covariances = yield from shrink_by_class(sums, self.shrinkage)
            return np.tensordot(priors, covariances, axes=1), None
        pooled = sums.within() / sums.weight
        # Shrinkage by one weight is linear: shrinking the pooled covariance shrinks that of each class alike.
        return pooled if self.shrinkage is None else shrink_covariance(pooled, self.shrinkage), None

    def _solve_axes(
        self, sums: Any, priors: Array, means: Array, centre: Array, n_axes: int, source: Source
    ) -> Generator[Any, Any, tuple[Array, Axes]]:
        within, total = yield from self._estimate_covariances(sums, priors, source)
        if self.solver == "lsqr":
            return within, (yield Dense(lambda: by_least_squares(means, centre, priors, within, n_axes)))
        if total is None:
            total = yield from shrink_total(sums, self.shrinkage)
        name = type(self).__name__
        return within, (yield Dense(lambda: by_eigenvectors(means, centre, priors, within, total, n_axes, name)))

    def _attributes_of(self, state: DiscriminantState, dtype: str) -> dict[str, Any]:
        return self._list_class_attributes(state.sums, dtype) | self._describe(state, state.sums.classes, dtype)

    def _describe(self, state: DiscriminantState, classes: Array, dtype: str) -> dict[str, Any]:
        """Return the attributes of a state; two classes have one score, that of the second less that of the first."""
        coef, intercept = state.coef, state.intercept
        if len(classes) == 2:
            with np.errstate(invalid="ignore"):
                coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        arrays = {
            "coef_": coef,
            "intercept_": intercept,
            "means_": state.means,
            "priors_": state.priors,
            "covariance_": state.covariance,
            "scalings_": state.scalings,
            "explained_variance_ratio_": state.ratio,
            "fisher_criterion_": state.criterion,
            "xbar_": None if self.solver == "eigen" else state.centre,
        }
        known = {name: value.astype(dtype) for name, value in arrays.items() if value is not None}
        return known | {"classes_": classes, "_most_axes": state.n_axes}


def _combine_state(
    sums: Any, n_axes: int, priors: Array, means: Array, centre: Array, axes: Axes, covariance: Array, density: float
) -> tuple[DiscriminantState, float]:
    """Return the state, and the mean log-likelihood of rows and labels."""
    parts = (axes.coef, axes.intercept, covariance, axes.scalings, axes.ratio, axes.criterion)
    # log p(x, k) = log P_k + log p(x | k), averaged over the rows.
    likelihood = float(xlogy(sums.weights, priors).sum()) / sums.weight + density
    return DiscriminantState(sums, n_axes, priors, means, centre, *parts), likelihood
