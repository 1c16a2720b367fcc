"""Random projections, and how many axes keep all distances (the lemma of Johnson and Lindenstrauss)."""

import math
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import DataDimensionalityWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, fitting, open_new_rows, seed_sequence
from mercer._base.linear_map import LinearMap
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, Seed, attribute, parameter
from mercer._base.reading import read_integer, read_numbers
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._source.namespace import namespace_of, to_numpy
from mercer._source.placement import Placement
from mercer._stored import Stored, floats, size
from mercer._types import Array
from mercer.errors import DataError

# The least share of entries other than zero from which dense axes are multiplied sooner than sparse ones.
_DENSE_SHARE = 1 / 30
# The most entries of sparse axes that are made dense for each block: 128 KiB of float64.
_DENSE_AXES = 2**14
_CERTIFICATE = Certificate.none(
    "The axes are drawn, not optimised; johnson_lindenstrauss_eps bounds the change of distances with good "
    "probability, and measure_distortion measures it."
)


def johnson_lindenstrauss_min_dim(n_samples: Any, *, eps: Any = 0.1) -> Any:
    r"""Return the number of random axes that keep all squared distances between rows within a factor of 1 +- eps.

    For one pair the squared length of the projected difference is :math:`\chi^2_k / k` times the true one, and leaves
    :math:`1 \pm \varepsilon` with probability at most :math:`2 e^{-k (\varepsilon^2 / 2 - \varepsilon^3 / 3) / 2}`.
    With

    .. math:: k \ge 4 \ln n / (\varepsilon^2 / 2 - \varepsilon^3 / 3)

    that is :math:`2 / n^2`, so that over all :math:`n (n - 1) / 2` pairs some projection keeps every distance, and a
    repeated draw finds one soon. The number does not depend on the number of features.

    Parameters
    ----------
    n_samples : int or array-like of int
        Number of rows, positive.
    eps : float or array-like of float in (0, 1), default=0.1
        Largest relative error of a squared distance.

    Returns
    -------
    int or ndarray of int
        The number of axes, rounded down; it depends on rows and error alone.

    References
    ----------
    Dasgupta and Gupta (1999), An elementary proof of the Johnson-Lindenstrauss lemma.

    Examples
    --------
    >>> from mercer.random_projection import johnson_lindenstrauss_min_dim
    >>> int(johnson_lindenstrauss_min_dim(1e6, eps=0.5))
    663
    >>> johnson_lindenstrauss_min_dim([1e4, 1e5, 1e6], eps=0.1)
    array([ 7894,  9868, 11841])
    """
    subject = "johnson_lindenstrauss_min_dim"
    errors = read_numbers(subject, "eps", eps, 0.0, 1.0, closed="neither", cure="0.1 is usual.")
    rows = read_numbers(subject, "n_samples", n_samples, 0.0, closed="neither", cure="Give the number of rows.")
    np.broadcast_shapes(errors.shape, rows.shape)
    return (4 * np.log(rows) / (errors**2 / 2 - errors**3 / 3)).astype(np.int64)


def johnson_lindenstrauss_eps(n_samples: int, n_components: int) -> float:
    """Return the relative error of squared distances that some random axes promise: the bound the other way round.

    Parameters
    ----------
    n_samples : int
        Number of rows, at least 2.
    n_components : int
        Number of random axes.

    Returns
    -------
    float
        The error in (0, 1) at which :func:`johnson_lindenstrauss_min_dim` asks for this number of axes; 1 where so few
        axes promise nothing.

    Examples
    --------
    >>> from mercer.random_projection import johnson_lindenstrauss_eps
    >>> round(johnson_lindenstrauss_eps(1_000_000, 1000), 3)
    0.386
    """
    rows = read_integer("johnson_lindenstrauss_eps", "n_samples", n_samples, 2)
    axes = read_integer("johnson_lindenstrauss_eps", "n_components", n_components, 1)
    wanted = 4 * np.log(rows) / axes
    # eps^2 / 2 - eps^3 / 3 rises from 0 to 1/6 on (0, 1).
    if wanted >= 1 / 6:
        return 1.0
    return float(brentq(lambda eps: eps**2 / 2 - eps**3 / 3 - wanted, 0.0, 1.0, xtol=1e-14))


@plain
@dataclass(frozen=True, eq=False)
class AxesState:
    """Random axes, their pseudo-inverse where it was asked for, and the share of entries that are not zero."""

    components: Any
    inverse: Any
    density: float


