"""Columns of mean zero and variance one, by the means and variances of the training rows."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, few_rows, fitting, open_new_rows
from mercer._base.interface import OneToOneFeatureMixin, TransformerMixin
from mercer._base.model_placement import check_placement
from mercer._base.parameter import Boolean, parameter
from mercer._native.sums import columns
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Block, Source, open_place, open_source, place_of
from mercer._source.memory import require_memory
from mercer._source.namespace import namespace_of, to_numpy
from mercer._statistic.statistic import Statistic
from mercer._stored import Stored, floats, part
from mercer._types import Array
from mercer.errors import DataError

_EMPTY = np.empty(0)
_CERTIFICATE = Certificate.none("Means and variances are closed forms of sums over the rows, exact to rounding.")


@plain
@dataclass(frozen=True, eq=False)
class ColumnMomentSums:
    """Per column: the weight of the known entries, their mean, and their scatter around it.

    A column without entries has weight and mean zero. ``infinite`` counts infinite entries; if there are any, the other
    fields are meaningless.
    """

    weights: Array
    mean: Array
    scatter: Array
    infinite: float = 0.0

    def __add__(self, other: "ColumnMomentSums") -> "ColumnMomentSums":
        weights, mean, scatter = _merge_moments(
            (self.weights, self.mean, self.scatter), (other.weights, other.mean, other.scatter)
        )
        return ColumnMomentSums(weights, mean, scatter, self.infinite + other.infinite)


def _merge_moments(first: tuple[Array, ...], second: tuple[Array, ...]) -> tuple[Array, ...]:
    """Merge weights, means and scatters of two blocks, or of two tables with a row for each block."""
    xp = namespace_of(first[0])
    weights = first[0] + second[0]
    # Chan, Golub and LeVeque: with d = m2 - m1 and w = w1 + w2, the mean is m1 + (w2 / w) d and the scatter
    # S1 + S2 + (w1 w2 / w) d^2. No large sums of squares are subtracted.
    share = second[0] / xp.where(weights > 0, weights, xp.ones_like(weights))
    step = second[1] - first[1]
    return weights, first[1] + share * step, first[2] + second[2] + first[0] * share * step * step


@dataclass(frozen=True)
class ColumnMoments(Statistic):
    """Weight, mean and scatter of each column, over the entries that are not NaN."""

    def of(self, block: Block) -> ColumnMomentSums:
        if block.is_sparse:
            return _measure_stored(block)
        xp = block.xp
        rows = xp.astype(block.X, block.wide, copy=False)
        missing, zeros = xp.isnan(rows), xp.zeros_like(rows)
        if block.weight is not None:
            # A row of weight zero must not serve as pivot, nor spread infinity as 0 * inf.
            missing = missing | (block.weight == 0)[:, None]
        weights = xp.sum(block.weigh(xp.astype(~missing, block.wide)), axis=0)
        some = xp.where(weights > 0, weights, xp.ones_like(weights))
        # Subtract an entry of each column first: the mean of a constant column is then exact, and its scatter zero.
        pivot = xp.max(xp.where(missing, zeros - xp.inf, rows), axis=0)
        pivot = xp.where(weights > 0, pivot, xp.zeros_like(pivot))
        mean = pivot + xp.sum(block.weigh(xp.where(missing, zeros, rows - pivot)), axis=0) / some
        gaps = xp.where(missing, zeros, rows - mean)
        scatter = xp.sum(block.weigh(gaps * gaps), axis=0)
        return ColumnMomentSums(weights, mean, scatter, _count_infinite(block.X, mean, xp))

    def native_run(self, block: Any, unit: int) -> ColumnMomentSums:
        """Compute the moments of each block by compiled code, and merge the blocks level by level along their tree.

        A block with NaN or infinity has a mean that is not finite; it is computed by :meth:`of` instead.
        """
        parts = list(block.parts(unit))
        table = np.zeros((3, len(parts), block.X.shape[1]))
        infinite = 0.0
        for place, piece in enumerate(parts):
            total = piece.total_weight()
            weight = _EMPTY if piece.weight is None else piece.weight
            columns.column_moments(piece.X, weight, total, *table[1:, place])
            table[0, place] = total
            # Compiled code expects finite entries; a mean that is not finite shows that some are missing or infinite.
            if not np.isfinite(table[1, place]).all():
                with np.errstate(over="ignore", invalid="ignore"):
                    sums = self.of(piece)
                table[:, place] = sums.weights, sums.mean, sums.scatter
                infinite += sums.infinite
        # Merge pairs at distance 1, 2, 4, ...: the order of the fixed binary tree over blocks, all pairs at once.
        step = 1
        while step < len(parts):
            later = table[:, step :: 2 * step]
            earlier = table[:, :: 2 * step][:, : later.shape[1]]
            earlier[:] = _merge_moments(tuple(earlier), tuple(later))
            step *= 2
        weights, mean, scatter = table[:, 0].copy()
        return ColumnMomentSums(weights, mean, scatter, infinite)


def _count_infinite(values: Array, mean: Array, xp: Any) -> float:
    """Count infinite values; they are searched only if a mean is not finite."""
    if bool(xp.all(xp.isfinite(mean))):
        return 0.0
    return float(xp.sum(xp.astype(xp.isinf(values), xp.int64)))


def _measure_stored(block: Block) -> ColumnMomentSums:
    """Compute the moments of sparse rows from their stored values; all others are zero."""
    stored, places, width = block.X.data.astype(np.float64, copy=False), block.X.indices, block.X.shape[1]
    heavy = np.repeat(np.ones(block.n) if block.weight is None else block.weight, np.diff(block.X.indptr))
    full = np.bincount(places, minlength=width) == block.n
    there, absent = ~np.isnan(stored), np.zeros(width)
    if not there.all():
        absent = np.bincount(places[~there], heavy[~there], width)
        stored, places, heavy = stored[there], places[there], heavy[there]
    # Rounding of fractional weights may leave a tiny negative rest.
    weights = np.maximum(block.total_weight() - absent, 0.0)
    # The pivot of a column with implicit zeros is zero; that of a full column is one of its entries.
    pivot = np.zeros(width)
    pivot[places] = stored
    pivot = np.where(full, pivot, 0.0)
    zeros = np.where(full, 0.0, np.maximum(weights - np.bincount(places, heavy, width), 0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.bincount(places, heavy * (stored - pivot[places]), width)
        mean = pivot + sums / np.where(weights > 0, weights, 1.0)
        scatter = np.bincount(places, heavy * (stored - mean[places]) ** 2, width) + zeros * mean**2
    return ColumnMomentSums(weights, mean, scatter, _count_infinite(stored, mean, np))


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """A function of blocks: (x - mean) / scale, or `back` from there; None means no mean, or no scale.

    Mean and scale are float64, so that float32 rows are rounded only once, at the end.
    """

    mean: Array
    scale: Array
    back: bool
    subject: str

    @property
    def steps(self) -> list[tuple[str, Array]]:
        """Array-API names of the operations, in order, each with one value per column."""
        if self.back:
            steps = [("multiply", self.scale), ("add", self.mean)]
        else:
            steps = [("subtract", self.mean), ("divide", self.scale)]
        return [step for step in steps if step[1] is not None]

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        """Map dense rows; the result has their type."""
        result = rows
        for name, values in self.steps:
            result = getattr(xp, name)(result, values)
        # Without steps the result is the input itself: copy it, so that the caller may write into it.
        return xp.astype(result, rows.dtype, copy=result is rows)

    def __call__(self, block: Block) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            result = self.on_rows(block.X, block.xp)
        self._check(block.X, result, block.xp)
        return result

    def write(self, block: Block, out: Array) -> None:
        """Map NumPy rows into `out`, which may be the rows themselves, by compiled code in one pass."""
        mean = np.zeros(block.X.shape[1]) if self.mean is None else self.mean
        scale = np.ones(block.X.shape[1]) if self.scale is None else self.scale
        (columns.from_units if self.back else columns.to_units)(block.X, mean, scale, out)
        self._check(block.X, out, np)

    def on_entries(self, X: Any, in_place: bool) -> Any:
        """Map sparse rows; zeros stay zeros."""
        self._check(X.data, X.data, np)
        result = X if in_place else X.copy()
        for name, values in self.steps:
            result.data[:] = getattr(np, name)(result.data, np.take(values, result.indices))
        return result

    def _check(self, rows: Array, result: Array, xp: Any) -> None:
        """Raise if rows are infinite; they are searched only if the sum of the result is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            # One sum is cheaper than a test of each entry; NaN, which is allowed, also makes it NaN.
            doubtful = not bool(xp.isfinite(xp.sum(result)))
        if doubtful and bool(xp.any(xp.isinf(rows))):
            raise DataError(
                f"{self.subject}: Input X contains infinity or a value too large for dtype({str(rows.dtype)!r}). Mark "
                f"missing entries by NaN, and drop or clip the others."
            )


