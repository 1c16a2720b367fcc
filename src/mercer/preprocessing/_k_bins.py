"""Columns cut into bins: the number of the bin, or an indicator of each."""

import warnings
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base import draw_seed, fitting
from mercer._base.blockwise import BlockMap, ReversibleTransformer
from mercer._base.column_names import read_column_names
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Integer, Nothing, Rule, Seed, parameter
from mercer._solver import Dense
from mercer._source import Block, Source
from mercer._source.threads import run_numbered
from mercer._statistic.extent import Extent
from mercer._statistic.row_sample import RowSample
from mercer._stored import Stored, floats, integers, members
from mercer._types import Array
from mercer.cluster import KMeans
from mercer.errors import DataError, ModelFileError, ParameterError

# Columns that a warning names.
_MOST_NAMED = 10
# Edges that are nearer to each other than this bound no bin, as in scikit-learn.
_NARROW = 1e-8
# Up to as many edges each value is compared with all of them, a column beside the other; beyond, it is searched for.
_COMPARED = 16
_METHODS = (
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen"),
    *("weibull", "linear", "median_unbiased", "normal_unbiased"),
)


class _FloatType(Rule):
    """A type of the result."""

    text = "numpy.float32, numpy.float64 or None"

    def accepts(self, value: Any) -> bool:
        return value in (np.float32, np.float64, None)


