"""Singular value decomposition of the rows as they are, cut to a few components: sparse rows stay sparse."""

from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.linear_map import LinearMap
from mercer._base.parameter import Choice, Integer, Real, Seed, parameter
from mercer._base.validation import check_finite
from mercer._source import Source
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.decomposition._axes import PrincipalAxes, Task
from mercer.decomposition._iterative import arpack, iterate_subspace
from mercer.decomposition._policy import count_effective_rows
from mercer.errors import DataError


class TruncatedSVD(LinearMap, LimitedEstimator):
    r"""Truncated singular value decomposition: the best approximation of the rows by a matrix of low rank.

    The k leading singular triplets of X minimise the squared error over all matrices of rank k (Eckart and Young)::

        X  =  U S V^T,      min_(rank B <= k) |X - B|^2  =  |X - U_k S_k V_k^T|^2  =  sum_(i > k) s_i^2

    Row i of ``components_`` is the right singular vector v_i, ``singular_values_[i]`` is s_i. The rows are not centred,
    so that sparse rows stay sparse: of counts of words in texts this is latent semantic analysis. On centred rows it
    equals :class:`PCA`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Right singular vectors; the entry of largest magnitude in each is positive.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Variance of each score about its mean, and its share of the variance of all columns.
    singular_values_ : ndarray of shape (n_components,)
        The norms of the scores, falling.
    reconstruction_error_ : float
        The norm of what the components leave, ``|X - X V V^T|``.
    history_ : dict of ndarray
        The sum of squares that the components capture, per row (``objective``), which rises step by step.
    certificate_ : Certificate
        Largest ``|X^T X v - s^2 v| / s_max^2`` over the components.

    Notes
    -----
    O(nnz (k + n_oversamples)) a product for sparse rows and O(n d (k + n_oversamples)) for dense ones, n_iter + 2
    products, O(d k) memory; where the d x d matrix X^T X takes less work, it is formed once. Rows: NumPy, sparse,
    frames, files, streams, Dask, devices. Products with X^T X lose singular values below 1e-8 of the largest: where a
    wanted one is below 1e-5, the axes are found again without squares, with two passes a power iteration.

    References
    ----------
    Eckart and Young (1936), The approximation of one matrix by another of lower rank. Halko, Martinsson and Tropp
    (2011), Finding structure with randomness. Deerwester et al. (1990), Indexing by latent semantic analysis.

    Examples
    --------
    >>> from mercer.decomposition import TruncatedSVD
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> model = TruncatedSVD(10, random_state=0).fit(X)
    >>> round(model.reconstruction_error_**2 / float((X**2).sum()), 3)
    0.084
    """

    n_components: int = parameter(
        Integer(1),
        default=2,
        kw_only=False,
        doc='How many components; at most min(n_samples, n_features), and below it for ``"arpack"``.',
    )
    algorithm: str = parameter(
        Choice("arpack", "randomized"),
        default="randomized",
        doc='``"randomized"``: subspace iteration from random vectors, with Ritz values; ``"arpack"``: Lanczos\' '
        "method.",
    )
    n_iter: int = parameter(
        Integer(0),
        default=5,
        doc='Power iterations of ``"randomized"``; up to 32 dense columns need none, and their answer is exact.',
    )
    n_oversamples: int = parameter(Integer(1), default=10, doc='Extra random vectors of ``"randomized"``.')
    power_iteration_normalizer: str = parameter(
        Choice("auto", "QR", "LU", "none"),
        default="auto",
        doc='How ``"randomized"`` keeps its vectors apart between iterations; ``"auto"`` is ``"QR"``.',
    )
    random_state: Any = parameter(Seed(), default=None, doc="Of the first vectors.")
    tol: float = parameter(
        Real(0, closed="left"),
        default=0.0,
        doc='The largest relative residual at which a solver may stop. 0 means machine precision for ``"arpack"``, '
        'and no early stop for ``"randomized"``.',
    )

    _documents = {
        "max_time": 'Seconds after which ``"randomized"`` stops.',
    }

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _objective_moves: ClassVar[str | None] = "up"

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns"),
        "explained_variance_": floats("components"),
        "explained_variance_ratio_": floats("components"),
        "singular_values_": floats("components"),
        "reconstruction_error_": floats(),
    }
    _takes_sparse = True
    _depends_on_units = ("columns", "place")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "TruncatedSVD":
        """Find the leading singular vectors of `X`."""
        options = {"accept_sparse": "csr", "ensure_all_finite": False, "ensure_min_features": 2}
        source = self._open(X, sample_weight=sample_weight, **options)
        task = self._task(source)
        method: Any = arpack if self.algorithm == "arpack" else iterate_subspace
        with np.errstate(invalid="ignore", over="ignore"):
            outcome = self._drive(partial(method, task), source)
        self._conclude(outcome, "raise n_iter or tol")
        return self

    def _task(self, source: Source) -> Task:
        """Return the task of the solver; raise if the rows cannot have that many components."""
        n_rows, n_features = count_effective_rows(source), source.n_features
        limit = min(n_rows, n_features)
        most = limit - 1 if self.algorithm == "arpack" else limit
        if self.n_components > most:
            rows = "" if n_rows > n_features else f"n_samples={n_rows} and "
            raise DataError(
                f"TruncatedSVD: n_components={self.n_components} must be at most {most} for {rows}"
                f"n_features={n_features} with algorithm={self.algorithm!r}; lower it."
            )
        normalizer = "QR" if self.power_iteration_normalizer == "auto" else self.power_iteration_normalizer
        return Task(
            subject="TruncatedSVD",
            n_components=self.n_components,
            limit=limit,
            n_features=n_features,
            dtype=source.host_dtype,
            is_sparse=source.is_sparse,
            refuse=partial(self._refuse, source),
            centred=False,
            ddof=0,
            tol=self.tol,
            iterations=self.n_iter,
            n_oversamples=self.n_oversamples,
            normalizer=normalizer,
            seed=seed_sequence(self.random_state).spawn(1)[0],
        )

    def _refuse(self, source: Source) -> None:
        """Raise for rows whose squares are not finite: NaN, infinity, or numbers beyond 1e154."""
        if source.place == "memory":
            check_finite(source.whole(), self._threads(), self)
        source.check_finite()
        raise DataError("TruncatedSVD: the squares of the rows overflow float64; divide the rows by a constant.")

    def _fitted(self, state: PrincipalAxes) -> dict[str, Any]:
        sizes, dtype, weight = state.sizes, state.axes.dtype, state.weight
        # The variance of a score is its mean square less its squared mean.
        along = np.maximum(sizes / weight - (state.axes.astype(np.float64) @ state.mean) ** 2, 0.0)
        total = (float(sizes.sum()) + state.rest) / weight - float(state.mean @ state.mean)
        return {
            "components_": state.axes,
            "explained_variance_": along.astype(dtype),
            "explained_variance_ratio_": (along / total if total > 0 else np.zeros_like(along)).astype(dtype),
            "singular_values_": np.sqrt(sizes).astype(dtype),
            "reconstruction_error_": float(np.sqrt(state.rest)),
        }

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Find the components and return the scores of the same rows: ``fit(X).transform(X)``."""
        return self.fit(X, sample_weight=sample_weight).transform(X)
