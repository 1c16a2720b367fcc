"""Random Fourier features: waves at random frequencies, whose products average to a kernel."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base import seed_sequence
from mercer._base.kernel_choice import one_order
from mercer._base.parameter import Choice, Real, attribute, parameter
from mercer._native.dual import kernel_values
from mercer._plain import plain
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._statistic import Moments
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import ParameterError
from mercer.kernel_approximation._mapped import FeatureMap

# Values of a tile of waves: 2**17 float64 are 1 MB, which stay in a second-level cache for product, sum and cosine.
_TILE = 2**17


@plain
@dataclass(frozen=True, eq=False)
class WaveState:
    """Frequencies, one in each column, phases, and gamma."""

    weights: Any
    offset: Any
    gamma: float


def draw_phases(generator: np.random.Generator, count: int) -> Array:
    """Draw one phase in each of `count` equal parts of the circle, in random order.

    Each phase is uniform over the circle, and the term of a product that depends on them, the mean of
    cos(W^T (x + y) + 2 b), nearly vanishes.
    """
    places = generator.permutation(count) + generator.uniform(size=count)
    return 2.0 * math.pi * places / count


@dataclass(frozen=True, eq=False)
class Waves:
    """sqrt(2 / D) cos(x W + b) of the rows of a block."""

    weights: Array
    offset: Array

    def __call__(self, block: Block) -> Array:
        if block.xp is np:
            return self.of_rows(block.X)
        waves = block.xp.cos(block.xp.matmul(block.X, self.weights) + self.offset)
        return waves * math.sqrt(2.0 / self.weights.shape[1])

    def of_rows(self, X: Array) -> Array:
        """Return the features of rows in memory, computed tile by tile."""
        width = self.weights.shape[1]
        weights, offset = self.weights.astype(X.dtype, copy=False), self.offset.astype(X.dtype, copy=False)
        out = np.empty((X.shape[0], width), dtype=X.dtype)
        # sqrt(2 / D) makes the mean product of two waves the kernel.
        factor, rows = math.sqrt(2.0 / width), max(1, _TILE // width)
        with one_order(X.shape[0] * width):
            for start in range(0, X.shape[0], rows):
                tile = out[start : start + rows]
                if isinstance(X, np.ndarray):
                    np.matmul(X[start : start + rows], weights, out=tile)
                else:
                    tile[...] = X[start : start + rows] @ weights
                apply_waves(factor, offset, tile)
        return out


def apply_waves(factor: float, offset: Array, tile: Array) -> None:
    """Turn each element t into factor cos(t + offset): NumPy's cosine is faster for float32, ours for float64."""
    if tile.dtype == np.float64:
        kernel_values.waves(factor, offset, tile)
        return
    tile += offset
    np.cos(tile, out=tile)
    tile *= tile.dtype.type(factor)


