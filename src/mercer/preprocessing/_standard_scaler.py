"""Columns of mean zero and variance one, by the means and variances of the training rows."""

from collections.abc import Generator
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.blockwise import ColumnMap, ReversibleTransformer, refuse_infinite
from mercer._base.interface import OneToOneFeatureMixin
from mercer._base.parameter import Boolean, parameter
from mercer._source import Source
from mercer._source.namespace import to_numpy
from mercer._statistic.column_moments import ColumnMoments, ColumnMomentSums
from mercer._stored import Stored, floats, part
from mercer._types import Array
from mercer.errors import DataError


class StandardScaler(OneToOneFeatureMixin, ReversibleTransformer):
    r"""Centre each column and scale it to unit variance.

    .. math:: z_j = (x_j - m_j) / s_j, \qquad s_j = \sqrt{\textstyle\sum_i w_i (x_{ij} - m_j)^2 / \sum_i w_i}

    with the mean m (``mean_``) and the standard deviation s (``scale_``) of the rows given to ``fit``, w their weights.
    Other rows are transformed by these, never by their own.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,) or None
        m, NaN for a column without entries; None where neither it nor s is used.
    var_ : ndarray of shape (n_features,) or None
        The variance of each column; None without ``with_std``.
    scale_ : ndarray of shape (n_features,) or None
        s, and 1 for a column that is constant to rounding; None without ``with_std``.
    n_samples_seen_ : int, float or ndarray of shape (n_features,)
        Weight of the rows seen; for each column where entries are missing.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    One pass of a few operations a number, O(d) memory. Sums are float64 and centred block by block, so that columns far
    from zero keep their digits; float32 rows come out as float32, reckoned in float64 between. Missing entries (NaN) do
    not count, and stay missing. ``partial_fit`` gives the statistics of one fit to all rows. Rows: NumPy, sparse (where
    ``with_mean=False``), frames, files, streams (also such as can be read only once), Dask, devices.

    References
    ----------
    T. F. Chan, G. H. Golub and R. J. LeVeque, Algorithms for computing the sample variance, 1983.

    Examples
    --------
    >>> from mercer.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[1.0, 200.0], [3.0, 400.0]])
    >>> scaler.mean_, scaler.scale_
    (array([  2., 300.]), array([  1., 100.]))
    >>> scaler.transform([[4.0, 250.0]])
    array([[ 2. , -0.5]])
    """

    copy: bool = parameter(
        Boolean(), default=True, doc="Whether results are new arrays; False writes those of NumPy floats over the rows."
    )
    with_mean: bool = parameter(
        Boolean(), default=True, doc="Whether m is taken off. Sparse rows would not stay sparse: they need False."
    )
    with_std: bool = parameter(Boolean(), default=True, doc="Whether to divide by s.")

    _defined = "Means and variances are closed forms of sums over the rows, exact to rounding."
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _stored: ClassVar[dict[str, Stored]] = {
        "mean_": floats("columns | none"),
        "scale_": floats("columns | none"),
        "var_": floats("columns | none"),
        "_seen": part("ColumnMomentSums"),
    }
    _takes_gaps = True
    _takes_sparse = True

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "StandardScaler":
        """Find the means and variances of the columns."""
        self._learn(X, y, sample_weight)
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "StandardScaler":
        """Add rows to those that ``fit`` and earlier calls were given: the statistics are those of one fit to all."""
        self._learn(X, y, sample_weight, vars(self).get("_seen"))
        return self

    def _survey(self, source: Source, seen: ColumnMomentSums | None) -> Generator[Any, Any, ColumnMomentSums]:
        sums = yield ColumnMoments()
        if sums.infinite:
            refuse_infinite(self, sums.infinite)
        # Moments add up over time, so partial_fit equals one fit to all rows, to rounding.
        return sums if seen is None else seen + sums

    def _fitted(self, state: ColumnMomentSums) -> dict[str, Any]:
        # A column without known entries has mean and variance NaN.
        some = np.where(state.weights > 0, state.weights, np.nan)
        mean, variance = state.mean + 0.0 * some, state.scatter / some
        count: Any = state.weights
        # Weights that are whole numbers are counts of rows, which scikit-learn gives as integers.
        if (count == np.floor(count)).all():
            count = count.astype(np.int64)
        used = self.with_mean or self.with_std
        return {
            "mean_": mean if used else None,
            "var_": variance if self.with_std else None,
            "scale_": _find_scale(variance, mean, state.weights) if self.with_std else None,
            # scikit-learn gives one number where no column has missing entries, and an array otherwise.
            "n_samples_seen_": count if (count != count[0]).any() else count[0].item(),
            "_seen": state,
        }

    def _check_storage(self, source: Source) -> None:
        """Raise if sparse rows should be centred."""
        if source.is_sparse and self.with_mean:
            raise DataError(
                f"{type(self).__name__}: Cannot center sparse matrices: pass `with_mean=False` instead, or make the "
                f"rows dense; got {source.n_features} sparse columns."
            )

    def transform(self, X: Any, copy: bool | None = None) -> Array:
        """Centre and scale rows by the statistics of the fit.

        Parameters
        ----------
        copy : bool or None, default=None
            Whether the result is a new array; None means the parameter of that name.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            Where and what the rows are: a Dask array for those of Dask, a CSR matrix for sparse ones.
        """
        return self._map(X, not (self.copy if copy is None else copy))

    def inverse_transform(self, X: Any, copy: bool | None = None) -> Array:
        """Turn transformed rows back.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows as :meth:`transform` gives them, in memory or on a device.
        copy : bool or None, default=None
            Whether the result is a new array; None means the parameter of that name.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            Rows in the units of the fit.
        """
        return self._map_back(X, not (self.copy if copy is None else copy))

    def _make_map(self, back: bool = False) -> ColumnMap:
        mean, scale = (None if values is None else to_numpy(values) for values in (self.mean_, self.scale_))
        return ColumnMap(type(self).__name__, mean if self.with_mean else None, scale, back)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.with_mean
        return tags


def find_flat(variance: Array, mean: Array, weights: Array) -> Array:
    """Return which columns are constant: their variance may come from rounding alone.

    The bound is the one for sums in two passes (Chan, Golub and LeVeque). Fractional weights may sum to less than the
    number of operations that round, so that at least four are assumed.
    """
    rounding = np.maximum(weights, 4.0) * np.finfo(np.float64).eps
    with np.errstate(over="ignore", invalid="ignore"):
        return variance <= rounding * variance + (rounding * mean) ** 2


def _find_scale(variance: Array, mean: Array, weights: Array) -> Array:
    """Return standard deviations, and 1 where the variance may come from rounding alone."""
    with np.errstate(invalid="ignore"):
        return np.where(find_flat(variance, mean, weights), 1.0, np.sqrt(variance))
