"""Multiway decision trees: ID3 and C4.5, with a branch for each category."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from mercer._base import Estimator, fitting
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, attribute, parameter
from mercer._base.scoring import ClassifierMixin
from mercer._base.validation import FLOATS, check_labels, check_weight, inspect_rows
from mercer._base.wrapping import check_wrapped_place
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._solver.tree.categories import find_codes, find_missing, is_frame
from mercer._source import open_source
from mercer._stored import Stored, labels, members, part, size
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.tree._multiway_gains import compute_impurities
from mercer.tree._multiway_tree import Growth, MultiwayTree, grow

_STATEMENT = "Splits are chosen one at a time: no smaller or better tree is excluded."


def learn_mixed_rows(estimator: Any, X: Any) -> tuple[Array, list[Array | None]]:
    """Read the rows of a fit as floats (n, d), and learn the sorted categories of each column; None if it is numeric.

    The categories of columns that are not numeric are strings.
    """
    chosen = estimator.categorical_features
    # An array has one type; without a list of columns none of them holds categories.
    if not is_frame(X) and (chosen is None or isinstance(chosen, str)):
        values = _read_array(estimator, X, reset=True)
        return values, [None] * values.shape[1]
    columns = _read_columns(estimator, X, reset=True)
    marked = _mark_columns(estimator, X, columns)
    categories = [
        np.unique(_take_present(column)) if mark else None for column, mark in zip(columns, marked, strict=True)
    ]
    return _encode(estimator, columns, categories), categories


def read_mixed_rows(estimator: Any, X: Any, categories: list[Array | None]) -> Array:
    """Read rows for a fitted model as floats (n, d); unknown categories get a code that no branch has."""
    if all(known is None for known in categories) and not is_frame(X):
        return _read_array(estimator, X, reset=False)
    return _encode(estimator, _read_columns(estimator, X, reset=False), categories)


def _read_array(estimator: Any, X: Any, reset: bool) -> Array:
    return inspect_rows(estimator, X, reset=reset, dtype=list(FLOATS), order="C", ensure_all_finite="allow-nan")


def _read_columns(estimator: Any, X: Any, reset: bool) -> list[Array]:
    """Return the columns: of a numeric type, or of objects."""
    if is_frame(X):
        import narwhals

        validate_data(estimator, X, reset=reset, skip_check_array=True)
        columns = [column.to_numpy() for column in narwhals.from_native(X, eager_only=True).iter_columns()]
    else:
        columns = list(inspect_rows(estimator, X, reset=reset, dtype=None, ensure_all_finite=False).T)
    # Columns that are not numeric become objects of Python, so texts of any width compare alike.
    return [column if column.dtype.kind in "iufb" else np.array(column.tolist(), dtype=object) for column in columns]


def _mark_columns(estimator: Any, X: Any, columns: list[Array]) -> list[bool]:
    """Return which columns hold categories: those named, or else those that are not numeric.

    Unlike `mark_categorical`, negative indices count from the last column, and indices and names may be mixed.
    """
    chosen = estimator.categorical_features
    if isinstance(chosen, str) or chosen is None:
        return [column.dtype.kind == "O" for column in columns]
    names = [str(name) for name in X.columns] if is_frame(X) else []
    marked = [False] * len(columns)
    given = list(chosen)
    # A list of truth values, one for each column, is a mask; any other list has names and indices.
    if len(given) == len(columns) and all(isinstance(mark, bool | np.bool_) for mark in given):
        return [bool(mark) for mark in given]
    for name in given:
        index = names.index(name) if isinstance(name, str) and name in names else name
        if not isinstance(index, int | np.integer) or not -len(columns) <= index < len(columns):
            raise ParameterError(
                f"{type(estimator).__name__}: categorical_features must name columns of X; got {name!r} for "
                f"{len(columns)} columns."
            )
        marked[index] = True
    return marked


def _encode(estimator: Any, columns: list[Array], categories: list[Array | None]) -> Array:
    table = np.empty((len(columns[0]), len(columns)))
    for j, (column, known) in enumerate(zip(columns, categories, strict=True)):
        table[:, j] = _read_numbers(estimator, column, j) if known is None else _encode_column(column, known)
    if np.isinf(table).any():
        raise DataError(f"{type(estimator).__name__}: Input X contains infinity. Drop or replace those values.")
    return table


def _read_numbers(estimator: Any, column: Array, j: int) -> Array:
    try:
        return np.where(find_missing(column), np.nan, column).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{type(estimator).__name__}: could not convert string to float in column {j}. Name it in "
            f"categorical_features, or give a frame and categorical_features='from_dtype'."
        ) from error


def _take_present(column: Array) -> Array:
    """Return the values that are not missing, as strings unless they are numeric."""
    present = column[~find_missing(column)]
    return np.array([str(value) for value in present]) if column.dtype.kind == "O" else present


def _encode_column(column: Array, known: Array) -> Array:
    codes = np.full(len(column), np.nan)
    present = _take_present(column)
    if len(known) and len(present):
        present = present.astype(str) if known.dtype.kind == "U" else present
        codes[~find_missing(column)] = find_codes(present, known, len(known))
    return codes


class MultiwayTreeClassifier(ClassifierMixin, Estimator):
    r"""Decision tree with many branches at a node: ID3, and C4.5 with its gain ratio.

    A node splits the column A of largest gain

    .. math:: G(S, A) = I(S) - \sum_v \frac{|S_v|}{|S|} I(S_v) ,

    where I is the impurity (`criterion`) and v runs over the categories of A; a column of numbers is split in two at
    the best threshold. With `gain_ratio` it is the column of largest :math:`G / H(A)`, with the entropy H of the sizes
    of the branches, among those whose gain is not below the mean: columns with many categories are favoured less.

    Attributes
    ----------
    tree_ : MultiwayTree
        The nodes: ``feature``, ``threshold``, ``parent``, ``branch``, ``weights``, and the ``gains`` of all columns.
    categories_ : list
        For each column its categories, or None for numbers.
    classes_, n_classes_ : ndarray of shape (n_classes,), int
        The labels, and how many there are.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Weighted gains of the splits of each column, as shares; columns with many categories are favoured.
    history_, converged_, n_iter_, certificate_ :
        One step, whose objective is the impurity left in the leaves. There is no certificate: the search is greedy.

    Notes
    -----
    A node costs O(d m log m) for m rows. A categorical column is split once on a path, a numeric one any number of
    times. At prediction a category that the node has not seen, and a missing value where the node has no branch for
    it, goes down all branches in the proportion of their weights. Ties: the first column, the lowest threshold. Rows
    must be in memory.

    References
    ----------
    J. R. Quinlan, *Induction of decision trees*, Machine Learning 1 (1986); *C4.5: programs for machine learning*,
    1993.

    Examples
    --------
    >>> from mercer.datasets import load_hiking
    >>> from mercer.tree import MultiwayTreeClassifier
    >>> days = load_hiking(as_frame=True)
    >>> model = MultiwayTreeClassifier().fit(days.data, days.target)
    >>> model.tree_.gains[0].round(3).tolist(), model.tree_.n_leaves
    ([0.247, 0.029, 0.152, 0.048], 5)
    """

    _needs_rows: ClassVar[str] = "it sorts the values of every column"

    criterion: str = parameter(
        Choice("entropy", "gini"),
        default="entropy",
        doc=r"The impurity: :math:`-\sum p_k \log_2 p_k` in bits, or :math:`1 - \sum p_k^2`.",
    )
    gain_ratio: bool = parameter(
        Boolean(), default=False, doc="Whether columns are compared by gain ratio (C4.5) instead of gain (ID3)."
    )
    categorical_features: Any = parameter(
        Choice("from_dtype") | ArrayRule("entries") | Nothing(),
        default="from_dtype",
        doc="Which columns hold categories: those of a frame that are not of numbers; or names, numbers or a mask "
        "of columns; None: those that are not of numbers, too.",
    )
    missing: str = parameter(
        Choice("branch", "fractional"),
        default="branch",
        doc="What is done with missing values (NaN, None) in training: a branch of their own, or rows go down all "
        "branches with weights in the proportion of the known ones, as in C4.5.",
    )
    max_depth: int | None = parameter(
        Integer(0) | Nothing(), default=None, doc="The most splits on a path; 0 is the majority predictor."
    )
    min_samples_split: int = parameter(Integer(2), default=2, doc="Nodes of fewer rows are not split.")
    min_samples_leaf: int = parameter(Integer(1), default=1, doc="The fewest rows of a branch.")
    min_gain: float = parameter(
        Real(0),
        default=0.0,
        doc="Splits that gain less are not made. Zero splits impure nodes also where nothing is gained at once.",
    )
    n_jobs: int | None = parameter(
        Integer() | Nothing(), default=None, doc="Accepted for uniformity; trees of this kind grow in one thread."
    )

    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "class sums are held for all thresholds of a node's columns"}

    tree_: MultiwayTree = attribute()
    categories_: list[Any] = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "n_classes_": size("classes"),
        "categories_": members(labels("* | none"), "columns"),
        "tree_": part("MultiwayTree"),
    }
    _takes_gaps = True

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MultiwayTreeClassifier":
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: numbers, or a frame whose columns may be words.
        """
        check_wrapped_place(self, X, y)
        if y is None:
            raise DataError(
                f"{type(self).__name__}: requires y to be passed, but the target y is None. Give the labels."
            )
        y = column_or_1d(y, warn=True)
        check_labels(y)
        values, categories = learn_mixed_rows(self, X)
        check_consistent_length(values, y)
        # A column of NaN alone is possible; rows without any value leave nothing to split by.
        if np.isnan(values).all():
            raise DataError(
                f"{type(self).__name__}: X must have a value in some column; got NaN only. Give other columns."
            )
        source = open_source(values, y, check_weight(self, sample_weight, len(y)), self._threads())
        classes, labels = np.unique(y, return_inverse=True)
        weight = np.ones(len(y)) if source.weight is None else source.weight
        growth = self._make_growth(categories)
        growing = _Growing(lambda: grow(growth, values, labels, weight, len(classes)), self.criterion)
        given = {"classes_": classes, "n_classes_": len(classes), "categories_": categories}
        outcome = self._drive(growing.solve, source, max_steps=1, attributes=given)
        self._conclude(outcome)
        return self

    def _make_growth(self, categories: list[Any]) -> Growth:
        # 0 stands for a column of numbers. A column of categories has at least one branch,
        # also if all its entries are missing.
        sizes = np.array([0 if known is None else max(len(known), 1) for known in categories])
        return Growth(
            sizes,
            self.criterion,
            self.gain_ratio,
            self.missing == "fractional",
            self.max_depth,
            self.min_samples_split,
            self.min_samples_leaf,
            self.min_gain,
        )

    def _fitted(self, state: MultiwayTree) -> dict[str, Any]:
        return {"tree_": state}

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class shares of the leaf that each row reaches, or of the leaves that its parts reach."""
        values = self._read(X)
        shares, tree = np.zeros((len(values), self.n_classes_)), self.tree_
        for node, rows, share in tree.parts(values):
            shares[rows] += share[:, None] * (tree.weights[node] / tree.weights[node].sum())
        return shares.astype(values.dtype, copy=False)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of largest share; the first among equals."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf that the largest part of each row reaches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = self._read(X)
        leaf, largest = np.zeros(len(values), dtype=np.int64), np.zeros(len(values))
        for node, rows, share in self.tree_.parts(values):
            better = share > largest[rows]
            leaf[rows[better]], largest[rows[better]] = node, share[better]
        return leaf

    def get_depth(self) -> int:
        """Return the largest number of splits on a path from the root."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> np.ndarray:
        """Weighted gains of the splits of each column, as shares of their sum."""
        check_is_fitted(self)
        tree = self.tree_
        inner = np.flatnonzero(tree.feature >= 0)
        gain = tree.gains[inner, tree.feature[inner]] * tree.weights[inner].sum(axis=1)
        found = np.bincount(tree.feature[inner], gain, minlength=self.n_features_in_)
        return found / found.sum() if found.sum() > 0 else found

    def _read(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return read_mixed_rows(self, X, self.categories_)


class _Growing:
    """The solver: growing is one step."""

    def __init__(self, make: Any, criterion: str) -> None:
        self.make, self.criterion = make, criterion

    def solve(self, start: MultiwayTree | None) -> Solver:
        tree = (yield Dense(self.make)) if start is None else start
        leaves = tree.weights[tree.feature < 0]
        left = float((compute_impurities(leaves, self.criterion) * leaves.sum(axis=1)).sum() / leaves.sum())
        yield Step(left, tree, Certificate.none(_STATEMENT), {"n_leaves": float(tree.n_leaves)})
        return Solution(tree, True, Certificate.none(_STATEMENT))