class StandardScaler(OneToOneFeatureMixin, TransformerMixin, LimitedEstimator):
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

    _documents = {
        "max_time": "Has no effect: one pass ends by itself. Kept so that estimators can be exchanged.",
    }

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _objective_moves: ClassVar[str | None] = None
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
        self._learn(X, sample_weight, None)
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "StandardScaler":
        """Add rows to those that ``fit`` and earlier calls were given: the statistics are those of one fit to all."""
        self._learn(X, sample_weight, vars(self).get("_seen"))
        return self

    def _learn(self, X: Any, sample_weight: Any, seen: ColumnMomentSums | None) -> None:
        options = {"accept_sparse": "csr", "ensure_all_finite": False}
        source = self._open(X, None, sample_weight, reset=seen is None, **options)
        source.keep_missing()
        self._check_storage(source)
        outcome = self._drive(lambda start: self._solve(seen), source, max_steps=1)
        if outcome.interrupt is None:
            # The fit is complete after its one step, even if a callback asked to stop there.
            outcome.converged, outcome.reason, self.converged_ = True, "converged", True
        self._conclude(outcome)

    def _solve(self, seen: ColumnMomentSums | None) -> Solver:
        sums = yield ColumnMoments()
        if sums.infinite:
            raise DataError(
                f"{type(self).__name__}: Input X contains infinity or a value too large for dtype('float64'), "
                f"{sums.infinite:.0f} in all. Mark missing entries by NaN, and drop or clip the others."
            )
        # Moments add up over time, so partial_fit equals one fit to all rows, to rounding.
        state = sums if seen is None else seen + sums
        yield Step(0.0, state, _CERTIFICATE)
        return Solution(state, True, _CERTIFICATE)

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
        in_place = not (self.copy if copy is None else copy)
        if not in_place and (rows := few_rows(self, X)) is not None:
            return self._make_map().on_rows(rows)
        source = open_new_rows(self, X, accept_sparse="csr", ensure_all_finite=False)
        return self._apply_map(source, False, X if in_place else None)

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
        check_is_fitted(self)
        check_placement(self, X)
        if (place := place_of(X)) == "device":
            source = open_place(place, X, None, None, subject=type(self).__name__, targets=None, threads=1)
        else:
            floats = {"dtype": [np.float64, np.float32], "order": "C", "ensure_all_finite": False}
            rows = check_array(X, accept_sparse="csr", input_name="X", **floats)
            source = open_source(rows, threads=self._threads())
        if source.n_features != self.n_features_in_:
            raise DataError(
                f"{type(self).__name__}: X has {source.n_features} columns, but inverse_transform expects "
                f"{self.n_features_in_}; give what transform returned."
            )
        in_place = not (self.copy if copy is None else copy)
        return self._apply_map(source, True, X if in_place else None)

    def _make_map(self, back: bool = False) -> ColumnMap:
        """Return the map to scaled rows, or `back` from there."""
        mean, scale = (None if values is None else to_numpy(values) for values in (self.mean_, self.scale_))
        return ColumnMap(mean if self.with_mean else None, scale, back, type(self).__name__)

    def _apply_map(self, source: Source, back: bool, given: Any) -> Array:
        """Return the mapped rows of a source; the array `given` is overwritten if the rows are in it."""
        source.keep_missing()
        self._check_storage(source)
        function = self._make_map(back)
        if source.is_sparse:
            rows = source.whole()
            return function.on_entries(rows, rows is given)
        if source.place != "memory":
            return source.map(function)
        rows = source.whole()
        out = rows
        # Rows that had to be converted are a copy, not the user's array: the result goes into a new one.
        if rows is not given or not rows.flags.writeable:
            purpose = f"{source.n_features} columns of {source.n_rows} rows"
            cure = "set copy=False, or transform some rows at a time"
            require_memory(type(self).__name__, float(rows.nbytes), purpose, cure)
            out = np.empty_like(rows)
        source.each(lambda block: function.write(block, out[block.start : block.start + block.n]))
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.with_mean
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _find_scale(variance: Array, mean: Array, weights: Array) -> Array:
    """Return standard deviations, and 1 where the variance may come from rounding alone.

    The bound is the one for sums in two passes (Chan, Golub and LeVeque). Fractional weights may sum to less than the
    number of operations that round, so that at least four are assumed.
    """
    rounding = np.maximum(weights, 4.0) * np.finfo(np.float64).eps
    with np.errstate(over="ignore", invalid="ignore"):
        flat = variance <= rounding * variance + (rounding * mean) ** 2
        return np.where(flat, 1.0, np.sqrt(variance))