class KBinsDiscretizer(ReversibleTransformer):
    """Cut each column into bins.

    Attributes
    ----------
    bin_edges_ : ndarray of ndarray of shape (n_features,)
        The edges of the bins of each column, one more than bins; -inf and inf for a constant column.
    n_bins_ : ndarray of int of shape (n_features,)
        Number of bins of each column. Bins narrower than 1e-8 are joined with their neighbours.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised but the centres of ``strategy="kmeans"``.

    Notes
    -----
    Values outside of the range of the training rows are in the first or the last bin. One pass; of equal widths all
    rows count, and of other strategies the sample of ``subsample`` rows, the same in every place. Rows: NumPy,
    frames, files, streams (also such as can be read only once), Dask.

    Examples
    --------
    >>> from mercer.preprocessing import KBinsDiscretizer
    >>> rows = [[-2.0, 1.0], [-1.0, 2.0], [0.0, 3.0], [1.0, 4.0]]
    >>> bins = KBinsDiscretizer(n_bins=3, encode="ordinal", strategy="uniform").fit(rows)
    >>> bins.transform([[-3.0, 2.5], [0.9, 9.0]])
    array([[0., 1.],
           [2., 2.]])
    """

    n_bins: Any = parameter(Integer(2) | ArrayRule(), default=5, kw_only=False, doc="Bins of every column, or of each.")
    encode: str = parameter(
        Choice("onehot", "onehot-dense", "ordinal"),
        default="onehot",
        doc="An indicator of each bin, as a CSR matrix or an array, or the number of the bin.",
    )
    strategy: str = parameter(
        Choice("uniform", "quantile", "kmeans"),
        default="quantile",
        doc="Bins of equal width, of as many rows each, or around the centres that k-means finds in a column.",
    )
    quantile_method: str = parameter(
        Choice(*_METHODS), default="averaged_inverted_cdf", doc="Which quantiles, as ``numpy.quantile`` names them."
    )
    dtype: Any = parameter(_FloatType(), default=None, doc="Type of the result; None means that of the rows.")
    subsample: int | None = parameter(
        Integer(1) | Nothing(), default=200_000, doc="Of more rows than this a random sample of as many is taken."
    )
    random_state: Any = parameter(Seed(), default=None)

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _defined = "Edges are found column by column; the certificate of k-means is not kept."
    _stored: ClassVar[dict[str, Stored]] = {
        "bin_edges_": members(floats("*"), "columns"),
        "n_bins_": integers("columns", low=1),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KBinsDiscretizer":
        """Find the edges of the bins."""
        self._learn(X, y, sample_weight)
        return self

    def _survey(self, source: Source, seen: None) -> Generator[Any, Any, list[Array]]:
        counts = self._count_bins(source.n_features)
        if self.strategy == "uniform":
            extent = yield Extent()
            ends = zip(extent.low + 0.0, extent.high + 0.0, strict=True)
            edges = [np.linspace(low, high, count + 1) for (low, high), count in zip(ends, counts, strict=True)]
            return self._finish(edges)
        weighted = source.has_weight
        if self.strategy == "quantile" and weighted and not self.quantile_method.endswith("inverted_cdf"):
            raise ParameterError(
                f"KBinsDiscretizer: When fitting with strategy='quantile' and sample weights, quantile_method should "
                f"either be set to 'averaged_inverted_cdf' or 'inverted_cdf', got "
                f"quantile_method={self.quantile_method!r} instead."
            )
        rows, weight = yield from self._take_rows(source)
        edges = [np.empty(0)] * source.n_features

        def find(index: int) -> None:
            edges[index] = self._find_edges(np.ascontiguousarray(rows[:, index]), weight, counts[index])

        yield Dense(partial(run_numbered, find, source.n_features, source.threads, lambda done: None), heavy=True)
        return self._finish(edges)

    def _count_bins(self, n_features: int) -> Array:
        """Return the number of bins that is wanted of each column."""
        if isinstance(self.n_bins, Integral):
            return np.full(n_features, self.n_bins, dtype=np.int64)
        counts = np.asarray(self.n_bins)
        if counts.shape != (n_features,):
            raise ParameterError(
                f"KBinsDiscretizer: n_bins must be a scalar or array of shape (n_features,). Got shape {counts.shape} "
                f"for {n_features} columns."
            )
        if (wrong := np.flatnonzero((counts < 2) | (counts != np.floor(counts)))).size:
            raise ParameterError(
                f"KBinsDiscretizer received an invalid number of bins at indices {', '.join(map(str, wrong))}. "
                f"Number of bins must be at least 2, and must be an int. Got {counts[wrong[0]]}."
            )
        return counts.astype(np.int64)

    def _take_rows(self, source: Source) -> Generator[Any, Any, tuple[Array, Array]]:
        """Return the rows that count, and their weights or None, as a solver."""
        known = source.known_rows
        if self.subsample is None or (known is not None and known <= self.subsample and source.place == "memory"):
            self._needs_memory(source, "subsample=None", "give a number of rows")
            return source.whole(), source.weight
        drawn = yield RowSample.of_source(self.subsample, draw_seed(self.random_state), known)
        return drawn.rows, drawn.weight

    def _find_edges(self, values: Array, weight: Array, count: int) -> Array:
        """Return the edges of the bins of a column."""
        heavy = slice(None) if weight is None else weight > 0
        low, high = float(values[heavy].min()), float(values[heavy].max())
        if low == high:
            return np.array([low, high])
        # Quotients, each rounded once: a share that meets a row exactly is the mean of two values.
        shares = np.arange(count + 1) / count
        if self.strategy == "quantile":
            options = {} if weight is None else {"weights": weight}
            return np.asarray(_find_quantiles(values, shares, self.quantile_method, **options), dtype=np.float64)
        even = np.linspace(low, high, count + 1)
        start = (even[1:] + even[:-1])[:, None] * 0.5
        centres = KMeans(count, init=start, n_init=1, n_jobs=1).fit(values[:, None], sample_weight=weight)
        middle = np.sort(centres.cluster_centers_[:, 0])
        return np.concatenate([[low], (middle[1:] + middle[:-1]) * 0.5, [high]])

    def _finish(self, edges: list[Array]) -> list[Array]:
        """Return edges without narrow bins, and those of constant columns; one warning each names the columns."""
        constant = [index for index, one in enumerate(edges) if one[0] == one[-1]]
        kept = [np.array([-np.inf, np.inf]) if one[0] == one[-1] else self._drop_narrow(one) for one in edges]
        if constant:
            some = f"Feature {constant[0]} is" if len(constant) == 1 else f"Features {_list_columns(constant)} are"
            warnings.warn(f"{some} constant and will be replaced with 0.", UserWarning, stacklevel=2)
        narrow = [index for index, one in enumerate(edges) if index not in constant and len(kept[index]) < len(one)]
        if narrow:
            warnings.warn(
                f"Bins whose width are too small (i.e., <= {_NARROW}) in feature {_list_columns(narrow)} are removed. "
                f"Consider decreasing the number of bins, or scale the column.",
                UserWarning,
                stacklevel=2,
            )
        return kept

    def _drop_narrow(self, edges: Array) -> Array:
        return edges if self.strategy == "uniform" else edges[np.ediff1d(edges, to_begin=np.inf) > _NARROW]

    def _fitted(self, state: list[Array]) -> dict[str, Any]:
        edges = np.empty(len(state), dtype=object)
        edges[:] = state
        return {"bin_edges_": edges, "n_bins_": np.array([len(one) - 1 for one in state])}

    def _check_structure(self) -> None:
        if "n_bins_" in vars(self) and [len(one) - 1 for one in self.bin_edges_] != list(self.n_bins_):
            raise ModelFileError("KBinsDiscretizer.n_bins_ must be one less than the edges of each column.")

    def _make_map(self, back: bool = False) -> "_Bins":
        return _Bins(type(self).__name__, [one[1:-1] for one in self.bin_edges_], self.encode, self.dtype)

    def _apply(self, source: Source, function: Any, given: Any) -> Any:
        if self.encode != "onehot" or source.place != "memory":
            return super()._apply(source, function, given)
        # All codes first: rows of indicators follow from them in one step.
        codes = np.empty((source.n_rows, source.n_features), np.int32)
        source.each(lambda block: function.find(block.X, codes[block.start : block.start + block.n]))
        return function.indicate(codes, source.host_dtype)

    def _choose_dtype(self, dtype: Any) -> Any:
        return self.dtype or dtype

    def _count_columns(self, source: Source) -> int:
        return self._n_outputs

    @property
    def _n_outputs(self) -> int:
        return len(self.n_bins_) if self.encode == "ordinal" else int(self.n_bins_.sum())

    def inverse_transform(self, X: Any) -> Array:
        """Return the middle of the bin of each value.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features_out)
            Rows as :meth:`transform` gives them, in memory.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The middles of the bins.
        """
        check_is_fitted(self)
        rows = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
        if rows.shape[1] != self._n_outputs:
            raise DataError(
                f"Incorrect number of features. Expecting {self._n_outputs}, received {rows.shape[1]}. Give what "
                f"transform returned."
            )
        result = np.empty((rows.shape[0], len(self.n_bins_)), rows.dtype)
        starts = np.concatenate([[0], np.cumsum(self.n_bins_)])
        for index, edges in enumerate(self.bin_edges_):
            if self.encode == "ordinal":
                codes = rows[:, index].astype(np.int64)
            else:
                codes = np.asarray(rows[:, starts[index] : starts[index + 1]].argmax(axis=1)).ravel()
            result[:, index] = ((edges[1:] + edges[:-1]) * 0.5)[codes]
        return result

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns; those of indicators end in the number of the bin."""
        check_is_fitted(self)
        names = read_column_names(self, input_features)
        if self.encode != "ordinal":
            pairs = zip(names, self.n_bins_, strict=True)
            names = [f"{name}_{float(number)}" for name, count in pairs for number in range(count)]
        return np.asarray(names, dtype=object)


def _list_columns(indices: list[int]) -> str:
    """Return the first of some columns, for a warning."""
    more = f" and {len(indices) - _MOST_NAMED} more" if len(indices) > _MOST_NAMED else ""
    return ", ".join(map(str, indices[:_MOST_NAMED])) + more


def _find_quantiles(values: Array, shares: Array, method: Any, weights: Array = None) -> Array:
    """Return quantiles of a column; with weights those of the repeated values."""
    if weights is None:
        return np.quantile(values, shares, method=method)
    order = np.argsort(values, kind="stable")
    order = order[weights[order] > 0]
    ends = np.cumsum(weights[order])
    places = shares * ends[-1]
    last = len(order) - 1
    # The first value up to which the weights reach the place; where they reach it exactly, the mean with the next one.
    first = np.minimum(np.searchsorted(ends, places * (1.0 - 1e-15), side="left"), last)
    found = values[order[first]].astype(np.float64)
    if method == "inverted_cdf":
        return found
    exact = np.isclose(ends[first], places, rtol=1e-14, atol=0.0) & (shares > 0)
    return np.where(exact, 0.5 * found + 0.5 * values[order[np.minimum(first + 1, last)]], found)


@dataclass(frozen=True, eq=False)
class _Bins(BlockMap):
    """The bin of each value, in one of three forms; ``edges`` are those between bins."""

    edges: list[Array]
    encode: str
    dtype: Any

    def find(self, rows: Array, out: Array) -> None:
        """Write the numbers of the bins."""
        most = max(map(len, self.edges), default=0)
        if most > _COMPARED:
            for index, edges in enumerate(self.edges):
                out[:, index] = np.searchsorted(edges, rows[:, index], side="right")
            return
        # Columns with fewer edges than others get some that no value reaches.
        table = np.full((most, len(self.edges)), np.inf)
        for index, edges in enumerate(self.edges):
            table[: len(edges), index] = edges
        out[...] = 0
        for edges in table:
            out += rows >= edges

    def indicate(self, codes: Array, dtype: Any) -> csr_array:
        """Return a row of indicators for each row of codes."""
        n, d = codes.shape
        starts = np.concatenate([[0], np.cumsum([len(edges) + 1 for edges in self.edges])]).astype(codes.dtype)
        places = np.arange(0, n * d + 1, d, dtype=np.int64 if n * d >= 2**31 else np.int32)
        codes += starts[:-1]
        columns = codes.reshape(-1).astype(places.dtype, copy=False)
        return csr_array((np.ones(n * d, self.dtype or dtype), columns, places), shape=(n, int(starts[-1])))

    def on_rows(self, rows: Array, xp: Any = np) -> Any:
        codes = np.empty(rows.shape, np.int32)
        self.find(rows, codes)
        if self.encode == "ordinal":
            return codes.astype(self.dtype or rows.dtype)
        found = self.indicate(codes, rows.dtype)
        return found if self.encode == "onehot" else found.toarray()

    def write(self, block: Block, out: Array) -> None:
        out[...] = self.on_rows(block.X)

    def __call__(self, block: Block) -> Any:
        return self.on_rows(block.X)
