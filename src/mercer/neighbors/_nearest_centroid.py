"""The nearest centroid classifier: each class is one point."""

import math
import warnings
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting
from mercer._base.class_model import ClassModel
from mercer._base.joint_scores import JointScores, as_scores
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Nothing, Real, parameter
from mercer._base.priors import class_priors
from mercer._native.sums import class_scores
from mercer._plain import plain
from mercer._source import Block, Source
from mercer._source.namespace import is_sparse_matrix, multiply_within_rows, to_numpy
from mercer._statistic import Statistic
from mercer._statistic.by_class import ClassMoments
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.neighbors import _crossovers

# Values copied and sorted at a time: 2 MiB.
_CHUNK = 2**18


def class_medians(source: Source, classes: Array) -> Array:
    """Return the median of each column over the rows of each class, (k, d), a few columns at a time."""
    X, medians = source.whole(), np.empty((len(classes), source.n_features))
    X = X.tocsc() if is_sparse_matrix(X) else X
    for k, label in enumerate(classes):
        rows = np.flatnonzero(source.y == label)
        weight = None if source.weight is None else source.weight[rows]
        # A few columns at a time, so that the copies stay small.
        step = max(1, _CHUNK // max(1, len(rows)))
        for start in range(0, source.n_features, step):
            part = X[:, start : start + step][rows] if is_sparse_matrix(X) else X[rows, start : start + step]
            values = part.toarray() if is_sparse_matrix(part) else part
            medians[k, start : start + step] = _median(values.astype(np.float64, copy=False), weight)
    return medians


def _median(values: Array, weight: Array) -> Array:
    """Return the weighted median, (d,); if a row ends the first half exactly, the mean of it and the next row."""
    if weight is None:
        return np.median(values, axis=0)
    values, weight = values[weight > 0], weight[weight > 0]
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    reached = np.cumsum(weight[order], axis=0)
    half = 0.5 * reached[-1]
    # Cumulated weights are rounded: a half reached up to 1e-12 counts as reached.
    low = np.argmax(reached >= half * (1.0 - 1e-12), axis=0)
    high = np.argmax(reached > half * (1.0 + 1e-12), axis=0)
    columns = np.arange(values.shape[1])
    return 0.5 * (ordered[low, columns] + ordered[high, columns])


@dataclass(frozen=True, eq=False)
class SquaredScores:
    """offset_k - |(x - c_k) * scale|^2 for each row and class."""

    centres: Array
    scale: Array
    offsets: Array

    def __call__(self, block: Block) -> Array:
        xp = block.xp
        if block.is_sparse:
            return self._of_sparse(block)
        if block.is_native and self.centres.size < _crossovers.CENTRE_PRODUCTS:
            scales = np.tile(np.asarray(self.scale, np.float64), (len(self.centres), 1))
            scores = np.empty((block.n, len(self.centres)))
            centres, offsets = (np.ascontiguousarray(part, np.float64) for part in (self.centres, self.offsets))
            class_scores.score_gaps(block.X, centres, scales, offsets, scores)
            return scores
        # |x - c|^2 = |x|^2 - 2 x . c + |c|^2 about the mean of the centres: one matrix product, and fewer digits
        # cancel.
        middle = xp.mean(self.centres, axis=0)
        rows, centres = block.centre(middle) * self.scale, (self.centres - middle) * self.scale
        own, lengths = (multiply_within_rows(part, part, xp) for part in (rows, centres))
        return (self.offsets - lengths) - own[:, None] + 2.0 * (rows @ centres.T)

    def _of_sparse(self, block: Block) -> Array:
        """Return the scores of sparse rows: |x|^2 - 2 x . c + |c|^2 needs stored values only."""
        squares = self.scale * self.scale
        own = block.X.multiply(block.X) @ squares
        lengths = np.sum(self.centres**2 * squares, axis=1)
        return self.offsets - (own[:, None] - 2.0 * (block.X @ (self.centres * squares).T) + lengths)


@dataclass(frozen=True, eq=False)
class AbsoluteScores:
    """offset_k - (sum_j |x_j - c_kj| scale_j)^2 for each row and class."""

    centres: Array
    scale: Array
    offsets: Array

    def __call__(self, block: Block) -> Array:
        xp = block.xp
        if block.is_sparse:
            return self._of_sparse(block)
        columns = []
        for k in range(self.centres.shape[0]):
            # The score is an offset for the prior less the squared Manhattan distance, in scaled columns.
            gaps = xp.sum(xp.abs(block.centre(self.centres[k, :])) * self.scale, axis=1)
            columns.append(self.offsets[k] - gaps * gaps)
        return xp.stack(columns, axis=1)

    def _of_sparse(self, block: Block) -> Array:
        """Return the scores of sparse rows: all-zero rows are sum |c| away, and stored values correct that."""
        X, n = block.X, block.n
        rows, columns = np.repeat(np.arange(n), np.diff(X.indptr)), []
        for k, centre in enumerate(self.centres):
            away = np.abs(centre) * self.scale
            gaps = np.abs(X.data - centre[X.indices]) * self.scale[X.indices] - away[X.indices]
            total = np.bincount(rows, gaps, n) + away.sum()
            columns.append(self.offsets[k] - total * total)
        return np.stack(columns, axis=1)


@plain
@dataclass(frozen=True, eq=False)
class CentroidState:
    """Sums by class, and the centres of the classes, means or medians, before any shrinking."""

    sums: Any
    centres: Array


def _is_euclidean(estimator: Any) -> bool:
    return estimator.metric == "euclidean"


class NearestCentroid(JointScores, ClassModel):
    """The nearest centroid classifier.

    A class is its centre c_k (``centroids_``): its mean, or with the metric 'manhattan' its median. A row belongs to
    the class whose centre is nearest. For two classes that is a plane half way between the means: the optimal decision
    between Gaussians of one spherical covariance.

    Attributes
    ----------
    centroids_ : ndarray of shape (n_classes, n_features)
        c_k.
    class_prior_ : ndarray of shape (n_classes,)
        P_k.
    deviations_ : ndarray of shape (n_classes, n_features)
        Distance of the centres from the mean of all rows, in standard errors; after shrinking.
    within_class_std_dev_ : ndarray of shape (n_features,)
        s.
    direction_, threshold_ : ndarray of shape (n_features,) and float
        Of two classes and the Euclidean metric: w of length one and b, such that rows with w . x > b belong to the
        second class. With equal priors w points from the first centre to the second, and b is half way.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean squared distance of rows from the centres of their
        classes, before shrinking.

    Notes
    -----
    One pass, two operations a number, O(k d) memory. Rows: NumPy, frames, SciPy sparse, files, streams (also such as
    can be read only once), Dask, devices; medians need all rows in memory, and a copy of a few columns at a time.

    ``predict`` takes the class of the largest score and of the largest probability, always. In scikit-learn it does not
    where priors are equal: there ``predict`` compares plain distances and ``predict_proba`` distances in standard
    deviations of each column, which disagree if the columns have different scales. Here both compare plain distances
    then, in units of the root mean variance of the columns within classes.

    References
    ----------
    R. Tibshirani, T. Hastie, B. Narasimhan and G. Chu, Diagnosis of multiple cancer types by shrunken centroids of gene
    expression, 2002.

    Examples
    --------
    >>> from mercer.neighbors import NearestCentroid
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> round(NearestCentroid().fit(X, y).score(X, y), 3)
    0.927
    """

    metric: str = parameter(
        Choice("euclidean", "manhattan"), default="euclidean", kw_only=False, doc="How near a centre is."
    )
    shrink_threshold: float | None = parameter(
        Real(0, math.inf, "neither") | Nothing(),
        default=None,
        doc="Draws the centres to the mean of all rows, by this many standard errors in each column, which removes "
        "columns that do not tell classes apart: nearest shrunken centroids.",
    )
    priors: Any = parameter(
        ArrayRule() | Choice("empirical", "uniform"),
        default="uniform",
        doc="Class priors: the classes' shares of the rows, all equal, or given. Unless they are equal, rows are "
        "judged by -|(x - c_k) / s|^2 + 2 log P_k with s the standard deviations within classes, column by "
        "column.",
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "centroids_": floats("classes, columns"),
        "class_prior_": floats("classes"),
        "deviations_": floats("classes, columns"),
        "within_class_std_dev_": floats("columns"),
    }
    _objective_moves: ClassVar[str | None] = "down"
    _takes_sparse = True
    _depends_on_units = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "NearestCentroid":
        """Fit the model."""
        self._learn(X, y, sample_weight, accept_sparse="csr")
        return self

    @available_if(_is_euclidean)
    @fitting
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> "NearestCentroid":
        """Fit to these rows and to all that ``fit`` and earlier calls were given: the model of one fit to all.

        Returns
        -------
        self
            The fitted estimator; every class must have had rows.
        """
        self._learn(X, y, sample_weight, partial=True, classes=classes, accept_sparse="csr")
        return self

    @available_if(_is_euclidean)
    def decision_function(self, X: Any) -> Any:
        """Return -|(x - c_k) / s|^2 + 2 log P_k for each row and class.

        With equal priors s is one number, the root mean variance of the columns within classes, so that the nearest
        centre scores highest; else it is the standard deviation of each column.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes, the second less the first.
        """
        scores = 2.0 * self._map(X, as_scores)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @available_if(_is_euclidean)
    def predict_proba(self, X: Any) -> Any:
        """Return the posteriors of Gaussian classes: the softmax of half the scores of :meth:`decision_function`."""
        return super().predict_proba(X)

    @available_if(_is_euclidean)
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of :meth:`predict_proba`."""
        return super().predict_log_proba(X)

    @property
    def direction_(self) -> Array:
        """The unit normal of the plane between two classes, on the side of the second."""
        return self._find_boundary()[0]

    @property
    def threshold_(self) -> float:
        """The value of ``direction_ . x`` above which a row belongs to the second class."""
        return self._find_boundary()[1]

    def _find_boundary(self) -> tuple[Array, float]:
        check_is_fitted(self)
        name = type(self).__name__
        if len(self.classes_) != 2 or self.metric != "euclidean":
            raise AttributeError(
                f"{name}: direction_ and threshold_ exist for two classes and metric='euclidean'; got "
                f"{len(self.classes_)} classes and {self.metric!r}."
            )
        judge = self._judge()
        centres, scale, offsets = judge.centres, judge.scale, judge.offsets
        # The squares of x drop out of the difference of -|(x - c_k) scale|^2 + offset_k, which leaves a plane.
        normal = 2.0 * scale**2 * (centres[1] - centres[0])
        middle = (centres[0] + centres[1]) / 2.0
        length = float(np.linalg.norm(normal))
        if length == 0:
            raise AttributeError(
                f"{name}: direction_ needs two different centres; got equal ones. Lower shrink_threshold."
            )
        return normal / length, float(normal @ middle + offsets[0] - offsets[1]) / length

    def _sum_rows(self, source: Source, additive: bool) -> Statistic:
        if self.metric == "manhattan":
            self._needs_memory(source, "metric='manhattan'", "use metric='euclidean'")
        return ClassMoments("diagonal")

    def _state(self, sums: Any, source: Source) -> Generator[Any, Any, tuple[Any, float]]:
        yield from ()
        self._check_sums(sums)
        centres = sums.means
        # The median minimises a sum of absolute deviations, as the mean does one of squares.
        if self.metric == "manhattan":
            centres = class_medians(source, sums.classes)
        state = CentroidState(sums, centres)
        squares = self._squares(state)
        if not squares.all():
            warnings.warn(
                f"{type(self).__name__}: self.within_class_std_dev_ has at least 1 zero standard deviation. Inputs "
                f"within the same classes for at least 1 feature are identical; it is not scaled.",
                stacklevel=7,
            )
        return state, float(squares.sum()) / sums.weight

    def _squares(self, state: CentroidState) -> Array:
        """Return the sum of squares of each column about the centres of the classes, (d,)."""
        # Scatter about a centre other than the mean is larger by n (mean - centre)^2.
        away = state.sums.weights[:, None] * (state.sums.means - state.centres) ** 2
        return np.sum(state.sums.scatter + away, axis=0)

    def _check_sums(self, sums: Any) -> None:
        name, present = type(self).__name__, int((sums.weights > 0).sum())
        if present < 2:
            raise DataError(f"{name}: The number of classes has to be greater than one; got {present} class. Add rows.")
        if present < len(sums.classes):
            lacking = sums.classes[sums.weights == 0]
            raise DataError(
                f"{name}: every class must have rows; got none yet of {lacking}. Give some in the first batch."
            )
        # The pooled variance divides by n - K, which must be positive.
        if sums.weight <= len(sums.classes):
            raise DataError(
                f"{name}: there must be more rows than classes; got {sums.weight:g} for {len(sums.classes)} classes. "
                f"Add rows."
            )
        if not np.any(sums.within() + sums.between()):
            raise DataError(f"{name}: All features have zero variance. Division by zero; add rows that differ.")

    def _priors(self, weights: Array) -> Array:
        if isinstance(self.priors, str):
            uniform = np.full(len(weights), 1.0 / len(weights))
            return uniform if self.priors == "uniform" else weights / weights.sum()
        return class_priors(type(self).__name__, self.priors, weights, verdict="Normalizing such that it sums to one.")

    def _attributes_of(self, state: CentroidState, dtype: str) -> dict[str, Any]:
        sums, total = state.sums, state.sums.weight
        # Pooled within-class standard deviation, with n - k degrees of freedom.
        spread = np.sqrt(self._squares(state) / (total - len(sums.classes)))
        # Standard errors of class mean minus overall mean; the median spread keeps columns of tiny spread from
        # dominating.
        errors = np.sqrt(1.0 / sums.weights - 1.0 / total)[:, None] * (spread + np.median(spread))
        with np.errstate(divide="ignore", invalid="ignore"):
            deviations = np.where(errors > 0, (state.centres - sums.mean) / errors, 0.0)
        centres = state.centres
        if self.shrink_threshold is not None:
            # Soft thresholding: deviations move towards zero by the threshold, and stop there.
            deviations = np.sign(deviations) * np.maximum(np.abs(deviations) - self.shrink_threshold, 0.0)
            centres = sums.mean + errors * deviations
        arrays = {
            "centroids_": centres,
            "deviations_": deviations,
            "within_class_std_dev_": spread,
            "class_prior_": self._priors(sums.weights),
        }
        return self._list_class_attributes(sums, dtype) | {name: value.astype(dtype) for name, value in arrays.items()}

    def _log_priors(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(to_numpy(self.class_prior_).astype(np.float64))

    def _scorer(self) -> Any:
        """Return the object that gives log p(x | k) P_k but for what all classes share, half of scikit-learn's scores.

        With equal priors the nearest centre scores highest.
        """
        priors = to_numpy(self.class_prior_).astype(np.float64)
        spread = to_numpy(self.within_class_std_dev_).astype(np.float64)
        if self._has_equal_priors():
            # Gaussians of one spherical covariance, whose variance is the mean of those of the columns.
            spread = np.full_like(spread, math.sqrt(float(np.mean(spread**2))))
        with np.errstate(divide="ignore"):
            return self._nearness(math.sqrt(0.5) / np.where(spread > 0, spread, 1.0), np.log(priors))

    def _judge(self) -> Any:
        """Return the object that decides: with equal priors by plain distances, without the rounding of a scale."""
        if not self._has_equal_priors():
            return self._scorer()
        return self._nearness(np.ones(self.n_features_in_), np.zeros(self.class_prior_.shape[0]))

    def _has_equal_priors(self) -> bool:
        priors = to_numpy(self.class_prior_)
        return bool(np.abs(priors * len(priors) - 1.0).max() <= 1e-5)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.metric == "manhattan":
            tags.array_api_support = False
        return tags

    def _nearness(self, scale: Array, offsets: Array) -> Any:
        kind = AbsoluteScores if self.metric == "manhattan" else SquaredScores
        return kind(to_numpy(self.centroids_).astype(np.float64), scale, offsets)
