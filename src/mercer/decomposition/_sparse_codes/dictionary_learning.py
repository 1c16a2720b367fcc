"""Dictionary learning: each row is a sparse sum of atoms."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from mercer._base import fitting, seed_sequence
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Function, Integer, Nothing, Real, Seed, attribute, parameter
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.decomposition._sparse_codes.coding import CodingRule
from mercer.decomposition._sparse_codes.dictionary import DictionaryState, begin, learn
from mercer.decomposition._sparse_codes.sparse_coder import SparseCoding
from mercer.errors import DataError


class LearntAtoms(SparseCoding):
    """What both searches for atoms share."""

    n_components: int | None = parameter(
        Integer(1) | Nothing(), default=None, kw_only=False, doc="How many atoms; None is the number of columns."
    )
    alpha: float = parameter(Real(0), default=1, doc="The penalty of the codes.")
    max_iter: int = parameter(Integer(0), default=1000)
    fit_algorithm: str = parameter(
        Choice("lars", "cd"),
        default="lars",
        doc="Accepted for scikit-learn's code: both name the Lasso, whose codes coordinate descent finds.",
    )
    dict_init: Any = parameter(
        ArrayRule() | Nothing(), default=None, doc="The first atoms; None is a start from singular vectors."
    )
    callback: Callable[..., Any] | None = parameter(
        Function() | Nothing(),
        default=None,
        doc="Deprecated in scikit-learn, and not called; ``set_callbacks`` takes those of :mod:`mercer.watch`.",
    )
    verbose: int | bool = parameter(Integer(0) | Boolean(), default=False)
    random_state: Any = parameter(Seed(), default=None, doc="Draws rows in the place of atoms that no row uses.")
    positive_dict: bool = parameter(Boolean(), default=False, doc="Whether atoms are kept from being negative.")

    components_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {"components_": floats("components, columns")}
    _depends_on_units = ("columns", "scale", "place")

    def _atoms(self) -> Array:
        return np.asarray(self.components_)

    def _fit_rule(self) -> CodingRule:
        return CodingRule.of(
            f"lasso_{self.fit_algorithm}", self.alpha, 1, self.positive_code, self.transform_max_iter, (1, 1)
        )

    def _count(self, n_features: int) -> int:
        return n_features if self.n_components is None else self.n_components

    def _read_start(self, name: str, value: Any, axis: int, length: int) -> Array | None:
        """Return a start that the user gave, or raise if it does not fit."""
        if value is None:
            return None
        array = np.asarray(value, dtype=np.float64)
        if array.ndim != 2 or array.shape[axis] != length:
            raise DataError(
                f"{type(self).__name__}: {name} must have {length} {'rows' if axis == 0 else 'columns'}; got shape "
                f"{array.shape}. Give one that fits the rows."
            )
        return array


class DictionaryLearning(LearntAtoms):
    r"""Dictionary learning: each row is a sparse sum of atoms.

    Minimises over the codes C and the atoms D (``components_``), of length one at most,

    .. math:: \tfrac12 \lVert X - C D \rVert^2 + \alpha \sum_{ik} \lvert c_{ik} \rvert .

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The atoms.
    error_ : ndarray of shape (n_iter_,)
        The objective, step by step.
    history_ : dict of ndarray
        The objective, which falls.
    certificate_ : Certificate
        What best steps of single atoms would still gain, as a share of the objective, where each row has its best code:
        zero at a stationary point. The problem is not convex, and other starts may end lower.

    Notes
    -----
    A step codes all rows, by coordinate descent in native code on all threads from their last codes, and moves each
    atom to its best place: O(n d k) and O(k) for each coordinate of a code that moves. n k numbers besides the rows,
    which are in memory. Weights count rows.

    References
    ----------
    Mairal, Bach, Ponce and Sapiro (2009), Online dictionary learning for sparse coding.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import DictionaryLearning
    >>> random = np.random.default_rng(0)
    >>> D = random.normal(size=(4, 8))
    >>> X = random.normal(size=(100, 4)) * (random.uniform(size=(100, 4)) < 0.5) @ D
    >>> model = DictionaryLearning(4, alpha=0.1, transform_algorithm="lasso_cd", random_state=0).fit(X)
    >>> gap = X - model.inverse_transform(model.transform(X))
    >>> bool((gap**2).sum() < 0.01 * (X**2).sum())
    True

    See Also
    --------
    MiniBatchDictionaryLearning : The same from batches of rows.
    SparsePCA : Sparse atoms with dense codes.
    """

    code_init: Any = parameter(
        ArrayRule() | Nothing(), default=None, after="dict_init", doc="The first codes, beside `dict_init`."
    )
    tol: float = parameter(
        Real(0, math.inf, "left"),
        default=1e-8,
        after="max_iter",
        doc="The fit has converged when moving atoms would lower the objective by no more than this share.",
    )

    error_: Array = attribute()

    _documents = {"max_iter": "Most steps."}
    _law_exceptions: ClassVar[dict[str, str]] = {}
    _stored: ClassVar[dict[str, Stored]] = {"error_": floats("*")}

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the atoms of `X`."""
        self._learn(X, sample_weight)
        return self

    @fitting
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Find the atoms of `X` and return the codes of its rows that belong to them, by `alpha`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Codes.
        """
        return self._learn(X, sample_weight)

    def _learn(self, X: Any, sample_weight: Any) -> Array:
        source = self._open(X, None, sample_weight)
        given = (
            self._read_start("code_init", self.code_init, 0, source.n_rows),
            self._read_start("dict_init", self.dict_init, 1, source.n_features),
        )
        seed, rule, count = seed_sequence(self.random_state), self._fit_rule(), self._count(source.n_features)

        def solve(state: DictionaryState | None) -> Any:
            start = begin(source, count, given, self.positive_dict) if state is None else state
            return learn(source, start, rule, self.positive_dict, seed, self.tol, self.max_iter)

        fitted = partial(self._attributes_of, dtype=source.host_dtype)
        outcome = self._drive(solve, source, fitted=fitted, max_steps=self.max_iter)
        codes = outcome.state.codes.astype(source.host_dtype)
        self.n_iter_ = outcome.state.step
        self._conclude(outcome)
        return codes

    def _attributes_of(self, state: DictionaryState, dtype: Any) -> dict[str, Any]:
        return {"components_": state.atoms.astype(dtype), "error_": np.array(state.errors)}


def dict_learning(
    X: Any,
    n_components: int,
    *,
    alpha: float,
    max_iter: int = 100,
    tol: float = 1e-8,
    method: str = "lars",
    n_jobs: int | None = None,
    dict_init: Any = None,
    code_init: Any = None,
    callback: Any = None,
    verbose: bool = False,
    random_state: Any = None,
    return_n_iter: bool = False,
    positive_dict: bool = False,
    positive_code: bool = False,
    method_max_iter: int = 1000,
) -> tuple[Any, ...]:
    """Learn atoms whose sparse sums are the rows, as :class:`DictionaryLearning` does.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    n_components : int
        How many atoms.
    alpha, max_iter, tol, n_jobs, dict_init, code_init, callback, verbose, random_state, positive_dict, positive_code
        As in :class:`DictionaryLearning`.
    method : {"lars", "cd"}, default="lars"
        Its `fit_algorithm`.
    return_n_iter : bool, default=False
        Whether to return the number of steps too.
    method_max_iter : int, default=1000
        Its `transform_max_iter`.

    Returns
    -------
    code : ndarray of shape (n_samples, n_components)
        Codes.
    dictionary : ndarray of shape (n_components, n_features)
        Atoms.
    errors : ndarray of shape (n_iter,)
        The objective, step by step.
    n_iter : int
        The steps, with `return_n_iter`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import dict_learning
    >>> X = np.random.default_rng(0).normal(size=(30, 5))
    >>> code, atoms, errors = dict_learning(X, 3, alpha=0.5, random_state=0)
    >>> code.shape, atoms.shape, bool(errors[-1] < errors[0])
    ((30, 3), (3, 5), True)
    """
    model = DictionaryLearning(
        n_components,
        alpha=alpha,
        max_iter=max_iter,
        tol=tol,
        fit_algorithm=method,
        n_jobs=n_jobs,
        dict_init=dict_init,
        code_init=code_init,
        callback=callback,
        verbose=verbose,
        random_state=random_state,
        positive_dict=positive_dict,
        positive_code=positive_code,
        transform_max_iter=method_max_iter,
    ).set_output(transform="default")
    found = (model.fit_transform(X), model.components_, model.error_)
    return (*found, model.n_iter_) if return_n_iter else found