class RBFSampler(FeatureMap):
    r"""Random Fourier features of the Gaussian or the Laplacian kernel.

    The features :math:`z(x) = \sqrt{2 / D} \cos(W^T x + b)` have :math:`E[z(x) \cdot z(y)] = k(x, y)`: frequencies W
    are drawn from the Fourier transform of the kernel, phases b evenly. A linear model on z costs n D instead of n^2.

    Attributes
    ----------
    random_weights_ : ndarray of shape (d, n_components)
        W.
    random_offset_ : ndarray of shape (n_components,)
        b.
    gamma_ : float
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    The error of a product is about D^(-1/2). Transforming costs n d D. Rows in any place.

    References
    ----------
    A. Rahimi and B. Recht, Random features for large-scale kernel machines, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernel_approximation import RBFSampler
    >>> from mercer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> Z = RBFSampler(gamma=0.5, n_components=20000, random_state=0).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - RBF()(X)).max() < 0.03)
    True
    """

    gamma: Any = parameter(
        Real(0, closed="neither", squared=False) | Choice("scale"),
        default=1.0,
        doc=r"Of exp(-gamma \|x - y\|^2), or of exp(-gamma \|x - y\|_1); 'scale' is 1 / (d * variance of all "
        "values).",
    )
    kernel: str = parameter(
        Choice("rbf", "laplacian"),
        default="rbf",
        after="random_state",
        doc="The Gaussian kernel has normal frequencies, the Laplacian kernel of the sum norm Cauchy ones.",
    )

    _documents = {
        "n_components": "The number D of features.",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "random_weights_": floats("columns, features"),
        "random_offset_": floats("features"),
        "gamma_": floats(),
    }
    _depends_on_units = ("columns", "scale", "place")

    def _draw(self, source: Source) -> Generator[Any, Any, WaveState]:
        gamma = self.gamma
        # Rows in memory were checked for NaN when they were opened; the pass that sums other rows checks them.
        moments: Any = (yield Moments(diagonal=True)) if isinstance(gamma, str) or source.place != "memory" else None
        if isinstance(gamma, str):
            mean = moments.mean
            variance = float(np.mean(moments.scatter / moments.weight + (mean - mean.mean()) ** 2))
            gamma = 1.0 / (source.n_features * variance) if variance > 0 else 1.0
        generator = np.random.default_rng(seed_sequence(self.random_state))
        n_bytes = 24.0 * source.n_features * self.n_components
        purpose = f"the frequencies of {self.n_components} features"
        require_memory(type(self).__name__, n_bytes, purpose, "lower n_components")
        with np.errstate(over="ignore"):
            weights = self._draw_frequencies(generator, float(gamma), source.n_features).astype(source.host_dtype)
        if not np.isfinite(weights).all():
            raise ParameterError(
                f"{type(self).__name__}: gamma must leave the frequencies finite in {source.host_dtype}; got {gamma!r}"
                f". Lower it, or scale the columns."
            )
        offset = draw_phases(generator, self.n_components)
        return WaveState(weights, offset.astype(source.host_dtype), float(gamma))

    def _draw_frequencies(self, generator: np.random.Generator, gamma: float, n_features: int) -> Array:
        if self.kernel == "laplacian":
            return gamma * generator.standard_cauchy((n_features, self.n_components))
        return math.sqrt(2.0 * gamma) * generator.normal(size=(n_features, self.n_components))

    def _fitted(self, state: WaveState) -> dict[str, Any]:
        return {"random_weights_": state.weights, "random_offset_": state.offset, "gamma_": state.gamma}

    def _map(self, ready: bool) -> Waves:
        return Waves(self.random_weights_, self.random_offset_)

    @property
    def _n_features_out(self) -> int:
        return int(self.random_weights_.shape[1])


class OrthogonalRandomFeatures(RBFSampler):
    r"""Random Fourier features of the Gaussian kernel with orthogonal frequencies.

    As :class:`RBFSampler`, but frequencies come in groups of d that are orthogonal, with the lengths that independent
    ones would have. Products have the same expectation and a smaller variance, most so where
    :math:`\gamma \lVert x - y \rVert^2` is small beside d.

    Attributes
    ----------
    random_weights_, random_offset_, gamma_, n_features_in_, feature_names_in_
        As in :class:`RBFSampler`.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    Drawing costs d^2 n_components more than independent frequencies. Rows in any place.

    References
    ----------
    F. Yu et al., Orthogonal random features, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernel_approximation import OrthogonalRandomFeatures
    >>> from mercer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(50, 8))
    >>> Z = OrthogonalRandomFeatures(gamma=0.05, n_components=4000, random_state=0).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - RBF(gamma=0.05)(X)).max() < 0.05)
    True
    """

    _documents = {
        "gamma": r"Of exp(-gamma \|x - y\|^2); 'scale' is 1 / (d * variance of all values).",
        "n_components": "The number of features.",
    }

    kernel: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "random_weights_": floats("columns, features"),
        "random_offset_": floats("features"),
    }

    def _draw_frequencies(self, generator: np.random.Generator, gamma: float, n_features: int) -> Array:
        groups = []
        for start in range(0, self.n_components, n_features):
            count = min(n_features, self.n_components - start)
            Q, R = np.linalg.qr(generator.normal(size=(n_features, n_features)))
            # With the signs of the diagonal of R, Q is uniform over all orthogonal matrices (Haar measure).
            lengths = np.sqrt(generator.chisquare(n_features, size=count))
            groups.append((Q * np.sign(np.diag(R)))[:, :count] * lengths)
        return math.sqrt(2.0 * gamma) * np.concatenate(groups, axis=1)
