"""What bounds need to know of a fitted classifier: its rows, its errors, its class of functions, and what it learnt."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from mercer._types import Array
from mercer.errors import DataError
from mercer.kernels import Kernel, Linear, Polynomial
from mercer.theory._capacity import count_dimensions
from mercer.theory._dichotomies import count_separable

# Bits of a number that was learnt from the rows: any of 2^64 values may have been chosen.
NUMBER_BITS = 64
# Rows whose kernel values with themselves are read off one matrix.
_BLOCK = 64


class NotGivenError(Exception):
    """A bound does not apply, for the reason given."""


@dataclass(frozen=True)
class Subject:
    """A fitted classifier with its training rows.

    `front_bits` counts what the steps of a pipeline in front of the classifier learnt; None where that is not known.
    """

    whole: Any
    model: Any
    X: Any
    given: Any
    y: Array
    front_bits: float | None
    random_state: Any

    @cached_property
    def wrong(self) -> Array:
        """For each training row, whether the model errs on it."""
        return np.asarray(self.whole.predict(self.given)) != self.y

    @property
    def error(self) -> float:
        """The training error."""
        return float(self.wrong.mean())

    @property
    def n_samples(self) -> int:
        return len(self.y)

    @property
    def classes(self) -> Array:
        return np.asarray(self.model.classes_)

    @cached_property
    def rows(self) -> Array:
        """The rows that reach the classifier, dense."""
        return to_dense(self.X)

    @cached_property
    def signs(self) -> Array:
        """Labels -1 and 1 of a problem with two classes."""
        if len(self.classes) != 2:
            raise NotGivenError(f"it holds for two classes, and the model has {len(self.classes)}")
        return np.where(self.y == self.classes[1], 1.0, -1.0)

    @property
    def learnt_bits(self) -> float:
        """The bits that the steps in front of the classifier learnt."""
        if self.front_bits is None:
            raise NotGivenError("what the steps in front of the classifier learnt from the rows cannot be counted")
        return self.front_bits

    @property
    def family_bits(self) -> float:
        """The bits by which steps in front enlarge the classifier's class: none where it contains every such step.

        A hyperplane or a tree in shifted and scaled columns is one in the columns themselves.
        """
        front = self.whole.steps[:-1] if hasattr(self.whole, "steps") else []
        scaled = all(type(step).__name__ in _SCALERS or step in (None, "passthrough") for _, step in front)
        return 0.0 if scaled and not (self.is_machine and self.model.kernel != "linear") else self.learnt_bits

    @property
    def n_features(self) -> int:
        return int(self.model.n_features_in_)

    @property
    def is_linear(self) -> bool:
        """Whether the model labels rows by the sign of w . x + b."""
        shape = np.shape(getattr(self.model, "coef_", ()))
        # Naive Bayes and networks have no such array of one row; older ones of scikit-learn are 1 x d too.
        return shape in ((1, self.n_features), (self.n_features,)) and hasattr(self.model, "intercept_")

    @property
    def weights(self) -> tuple[Array, float]:
        """The coefficients and the offset of a linear model."""
        if not self.is_linear:
            raise NotGivenError("the model is not linear in its columns, or has more than two classes")
        return to_dense(self.model.coef_).ravel(), float(np.ravel(self.model.intercept_)[0])

    @property
    def is_machine(self) -> bool:
        """Whether the model is a machine with a kernel and support vectors."""
        return all(hasattr(self.model, name) for name in ("support_", "dual_coef_", "support_vectors_", "kernel"))

    @property
    def tree_leaves(self) -> int | None:
        """The leaves of a tree; None for another model."""
        return count_leaves(self.model)

    @property
    def members(self) -> tuple[list[Any], Array]:
        """The members of a weighted vote with their weights."""
        members, weights = getattr(self.model, "estimators_", None), getattr(self.model, "estimator_weights_", None)
        if members is None or weights is None:
            raise NotGivenError("the model is no weighted vote of classifiers")
        return list(members), np.asarray(weights, dtype=np.float64)[: len(members)]


def to_dense(values: Any) -> Array:
    """Return an array or a sparse matrix as a dense array of float64."""
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)


def read_subject(model: Any, X: Any, y: Any, random_state: Any) -> Subject:
    """Check a fitted classifier and its rows, and cut a pipeline into its front and its classifier."""
    check_is_fitted(model)
    if not is_classifier(model):
        raise DataError(f"bounds: model must be a classifier; got {type(model).__name__}. Its errors are counted.")
    y = np.asarray(y)
    check_consistent_length(X, y)
    if y.ndim != 1 or not len(y):
        raise DataError(f"bounds: y must be a list of labels; got an array of shape {y.shape}. Give a label per row.")
    last, rows = model, X
    bits: float | None = 0.0
    if hasattr(model, "steps"):
        last = model.steps[-1][1]
        front = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
        counts = [_count_learnt(step) for step in front]
        known = [count for count in counts if count is not None]
        bits = NUMBER_BITS * float(sum(known)) if len(known) == len(counts) else None
        rows = model[:-1].transform(X) if front else X
    return Subject(model, last, rows, X, y, bits, random_state)


def _count_learnt(step: Any) -> int | None:
    """Count the numbers that a transformer learnt; None where it learnt something else."""
    total = 0
    for name, value in vars(step).items():
        if name.startswith("_") or not name.endswith("_") or name in _NOT_LEARNT:
            continue
        if value is None:
            continue
        if not isinstance(value, (int, float, np.number, np.ndarray)) or np.asarray(value).dtype.kind not in "biuf":
            return None
        total += np.size(value)
    return total


# Steps that shift and scale each column.
_SCALERS = frozenset(("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"))
# Attributes that say how a fit went, or what the rows look like; none decides what a transformer returns.
_NOT_LEARNT = frozenset(
    ("n_features_in_", "feature_names_in_", "history_", "certificate_", "converged_", "n_iter_", "solver_used_")
)


def count_leaves(model: Any) -> int | None:
    """Return the number of leaves of a tree; None for another model."""
    if type(model).__name__ == "DecisionStump":
        return 2
    if not hasattr(model, "tree_") or not hasattr(model, "get_n_leaves"):
        return None
    return int(model.get_n_leaves())


def log_tree_growth(n_points: int, n_features: int, leaves: int, n_classes: int) -> float:
    """Return the logarithm of a bound on the labellings of points by trees with that number of leaves.

    A tree is a shape (a Catalan number), a column, a gap between the values of the points and a side for missing values
    per split, and a class per leaf.
    """
    shapes = math.comb(2 * (leaves - 1), leaves - 1) // leaves
    return math.log(shapes) + (leaves - 1) * math.log(2 * n_features * (n_points + 1)) + leaves * math.log(n_classes)


def log_separable(n_points: int, n_dimensions: int) -> float:
    """Return the logarithm of the labellings of points by hyperplanes through the origin."""
    # A hyperplane in more dimensions than points labels them in every way.
    if n_dimensions >= n_points:
        return n_points * math.log(2.0)
    return math.log(count_separable(n_points, n_dimensions))


@dataclass(frozen=True)
class Family:
    """The class of functions that a model was chosen from.

    `log_price` is what the choice of this class among several costs: the logarithm of one over its weight.
    """

    name: str
    dimension: float
    log_price: float
    leaves: int = 0
    n_members: int = 0

    def log_growth(self, subject: Subject, n_points: int) -> float:
        """Return the logarithm of a bound on the growth function."""
        columns, classes = subject.n_features, len(subject.classes)
        if self.n_members:
            alone = log_tree_growth(n_points, columns, self.leaves, classes)
            return self.n_members * alone + log_separable(n_points, self.n_members)
        if self.leaves:
            return log_tree_growth(n_points, columns, self.leaves, classes)
        return log_separable(n_points, int(self.dimension))


def find_family(subject: Subject) -> Family:
    """Return the class of functions of a model, where its growth function is known."""
    leaves = subject.tree_leaves
    if leaves is not None:
        price = math.log(leaves * (leaves + 1.0))
        return Family(f"trees with {leaves} leaves", _tree_dimension(subject, leaves), price, leaves)
    if subject.is_machine:
        dimension = count_dimensions(find_kernel(subject.model), subject.n_features)
        if not math.isfinite(dimension):
            raise NotGivenError("the kernel's feature space has no finite dimension, and the class no finite growth")
        _ = subject.signs
        return Family("hyperplanes in the feature space of the kernel", dimension + 1, _gamma_price(subject.model))
    if subject.is_linear:
        _ = subject.signs
        return Family(f"hyperplanes in {subject.n_features} columns", subject.n_features + 1.0, 0.0)
    return _find_vote(subject)


def _find_vote(subject: Subject) -> Family:
    """Return the class of weighted votes of trees."""
    members, _ = subject.members
    _ = subject.signs
    leaves = [count_leaves(member) for member in members]
    if not members or None in leaves:
        raise NotGivenError("the growth function of the members is not known")
    most, count = max(leaf for leaf in leaves if leaf is not None), len(members)
    price = math.log(most * (most + 1.0)) + math.log(count * (count + 1.0))
    family = Family(f"votes of {count} trees with {most} leaves", math.inf, price, most, count)
    return Family(family.name, _largest_shattered(family, subject), price, most, count)


def _tree_dimension(subject: Subject, leaves: int) -> float:
    return _largest_shattered(Family("", math.inf, 0.0, leaves), subject)


def _largest_shattered(family: Family, subject: Subject) -> float:
    """Bound the VC dimension by the most points on which the growth function may be two to their number."""
    low, high = 0, 1
    while family.log_growth(subject, high) >= high * math.log(2.0):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if family.log_growth(subject, middle) >= middle * math.log(2.0) else (low, middle)
    return float(low)


def gamma_bits(model: Any) -> float:
    """Return the bits of a kernel width that was learnt from the rows."""
    return NUMBER_BITS if getattr(model, "gamma", None) == "scale" and model.kernel in ("rbf", "poly", "sigmoid") else 0


def _gamma_price(model: Any) -> float:
    # A polynomial kernel spans the same functions for every width.
    return 0.0 if model.kernel in ("linear", "poly") else gamma_bits(model) * math.log(2.0)


def find_kernel(model: Any) -> Any:
    """Return the kernel of a machine as an object that knows its dimension."""
    if model.kernel == "precomputed" or (callable(model.kernel) and not isinstance(model.kernel, Kernel)):
        raise NotGivenError("the kernel is given as numbers or as a function, and its feature space is not known")
    if isinstance(getattr(model, "_kernel", None), Kernel):
        return model._kernel
    if model.kernel == "linear":
        return Linear()
    if model.kernel == "poly":
        return Polynomial(degree=model.degree, coef0=model.coef0)
    return None


def compare_rows(model: Any, A: Any, B: Any) -> Array:
    """Return the kernel values of rows with rows."""
    if isinstance(getattr(model, "_kernel", None), Kernel):
        return np.asarray(model._kernel(A, B), dtype=np.float64)
    settings = {"gamma": model._gamma, "degree": model.degree, "coef0": model.coef0}
    return np.asarray(pairwise_kernels(A, B, metric=model.kernel, filter_params=True, **settings))


def compare_with_itself(model: Any, rows: Array) -> Array:
    """Return the kernel value of each row with itself."""
    parts = (rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK))
    return np.concatenate([np.diagonal(compare_rows(model, part, part)) for part in parts])
