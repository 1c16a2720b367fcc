"""Tensor sketches: features of polynomial kernels by hashing columns and multiplying spectra."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.fft import irfft, rfft
from scipy.sparse import coo_array, csr_array

from mercer._base import seed_sequence
from mercer._base.parameter import Integer, Real, parameter
from mercer._native.sums import stored_products
from mercer._plain import plain
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._statistic import Moments
from mercer._stored import Stored, integers
from mercer._types import Array
from mercer.errors import DataError, ModelFileError
from mercer.kernel_approximation._mapped import FeatureMap

# Values of a tile of sketches: 2**16 float64 are 512 KiB, so that sketch, spectrum and product stay in the cache.
_TILE = 2**16
# The least rows of compiled products.
_LANES = 4


@plain
@dataclass(frozen=True, eq=False)
class SketchState:
    """Places and signs of the columns, one row for each factor."""

    places: Any
    signs: Any


@dataclass(frozen=True, eq=False)
class _Sketches:
    """The tensor sketch of the rows of a block: the convolution of one count sketch for each factor."""

    tables: list[Any]
    constants: Array
    width: int

    def __call__(self, block: Block) -> Array:
        return self.of_rows(block.X)

    def of_rows(self, X: Any) -> Array:
        """Return the features of rows in memory, computed tile by tile."""
        out = np.empty((X.shape[0], self.width), dtype=X.dtype)
        count = max(8, _TILE // self.width)
        for start in range(0, X.shape[0], count):
            out[start : start + count] = self._convolve(X[start : start + count])
        return out

    def _convolve(self, X: Any) -> Array:
        product: Any = None
        for table, constant in zip(self.tables, self.constants, strict=True):
            sketch = _multiply(X, table)
            sketch += constant
            if len(self.tables) == 1:
                return sketch
            spectrum = rfft(sketch, axis=1, overwrite_x=True)
            product = spectrum if product is None else np.multiply(product, spectrum, out=product)
        return irfft(product, self.width, axis=1, overwrite_x=True)


def _multiply(X: Any, table: csr_array) -> Array:
    """Return the product of rows and a table of hashed columns, (n, width), dense float64."""
    if not isinstance(X, np.ndarray):
        return (X.astype(np.float64, copy=False) @ table).toarray()
    turned = np.ascontiguousarray(X.T, dtype=np.float64)
    if X.shape[0] < _LANES:
        return np.asarray(table.T @ turned).T
    out = np.zeros((table.shape[1], X.shape[0]))
    stored_products.add_transposed_product(table.indptr, table.indices, table.data, turned, out)
    return out.T


def _deal_places(generator: np.random.Generator, columns: int, width: int) -> Array:
    """Draw a place for each column, each as often as the next but for one: columns share few places by chance alone.

    Signs alone make products unbiased, so places need not be independent; sketches of no more columns than places lose
    nothing.
    """
    return np.concatenate([generator.permutation(width) for _ in range(-(-columns // width))])[:columns]


class PolynomialCountSketch(FeatureMap):
    r"""Features of the polynomial kernel :math:`(\gamma\, x \cdot y + c_0)^p`, by tensor sketches.

    A count sketch adds each column, with a random sign, to a random one of D places, each to another where there are
    enough. The features are the convolution of p independent sketches, computed as the product of their spectra:
    :math:`E[z(x) \cdot z(y)] = k(x, y)`, at the cost of p sketches and transforms instead of d^p products of columns.

    Attributes
    ----------
    indexHash_ : ndarray of int64 of shape (degree, d), or (degree, d + 1) with `coef0`
        The place of each column in each sketch.
    bitHash_ : ndarray of int64 of the same shape
        Its sign.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    Transforming costs n p (d + D log D); D of many small factors, such as a power of two, is quickest. The variance of
    a product is below :math:`3^p k(x, x) k(y, y) / D`. Rows in memory, files, streams or Dask, sparse or dense.

    References
    ----------
    N. Pham and R. Pagh, Fast and scalable polynomial kernels via explicit feature maps, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernel_approximation import PolynomialCountSketch
    >>> X = np.random.default_rng(0).normal(size=(30, 20)) / np.sqrt(20)
    >>> Z = PolynomialCountSketch(n_components=8192, random_state=0).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - (X @ X.T) ** 2).max() < 0.1)
    True
    """

    gamma: float = parameter(Real(0, squared=False), default=1.0, doc="The factor of dot products.")
    degree: int = parameter(Integer(1), default=2, doc="The power p.")
    coef0: float = parameter(Real(0, squared=False), default=0.0, doc="The constant c0.")

    _documents = {
        "n_components": "The number D of features.",
    }
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _stored: ClassVar[dict[str, Stored]] = {
        "indexHash_": integers("factors, hashed", low=0),
        "bitHash_": integers("factors, hashed", low=-1),
    }
    _depends_on_units = ("columns", "scale", "place")

    def _check_structure(self) -> None:
        state = vars(self)
        if not {"indexHash_", "bitHash_", "n_features_in_", "_n_features_out"} <= state.keys():
            return
        places, width, d = state["indexHash_"], state["_n_features_out"], state["n_features_in_"]
        if places.shape[1] not in (d, d + 1) or (places.size and places.max() >= width):
            raise ModelFileError(
                f"PolynomialCountSketch.indexHash_ must give each of {d} columns a place below {width}; got the shape "
                f"{places.shape} and places up to {places.max(initial=0)}."
            )

    def _draw(self, source: Source) -> Generator[Any, Any, SketchState]:
        if source.place != "memory":
            yield Moments(diagonal=True)  # the pass that looks for NaN; rows in memory were looked at when opened
        generator = np.random.default_rng(seed_sequence(self.random_state))
        # The constant is one column more, that of the root of coef0.
        shape = int(self.degree), source.n_features + (self.coef0 != 0)
        purpose = f"the places of {shape[1]} columns in {self.degree} sketches"
        require_memory("PolynomialCountSketch", 48.0 * shape[0] * shape[1], purpose, "lower degree")
        places = np.stack([_deal_places(generator, shape[1], int(self.n_components)) for _ in range(shape[0])])
        return SketchState(places, 2 * generator.integers(0, 2, size=shape) - 1)

    def _fitted(self, state: SketchState) -> dict[str, Any]:
        return {"indexHash_": state.places, "bitHash_": state.signs, "_n_features_out": int(self.n_components)}

    def _map(self, ready: bool) -> _Sketches:
        d, width = self.n_features_in_, self._n_features_out
        if self.indexHash_.shape[1] != d + (self.coef0 != 0):
            raise DataError(
                f"PolynomialCountSketch: Number of features of test samples does not match that of training samples: "
                f"coef0={self.coef0} is zero where that of the fit was not, or the reverse. Fit again."
            )
        root, constants = math.sqrt(self.gamma), np.zeros((len(self.indexHash_), width))
        tables = []
        for number, (places, signs) in enumerate(zip(self.indexHash_, self.bitHash_, strict=True)):
            signs = signs.astype(np.float64)
            tables.append(csr_array(coo_array((root * signs[:d], (np.arange(d), places[:d])), shape=(d, width))))
            if self.coef0 != 0:
                constants[number, places[d]] += math.sqrt(self.coef0) * signs[d]
        return _Sketches(tables, constants, width)
