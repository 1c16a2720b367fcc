"""Members of boosting and bagging: stumps, which have a search of their own, and any other estimator."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from mercer._base.wrapping import take_rows
from mercer._solver.tree.stump_search import SortedColumns, Stump, describe_stump
from mercer._source import Source, open_source
from mercer._source.namespace import is_sparse_matrix
from mercer._stored import Stored, floats, members, part
from mercer.ensemble._reweighting.boosting import MemberShares
from mercer.errors import DataError
from mercer.tree import DecisionStump, DecisionTreeClassifier

# The criteria of stumps and of trees, as the search for stumps names them.
_CRITERIA = {"gini": "gini", "entropy": "entropy", "log_loss": "entropy", "error": "error"}
# The parameters that make a decision tree the best split of all columns.
_STUMP_TREE: dict[str, Any] = {
    "max_depth": 1,
    "splitter": "best",
    "min_samples_split": 2,
    "min_samples_leaf": 1,
    "min_weight_fraction_leaf": 0.0,
    "max_features": None,
    "min_impurity_decrease": 0.0,
    "class_weight": None,
    "ccp_alpha": 0.0,
    "monotonic_cst": None,
    "categorical_features": None,
    "max_time": None,
}
# The classes that may be stumps, and the parameters that make them so.
_STUMPS: tuple[tuple[Any, dict[str, Any]], ...] = ((DecisionStump, {}), (DecisionTreeClassifier, _STUMP_TREE))


@dataclass(frozen=True, eq=False)
class StumpLearner:
    """Learns stumps from columns that were sorted once; members are records.

    With `like_trees` a value that is missing later, but nowhere in these rows, goes to the heavier side.
    """

    columns: SortedColumns
    labels: np.ndarray
    n_classes: int
    criterion: str
    like_trees: bool = False

    def learn(self, weight: np.ndarray, index: int) -> tuple[Stump, MemberShares]:
        """Return the best stump under these weights (n,), and its class shares of the training rows."""
        stump, sides = self.columns.find_best_stump(self.labels, weight, self.n_classes, self.criterion)
        if self.like_trees and self.columns.complete and stump.feature >= 0:
            left, right = stump.weights.sum(axis=1)
            stump = replace(stump, missing_left=bool(left > right))
        return stump, MemberShares(stump.shares, sides)

    @staticmethod
    def predict(stump: Stump, X: Any) -> MemberShares:
        """Return the class shares of rows."""
        return MemberShares(stump.shares, stump.sides(X))


@dataclass(frozen=True, eq=False)
class EstimatorLearner:
    """Learns copies of any classifier; members are fitted estimators.

    With `resample` a member sees rows drawn in proportion to their weights, and no weights. With `by_share` a member
    votes by its class probabilities, else by its predicted class.
    """

    estimator: Any
    X: Any
    y: np.ndarray
    classes: np.ndarray
    seeds: Any
    resample: bool
    by_share: bool

    def learn(self, weight: np.ndarray, index: int) -> tuple[Any, MemberShares]:
        """Return the member of round `index` under these weights (n,), and its class shares of the training rows."""
        # The seed follows from the index of the round, so that a resumed fit draws the same rows.
        seed = np.random.SeedSequence(self.seeds.entropy, spawn_key=(index,))
        member = fit_member(self.estimator, self.X, self.y, weight, seed, self.resample)
        return member, self.predict(member, self.X)

    def predict(self, member: Any, X: Any) -> MemberShares:
        """Return the class shares of rows."""
        if self.by_share:
            shares = predict_shares(member, X, self.classes)
            return MemberShares(shares, np.arange(len(shares)))
        # A member votes for one class with share one: row k of the unit matrix stands for class k.
        labels = np.searchsorted(self.classes, member.predict(X))
        return MemberShares(np.eye(len(self.classes)), np.clip(labels, 0, len(self.classes) - 1))


class MemberList:
    """An ensemble as a list of its members."""

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    estimators_: list[Any]

    _stored: ClassVar[dict[str, Stored]] = {
        "estimator_": part("BaseEstimator"),
        "estimators_": members(part("BaseEstimator"), "members"),
    }

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: int) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)


class WeightedMembers(MemberList):
    """A boosted ensemble: its members have weights."""

    estimator_weights_: Any

    _stored: ClassVar[dict[str, Stored]] = {
        "estimator_weights_": floats("members"),
    }

    @property
    def feature_importances_(self) -> np.ndarray:
        """The importances of the members, averaged with their weights; biased towards columns with many values."""
        check_is_fitted(self)
        total: Any = 0.0
        weights = 0.0
        try:
            # One member after the other: a stump has one number and a model file may hold thousands of stumps, but each
            # of their vectors is as long as a row.
            for member, weight in zip(self.estimators_, self.estimator_weights_):
                total = total + weight * member.feature_importances_
                weights += weight
        except AttributeError as error:
            raise AttributeError(
                f"Unable to compute feature importances since estimator does not have a feature_importances_ "
                f"attribute; got {type(self.estimators_[0]).__name__}. Use permutation importance."
            ) from error
        return np.asarray(total / weights)


def predict_shares(member: Any, X: Any, classes: np.ndarray, params: dict[str, Any] | None = None) -> np.ndarray:
    """Return class probabilities of a member (n, classes), with zeros for classes that it does not know."""
    shares = np.asarray(member.predict_proba(X, **(params or {})), dtype=np.float64)
    if len(member.classes_) == len(classes):
        return shares
    whole = np.zeros((len(shares), len(classes)))
    whole[:, np.searchsorted(classes, member.classes_)] = shares
    return whole


def fit_member(
    estimator: Any, X: Any, y: np.ndarray, weight: np.ndarray, seed: np.random.SeedSequence, resample: bool
) -> Any:
    """Fit a copy of `estimator` to rows with weights (n,), or to n rows drawn in proportion to them if `resample`."""
    member = seed_member(clone(estimator), seed)
    if resample:
        drawn = np.random.default_rng(seed).choice(len(weight), len(weight), p=weight)
        member.fit(take_rows(X, drawn), y[drawn])
    else:
        member.fit(X, y, sample_weight=weight)
    return member


def seed_member(member: Any, seed: np.random.SeedSequence) -> Any:
    """Set each ``random_state`` of a member and of its parts from `seed`; return the member."""
    names = sorted(name for name in member.get_params() if name == "random_state" or name.endswith("__random_state"))
    if names:
        # Some estimators take seeds below 2**31 only.
        seeds = seed.generate_state(len(names)) >> 1
        member.set_params(**dict(zip(names, seeds.tolist(), strict=True)))
    return member


def check_takes_weights(subject: str, estimator: Any, cure: str) -> None:
    """Raise if an estimator cannot be given weights."""
    if not has_fit_parameter(estimator, "sample_weight"):
        raise DataError(f"{subject}: {type(estimator).__name__} doesn't support sample_weight. {cure}")


def take_columns(X: Any, index: np.ndarray) -> Any:
    """Return the columns of an array, a sparse matrix or a frame with these indices."""
    if hasattr(X, "iloc"):
        return X.iloc[:, index]
    if hasattr(X, "columns"):
        return X.select([X.columns[column] for column in index])
    return X[:, index] if is_sparse_matrix(X) else np.ascontiguousarray(X[:, index])


def make_driver_source(X: Any, y: Any, weight: Any, threads: int) -> Source:
    """Return a source for the driver: of the rows themselves if they are a table of floats, else of their indices."""
    plain = getattr(X, "ndim", 0) == 2 and not hasattr(X, "columns") and getattr(X.dtype, "char", "") in "fd"
    if not plain or (is_sparse_matrix(X) and X.format != "csr"):
        X = np.arange(len(y), dtype=np.float64)[:, None]
    return open_source(X if is_sparse_matrix(X) else np.ascontiguousarray(X), y, weight, threads)


def find_stump_criterion(estimator: Any) -> str | None:
    """Return by which criterion an estimator finds the one best split of all columns; None if it does anything else.

    What counts is what it does, not its class: a decision tree of depth one is a stump, and so is a subclass that
    changes nothing of how a tree learns and predicts.
    """
    if estimator is None:
        return "gini"
    for known, rest in _STUMPS:
        if isinstance(estimator, known) and all(
            getattr(type(estimator), verb) is getattr(known, verb) for verb in ("fit", "predict", "predict_proba")
        ):
            same = all(_is_equal(getattr(estimator, name), value) for name, value in rest.items())
            # A tree may also be held to two leaves or more: one split makes two.
            return _CRITERIA.get(estimator.criterion) if same and _allows_two_leaves(estimator) else None
    return None


def _is_equal(value: Any, wanted: Any) -> bool:
    """Return whether a parameter has a wanted value; arrays have none of those here."""
    return value is None if wanted is None else isinstance(value, int | float | str) and value == wanted


def _allows_two_leaves(estimator: Any) -> bool:
    return getattr(estimator, "max_leaf_nodes", None) is None or estimator.max_leaf_nodes >= 2


def make_member(base: Any, stump: Stump, classes: np.ndarray, n_features: int, dtype: str) -> Any:
    """Return the record `stump` as a fitted estimator of the class of `base`."""
    model = make_stump(stump, _CRITERIA[base.criterion], classes, n_features)
    if isinstance(base, DecisionStump):
        return model
    tree = model.tree_
    links = {name: getattr(tree, name).astype(np.int32) for name in ("children_left", "children_right", "feature")}
    member = clone(base)
    vars(member).update(
        tree_=tree.change(**links, categories=np.zeros(0, np.int64)),
        classes_=classes,
        n_classes_=len(classes),
        n_outputs_=1,
        n_features_in_=n_features,
        max_features_=n_features,
        _categories=None,
        _dtype=dtype,
    )
    return member


def make_stump(stump: Stump, criterion: str, classes: np.ndarray, n_features: int) -> DecisionStump:
    """Return a fitted :class:`mercer.tree.DecisionStump` made of the record `stump`."""
    model = DecisionStump(criterion=criterion, n_jobs=1)
    attributes = {"classes_": classes, "n_classes_": len(classes), "n_features_in_": n_features}
    for name, value in {**attributes, **describe_stump(stump)}.items():
        setattr(model, name, value)
    return model
