"""Check the rows, targets and parameters that a user gives, and make the problem that a tree grows from."""

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csc_array, issparse
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, compute_sample_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.guard import are_ordinary, note_extreme
from mercer._base.opening import check_place
from mercer._base.parameter import describe_value
from mercer._base.validation import (
    FLOATS,
    accept_rows,
    are_plain,
    check_labels,
    check_targets,
    check_weight,
    inspect_rows,
    learn_plain_columns,
)
from mercer._base.wrapping import check_wrapped_place
from mercer._solver.tree.categories import CategoryTable, learn_categories
from mercer._solver.tree.columns import Columns, encode_columns, keep_columns
from mercer._solver.tree.growth import Rules
from mercer._solver.tree.target import make_class_target, make_value_target
from mercer._source import Source, open_source, place_of
from mercer._types import Array, Rows
from mercer.errors import DataError, ModelFileError, ParameterError, UnsupportedError


@dataclass(frozen=True, eq=False)
class Problem:
    """Checked rows, targets and weights, and the classes and categories learnt from them.

    ``labels`` (n, outputs) are indices of classes, or the targets themselves. ``weight`` holds no class weights: they
    are in ``class_factor``.
    """

    X: Rows
    y: Array
    weight: Array
    labels: Array
    classes: list[Array]
    class_factor: Array | None
    categories: CategoryTable | None = None

    @cached_property
    def n_classes(self) -> Array:
        counts = [len(one) for one in self.classes] or [1] * self.labels.shape[1]
        return np.array(counts, np.int64)

    @property
    def full_weight(self) -> Array:
        return self.weight if self.class_factor is None else self.weight * self.class_factor

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes that do not depend on a tree."""
        found: dict[str, Any] = {"n_outputs_": self.labels.shape[1], "_categories": self.categories}
        if self.classes:
            alone = len(self.classes) == 1
            found["classes_"] = self.classes[0] if alone else self.classes
            found["n_classes_"] = int(self.n_classes[0]) if alone else self.n_classes
        return found

    def target(self, criterion: str, weight: Array) -> Any:
        """Return the target of a tree in the form that split searches sum, with these weights."""
        if self.classes:
            return make_class_target(self.labels, self.n_classes, weight, criterion)
        return make_value_target(self.labels, weight, criterion)

    def encode(
        self,
        threads: int,
        subject: str,
        coarse: bool = False,
        random: bool = False,
        weight: Array | None = None,
        steps: bool = False,
    ) -> Columns:
        """Return the columns as ranks, or as values if cuts are `random` and rows are dense and without categories.

        With `coarse` also in steps of about equally many rows, or of about equal `weight`, which must be integers; with
        `steps` these only by rows, for a search that finds the best of all cuts through them.
        """
        is_sparse = type(self.X) is not np.ndarray and issparse(self.X)
        if random and self.categories is None and not is_sparse:
            return keep_columns(self.X, subject)
        kinds = None if self.categories is None else self.categories.mark_columns(self.X.shape[1])
        X = csc_array(self.X) if is_sparse else self.X
        return encode_columns(X, threads, subject, coarse, kinds, weight, steps)


def open_problem(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Problem:
    """Check rows, targets and weights as the user gave them."""
    name = type(estimator).__name__
    if (place := place_of(X, y)) != "memory":
        check_place(estimator, place)
    if type(y) is not np.ndarray and issparse(y):
        raise UnsupportedError(f"{name}: sparse multilabel-indicator for y is not supported; give y.toarray().")
    if estimator.criterion == "absolute_error" and estimator.splitter == "histogram":
        raise UnsupportedError(
            f"{name}: splitter='histogram' cannot be had together with criterion='absolute_error', whose medians no "
            f"histogram holds; use splitter='best' or criterion='squared_error'."
        )
    X, table = _encode_categories(estimator, X, name)
    # Arrays of the right type and layout skip scikit-learn's inspection, a third of the time of a tree of 150 rows.
    if are_plain(X, y) and (y.dtype.kind != "f" or are_ordinary(y) or not y.any()):
        learn_plain_columns(estimator, X)
    else:
        rows = {"dtype": list(FLOATS), "order": "C", "accept_sparse": "csr", "ensure_all_finite": False}
        X, y = validate_data(estimator, X, y, validate_separately=(rows, {"ensure_2d": False, "dtype": None}))
        y = check_targets(estimator, y, numbers=not isinstance(estimator, ClassifierMixin))
        if y.dtype.kind == "f":
            note_extreme(y)
    # One product tells of most rows that nothing in them is missing or infinite.
    is_sparse = type(X) is not np.ndarray and issparse(X)
    if is_sparse or not are_ordinary(X):
        check_values(name, X)
        if not is_sparse and np.isnan(X[0]).all() and np.isnan(X).all():
            raise DataError(f"{name}: X holds NaN only, so that there is nothing to split by; give at least one value.")
    y = y if y.ndim else np.atleast_1d(y)
    if estimator.criterion == "poisson":
        _check_counts(name, y, np.ones(y.shape[0]))
    if y.shape[0] != X.shape[0]:
        raise DataError(
            f"{name}: Number of labels={y.shape[0]} does not match number of samples={X.shape[0]}; give one per row."
        )
    weight = check_weight(estimator, sample_weight, X.shape[0])
    weight = np.ones(X.shape[0]) if weight is None else weight
    columns = y if y.ndim == 2 else y.reshape(-1, 1)
    if isinstance(estimator, ClassifierMixin):
        check_labels(y)
        found = [np.unique(columns[:, k], return_inverse=True) for k in range(columns.shape[1])]
        labels = np.stack([numbers for _, numbers in found], axis=1)
        factor = _compute_class_factor(estimator, y, labels, weight)
        return Problem(X, y, weight, labels, [classes for classes, _ in found], factor, table)
    targets = np.ascontiguousarray(columns, dtype=np.float64)
    if estimator.criterion == "poisson":
        _check_counts(name, targets, weight)
    return Problem(X, y, weight, targets, [], None, table)


def _encode_categories(estimator: Any, X: Any, name: str) -> tuple[Any, CategoryTable | None]:
    """Return rows with codes for categories, and the table of categories; None if there are none."""
    wish = estimator.categorical_features
    if wish is None:
        return X, None
    if issparse(X) or estimator.criterion == "absolute_error":
        got = "sparse rows" if issparse(X) else "criterion='absolute_error'"
        raise UnsupportedError(
            f"{name}: categorical_features cannot be had together with {got}; encode the categories as numbers, or use "
            f"{'dense rows' if issparse(X) else 'another criterion'}."
        )
    table = learn_categories(wish, X, name)
    return (table.encode(X, name), table) if len(table.columns) else (X, None)


def check_values(name: str, X: Rows) -> None:
    """Raise if values are infinite, or missing where rows are sparse."""
    values = X.data if issparse(X) else X
    # One sum finds NaN and infinity in a single pass. It may also overflow for finite values, so a closer look follows.
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    if np.isfinite(total):
        return
    # Dense rows may hold NaN, for which a split has a side; sparse rows may not.
    if issparse(X) or np.isinf(values).any():
        assert_all_finite(values, input_name="X", estimator_name=name, allow_nan=not issparse(X))


def _check_counts(name: str, y: Array, weight: Array) -> None:
    if (y < 0).any():
        raise DataError(
            f"{name}: criterion='poisson' needs y >= 0; Some value(s) of y are negative which is not allowed for "
            f"Poisson regression, the least is {y.min():g}. Use criterion='squared_error'."
        )
    # The deviance of Poisson takes the logarithm of the mean, which is finite only for a positive sum in each output.
    if (weight @ y <= 0).any():
        raise DataError(
            f"{name}: criterion='poisson' needs a positive y; Sum of y is not positive which is necessary for Poisson "
            f"regression. Use criterion='squared_error'."
        )


def _compute_class_factor(estimator: Any, y: Array, labels: Array, weight: Array) -> Array | None:
    """Return the factor of each row's weight that ``class_weight`` asks for; None if it asks for none.

    Balanced factors follow from weights, so that a weight of two still is the row twice.
    """
    wish = estimator.class_weight
    if wish is None or wish == "balanced_subsample":
        return None
    if isinstance(wish, list) and not all(isinstance(one, dict) for one in wish):
        raise ParameterError(
            f"{type(estimator).__name__}: class_weight must be a dictionary, or a list of one for each output; got "
            f"{describe_value(wish)}."
        )
    if wish != "balanced":
        return compute_sample_weight(wish, y)
    return balance_classes(labels, weight)


def balance_classes(labels: Array, weight: Array) -> Array:
    """Return a factor for each row that makes the classes of each output weigh the same."""
    factor = np.ones(len(labels))
    for column in labels.T:
        totals = np.bincount(column, weight)
        present = totals > 0
        factors = np.zeros(len(totals))
        # Class k gets the factor W / (K W_k), with K the number of classes that have weight;
        # a class without weight gets 0.
        factors[present] = weight.sum() / (present.sum() * totals[present])
        # Factors of several outputs multiply.
        factor *= factors[column]
    return factor


def read_rules(estimator: Any, problem: Problem) -> Rules:
    """Return the rules of growth that an estimator's parameters set."""
    n, d = problem.X.shape
    leaf, split, share = estimator.min_samples_leaf, estimator.min_samples_split, estimator.min_weight_fraction_leaf
    min_leaf = int(leaf) if type(leaf) is int or isinstance(leaf, Integral) else math.ceil(leaf * n)
    # A fraction is rounded up, and a node needs at least two rows to be split.
    min_split = int(split) if type(split) is int or isinstance(split, Integral) else max(2, math.ceil(split * n))
    return Rules(
        # A node with fewer than two leaves' rows has no split that min_samples_leaf allows.
        min_rows_split=max(min_split, 2 * min_leaf),
        min_rows_leaf=min_leaf,
        min_weight_leaf=share * float(problem.full_weight.sum()) if share > 0 else 0.0,
        max_depth=math.inf if estimator.max_depth is None else estimator.max_depth,
        min_decrease=estimator.min_impurity_decrease,
        max_features=count_features(estimator.max_features, d),
        # From this number of rows on, a node is searched in coarse steps (histograms); infinity stands for never.
        coarse_rows=0 if estimator.splitter == "histogram" else math.inf,
        random=estimator.splitter == "random",
        signs=_read_signs(estimator, problem),
    )


