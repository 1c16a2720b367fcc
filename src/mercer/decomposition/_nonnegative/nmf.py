"""Nonnegative matrix factorisation: rows as sums of parts, as an estimator and as a function of both factors."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from mercer._base import seed_sequence
from mercer._base.parameter import Boolean, Choice, Seed, parameter
from mercer._base.validation import check_rows
from mercer._solver import Solver
from mercer._source import Block, Source
from mercer._types import Array
from mercer.decomposition._nonnegative.coordinate import SWEEPS_PER_ITERATION, descend, solve_rows
from mercer.decomposition._nonnegative.factor_model import FactorModel
from mercer.decomposition._nonnegative.multiplicative import multiply, solve_rows_multiplicatively
from mercer.decomposition._nonnegative.problem import Extent, Factors, Penalties
from mercer.decomposition._nonnegative.start import check_given, find_start, resolve_count
from mercer.errors import ParameterError


class NMF(FactorModel):
    r"""Nonnegative matrix factorisation: rows as sums of parts, with weights and parts that are never negative.

    Minimises over :math:`W \ge 0` and :math:`H \ge 0` (``components_``), for n rows and d columns,

    .. math:: D(X, W H) + d \alpha_W \bigl(r \lVert W \rVert_1 + \tfrac{1 - r}{2} \lVert W \rVert^2\bigr)
              + n \alpha_H \bigl(r \lVert H \rVert_1 + \tfrac{1 - r}{2} \lVert H \rVert^2\bigr)

    with r = ``l1_ratio`` and D half the squared error, or another beta-divergence. What cannot be cancelled by a
    negative part must be built from parts, which so are local: noses of faces, topics of texts.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        H, the parts.
    n_components_ : int
    reconstruction_err_ : float
        ``|X - W H|``, or the root of twice the divergence.
    history_ : dict of ndarray
        The objective, which falls, and the relative projected gradient, iteration by iteration.
    certificate_ : Certificate
        The relative projected gradient at the answer: zero at a stationary point. The problem is not convex, and other
        starts may give lower minima.

    Notes
    -----
    An iteration reads X once and costs O(n d k) (O(nnz k) for sparse rows) plus O((n + d) k^2) for four sweeps over all
    coordinates, which are native code on all threads; O((n + d) k) memory besides X.

    References
    ----------
    Lee and Seung (1999), Learning the parts of objects by non-negative matrix factorization. Cichocki and Phan (2009),
    Fast local algorithms for large scale nonnegative matrix and tensor factorizations. Gillis and Glineur (2012),
    Accelerated multiplicative updates and hierarchical ALS algorithms. Fevotte and Idier (2011), Algorithms for
    nonnegative matrix factorization with the beta-divergence. Boutsidis and Gallopoulos (2008), SVD based
    initialization.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import NMF
    >>> X = np.array([[1.0, 1.0], [2.0, 1.0], [3.0, 1.2], [4.0, 1.0], [5.0, 0.8], [6.0, 1.0]])
    >>> model = NMF(2, tol=1e-6, max_iter=1000).fit(X)
    >>> bool((model.components_ >= 0).all()), round(model.reconstruction_err_, 3)
    (True, 0.0)
    """

    solver: str = parameter(
        Choice("cd", "mu"),
        default="cd",
        after="init",
        doc="Coordinate descent, for squared error; multiplicative updates, for every loss.",
    )
    random_state: Any = parameter(Seed(), default=None, after="max_iter", doc="Of the start.")
    shuffle: bool = parameter(
        Boolean(),
        default=False,
        after="verbose",
        doc="Accepted for scikit-learn's code; coordinates are visited in order, which takes fewer iterations.",
    )

    _documents = {
        "init": (
            "The start: random numbers; positive parts of singular vectors, with zeros, filled with the mean of X "
            'or with small random numbers; given W and H. None is ``"nndsvd"`` for ``solver="cd"`` unless the rank '
            'of X is below n_components, ``"nndsvda"`` for ``"mu"``, and ``"random"`` for more parts than columns '
            "or rows."
        ),
        "beta_loss": (
            'The divergence, by name or by its beta (2, 1, 0). Those but ``"frobenius"`` need ``solver="mu"``.'
        ),
        "tol": (
            '``"cd"`` stops when the relative projected gradient is at most 5 times this, ``"mu"`` when ten '
            "iterations lower the divergence by less than this share of its first value."
        ),
        "max_iter": "Most iterations.",
    }
    _depends_on_units = ("columns", "place")

    def _learn(self, X: Any, W: Any, H: Any) -> Array | None:
        if self.solver == "cd" and self._beta != 2:
            raise ParameterError(
                f"NMF: Invalid beta_loss parameter: solver 'cd' does not handle beta_loss = {self.beta_loss!r}; set "
                f"solver='mu'."
            )
        if self.solver == "mu" and self.init == "nndsvd":
            message = "NMF: The multiplicative update ('mu') solver cannot update zeros present in the initialization"
            warnings.warn(f"{message}; set init='nndsvda' or 'nndsvdar'.", UserWarning, stacklevel=4)
        source = self._open(X, accept_sparse="csr")
        seed = seed_sequence(self.random_state)
        fitted = partial(self._attributes_of, dtype=source.host_dtype)
        solve = partial(self._solve, source, (W, H), seed)
        outcome = self._drive(solve, source, fitted=fitted, max_steps=self.max_iter)
        weights = outcome.state.W.astype(source.host_dtype)
        self.n_iter_ = outcome.state.step
        self._conclude(outcome)
        # Multiplicative updates stop before the rows are solved for.
        return weights if self.solver == "cd" else None

    def _solve(self, source: Source, given: tuple[Any, Any], seed: SeedSequence, start: Factors | None) -> Solver:
        """Measure the rows, choose the start and run the solver."""
        extent = yield Extent()
        size = float(source.n_rows) * source.n_features
        Extent.check(extent, type(self).__name__, self._beta, size)
        penalties = Penalties.of(self, source.n_rows, source.n_features)
        if start is None:
            count = resolve_count(self.n_components, given[1] if self.init == "custom" else None, source.n_features)
            start = yield from find_start(
                source, self.init, count, extent.total / size, seed, given, can_leave_zero=self.solver == "cd"
            )
        if self.solver == "cd":
            # Of dense rows the entries that are not zero count too: storage must not change the answer.
            entries = extent.n_positive
            return (yield from descend(start, penalties, extent.squares, entries, self.tol, self.max_iter))
        return (yield from multiply(start, self._beta, penalties, self.tol, self.max_iter))

    def _attributes_of(self, state: Factors, dtype: Any) -> dict[str, Any]:
        return {
            "components_": np.ascontiguousarray(state.T.T, dtype=dtype),
            "n_components_": state.T.shape[1],
            "reconstruction_err_": float(np.sqrt(2.0 * state.divergence)),
        }

    def _scores(self, block: Block) -> Array:
        T = np.ascontiguousarray(self.components_.T, dtype=np.float64)
        penalties = self._penalties(block.n)
        if self.solver == "cd":
            sweeps = SWEEPS_PER_ITERATION * self.max_iter
            return solve_rows(block, T, penalties.l1_rows, penalties.l2_rows, sweeps).astype(block.X.dtype)
        W = solve_rows_multiplicatively(block.X, T, self._beta, penalties, self.tol, self.max_iter)
        return W.astype(block.X.dtype)


def non_negative_factorization(
    X: Any,
    W: Any = None,
    H: Any = None,
    n_components: Any = "auto",
    *,
    init: str | None = None,
    update_H: bool = True,
    solver: str = "cd",
    beta_loss: Any = "frobenius",
    tol: float = 1e-4,
    max_iter: int = 200,
    alpha_W: float = 0.0,
    alpha_H: Any = "same",
    l1_ratio: float = 0.0,
    random_state: Any = None,
    verbose: int = 0,
    shuffle: bool = False,
) -> tuple[Array, Array, int]:
    """Factorise rows into W H with factors that are not negative; what :class:`NMF` finds, with both factors.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows without negative entries.
    W : array-like of shape (n_samples, n_components), default=None
        The start with ``init="custom"``.
    H : array-like of shape (n_components, n_features), default=None
        The start with ``init="custom"``; kept as it is with ``update_H=False``.
    n_components : int, 'auto' or None, default='auto'
        How many parts; ``"auto"`` is that of a given H, else the number of columns.
    init, solver, beta_loss, tol, max_iter, alpha_W, alpha_H, l1_ratio, random_state, verbose, shuffle
        As in :class:`NMF`.
    update_H : bool, default=True
        Whether to find H too; if not, only W is found, for the given H.

    Returns
    -------
    W : ndarray of shape (n_samples, n_components)
        Weights.
    H : ndarray of shape (n_components, n_features)
        Parts.
    n_iter : int
        Iterations; 0 where only W was found.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import non_negative_factorization
    >>> X = np.array([[1.0, 1.0], [2.0, 1.0], [3.0, 1.2], [4.0, 1.0], [5.0, 0.8], [6.0, 1.0]])
    >>> W, H, _ = non_negative_factorization(X, n_components=2, random_state=0, tol=1e-6, max_iter=1000)
    >>> bool(np.allclose(W @ H, X, atol=1e-2))
    True
    """
    model = NMF(
        n_components,
        init=init,
        solver=solver,
        beta_loss=beta_loss,
        tol=tol,
        max_iter=max_iter,
        random_state=random_state,
        alpha_W=alpha_W,
        alpha_H=alpha_H,
        l1_ratio=l1_ratio,
        verbose=verbose,
        shuffle=shuffle,
    )
    model._check_parameters()
    if update_H:
        weights = model.fit_transform(X, W=W, H=H)
        return weights, model.components_, model.n_iter_
    if W is not None:
        warnings.warn("When update_H=False, the provided initial W is not used.", RuntimeWarning, stacklevel=2)
    rows = check_rows(model, X, threads=1, accept_sparse="csr")
    count = resolve_count(n_components, None if H is None else np.asarray(H), rows.shape[1])
    model.components_ = check_given(H, (count, rows.shape[1]), "H", rows.dtype).astype(rows.dtype)
    return model.transform(X), model.components_, 0