class RandomProjection(LinearMap, Estimator):
    """What the two random projections share: the number of axes, the draw, and the way back."""

    n_components: Any = parameter(
        Integer(1) | Choice("auto"),
        default="auto",
        kw_only=False,
        doc='How many axes; ``"auto"`` takes the number of :func:`johnson_lindenstrauss_min_dim`.',
    )
    eps: float = parameter(
        Real(0, closed="neither"),
        default=0.1,
        doc='Largest relative error of squared distances that ``"auto"`` promises; below 1 there.',
    )
    compute_inverse_components: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether ``fit`` computes the pseudo-inverse that ``inverse_transform`` needs, which else each call does.",
    )
    random_state: Any = parameter(Seed(), default=None, doc="Of the axes.")
    n_jobs: int | None = parameter(
        Integer() | Nothing(), default=None, doc="Threads of ``transform``; never changes a result."
    )

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _objective_moves: ClassVar[str | None] = None
    n_components_: int = attribute()
    inverse_components_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "n_components_": size("components"),
        "inverse_components_": floats("columns, components"),
    }
    _takes_sparse = True
    _depends_on_units = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None) -> "RandomProjection":
        """Draw the axes; of the rows only their number and that of the columns matter."""
        source = self._open(X, accept_sparse="csr")
        count = self._count(source)
        require_memory(type(self).__name__, self._bytes(count, source.n_features), "the random axes", "raise eps")
        outcome = self._drive(lambda start: self._solver(count, source), source, max_steps=1)
        self._conclude(outcome)
        return self

    def _count(self, source: Source) -> int:
        """Return the number of axes; ``"auto"`` is what the lemma asks for."""
        if self.n_components != "auto":
            if self.n_components > source.n_features:
                warnings.warn(
                    f"{type(self).__name__}: The number of components is higher than the number of features: "
                    f"n_features < n_components ({source.n_features} < {self.n_components}). The rows become longer; "
                    f"lower n_components.",
                    DataDimensionalityWarning,
                    stacklevel=5,
                )
            return int(self.n_components)
        count = int(johnson_lindenstrauss_min_dim(source.n_rows, eps=self.eps))
        if not 0 < count <= source.n_features:
            rule = "is invalid" if count <= 0 else "is larger than the original space with"
            raise DataError(
                f"{type(self).__name__}: eps={self.eps:f} and n_samples={source.n_rows} lead to a target dimension of "
                f"{count} which {rule} n_features={source.n_features}. Raise eps, or give n_components."
            )
        return count

    def _solver(self, count: int, source: Source) -> Solver:
        yield from ()
        # A child of the seed: the stream of the seed itself may have made the user's rows.
        random = np.random.default_rng(seed_sequence(self.random_state).spawn(1)[0])
        components, density = self._draw(random, count, source.n_features)
        components = components.astype(source.host_dtype)
        inverse = _pseudo_inverse(components) if self.compute_inverse_components else None
        state = AxesState(components, inverse, density)
        yield Step(0.0, state, _CERTIFICATE)
        return Solution(state, True, _CERTIFICATE)

    def _bytes(self, count: int, n_features: int) -> float:
        """Return the memory of the axes in bytes."""
        raise NotImplementedError  # each projection defines its own

    def _draw(self, random: np.random.Generator, count: int, n_features: int) -> tuple[Any, float]:
        """Return `count` axes and the share of their entries that are not zero."""
        raise NotImplementedError  # each projection defines its own

    def _fitted(self, state: AxesState) -> dict[str, Any]:
        attributes = {"components_": state.components, "n_components_": state.components.shape[0]}
        return attributes if state.inverse is None else attributes | {"inverse_components_": state.inverse}

    def inverse_transform(self, X: Any) -> Array:
        """Return the shortest rows whose projection is `X`, by the pseudo-inverse of the axes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_components)
            Projected rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Rows; ``transform`` of them gives `X` again.
        """
        check_is_fitted(self)
        if issparse(X):
            X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32]).toarray()
        return super().inverse_transform(X)

    def _restore(self, scores: Array) -> Array:
        inverse = self.inverse_components_ if self.compute_inverse_components else _pseudo_inverse(self.components_)
        return namespace_of(scores).matmul(scores, inverse.T)


def _pseudo_inverse(components: Any) -> Any:
    """Return the pseudo-inverse of the axes, (n_features, n_components), where the axes are."""
    if issparse(components):
        components = components.toarray()
    return Placement.of(components).put(np.linalg.pinv(to_numpy(components)))


class GaussianRandomProjection(RandomProjection):
    r"""Project rows on axes drawn from a Gaussian: distances are kept, whatever the rows are.

    Entries of ``components_`` are independent, :math:`N(0, 1/k)` for k axes, so that the expected squared length of a
    projected vector is its own, and the relative error of n rows' squared distances is about
    :math:`\sqrt{8 \ln n / k}`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Axes.
    n_components_ : int
    inverse_components_ : ndarray of shape (n_features, n_components_)
        Pseudo-inverse of the axes, if it was asked for.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    O(k d) for the draw and O(n d k) for ``transform``. The fit reads no values: rows may be anywhere.

    References
    ----------
    Johnson and Lindenstrauss (1984), Extensions of Lipschitz mappings into a Hilbert space. Dasgupta and Gupta (1999),
    An elementary proof of the Johnson-Lindenstrauss lemma.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.random_projection import GaussianRandomProjection
    >>> X = np.random.default_rng(0).uniform(size=(25, 3000))
    >>> GaussianRandomProjection(random_state=0).fit_transform(X).shape
    (25, 2759)
    """

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns"),
    }

    def _bytes(self, count: int, n_features: int) -> float:
        return 16.0 * count * n_features

    def _draw(self, random: np.random.Generator, count: int, n_features: int) -> tuple[Any, float]:
        return random.standard_normal((count, n_features)) / math.sqrt(count), 1.0


