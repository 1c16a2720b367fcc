"""Linear discriminant analysis: Gaussian classes with one covariance, and Fisher's axes."""

from collections.abc import Generator
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, few_rows, open_new_rows
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.linear.classifier import LinearClassifier
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, HasFit, Instance, Integer, Nothing, Real, parameter
from mercer._base.priors import class_priors
from mercer._solver import Dense
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._statistic import Statistic
from mercer._statistic.by_class import ClassMoments
from mercer._statistic.shrinkage import shrink_covariance
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.discriminant_analysis._class_covariance import fit_covariances, shrink_by_class, shrink_total
from mercer.discriminant_analysis._gaussian_classes import GaussianClasses
from mercer.discriminant_analysis._linear_solvers import (
    Axes,
    DiscriminantState,
    Projected,
    by_eigenvectors,
    by_least_squares,
    by_rows,
    by_spectrum,
    combine_state,
    count_axes,
    mean_log_density,
)
from mercer.errors import DataError, ParameterError


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, LinearClassifier, TransformerMixin, GaussianClasses):
    """Linear discriminant analysis: Gaussian classes with one covariance; also Fisher's projection.

    The classes have densities N(m_k, S) and priors P_k, so that by Bayes' rule a row x belongs to the class of largest

        score_k(x) = x^T S^-1 m_k - m_k^T S^-1 m_k / 2 + log P_k

    which is linear in x (``coef_``, ``intercept_``); posteriors are the softmax of the scores. m_k are the class means
    (``means_``), S the covariance within classes, sum_k P_k C_k. The axes w that :meth:`transform` projects to maximise
    Fisher's criterion J(w) = w^T S_b w / w^T S w, with S_b the covariance of the class means.

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
    threshold_ : float
        Of two classes: where the projection of :meth:`transform` passes from one class to the other.
    xbar_ : ndarray of shape (n_features,)
        Prior mean of the class means, with 'svd' and 'lsqr'.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean log-likelihood of rows and labels.

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

    solver: str = parameter(
        Choice("svd", "lsqr", "eigen"),
        default="svd",
        kw_only=False,
        doc="'svd' whitens by the spectrum of the within-class correlation and leaves singular directions out; "
        "'lsqr' solves S c_k = m_k - m and combines the c_k to axes; 'eigen' solves S_b w = J S w. The last two "
        "can shrink S.",
    )
    shrinkage: Any = parameter(
        Choice("auto") | Real(0, 1) | Nothing(),
        default=None,
        kw_only=False,
        doc="The share of tr(S)/d I in S; 'auto' is that of Ledoit and Wolf, class by class, of standardised columns.",
    )
    priors: Any = parameter(
        ArrayRule() | Nothing(),
        default=None,
        kw_only=False,
        doc="P_k in the order of the sorted labels; None means the classes' shares of the rows.",
    )
    n_components: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        kw_only=False,
        doc="How many axes; None means min(n_classes - 1, n_features).",
    )
    store_covariance: bool = parameter(
        Boolean(), default=False, kw_only=False, doc="Whether 'svd' keeps S; the others do."
    )
    tol: float = parameter(
        Real(0),
        default=1e-4,
        kw_only=False,
        doc="Singular values of standardised rows within classes up to this count as zero, with 'svd'.",
    )
    covariance_estimator: Any = parameter(
        HasFit() | Nothing(),
        default=None,
        kw_only=False,
        doc="Estimates the covariance of each class instead; for 'lsqr' and 'eigen', and rows in memory.",
    )
    ridge: float = parameter(
        Real(0), default=0.0, doc="Added to the diagonal of S, in squared units of the columns; for 'lsqr' and 'eigen'."
    )
    class_weight: Any = parameter(
        Choice("balanced") | Instance(dict) | Nothing(),
        default=None,
        doc="Factors of the weights of each class's rows, by label; 'balanced' makes all classes weigh the same. "
        "They change S, the axes, and the priors that are not given. Labels must be in memory, as those of "
        "scikit-learn are.",
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "means_": floats("classes, columns"),
        "priors_": floats("classes"),
        "scalings_": floats("columns, *"),
        "explained_variance_ratio_": floats("*"),
        "fisher_criterion_": floats("*"),
        "xbar_": floats("columns"),
        "_most_axes": integers(low=0),
        "covariance_": floats("columns, columns"),
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

    @classmethod
    def from_parameters(
        cls, means: Any, covariance: Any, priors: Any, classes: Any = None, *, ridge: float = 0.0
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
        ridge : float, default=0.0
            Added to the diagonal of the covariance.

        Returns
        -------
        LinearDiscriminantAnalysis
            As if fitted.
        """
        means, covariance = (np.asarray(array, dtype=np.float64) for array in (means, covariance))
        chosen = class_priors(cls.__name__, priors, np.ones(len(means)), exact=True)
        # The prior mean of the class means, about which scores are written.
        centre = chosen @ means
        model = cls(solver="lsqr", priors=priors, ridge=ridge)
        covariance = covariance + ridge * np.eye(means.shape[1])
        n_axes = min(len(means) - 1, means.shape[1])
        axes = by_least_squares(means, centre, chosen, covariance, n_axes)
        parts = (axes.coef, axes.intercept, covariance, axes.scalings, axes.ratio, axes.criterion)
        labels = np.arange(len(means)) if classes is None else np.asarray(classes)
        state = DiscriminantState(None, n_axes, chosen, means, centre, *parts)
        model.__dict__.update(model._describe(state, labels, "float64") | {"n_features_in_": means.shape[1]})
        return model

    def transform(self, X: Any) -> Any:
        """Project rows to the axes that separate the classes best.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            With 'svd' and 'lsqr' rows are centred first.
        """
        if (rows := few_rows(self, X)) is not None:
            return (rows if self.solver == "eigen" else rows - self.xbar_) @ self._axes()
        check_is_fitted(self)
        centre = None if self.solver == "eigen" else self.xbar_
        return open_new_rows(self, X).map(Projected(self._axes(), centre))

    def _axes(self) -> Array:
        return self.scalings_[:, : self._n_features_out]

    @property
    def _n_features_out(self) -> int:
        return min(self._most_axes, self.scalings_.shape[1])

    def _check_batch(self) -> None:
        seen = self.__dict__.get("_seen")
        if seen is not None and seen.sums.kind == "diagonal":
            raise DataError(
                f"{type(self).__name__}: partial_fit cannot add to a fit of fewer rows than columns, which keeps no "
                f"products of columns; give all rows to partial_fit, of a new estimator."
            )
        if seen is not None and self._kind == "own" and seen.sums.kind != "own":
            raise ParameterError(
                f"{type(self).__name__}: priors must be given before the first rows, whose covariances were pooled by "
                f"their shares; got {self.priors!r} now. Call fit."
            )

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
        # The covariance, its copies, and the partial sums of each thread.
        n_bytes = 8.0 * source.n_features**2 * (6 + 4 * source.threads)
        require_memory(type(self).__name__, n_bytes, f"the covariance of {source.n_features} columns", "select columns")
        if self.covariance_estimator is not None:
            self._needs_memory(source, "covariance_estimator", "use shrinkage")
        return ClassMoments(self._kind)

    def _state(self, sums: Any, source: Source) -> Generator[Any, Any, tuple[Any, float]]:
        n_axes = count_axes(type(self).__name__, sums, self.n_components)
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
        return combine_state(sums, n_axes, priors, means, centre, axes, stored, density)

    def _wide_state(
        self, sums: Any, priors: Array, means: Array, centre: Array, n_axes: int, source: Source
    ) -> Generator[Any, Any, tuple[Any, float]]:
        heavy = np.ones(source.n_rows) if source.weight is None else source.weight
        numbers = np.clip(np.searchsorted(sums.classes, source.y), 0, len(sums.classes) - 1)
        rows = source.whole().astype(np.float64) - means[numbers]
        # Rows Z with Z^T Z = S, the covariance within classes: d x d products are never formed.
        rows *= np.sqrt(heavy / sums.weight)[:, None]
        axes, density = yield Dense(lambda: by_rows(rows, sums, means, centre, priors, n_axes, self.tol))
        return combine_state(sums, n_axes, priors, means, centre, axes, None, density)

    @property
    def threshold_(self) -> float:
        """Where the projection to the axis passes from the first of two classes to the second."""
        check_is_fitted(self)
        # `sparsify` makes the coefficients a sparse matrix.
        coef = (self.coef_.toarray() if issparse(self.coef_) else self.coef_)[0]
        # Rows whose class means are equal have no axis: a zero stands for it.
        axis = np.append(self._axes(), np.zeros((len(coef), 1)), axis=1)[:, 0]
        # The score is a multiple of the projection plus a constant, coef = factor * axis; with 'eigen' and priors that
        # are not the rows' shares, scikit-learn's covariance between classes, which is taken, has other axes.
        factor = float(coef @ axis) / (float(axis @ axis) or 1.0)
        along = factor != 0 and np.allclose(coef, factor * axis, rtol=1e-4, atol=1e-4 * np.abs(coef).max())
        if len(self.classes_) != 2 or not along:
            raise AttributeError(
                f"{type(self).__name__}: threshold_ exists for two classes whose scores are along the axis; got "
                f"{len(self.classes_)} classes and solver={self.solver!r}. Use solver='lsqr', or coef_ and intercept_."
            )
        shift = 0.0 if self.solver == "eigen" else float(self.xbar_ @ axis)
        return -float(self.intercept_[0]) / factor - shift

    def _estimate_covariances(
        self, sums: Any, priors: Array, source: Source
    ) -> Generator[Any, Any, tuple[Array, Array | None]]:
        """Return the covariance within classes, each weighted by its prior, and that of all rows if it is known."""
        within, total = yield from self._estimate_plainly(sums, priors, source)
        ridge = self.ridge * np.eye(len(within))
        return within + ridge, None if total is None else total + ridge

    def _estimate_plainly(
        self, sums: Any, priors: Array, source: Source
    ) -> Generator[Any, Any, tuple[Array, Array | None]]:
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
            # The ridge is in both, so that it does not change their difference, the covariance between classes.
            total = (yield from shrink_total(sums, self.shrinkage)) + self.ridge * np.eye(len(within))
        name = type(self).__name__
        return within, (yield Dense(lambda: by_eigenvectors(means, centre, priors, within, total, n_axes, name)))

    def _attributes_of(self, state: DiscriminantState, dtype: str) -> dict[str, Any]:
        return self._list_class_attributes(state.sums, dtype) | self._describe(state, state.sums.classes, dtype)

    def _describe(self, state: DiscriminantState, classes: Array, dtype: str) -> dict[str, Any]:
        """Return the attributes of a state; two classes have one score, that of the second less that of the first."""
        coef, intercept = state.coef, state.intercept
        if len(classes) == 2:
            with np.errstate(invalid="ignore"):
                # With two classes the difference of the scores decides.
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