def count_features(wish: Any, d: int) -> int:
    """Return the number of features that a split considers, of `d`, for the parameter ``max_features``."""
    if wish is None:
        return d
    if wish == "sqrt":
        return max(1, int(math.sqrt(d)))
    if wish == "log2":
        return max(1, int(math.log2(d)))
    return int(wish) if isinstance(wish, Integral) else max(1, int(wish * d))


def _read_signs(estimator: Any, problem: Problem) -> Array:
    """Check ``monotonic_cst`` and return the sign of each feature; empty if there are no constraints."""
    if estimator.monotonic_cst is None:
        return np.zeros(0, np.int8)
    name = type(estimator).__name__
    if problem.labels.shape[1] > 1:
        raise DataError(
            f"{name}: Monotonicity constraints are not supported with multiple outputs; fit one for each output."
        )
    # The constraint orders one number for each leaf: the mean, or the probability of the second class.
    if problem.classes and len(problem.classes[0]) > 2:
        raise DataError(
            f"{name}: Monotonicity constraints are not supported with multiclass classification; got "
            f"{len(problem.classes[0])} classes. Fit one class against the others."
        )
    signs = np.asarray(estimator.monotonic_cst)
    if signs.shape != (problem.X.shape[1],):
        raise DataError(
            f"{name}: monotonic_cst has shape {signs.shape[0] if signs.ndim == 1 else signs.shape} but the input data "
            f"X has {problem.X.shape[1]} features. Give one sign per feature."
        )
    if not np.isin(signs, (-1, 0, 1)).all():
        raise DataError(
            f"{name}: monotonic_cst must be None or an array-like of -1, 0 or 1, but got {np.unique(signs)}. Give one "
            f"sign per feature."
        )
    if problem.categories is not None and signs[problem.categories.columns].any():
        raise DataError(
            f"{name}: monotonic_cst must be 0 for categorical columns, which have no order; got {signs.tolist()}."
        )
    return signs.astype(np.int8)


