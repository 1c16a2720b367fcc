"""What boosting and bagging learn members from: stumps by their own search, or any other estimator."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter, validate_data

from mercer._solver.tree.stump_search import SortedColumns, Stump, describe_stump
from mercer._source import Source, open_source
from mercer.ensemble._reweighting.boosting import Answers
from mercer.errors import DataError
from mercer.tree import DecisionStump

__all__ = [
    "EstimatorLearner",
    "MemberList",
    "StumpLearner",
    "aligned_shares",
    "check_takes_weights",
    "handed_rows",
    "handed_table",
    "has_words",
    "is_stump",
    "make_stump",
    "rows_at",
    "seeded",
    "shadow_source",
]


@dataclass(frozen=True, eq=False)
class StumpLearner:
    """Stumps from columns that were sorted once; members are records."""

    columns: SortedColumns
    labels: np.ndarray
    n_classes: int
    criterion: str

    def learn(self, weight: np.ndarray, number: int) -> tuple[Stump, Answers]:
        stump = self.columns.best_stump(self.labels, weight, self.n_classes, self.criterion)
        return stump, Answers(stump.shares, stump.sides(self.columns.X))

    @staticmethod
    def answers(stump: Stump, X: Any) -> Answers:
        return Answers(stump.shares, stump.sides(X))


@dataclass(frozen=True, eq=False)
class EstimatorLearner:
    """Copies of any classifier; members are fitted estimators.

    With `resample` a member sees rows drawn by their weights and no weights.
    """

    estimator: Any
    X: Any
    y: np.ndarray
    classes: np.ndarray
    seeds: Any
    resample: bool
    by_share: bool

    def learn(self, weight: np.ndarray, number: int) -> tuple[Any, Answers]:
        child = np.random.SeedSequence(self.seeds.entropy, spawn_key=(number,))
        member = seeded(clone(self.estimator), child)
        if self.resample:
            drawn = np.random.default_rng(child).choice(len(weight), len(weight), p=weight)
            member.fit(rows_at(self.X, drawn), self.y[drawn])
        else:
            member.fit(self.X, self.y, sample_weight=weight)
        return member, self.answers(member, self.X)

    def answers(self, member: Any, X: Any) -> Answers:
        if self.by_share:
            shares = aligned_shares(member, X, self.classes)
            return Answers(shares, np.arange(len(shares)))
        found = np.searchsorted(self.classes, member.predict(X))
        return Answers(np.eye(len(self.classes)), np.clip(found, 0, len(self.classes) - 1))


class MemberList:
    """An ensemble as a list of its members."""

    estimators_: list[Any]

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, number: int) -> Any:
        return self.estimators_[number]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)


def aligned_shares(member: Any, X: Any, classes: np.ndarray, params: dict[str, Any] | None = None) -> np.ndarray:
    """Class probabilities of a member with a column for each of `classes`, zero for those it does not know."""
    shares = np.asarray(member.predict_proba(X, **(params or {})), dtype=np.float64)
    if len(member.classes_) == len(classes):
        return shares
    whole = np.zeros((len(shares), len(classes)))
    whole[:, np.searchsorted(classes, member.classes_)] = shares
    return whole


def seeded(member: Any, seed: np.random.SeedSequence) -> Any:
    """The member with a seed of its own in each ``random_state`` that it or a part of it has."""
    names = sorted(name for name in member.get_params() if name == "random_state" or name.endswith("__random_state"))
    if names:
        numbers = seed.generate_state(len(names)) >> 1
        member.set_params(**dict(zip(names, numbers.tolist(), strict=True)))
    return member


def check_takes_weights(subject: str, estimator: Any, cure: str) -> None:
    """Raise if an estimator cannot be given weights."""
    if not has_fit_parameter(estimator, "sample_weight"):
        message = f"{subject}: {type(estimator).__name__} doesn't support sample_weight. {cure}"
        raise DataError(message)


def has_words(X: Any) -> bool:
    """Whether rows are a frame with a column that is not of numbers, for members to make sense of."""
    if not hasattr(X, "columns") or not hasattr(X, "shape"):
        return False
    import narwhals

    frame = narwhals.from_native(X, eager_only=True)
    return not all(kind.is_numeric() or kind == narwhals.Boolean for kind in frame.schema.values())


def handed_rows(wrapper: Any, estimator: Any, X: Any, *, finite: bool = True) -> Any:
    """Rows given to a fitted wrapper, as its members are given them."""
    if has_words(X):
        validate_data(wrapper, X, reset=False, skip_check_array=True)
        return X
    return validate_data(wrapper, X, reset=False, **_rules(estimator, finite))


def handed_table(
    wrapper: Any, estimator: Any, X: Any, y: Any, *, numbers: bool = False, finite: bool = True
) -> tuple[Any, np.ndarray]:
    """Rows and targets of a fit as members are given them: checked as far as members are not the ones to judge."""
    name = type(wrapper).__name__
    if y is None:
        message = f"{name}: requires y to be passed, but the target y is None. Give the targets."
        raise DataError(message)
    if has_words(X):
        validate_data(wrapper, X, skip_check_array=True)
        return X, np.asarray(y, dtype=np.float64 if numbers else None)
    X, y = validate_data(wrapper, X, y, y_numeric=numbers, multi_output=numbers, **_rules(estimator, finite))
    values = X.data if issparse(X) else X
    if values.dtype.kind == "f" and values.size and np.isnan(values.flat[0]) and np.isnan(values).all():
        message = f"{name}: X must have a value in some column; got NaN only. Give other columns."
        raise DataError(message)
    return X, y


def _rules(estimator: Any, finite: bool) -> dict[str, Any]:
    allowed = "allow-nan" if get_tags(estimator).input_tags.allow_nan else True
    return {
        "accept_sparse": ["csr", "csc"],
        "allow_nd": True,
        "dtype": None,
        "ensure_all_finite": allowed if finite else False,
    }


def rows_at(X: Any, index: np.ndarray) -> Any:
    """Rows of an array, a sparse matrix or a frame by their numbers."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if issparse(X) and X.format != "csr":
        return X.tocsr()[index].asformat(X.format)
    return X[index]


def shadow_source(X: Any, y: Any, weight: Any, threads: int) -> Source:
    """A source for the driver: the rows themselves where they are a table of floats, else their numbers."""
    plain = getattr(X, "ndim", 0) == 2 and not hasattr(X, "columns") and getattr(X.dtype, "char", "") in "fd"
    if not plain or (issparse(X) and X.format != "csr"):
        X = np.arange(len(y), dtype=np.float64)[:, None]
    return open_source(X if issparse(X) else np.ascontiguousarray(X), y, weight, threads)


def is_stump(estimator: Any) -> bool:
    """Whether an estimator stands for stumps, which have a search of their own."""
    return estimator is None or type(estimator) is DecisionStump


def make_stump(stump: Stump, criterion: str, classes: np.ndarray, n_features: int) -> DecisionStump:
    """Return a fitted :class:`mercer.tree.DecisionStump` made of the record `stump`."""
    model = DecisionStump(criterion=criterion, n_jobs=1)
    attributes = {"classes_": classes, "n_classes_": len(classes), "n_features_in_": n_features}
    for name, value in {**attributes, **describe_stump(stump)}.items():
        setattr(model, name, value)
    return model
