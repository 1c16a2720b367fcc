"""The histogram as a density."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, fitting, generators, open_new_rows
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Integer, Nothing, Real, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._statistic import Moments
from mercer._statistic.extent import Extent, ExtentSums
from mercer._statistic.pair import Pair
from mercer._stored import Stored, floats, integers, members
from mercer._types import Array
from mercer.errors import DataError, ModelFileError, ParameterError
from mercer.neighbors._cells import MOST_BINS, CellCounts, Cells, CellSums, gather_counts

_CLOSED_FORM = (
    "The shares of the cells are the most likely ones in closed form; the bins are chosen, and nothing bounds how much "
    "better others would be."
)


def _is_listed(value: Any) -> bool:
    """Return whether a value is a list of values; NumPy cannot say so of lists of unequal lengths."""
    return not isinstance(value, str) and getattr(value, "ndim", 1) > 0 and hasattr(value, "__len__")


def _has_edges(estimator: Any) -> bool:
    """Return whether the edges are given, so that the cells do not depend on the rows."""
    bins = estimator.bins
    if _is_listed(bins) and all(_is_listed(column) for column in bins):
        return True
    raise AttributeError(f"HistogramDensity: partial_fit needs the edges of every column as bins; got bins={bins!r}.")


class HistogramDensity(Estimator):
    r"""The density of a histogram in any number of columns.

    Columns are cut into bins, and the density is constant in each cell c between them,

    .. math:: \hat p(x) = \frac{n_c + \alpha}{(W + \alpha C)\, v_c} \quad \text{for } x \in c,

    with the weight :math:`n_c` of the rows in the cell, its volume :math:`v_c`, the weight W of all rows, the number C
    of cells (``n_cells_``) and additive `smoothing` :math:`\alpha`. Without smoothing it is the most likely of all
    densities that are constant in the cells, and zero in those without rows; outside of the box it is zero always.

    Attributes
    ----------
    edges_ : list of ndarray
        The edges of each column.
    n_cells_ : int
        All cells: the product of the bins, which is what grows in many columns.
    bins_ : ndarray of shape (m, d), uint16
        The bins of each cell that has rows.
    weights_ : ndarray of shape (m,)
        The weight of its rows.
    history_, converged_, n_iter_, certificate_ :
        One step, whose objective is the mean log-density of the rows.

    Notes
    -----
    Two passes over the rows: their box and spread, then the cells. Memory follows the cells that have rows, never
    `n_cells_`. Rows may be in memory, in files, streams and Dask collections; quantiles need them in memory. In d
    columns of s bins there are s^d cells, so that soon nearly all are empty and the density is zero nearly everywhere:
    smooth it, or use another density.

    References
    ----------
    D. Scott, Multivariate Density Estimation, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.neighbors import HistogramDensity
    >>> X = np.array([[0.0], [1.0], [1.5], [4.0]])
    >>> model = HistogramDensity(bins=2).fit(X)
    >>> np.exp(model.score_samples([[0.5], [3.0], [9.0]])).round(12).tolist()  # 3/4 and 1/4, over a width of 2
    [0.375, 0.125, 0.0]
    """

    bins: int | str | Any = parameter(
        Integer(1, MOST_BINS) | Choice("auto") | ArrayRule("anything"),
        default="auto",
        kw_only=False,
        doc="Bins of each column: a number, a number for each, or a list with the edges for each. ``'auto'`` cuts "
        r"columns to Scott's width :math:`3.49\, \sigma_j W^{-1/(d+2)}`, or as many quantiles.",
    )
    strategy: str = parameter(
        Choice("uniform", "quantile"),
        default="uniform",
        doc="Whether the bins of a column have equal widths, or equal weights.",
    )
    smoothing: float = parameter(
        Real(0, math.inf, "left"), default=0.0, doc="Added to the weight of every cell, the empty ones too."
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the cells that have rows are kept, which in many columns are as many as the rows"
    }
    _objective_moves: ClassVar[str | None] = "up"

    _stored: ClassVar[dict[str, Stored]] = {
        "edges_": members(floats("*", finite=True), "columns"),
        "n_cells_": integers(low=0),
        "bins_": integers("cells, columns", low=0),
        "weights_": floats("cells", finite=True, low=0),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "HistogramDensity":
        """Cut the columns, and count the rows in the cells."""
        source = self._open(X, None, sample_weight)
        if self.strategy == "quantile":
            self._needs_memory(source, "strategy='quantile'", "use strategy='uniform'")
        outcome = self._drive(self._solver(source), source, max_steps=1)
        self._conclude(outcome)
        return self

    @available_if(_has_edges)
    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "HistogramDensity":
        """Add rows to the cells of those seen before; `bins` must be edges, which the first rows alone cannot know.

        Parameters
        ----------
        X : array-like of shape (n, d), or rows in any other place
            Rows; read once, and not kept. Those outside of the edges are left out.
        """
        seen = None
        if hasattr(self, "bins_"):
            seen = CellSums(Cells(self.edges_).keys_of(self.bins_), self.weights_)
        source = self._open(X, None, sample_weight, reset=seen is None)
        outcome = self._drive(self._solver(source, seen), source, max_steps=1)
        self._conclude(outcome)
        return self

    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of the density at each point; minus infinity where it is zero.

        Returns
        -------
        logarithms : array of shape (m,)
            Where the points are.
        """
        return open_new_rows(self, X, logarithms=True).map(self._lookup())

    def logpdf(self, X: Any) -> Array:
        """Return what :meth:`score_samples` does, under the name that densities have."""
        return self.score_samples(X)

    def parameters(self) -> dict[str, Any]:
        """Return the cells that have rows, their weights and the edges of all cells."""
        return {"weights": self.weights_, "bins": self.bins_, "edges": self.edges_}

    def score(self, X: Any, y: Any = None) -> float:
        """Return the log-likelihood of all points together."""
        return float(np.sum(self.score_samples(X), dtype=np.float64))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Return points drawn from the density: a cell by its share, and a position in it.

        Parameters
        ----------
        n_samples : int
        random_state : None, int, RandomState or Generator

        Returns
        -------
        points : ndarray of shape (n_samples, d)
        """
        check_is_fitted(self)
        (random,) = generators(random_state, 1)
        shares = np.cumsum(self.weights_)
        total = shares[-1] + self.smoothing * self.n_cells_
        drawn = random.uniform(size=n_samples) * total
        bins = self.bins_[np.minimum(np.searchsorted(shares, drawn, side="right"), len(shares) - 1)]
        anywhere = np.column_stack([random.integers(len(edges) - 1, size=n_samples) for edges in self.edges_])
        # Smoothing gives every cell the same small weight: such draws fall anywhere.
        bins = np.where((drawn > shares[-1])[:, None], anywhere, bins.astype(np.intp))
        place = random.uniform(size=bins.shape)
        columns = [
            edges[bins[:, j]] + place[:, j] * (edges[bins[:, j] + 1] - edges[bins[:, j]])
            for j, edges in enumerate(self.edges_)
        ]
        return np.column_stack(columns)

    def _check_structure(self) -> None:
        if "bins_" not in vars(self):
            return
        counts = np.array([len(edges) - 1 for edges in self.edges_])
        # The product in Python's integers: it may exceed 64 bits.
        if counts.min(initial=1) < 1 or math.prod(counts.tolist()) != self.n_cells_ or (self.bins_ >= counts).any():
            raise ModelFileError(
                "HistogramDensity.bins_ must lie between edges_, whose cells are n_cells_; the file's do not."
            )
        if not 0.0 < self.weights_.sum() < math.inf:
            raise ModelFileError("HistogramDensity.weights_ must have a finite sum above 0; the file's have not.")

    def _lookup(self) -> "_Lookup":
        cells = Cells(self.edges_)
        return _Lookup(cells, cells.keys_of(self.bins_), self.weights_, float(self.smoothing))

    def _solver(self, source: Source, seen: CellSums | None = None) -> Callable[[Any], Solver]:
        """Return the solver: two passes and one step, which adds to what was `seen`."""

        def solve(state: Any) -> Solver:
            if isinstance(self.bins, str):
                sums = yield Pair(Moments(diagonal=True), Extent())
                # Scott's rule, 3.49 s n^(-1 / (d + 2)).
                width = 3.49 * np.sqrt(sums.first.scatter / sums.first.weight)
                width *= sums.first.weight ** (-1 / (source.n_features + 2))
                edges = self._edges(source, sums.second, width)
            else:
                edges = self._edges(source, (yield Extent()))
            cells = Cells(edges)
            self._forecast(source, cells)
            counts = yield CellCounts(cells)
            if seen is not None:
                self._check_same_edges(edges)
                counts = gather_counts(
                    np.concatenate([seen.keys, counts.keys]), np.concatenate([seen.weights, counts.weights])
                )
            if not counts.weights.sum() > 0:
                raise DataError(
                    "HistogramDensity: at least one row of weight above 0 must lie within the edges, as no density can "
                    "be had of none; got none. Give bins that reach the rows, or begin with rows within them."
                )
            state = HistogramState(edges, cells.bins_with(counts.keys), counts.weights)
            lookup = _Lookup(cells, counts.keys, counts.weights, float(self.smoothing))
            yield Step(float(np.sum(counts.weights * lookup.logarithms) / counts.weights.sum()), state)
            return Solution(state, True, Certificate.none(_CLOSED_FORM))

        return solve

    def _edges(self, source: Source, box: ExtentSums, width: Array = None) -> list[Array]:
        """Return the edges of each column; from the bin `width` of each if ``bins`` is ``'auto'``."""
        d = source.n_features
        given = list(self.bins) if _is_listed(self.bins) else None  # type: ignore[arg-type]
        if given is not None and (len(given) != d or len({_is_listed(column) for column in given}) != 1):
            raise ParameterError(
                f"HistogramDensity: bins must be a number, or one or the edges for each of {d} columns; got "
                f"{self.bins!r}."
            )
        if given is not None and _is_listed(given[0]):
            return [_check_edges(edges) for edges in given]
        if width is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                counts = np.where(width > 0, np.ceil((box.high - box.low) / width), 1)
            counts = np.clip(counts, 1, MOST_BINS).astype(int)
        else:
            counts = np.array([_check_count(count) for count in (given or [self.bins] * d)])
        if self.strategy == "quantile":
            return [_quantiles(source, column, count) for column, count in enumerate(counts)]
        return [_even_edges(*sides) for sides in zip(box.low, box.high, counts, strict=True)]

    def _check_same_edges(self, edges: list[Array]) -> None:
        """Raise if the edges are not those of the cells that were counted before."""
        if not all(np.array_equal(new, old) for new, old in zip(edges, self.edges_, strict=True)):
            raise ParameterError(
                "HistogramDensity: partial_fit cannot change the edges of cells that have rows. Call fit."
            )

    def _forecast(self, source: Source, cells: Cells) -> None:
        """Check that memory holds the cells, at most one per row, four times: two sums and their union."""
        most = cells.count if source.known_rows is None else min(cells.count, source.known_rows)
        key = cells.empty_keys.dtype.itemsize
        purpose = f"the histogram of {cells.count} cells"
        require_memory(type(self).__name__, 4.0 * most * (key + 8), purpose, "use fewer bins, or a sample of the rows")

    def _fitted(self, state: "HistogramState") -> dict[str, Any]:
        cells = Cells(state.edges)
        return {"edges_": state.edges, "n_cells_": cells.count, "bins_": state.bins, "weights_": state.weights}


@plain
@dataclass(frozen=True)
class HistogramState:
    """Edges, the bins of the cells that have rows, (m, d), and their weights, (m,)."""

    edges: list[Array]
    bins: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class _Lookup:
    """The log-density of each row of a block."""

    cells: Cells
    keys: Array
    weights: Array
    smoothing: float

    @property
    def logarithms(self) -> Array:
        """The log-density of each cell that has rows, (m,)."""
        bins = self.cells.bins_with(self.keys)
        return np.log(self.weights + self.smoothing) - self._log_total - self.cells.log_volumes(bins)

    @property
    def _log_total(self) -> float:
        return math.log(float(self.weights.sum()) + self.smoothing * self.cells.count)

    def __call__(self, block: Block) -> Array:
        bins, inside = self.cells.bins_of(block.X)
        logarithms = np.full(len(bins), -np.inf)
        bins = bins[inside]
        keys = self.cells.keys_of(bins)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        # Cells that no row has visited have only the smoothing.
        weight = np.where(self.keys[place] == keys, self.weights[place], 0.0)
        with np.errstate(divide="ignore"):
            logarithms[inside] = np.log(weight + self.smoothing) - self._log_total - self.cells.log_volumes(bins)
        return logarithms.astype(block.X.dtype, copy=False)


def _even_edges(low: float, high: float, count: int) -> Array:
    """Return count + 1 edges at equal distances; a column with one value gets a bin around it."""
    if low == high:
        # The bin must be wider than the rounding of values this large, also in float32.
        half = max(0.5, abs(low) * 2.0**-20)
        low, high = low - half, high + half
    edges = np.linspace(low, high, count + 1)
    # Edges closer than the rounding of their values coincide; such bins are merged.
    return np.unique(edges)


def _quantiles(source: Source, column: int, count: int) -> Array:
    """Return edges with equal weights between them; equal edges are kept once."""
    values, weight = source.whole()[:, column].astype(np.float64), source.weight
    shares = np.linspace(0, 1, count + 1)
    if weight is not None:
        values, weight = values[weight > 0], weight[weight > 0]
    edges = np.unique(np.quantile(values, shares, method="inverted_cdf", weights=weight))
    return edges if len(edges) > 1 else _even_edges(edges[0], edges[0], 1)


def _check_count(given: Any) -> int:
    if not Integer(1, MOST_BINS).accepts(given):
        raise ParameterError(
            f"HistogramDensity: bins of a column must be an integer in [1, {MOST_BINS}]; got {given!r}."
        )
    return int(given)


def _check_edges(given: Any) -> Array:
    edges = np.array(given, dtype=np.float64)
    rising = len(edges) >= 2 and np.isfinite(edges).all() and (np.diff(edges) > 0).all()
    if not rising or len(edges) > MOST_BINS + 1:
        raise ParameterError(
            f"HistogramDensity: edges of a column must be two or more finite numbers that rise; got {given!r}."
        )
    return edges