class SparseRandomProjection(RandomProjection):
    r"""Project rows on sparse random axes: distances are kept as by Gaussian axes, in a fraction of the work.

    With density p an entry of ``components_`` is :math:`\pm 1 / \sqrt{p k}`, each with probability p / 2, and 0
    otherwise; its variance is 1/k, as for Gaussian axes.

    Attributes
    ----------
    components_ : sparse array of shape (n_components_, n_features)
        Axes, by rows (CSR); dense where the density is 1.
    n_components_ : int
    density_ : float
        The density that was used.
    inverse_components_ : ndarray of shape (n_features, n_components_)
        Pseudo-inverse of the axes, if it was asked for.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    O(p k d) for the draw and O(p n d k) for ``transform``. Rows whose mass is in a few entries need a larger density.

    References
    ----------
    Achlioptas (2003), Database-friendly random projections. Li, Hastie and Church (2006), Very sparse random
    projections.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.random_projection import SparseRandomProjection
    >>> X = np.random.default_rng(0).uniform(size=(25, 3000))
    >>> model = SparseRandomProjection(random_state=0).fit(X)
    >>> model.transform(X).shape, round(model.density_, 3)
    ((25, 2759), 0.018)
    """

    density: Any = parameter(
        Real(0, 1, "right") | Choice("auto"),
        default="auto",
        doc='Share of entries that are not zero; ``"auto"`` is 1 / sqrt(n_features), 1/3 is Achlioptas\' choice.',
    )
    dense_output: bool = parameter(Boolean(), default=False, after="eps", doc="Whether sparse rows give dense results.")

    # Sparse axes are SciPy's, which are in host memory.
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns", sparse=True),
        "density_": floats(),
    }

    def transform(self, X: Any) -> Any:
        """Project rows on the axes.

        Returns
        -------
        {ndarray, sparse array} of shape (n_samples, n_components)
            Projected rows: sparse if `X` is a sparse matrix in memory and ``dense_output`` is False.
        """
        if not issparse(X):
            return super().transform(X)
        source = open_new_rows(self, X, accept_sparse="csr")
        projected = source.whole() @ self.components_.T
        return projected.toarray() if issparse(projected) and self.dense_output else projected

    def _map_few(self, rows: np.ndarray) -> Array:
        axes = self._read_axes()
        return super()._map_few(rows) if issparse(axes) else rows @ axes.T

    def _read_axes(self) -> Any:
        """Return the axes as they are stored, or as a dense array where its products take less time."""
        axes, size = self.components_, math.prod(self.components_.shape)
        dense = issparse(axes) and size <= _DENSE_AXES and axes.nnz >= _DENSE_SHARE * size
        return axes.toarray() if dense else axes

    def _scores(self, block: Block) -> Array:
        axes = self.components_ if block.is_sparse else self._read_axes()
        # The operator, and not the block's product: the axes are SciPy's.
        projected = block.X @ axes.T
        return projected.toarray() if issparse(projected) else np.ascontiguousarray(projected)

    def _bytes(self, count: int, n_features: int) -> float:
        # A value, its column, and a draw of its place: 8 bytes each.
        return 24.0 * self._share(n_features) * count * n_features

    def _share(self, n_features: int) -> float:
        return 1.0 / math.sqrt(n_features) if self.density == "auto" else float(self.density)

    def _draw(self, random: np.random.Generator, count: int, n_features: int) -> tuple[Any, float]:
        density = self._share(n_features)
        size = math.sqrt(1.0 / density / count)
        if density == 1.0:
            return size * random.choice([-1.0, 1.0], (count, n_features)), 1.0
        places = _draw_places(random, count * n_features, density)
        values = size * random.choice([-1.0, 1.0], len(places))
        rows, columns = np.divmod(places, n_features)
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
        return csr_array((values, columns, starts), shape=(count, n_features)), density

    def _fitted(self, state: AxesState) -> dict[str, Any]:
        return super()._fitted(state) | {"density_": state.density}


def _draw_places(random: np.random.Generator, count: int, density: float) -> np.ndarray:
    """Return the places, rising, of the successes among `count` independent trials of probability `density`.

    The distance from one success to the next is geometric, so that only successes are drawn.
    """
    places = np.empty(0, dtype=np.int64)
    last = -1
    while last < count:
        # A tenth more than are expected, so that mostly one draw is enough.
        expected = int((count - last) * density * 1.1) + 16
        # A share that hardly ever succeeds has steps as long as integers go: their sums would overflow.
        more = last + np.cumsum(np.minimum(random.geometric(density, expected), count + 1))
        places, last = np.concatenate([places, more]), int(more[-1])
    return places[places < count]
