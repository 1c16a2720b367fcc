"""Kernel density estimation."""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, _crossovers, few_rows, fitting, generators, open_new_rows
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Options, Real, Text, parameter
from mercer._solver import Solver
from mercer._source.memory import require_memory
from mercer._stored import Stored, floats, part, texts
from mercer._types import Array
from mercer.errors import DataError, ModelFileError, ParameterError
from mercer.neighbors._bandwidth import (
    BandwidthSearch,
    BandwidthState,
    compute_normal_reference,
    compute_variances,
    read_bandwidth,
    reference_bandwidth,
    rule_factor,
)
from mercer.neighbors._density_method import Method
from mercer.neighbors._profile import PROFILES, draw_steps
from mercer.neighbors._row_tree import Locations, RowTree, build_tree

# How far from 1 a standard deviation may be for scikit-learn's rules, as a logarithm: beyond a factor of 2 the
# bandwidth errs by more than the rules differ from the best bandwidth of rows that are not Gaussian.
_LOG_SCALE = 0.7


class KernelDensity(LimitedEstimator):
    r"""Kernel density estimation.

    The density is a mean of bumps, one at each row :math:`x_i` of weight :math:`w_i`,

    .. math:: \hat p(x) = \frac{1}{W h^d V} \sum_i w_i\, k\!\left(\frac{\lVert x - x_i \rVert}{h}\right),
        \qquad W = \sum_i w_i, \quad V = \int k(\lVert u \rVert)\, du,

    with a profile k (`kernel`) and a `bandwidth` h, or one for each column. Small bandwidths give spikes at the rows
    (high variance), large ones flatten everything (high bias); ``'cross_validation'`` finds the one at which rows that
    are left out are most likely.

    Attributes
    ----------
    bandwidth_ : float or ndarray of shape (d,)
    tree_ : RowTree
        The rows of positive weight, in the order of the tree (``tree_.data``), and their boxes.
    grid_ : CellGrid or None
        The lattice, where one is used.
    algorithm_used_ : str
        ``'tree'``, ``'grid'`` or ``'brute'``.
    history_ : dict of ndarray
        Of a search, per bandwidth tried: ``objective`` (the best mean log-likelihood of rows left out so far),
        ``bandwidth``, ``score``, ``seconds``. Where the bandwidth is given, one step of objective 0.
    converged_ : bool
    n_iter_ : int
    certificate_ : Certificate
        ``"bracket"``: how far in log h a local maximum of the left-out likelihood can be.

    Notes
    -----
    A tree takes n log n to build and the memory of the rows again. Its sums meet the rows within some :math:`\sqrt{2
    \log(1 / \epsilon)}` bandwidths of a point (Gaussian; 8.5 in exact mode). The grid takes p^d, with p some 10 to 16
    nodes a side, for each row and point, and (p r)^d memory for a range of r bandwidths; a point at which its error
    bound is too large for `rtol` is handed to the tree. The density integrates to one in the Euclidean metric and in
    the other norms (Manhattan, Chebyshev, Minkowski); other metrics have the constant of the Euclidean one, as in
    scikit-learn. All rows are held in memory.

    References
    ----------
    B. Silverman, Density Estimation for Statistics and Data Analysis, 1986. A. Gray and A. Moore, Nonparametric density
    estimation: toward computational tractability, 2003. L. Greengard and J. Strain, The fast Gauss transform, 1991.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.neighbors import KernelDensity
    >>> X = np.array([[0.0], [1.0]])
    >>> model = KernelDensity(kernel="tophat", bandwidth=0.5).fit(X)
    >>> np.exp(model.score_samples([[0.2], [0.5], [0.9]])).round(12).tolist()  # half a window around each row
    [0.5, 0.0, 0.5]
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    bandwidth: float | str | Any = parameter(
        Real(0, closed="neither") | Choice("normal_reference", "cross_validation", "scott", "silverman") | ArrayRule(),
        default=1.0,
        doc="h; an array has one for each column. ``'normal_reference'`` is :math:`s_j (W (d + 2) / 4)^{-1/(d+4)}` "
        "for each column j of standard deviation :math:`s_j` (the root mean variance for constant ones): the "
        r"rule for rows of any scale. ``'cross_validation'`` maximises :math:`\sum_i w_i \log \hat "
        "p_{-i}(x_i)`, where row i and all its repetitions are left out. ``'scott'``, :math:`W^{-1/(d+4)}`, and "
        "``'silverman'``, :math:`(W (d + 2) / 4)^{-1/(d+4)}`, are what scikit-learn has under these names: they "
        "do not look at the rows, suit columns of unit variance alone, and warn for others.",
    )
    algorithm: str = parameter(
        Choice("kd_tree", "ball_tree", "auto", "grid", "brute"),
        default="auto",
        doc="How sums are taken; all keep `rtol` and `atol`. Both trees are one here: boxes around rows, and far "
        "boxes are not opened. ``'grid'`` is for Gaussians in few columns: polynomials in the cells of a "
        "lattice, made once by ``fit``; it needs an `rtol` or an `atol`. ``'brute'`` meets every row. "
        "``'auto'`` takes the grid where that is the fastest, else the tree.",
    )
    kernel: str = parameter(Choice(*PROFILES), default="gaussian", doc="The profile k.")
    metric: str = parameter(
        Text(),
        default="euclidean",
        doc="Any metric of scikit-learn's trees. Those other than the Euclidean one meet every row.",
    )
    atol: float = parameter(Real(0), default=0, doc="The absolute error that `rtol` speaks of.")
    rtol: float = parameter(
        Real(0),
        default=0,
        doc="A density errs by at most `rtol` times itself plus `atol`. With both zero it is exact to rounding.",
    )
    breadth_first: bool = parameter(
        Boolean(), default=True, doc="Taken for compatibility: nearest nodes are always opened first."
    )
    leaf_size: int = parameter(
        Integer(1), default=40, doc="Rows in a leaf of the tree, at least; fewer than twice as many."
    )
    metric_params: dict[str, Any] | None = parameter(
        Options() | Nothing(), default=None, doc="Parameters of the metric."
    )
    n_held_out: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="Rows that cross-validation leaves out in turn; None means each. Fewer are taken from leaves all over "
        "the tree, and cost as much less.",
    )
    tol: float = parameter(Real(0), default=0.01, doc="To what log h is searched for by cross-validation.")
    max_iter: int = parameter(Integer(1), default=50, doc="Most bandwidths that are tried.")

    _documents = {
        "max_time": "Seconds after which a search ends with what it has.",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "bandwidth_": floats(" | columns", finite=True),
        "tree_": part("RowTree"),
        "grid_": part("CellGrid", "none"),
        "algorithm_used_": texts(),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the rows are the model: it keeps all of them, in the order of its tree"
    }
    _objective_moves: ClassVar[str | None] = "up"
    _depends_on_units = ("columns", "scale")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelDensity":
        """Keep the rows, and find the bandwidth."""
        source = self._open(X, None, sample_weight)
        method = self._method()
        method.check()
        columns = self._columns(source)
        unit = np.ones(source.n_features) if columns is None else columns
        rows = source.whole(), source.weight, unit, self.leaf_size
        tree = build_tree(*rows, threads=self._threads(), subject=type(self).__name__)
        given = {"tree_": tree, "grid_": None}
        outcome = self._drive(self._solver(tree, columns), source, max_steps=self.max_iter, attributes=given)
        self.grid_ = method.make_grid(tree, self.bandwidth_)
        every_row = self.algorithm == "brute" or not method.is_euclidean
        self.algorithm_used_ = "brute" if every_row else "tree" if self.grid_ is None else "grid"
        self._conclude(outcome)
        return self

    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of the density at each point."""
        rows = self._points(X)
        points = rows if rows.dtype == np.float64 else rows.astype(np.float64)
        method = self._method(None if len(rows) >= _crossovers.THREADED_QUERIES else 1)
        logarithms = method.log_sums(self.tree_, self.bandwidth_, self.grid_, points)
        return (logarithms - method.log_constant(self.tree_, self.bandwidth_)).astype(rows.dtype, copy=False)

    def _check_structure(self) -> None:
        tree = vars(self).get("tree_")
        if isinstance(tree, RowTree) and (tree.data.shape[1] != self.n_features_in_ or np.min(self.bandwidth_) <= 0):
            raise ModelFileError(
                f"KernelDensity must have {self.n_features_in_} columns and bandwidths above 0; the file has not."
            )

    def logpdf(self, X: Any) -> Array:
        """Return what :meth:`score_samples` does, under the name that densities have."""
        return self.score_samples(X)

    def parameters(self) -> dict[str, Any]:
        """Return the bandwidth and the rows that bumps are at."""
        return {"bandwidth": self.bandwidth_, "rows": self.tree_.data}

    def score(self, X: Any, y: Any = None) -> float:
        """Return the log-likelihood of all points together."""
        return float(np.sum(self.score_samples(X), dtype=np.float64))

    def gradient(self, X: Any) -> Array:
        """Return the gradient of the log-density at each point; NaN where the density is zero.

        Where a profile has no derivative, at the rows or at the edges of their bumps, that row counts as flat.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        gradient : ndarray of shape (m, d)
        """
        rows, method = self._points(X), self._method()
        if not method.is_euclidean:
            raise DataError(
                f"KernelDensity: gradient needs the Euclidean metric; got metric={self.metric!r}. Use 'euclidean'."
            )
        # No tolerance here: the errors of numerator and denominator of grad p / p would add up.
        sums = method.sums(self.tree_, self.bandwidth_, 0.0, 0.0)
        return sums.gradient_of_log(rows.astype(np.float64, copy=False)).astype(rows.dtype, copy=False)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Return points drawn from the density.

        Parameters
        ----------
        n_samples : int
        random_state : None, int, RandomState or Generator

        Returns
        -------
        points : ndarray of shape (n_samples, d)
        """
        check_is_fitted(self)
        if (norm := self._method().norm) is None:
            raise DataError(
                f"KernelDensity: sample needs a metric that is a norm; got metric={self.metric!r}. Use 'euclidean'."
            )
        tree, (random,) = self.tree_, generators(random_state, 1)
        # In the order the rows were given, so that a row of weight two is drawn when its two repetitions would be.
        places = np.argsort(tree.order, kind="stable")
        # Inverse of the cumulated weights: a row is drawn by its weight, then a step from the kernel.
        shares = np.cumsum(tree.weight[places] if len(tree.weight) else np.ones(len(places)))
        chosen = np.searchsorted(shares, random.uniform(size=n_samples) * shares[-1], side="right")
        centres = tree.data[places[np.minimum(chosen, len(places) - 1)]]
        steps = draw_steps(self.kernel, n_samples, centres.shape[1], norm, random)
        return (centres + steps * self.bandwidth_).astype(tree.data.dtype, copy=False)

    def _points(self, X: Any) -> Array:
        """Return the points as an array: a few rows of NumPy as they are, others after all checks."""
        rows = few_rows(self, X)
        return open_new_rows(self, X).whole() if rows is None else rows

    def _method(self, threads: int | None = None) -> Method:
        parameters = self.metric_params or {}
        how = self.algorithm, self.kernel, self.metric, parameters, self.rtol, self.atol
        return Method(type(self).__name__, *how, self._threads() if threads is None else threads)

    def _columns(self, source: Any) -> Array | None:
        """Return the bandwidth of each column, checked; None if a single one or a rule for a single one is given."""
        d = source.n_features
        if isinstance(self.bandwidth, str) and self.bandwidth == "normal_reference":
            self._check_columns_allowed()
            return compute_normal_reference(source.whole(), source.weight)
        if isinstance(self.bandwidth, str) or np.ndim(self.bandwidth) == 0:
            return None
        columns = np.array(self.bandwidth, dtype=np.float64)
        if columns.shape != (d,) or not (np.isfinite(columns).all() and (columns > 0).all()):
            raise ParameterError(
                f"KernelDensity: bandwidth must be a positive number, or one for each of {d} columns; got "
                f"{self.bandwidth!r}."
            )
        self._check_columns_allowed()
        return columns

    def _check_columns_allowed(self) -> None:
        if not self._method().is_euclidean:
            raise ParameterError(
                f"KernelDensity: a bandwidth for each column needs the Euclidean metric; got metric={self.metric!r}. "
                f"Give one number."
            )

    def _warn_of_scale(self, tree: RowTree) -> None:
        """Warn if a rule that does not look at the rows is used for columns whose scale it does not suit."""
        spread = np.sqrt(compute_variances(tree.data, tree.weight if len(tree.weight) else None))
        wrong = (spread > 0) & (np.abs(np.log(np.where(spread > 0, spread, 1.0))) > _LOG_SCALE)
        if wrong.any():
            column = int(np.argmax(wrong))
            warnings.warn(
                f"KernelDensity: bandwidth={self.bandwidth!r} is for columns of standard deviation 1; that of column "
                f"{column} is {spread[column]:.3g}. Use bandwidth='normal_reference', or scale the columns.",
                UserWarning,
                stacklevel=6,
            )

    def _solver(self, tree: RowTree, columns: Array | None) -> Callable[[Any], Solver]:
        """Return the solver that finds the bandwidth by search, or that only reports a given one."""
        if columns is not None or not isinstance(self.bandwidth, str):
            return lambda state: read_bandwidth(self.bandwidth if columns is None else columns)
        if self.bandwidth != "cross_validation":
            self._warn_of_scale(tree)
            factor = rule_factor(self.bandwidth, tree.total, tree.data.shape[1])
            return lambda state: read_bandwidth(factor)
        start = reference_bandwidth(tree)
        # The spread of equal rows is zero but for rounding, so the rows themselves are compared too.
        if start == 0 or (tree.data == tree.data[0]).all():
            got = "n_samples=1" if len(tree.data) == 1 else "one row, repeated"
            raise DataError(
                f"KernelDensity: bandwidth='cross_validation' needs two different rows; got {got}. Give a number."
            )
        return BandwidthSearch(self._make_score(tree), float(np.log(start)), self.tol, self.max_iter).solve

    def _make_score(self, tree: RowTree) -> Callable[[float], float]:
        """Return a function from log h to the mean leave-one-out log-density; equal rows are left out together."""
        purpose = f"finding equal rows among {len(tree.data)}"
        require_memory(
            type(self).__name__, 3.0 * tree.data.nbytes, purpose, "fit to a sample of the rows, or give a number"
        )
        method, locations = self._method(), Locations.of(tree)
        leaves = tree.some_leaves(self.n_held_out)
        # An error e in the score moves its maximum by about the root of e.
        rtol = min(max(1e-3 * self.tol**2, 1e-12), 1e-7)
        rows = tree.rows_of(leaves)
        weight = tree.weight[rows] if len(tree.weight) else np.ones(len(rows))
        # log of (W - mass of the equals) / W: the normaliser of the sum without them.
        fewer = np.log1p(-locations.mass[locations.of_row[rows]] / tree.total)

        def score(logarithm: float) -> float:
            bandwidth = float(np.exp(logarithm))
            logarithms = method.log_left_out(tree, bandwidth, locations, leaves, rtol)
            logarithms -= fewer + method.log_constant(tree, bandwidth)
            return float(np.sum(weight * logarithms) / np.sum(weight))

        return score

    def _fitted(self, state: BandwidthState) -> dict[str, Any]:
        return {"bandwidth_": state.best}
