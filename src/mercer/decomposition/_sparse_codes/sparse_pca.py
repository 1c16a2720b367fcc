"""Sparse principal components: few columns in each, found as the sparse codes of the columns."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.linear_map import LinearMap
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Function, Integer, Nothing, Real, Seed, attribute, parameter
from mercer._source import Block, Source, open_source
from mercer._source.namespace import namespace_of
from mercer._stored import Stored, floats, size
from mercer._types import Array
from mercer.decomposition._sparse_codes.coding import CodingRule, encode_rows
from mercer.decomposition._sparse_codes.dictionary import DictionaryState, begin, learn
from mercer.decomposition._sparse_codes.minibatch import MiniBatchDictionaryLearning, RunningAtoms
from mercer.errors import DataError

# Most sweeps over the components for a column.
_SWEEPS = 1000


class SparseComponents(LinearMap, LimitedEstimator):
    """Maps rows to their best weights of sparse components, by ridge regression."""

    _needs_rows: ClassVar[str] = "it codes the columns, each as a whole"

    n_components: int | None = parameter(
        Integer(1) | Nothing(), default=None, kw_only=False, doc="How many components; None is the number of columns."
    )
    alpha: float = parameter(Real(0), default=1, doc="The penalty: larger ones leave fewer columns in a component.")
    ridge_alpha: float = parameter(Real(0), default=0.01, doc="The ridge penalty of ``transform``.")
    max_iter: int = parameter(Integer(0), default=1000)
    tol: float = parameter(Real(0, math.inf, "left"), default=1e-8)
    method: str = parameter(
        Choice("lars", "cd"),
        default="lars",
        doc="Accepted for scikit-learn's code: both name the Lasso, whose codes coordinate descent finds.",
    )
    verbose: int | bool = parameter(Integer(0) | Boolean(), default=False)
    random_state: Any = parameter(Seed(), default=None, doc="Draws columns in the place of scores that none uses.")

    _maps_sparse = False
    components_: Any = attribute()
    mean_: Any = attribute()
    n_components_: int = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns"),
        "mean_": floats("columns"),
        "n_components_": size("components"),
    }
    _depends_on_units = ("columns", "scale")
    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "the columns are coded, for which the rows are copied"}

    def _centre(self, source: Source) -> tuple[Array, Source]:
        """Return the means of the columns, and the centred columns as the rows of a source."""
        rows = np.asarray(source.whole(), dtype=np.float64)
        mean = rows.mean(axis=0)
        return mean, open_source(np.ascontiguousarray((rows - mean).T), threads=source.threads)

    def _attributes_of(self, codes: Array, mean: Array, dtype: Any) -> dict[str, Any]:
        """Return the components: codes of the columns, of length one."""
        lengths = np.linalg.norm(codes, axis=0)
        components = (codes / np.where(lengths > 0, lengths, 1.0)).T
        return {
            "components_": np.ascontiguousarray(components, dtype=dtype),
            "mean_": mean.astype(dtype),
            "n_components_": len(components),
        }

    def _project(self, rows: Array) -> Array:
        components = np.asarray(self.components_, dtype=np.float64)
        gram = components @ components.T
        gram.flat[:: len(gram) + 1] += self.ridge_alpha
        products = (np.asarray(rows, dtype=np.float64) - self.mean_) @ components.T
        # Components without a column, and equal ones, have no unique weights: the shortest are taken.
        return (products @ np.linalg.pinv(gram, hermitian=True)).astype(rows.dtype, copy=False)

    def _map_few(self, rows: np.ndarray) -> Array:
        return self._project(rows)

    def _scores(self, block: Block) -> Array:
        return self._project(block.X)

    def _restore(self, scores: Array) -> Array:
        return namespace_of(scores).matmul(scores, self.components_) + self.mean_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class SparsePCA(SparseComponents):
    r"""Sparse principal components: each has few columns, and rows are sums of them.

    Minimises over the scores U, whose columns have length one at most, and the components V, before these are brought
    to length one,

    .. math:: \tfrac12 \lVert X - \bar x - U V \rVert^2 + \alpha \sum_{kj} \lvert v_{kj} \rvert .

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Components of length one, or zero; not orthogonal.
    mean_ : ndarray of shape (n_features,)
        Means of the columns.
    n_components_ : int
    error_ : ndarray of shape (n_iter_,)
        The objective, step by step.
    history_ : dict of ndarray
        The objective, which falls.
    certificate_ : Certificate
        What best steps of the scores of single components would still gain, as a share of the objective, where each
        column has its best code: zero at a stationary point. The problem is not convex.

    Notes
    -----
    It is dictionary learning with columns for rows: see :class:`DictionaryLearning` for method and cost. ``transform``
    finds scores by ridge regression on the components. Rows in memory.

    References
    ----------
    Jenatton, Obozinski and Bach (2010), Structured sparse principal component analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import SparsePCA
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(200, 2)) @ np.array([[1.0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    >>> model = SparsePCA(2, random_state=0).fit(X + 0.1 * random.normal(size=X.shape))
    >>> sorted((model.components_ != 0).sum(axis=1).tolist())
    [3, 3]
    """

    U_init: Any = parameter(ArrayRule() | Nothing(), default=None, after="n_jobs", doc="The first scores.")
    V_init: Any = parameter(ArrayRule() | Nothing(), default=None, after="U_init", doc="The first components.")

    error_: Array = attribute()

    _documents = {
        "max_iter": "Most steps.",
        "tol": "The fit has converged when moving scores would lower the objective by no more than this share.",
    }
    _stored: ClassVar[dict[str, Stored]] = {"error_": floats("*")}

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of `X`."""
        source = self._open(X)
        mean, columns = self._centre(source)
        count = source.n_features if self.n_components is None else self.n_components
        starts = (self.V_init, self.U_init)
        given = tuple(None if one is None else np.asarray(one, dtype=np.float64).T for one in starts)
        if given[0] is not None and given[0].shape != (source.n_features, count):
            raise DataError(
                f"SparsePCA: V_init must have shape ({count}, {source.n_features}); got {given[0].T.shape}."
            )
        if given[1] is not None and given[1].shape != (count, source.n_rows):
            raise DataError(f"SparsePCA: U_init must have shape ({source.n_rows}, {count}); got {given[1].T.shape}.")
        rule, seed = CodingRule("lasso_cd", float(self.alpha), sweeps=_SWEEPS), seed_sequence(self.random_state)

        def solve(state: DictionaryState | None) -> Any:
            start = begin(columns, count, given, False) if state is None else state
            return learn(columns, start, rule, False, seed, self.tol, self.max_iter)

        def fitted(state: DictionaryState) -> dict[str, Any]:
            # As in scikit-learn: the largest entry of a component is positive.
            codes, places = state.codes, np.abs(state.codes).argmax(axis=0)
            signs = np.where(codes[places, np.arange(count)] < 0, -1.0, 1.0)
            errors = {"error_": np.array(state.errors)}
            return self._attributes_of(codes * signs, mean, source.host_dtype) | errors

        outcome = self._drive(solve, columns, fitted=fitted, max_steps=self.max_iter)
        self.n_iter_ = outcome.state.step
        self._conclude(outcome)
        return self


class MiniBatchSparsePCA(SparseComponents):
    r"""Sparse principal components from batches of columns: the objective of :class:`SparsePCA`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Components of length one, or zero; not orthogonal.
    mean_ : ndarray of shape (n_features,)
        Means of the columns.
    n_components_ : int
    history_ : dict of ndarray
        The objective of each batch, per column, before its step.

    Notes
    -----
    It is dictionary learning from batches with columns for rows: see :class:`MiniBatchDictionaryLearning`. Rows in
    memory.

    References
    ----------
    Mairal, Bach, Ponce and Sapiro (2009), Online dictionary learning for sparse coding.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import MiniBatchSparsePCA
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(200, 2)) @ np.array([[1.0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    >>> model = MiniBatchSparsePCA(2, random_state=0).fit(X + 0.1 * random.normal(size=X.shape))
    >>> sorted((model.components_ != 0).sum(axis=1).tolist())
    [3, 3]
    """

    callback: Callable[..., Any] | None = parameter(
        Function() | Nothing(),
        default=None,
        after="max_iter",
        doc="Deprecated in scikit-learn, and not called; ``set_callbacks`` takes those of :mod:`mercer.watch`.",
    )
    batch_size: int = parameter(Integer(1), default=3, after="callback", doc="Columns in a batch.")
    shuffle: bool = parameter(Boolean(), default=True, after="batch_size", doc="Whether to draw an order of columns.")
    tol: float = parameter(
        Real(0, math.inf, "left"),
        default=1e-3,
        after="random_state",
        doc="The fit stops when a batch moves the scores by no more than this, per component; 0 switches the rule off.",
    )
    max_no_improvement: int | None = parameter(
        Integer(0) | Nothing(),
        default=10,
        after="tol",
        doc="The fit stops after this number of batches that do not lower the smoothed cost.",
    )

    _documents = {
        "max_iter": "Most passes over the columns.",
        "n_jobs": "Threads of ``transform``; batches follow one another. Never changes a result.",
    }
    _objective_moves: ClassVar[str | None] = None

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of `X`."""
        source = self._open(X)
        mean, columns = self._centre(source)
        count = source.n_features if self.n_components is None else self.n_components
        model = MiniBatchDictionaryLearning(
            count,
            alpha=self.alpha,
            max_iter=self.max_iter,
            shuffle=self.shuffle,
            tol=self.tol,
            max_no_improvement=self.max_no_improvement,
        )
        seed, size = seed_sequence(self.random_state), min(self.batch_size, columns.n_rows)
        rule, n_batches = CodingRule("lasso_cd", float(self.alpha), sweeps=_SWEEPS), -(-columns.n_rows // size)

        def fitted(state: RunningAtoms) -> dict[str, Any]:
            codes = encode_rows(columns.whole(), state.atoms, rule)
            return self._attributes_of(codes, mean, source.host_dtype)

        outcome = self._drive(
            partial(model._solve, columns, size, seed), columns, fitted=fitted, max_steps=self.max_iter * n_batches
        )
        self.n_iter_ = -(-outcome.state.step // n_batches)
        self._conclude(outcome)
        return self