def open_table(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Source:
    """Check rows that may have missing values, with labels and weights, and open them as a source."""
    check_wrapped_place(estimator, X, y)
    # NaN may pass here. What stays forbidden is NaN in sparse rows, and rows of nothing but NaN.
    if are_plain(X, y) and are_ordinary(X) and (y.dtype.kind != "f" or are_ordinary(y)):
        learn_plain_columns(estimator, X)
    else:
        X, y = validate_data(
            estimator, X, y, dtype=list(FLOATS), order="C", accept_sparse="csr", ensure_all_finite="allow-nan"
        )
    check_labels(y)
    _check_present(estimator, X)
    return open_source(X, y, check_weight(estimator, sample_weight, X.shape[0]), estimator._threads())


def read_table(estimator: Any, X: Any) -> Any:
    """Check rows for a fitted model, which may have missing values."""
    rows = accept_rows(estimator, X)
    if rows is None:
        check_is_fitted(estimator)
        rows = inspect_rows(
            estimator, X, reset=False, dtype=list(FLOATS), order="C", accept_sparse="csr", ensure_all_finite="allow-nan"
        )
        if issparse(rows) and np.isnan(rows.data).any():
            _refuse_sparse_nan(estimator)
    return rows


def _check_present(estimator: Any, X: Any) -> None:
    values = X.data if issparse(X) else X
    if issparse(X) and np.isnan(values).any():
        _refuse_sparse_nan(estimator)
    elif np.isnan(values[:1]).any() and np.isnan(values).all():
        raise DataError(
            f"{type(estimator).__name__}: X must have a value in some column; got NaN only. Give other columns."
        )


def _refuse_sparse_nan(estimator: Any) -> None:
    raise DataError(
        f"{type(estimator).__name__}: sparse rows must have no missing values; X contains NaN. Make them dense."
    )


def check_classes(model: Any, shape: tuple[int, ...]) -> None:
    """Raise ModelFileError unless a loaded classifier has as many labels as its nodes, of a shape (n, outputs, k)."""
    counts = np.atleast_1d(model.n_classes_).tolist()
    labels = model.classes_ if isinstance(model.classes_, list) else [model.classes_]
    if [len(one) for one in labels] != counts or len(counts) != shape[1] or max(counts, default=0) != shape[2]:
        raise ModelFileError(
            f"{type(model).__name__}.classes_ must be the classes that its nodes count, {shape[2]} of {shape[1]} "
            f"outputs; the file has {', '.join(str(len(one)) for one in labels)}."
        )
