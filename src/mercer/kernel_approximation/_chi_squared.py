"""Feature maps of chi-squared kernels, which compare histograms."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import seed_sequence
from mercer._base.blockwise import BlockMap, BlockTransformer
from mercer._base.column_names import read_column_names
from mercer._base.parameter import Integer, Nothing, Real, parameter
from mercer._plain import plain
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._statistic import Moments
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.kernel_approximation._mapped import FeatureMap
from mercer.kernel_approximation._random_waves import Waves, apply_waves, draw_phases

# The sampling intervals of least error for one, two and three samples: figure 2 c of Vedaldi and Zisserman.
_INTERVALS = {1: 0.8, 2: 0.5, 3: 0.4}
# Values of a tile whose logarithms, roots and waves stay in a second-level cache: five arrays of 128 KiB.
_TILE = 2**14


@dataclass(frozen=True, eq=False)
class _Samples(BlockMap):
    """The samples of the spectrum of 2 x y / (x + y), column by column: one root, then cosines and sines."""

    n_steps: int
    interval: float

    def on_rows(self, rows: Array, xp: Any = np) -> Array:
        if xp is not np:
            return self._define(rows, xp)
        out = np.empty((rows.shape[0], rows.shape[1] * (2 * self.n_steps - 1)), rows.dtype)
        self._fill(rows, out)
        return out

    def write(self, block: Block, out: Array) -> None:
        self._fill(block.X, out)

    def _define(self, rows: Array, xp: Any) -> Array:
        """Return the features by array-API operations: the definition."""
        self._check(xp.min(rows))
        root, logarithm = xp.sqrt(rows * self.interval), xp.log(xp.where(rows > 0, rows, 1.0)) * self.interval
        parts = [root]
        for step in range(1, self.n_steps):
            height = root * self._height(step)
            parts += [height * xp.cos(logarithm * step), height * xp.sin(logarithm * step)]
        return xp.concat(parts, axis=1)

    def _fill(self, rows: Array, out: Array) -> None:
        """Write the features of rows in memory, tile by tile."""
        n, d = rows.shape
        count = max(1, _TILE // max(1, d))
        for start in range(0, n, count):
            tile = rows[start : start + count]
            for number, part in enumerate(self._list_parts(np.ascontiguousarray(tile))):
                out[start : start + count, number * d : (number + 1) * d] = part

    def on_entries(self, X: Any, in_place: bool) -> Any:
        """Map sparse rows: each stored value becomes one in each group of columns, and zeros stay zeros."""
        lengths, d, width = np.diff(X.indptr), X.shape[1], 2 * self.n_steps - 1
        # Entries of a row stand group after group, so that its columns ascend as those of X do.
        first = np.arange(X.nnz) + np.repeat(X.indptr[:-1] * (width - 1), lengths)
        step = np.repeat(lengths, lengths)
        values, columns = np.empty(X.nnz * width, X.dtype), np.empty(X.nnz * width, X.indices.dtype)
        for number, part in enumerate(self._list_parts(X.data.reshape(1, -1)) if X.nnz else ()):
            place = first + number * step
            values[place], columns[place] = part[0], X.indices + number * d
        return type(X)((values, columns, X.indptr * width), shape=(X.shape[0], d * width))

    def _list_parts(self, values: Array) -> Generator[Array, None, None]:
        """Yield the features of a matrix of values, one array of its shape at a time."""
        self._check(values.min())
        root = np.sqrt(values * values.dtype.type(self.interval))
        yield root
        if self.n_steps > 1:
            # A value of zero has zero height, whatever its angle.
            angle = np.log(np.where(values > 0, values, values.dtype.type(1)))
            angle *= values.dtype.type(self.interval)
            phases = [np.full(values.shape[1], phase, values.dtype) for phase in (0.0, -0.5 * math.pi)]
        for step in range(1, self.n_steps):
            for phase in phases:
                wave = angle * values.dtype.type(step)
                apply_waves(1.0, phase, wave)
                wave *= root
                wave *= values.dtype.type(self._height(step))
                yield wave

    def _height(self, step: int) -> float:
        """Return the height of a sample over that of the one at zero, its two halves added."""
        # 2 sech(pi L step), without the overflow of the cosine.
        decay = math.exp(-math.pi * step * self.interval)
        return math.sqrt(4.0 * decay / (1.0 + decay * decay))

    def _check(self, least: Any) -> None:
        if least < 0:
            raise DataError(
                f"Negative values in data passed to X in {self.subject}: the kernel compares counts and shares; got "
                f"{float(least):g}. Shift or drop the columns that hold them."
            )


class AdditiveChi2Sampler(BlockTransformer):
    r"""Features of the additive chi-squared kernel, which compares histograms.

    The kernel :math:`k(x, y) = \sum_j 2 x_j y_j / (x_j + y_j)` is, column by column, a function of the difference of
    logarithms, whose Fourier transform is :math:`\mathrm{sech}(\pi \omega)`. Its samples at the frequencies 0, L, 2 L
    and so on give :math:`2 m - 1` features of each column, whose products approximate k; nothing is random and nothing
    is learnt.

    Attributes
    ----------
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    See Also
    --------
    SkewedChi2Sampler : A kernel that multiplies over columns, by random features.

    Notes
    -----
    Costs a logarithm, a root and :math:`2 m - 2` cosines of each value. Zeros stay zeros: sparse rows give sparse
    features. Rows in any place, not negative.

    References
    ----------
    A. Vedaldi and A. Zisserman, Efficient additive kernels via explicit feature maps, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernel_approximation import AdditiveChi2Sampler
    >>> X = np.random.default_rng(0).dirichlet(np.ones(10), size=30)
    >>> Z = AdditiveChi2Sampler(sample_steps=3).fit_transform(X)
    >>> K = (2 * X[:, None] * X[None] / (X[:, None] + X[None])).sum(axis=2)
    >>> bool(np.abs(Z @ Z.T - K).max() < 0.1)
    True
    """

    sample_steps: int = parameter(Integer(1), default=2, doc="The number m of samples of the spectrum.")
    sample_interval: float | None = parameter(
        Real(0) | Nothing(),
        default=None,
        doc="Their distance L; None takes 0.8, 0.5 and 0.4 for one, two and three samples, and must be given for more.",
    )

    _defined = "The parameters define the result; nothing is learnt from the rows."
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _takes_sparse = True

    def _survey(self, source: Source, seen: Any) -> Generator[Any, Any, Any]:
        samples = self._make_map()
        # Rows elsewhere are looked at when they are transformed.
        if source.place == "memory":
            rows = source.whole()
            samples._check(rows.data.min(initial=0) if source.is_sparse else rows.min())
        yield from ()

    def _fitted(self, state: Any) -> dict[str, Any]:
        return {}

    def _make_map(self, back: bool = False) -> _Samples:
        interval = self.sample_interval
        if interval is None:
            if self.sample_steps not in _INTERVALS:
                raise ParameterError(
                    f"AdditiveChi2Sampler: If sample_steps is not in [1, 2, 3], you need to provide sample_interval; "
                    f"got {self.sample_steps} and None. Give a number near 0.3."
                )
            interval = _INTERVALS[self.sample_steps]
        return _Samples("AdditiveChi2Sampler", int(self.sample_steps), float(interval))

    def _count_columns(self, source: Source) -> int:
        return source.n_features * (2 * int(self.sample_steps) - 1)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            The names of the columns; None takes those of the fit.

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self, "n_features_in_")
        width = self.n_features_in_ * (2 * self.sample_steps - 1)
        require_memory("AdditiveChi2Sampler", 200.0 * width, f"names of {width} columns", "lower sample_steps")
        columns = read_column_names(self, input_features)
        endings = ["sqrt"]
        for step in range(1, self.sample_steps):
            endings += [f"cos{step}", f"sin{step}"]
        names = [f"additivechi2sampler_{column}_{ending}" for ending in endings for column in columns]
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.positive_only = True
        return tags


@plain
@dataclass(frozen=True, eq=False)
class SkewedState:
    """Frequencies, one in each column, and phases."""

    weights: Any
    offset: Any


@dataclass(frozen=True, eq=False)
class _SkewedWaves(Waves):
    """The waves of the logarithms of the rows of a block, shifted by the skewedness first."""

    skewedness: float = 1.0

    def __call__(self, block: Block) -> Array:
        if block.xp is np:
            return self.of_rows(block.X)
        self._check(block.xp.min(block.X))
        logarithms = block.xp.log(block.X + self.skewedness)
        waves = block.xp.cos(block.xp.matmul(logarithms, self.weights) + self.offset)
        return waves * math.sqrt(2.0 / self.weights.shape[1])

    def of_rows(self, X: Array) -> Array:
        self._check(X.min())
        return super().of_rows(np.log(X + X.dtype.type(self.skewedness)))

    def _check(self, least: Any) -> None:
        if float(least) <= -self.skewedness:
            raise DataError(
                f"SkewedChi2Sampler: X may not contain entries smaller than -skewedness, or equal to it; got "
                f"{float(least):g} with skewedness={self.skewedness:g}. Raise skewedness, or shift the columns."
            )


class SkewedChi2Sampler(FeatureMap):
    r"""Random features of the skewed chi-squared kernel, which compares histograms.

    The kernel :math:`k(x, y) = \prod_j 2 \sqrt{x_j + c} \sqrt{y_j + c} / (x_j + y_j + 2 c)` is the Fourier transform of
    :math:`\mathrm{sech}(\pi \omega)` in each logarithm: with frequencies W drawn from it and even phases b the features
    :math:`z(x) = \sqrt{2 / D} \cos(W^T \log(x + c) + b)` have :math:`E[z(x) \cdot z(y)] = k(x, y)`.

    Attributes
    ----------
    random_weights_ : ndarray of shape (d, n_components)
        W.
    random_offset_ : ndarray of shape (n_components,)
        b.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    See Also
    --------
    AdditiveChi2Sampler : A kernel that adds over columns, without random draws.

    Notes
    -----
    The error of a product is about D^(-1/2). Transforming costs n d D. Rows in any place, dense, above -c.

    References
    ----------
    F. Li, C. Ionescu and C. Sminchisescu, Random Fourier approximations for skewed multiplicative histogram kernels,
    2010.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernel_approximation import SkewedChi2Sampler
    >>> X = np.random.default_rng(0).dirichlet(np.ones(3), size=30)
    >>> Z = SkewedChi2Sampler(skewedness=0.1, n_components=20000, random_state=0).fit_transform(X)
    >>> c = X + 0.1
    >>> K = (2 * np.sqrt(c[:, None] * c[None]) / (c[:, None] + c[None])).prod(axis=2)
    >>> bool(np.abs(Z @ Z.T - K).max() < 0.03)
    True
    """

    skewedness: float = parameter(Real(), default=1.0, doc="c: what is added to all values before the logarithm.")

    _documents = {
        "n_components": "The number D of features.",
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "random_weights_": floats("columns, features"),
        "random_offset_": floats("features"),
    }
    _takes_sparse = False
    _depends_on_units = ("columns", "scale", "place")

    def _draw(self, source: Source) -> Generator[Any, Any, SkewedState]:
        if source.place != "memory":
            yield Moments(diagonal=True)  # the pass that looks for NaN; rows in memory were looked at when opened
        generator = np.random.default_rng(seed_sequence(self.random_state))
        n_bytes = 24.0 * source.n_features * self.n_components
        purpose = f"the frequencies of {self.n_components} features"
        require_memory("SkewedChi2Sampler", n_bytes, purpose, "lower n_components")
        even = generator.uniform(size=(source.n_features, self.n_components))
        # The inverse of the distribution function of sech(pi w); even is below 1, and above zero but once in 2^53.
        weights = np.log(np.tan(0.5 * math.pi * np.maximum(even, np.finfo(np.float64).tiny))) / math.pi
        offset = draw_phases(generator, self.n_components)
        return SkewedState(weights.astype(source.host_dtype), offset.astype(source.host_dtype))

    def _fitted(self, state: SkewedState) -> dict[str, Any]:
        return {"random_weights_": state.weights, "random_offset_": state.offset}

    def _map(self, ready: bool) -> _SkewedWaves:
        return _SkewedWaves(self.random_weights_, self.random_offset_, float(self.skewedness))

    @property
    def _n_features_out(self) -> int:
        return int(self.random_weights_.shape[1])
