"""What ensembles share whose members the user names: their parameters, their names, and fitting them side by side."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import sklearn
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator
from mercer._base.validation import check_weight
from mercer._base.wrapping import check_wrapped_place
from mercer._source.array import ArraySource
from mercer._source.threads import run_numbered
from mercer.errors import DataError, ParameterError

__all__ = ["FirstLayer", "GivenRows", "NamedMembers", "check_weighs", "dropped", "side_by_side"]


def dropped(member: Any) -> bool:
    """Whether a place in the list of members is left empty."""
    return isinstance(member, str) and member == "drop"


class GivenRows(ArraySource):
    """Rows that stay as the user gave them, which members and callbacks see; the driver counts their numbers."""

    def __init__(self, X: Any, y: np.ndarray, weight: Any, threads: int) -> None:
        super().__init__(np.arange(len(y), dtype=np.float64)[:, None], y, weight, threads)
        self.given = X

    def whole(self) -> Any:
        return self.given

    def fingerprint(self) -> dict[str, Any]:
        return super().fingerprint() | {"data": joblib.hash(self.given)}


def check_weighs(member: Any, subject: str) -> None:
    """Raise if a member's ``fit`` takes no weights, before any other has been fitted."""
    taken = inspect.signature(member.fit).parameters
    if "sample_weight" not in taken and all(one.kind is not one.VAR_KEYWORD for one in taken.values()):
        message = (
            f"{subject}: Underlying estimator {type(member).__name__} does not support sample weights. Repeat the "
            f"rows, or use another estimator."
        )
        raise ParameterError(message)


@dataclass(frozen=True, eq=False)
class FirstLayer:
    """The members to be fitted, each to all rows."""

    members: list[tuple[str, Any]]
    params: dict[str, dict[str, Any]]
    X: Any
    y: np.ndarray

    def fit(self, number: int) -> Any:
        """A fitted copy of one member."""
        name, member = self.members[number]
        copy = clone(member)
        copy.fit(self.X, self.y, **self.params[name])
        return copy


def side_by_side(fit: Callable[[int], Any], first: int, size: int) -> Callable[[], list[Any]]:
    """A call that fits `size` members from the one numbered `first`."""

    def all_of_them() -> list[Any]:
        if size == 1:
            # By itself a member may use all threads.
            return [fit(first)]
        found: list[Any] = []
        run_numbered(lambda number: fit(first + number), size, size, found.append)
        return found

    return all_of_them


class NamedMembers(MetaEstimatorMixin, Estimator):
    """An ensemble of (name, estimator) pairs."""

    estimators: list[tuple[str, Any]]
    estimators_: list[Any]

    @property
    def named_estimators(self) -> Bunch:
        """The members as given, by their names."""
        return Bunch(**dict(self.estimators))

    @property
    def n_features_in_(self) -> int:
        """Number of columns, as the first member found them."""
        if "estimators_" not in vars(self):
            message = f"{type(self).__name__} object has no attribute n_features_in_"
            raise AttributeError(message)
        return int(self.estimators_[0].n_features_in_)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, members by their names, and the parameters of members as ``name__parameter``.

        Parameters
        ----------
        deep : bool, default=True
            Whether members and their parameters are among them.

        Returns
        -------
        dict
        """
        found: dict[str, Any] = super().get_params(deep=deep)
        if not deep or not _are_pairs(self.estimators):
            return found
        found.update(self.estimators)
        for name, member in self.estimators:
            if hasattr(member, "get_params"):
                found.update({f"{name}__{key}": value for key, value in member.get_params(deep=True).items()})
        return found

    def set_params(self, **params: Any) -> "NamedMembers":
        """Set parameters, members by their names (``"drop"`` leaves one out), or parameters of members.

        Parameters
        ----------
        **params : dict
            Parameters.

        Returns
        -------
        self
        """
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        if _are_pairs(self.estimators):
            names = [name for name, _ in self.estimators]
            replaced = {name: params.pop(name) for name in list(params) if name in names}
            if replaced:
                self.estimators = [(name, replaced.get(name, member)) for name, member in self.estimators]
        super().set_params(**params)
        return self

    def _members(self, accepts: Callable[[Any], bool] | None = None, kind: str = "") -> list[tuple[str, Any]]:
        """The members that are not dropped, once their names and kinds are found to be right."""
        subject = type(self).__name__
        if not self.estimators or not _are_pairs(self.estimators):
            message = (
                f"{subject}: Invalid 'estimators' attribute, 'estimators' should be a non-empty list of (string, "
                f"estimator) tuples; got {self.estimators!r}."
            )
            raise ParameterError(message)
        self._check_names([name for name, _ in self.estimators])
        kept = [(name, member) for name, member in self.estimators if not dropped(member)]
        if not kept:
            message = f"{subject}: All estimators are dropped. At least one is required to be an estimator."
            raise ParameterError(message)
        for name, member in kept:
            if accepts is not None and not accepts(member):
                message = f"{subject}: The estimator {type(member).__name__} should be a {kind}; replace {name!r}."
                raise ParameterError(message)
        return kept

    def _check_names(self, names: list[str]) -> None:
        taken = sorted(set(names) & set(self.get_params(deep=False)))
        split = [name for name in names if "__" in name]
        fault = (
            f"Names provided are not unique: {names!r}. Rename one of them."
            if len(set(names)) < len(names)
            else f"Estimator names conflict with constructor arguments: {taken!r}. Rename them."
            if taken
            else f"Estimator names must not contain __: got {split!r}. Rename them."
            if split
            else ""
        )
        if fault:
            message = f"{type(self).__name__}: {fault}"
            raise ParameterError(message)

    def _check_call(self, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        """Raise unless rows are in memory, there are targets, and metadata may be routed."""
        subject = type(self).__name__
        if fit_params and not sklearn.get_config()["enable_metadata_routing"]:
            message = (
                f"{subject}: passing {sorted(fit_params)} to fit is only supported if enable_metadata_routing=True; "
                f"call sklearn.set_config(enable_metadata_routing=True) first."
            )
            raise ParameterError(message)
        check_wrapped_place(self, X, y)
        if y is None:
            message = f"{subject}: requires y to be passed, but the target y is None. Give the targets."
            raise DataError(message)

    def _given(
        self, members: list[tuple[str, Any]], sample_weight: Any, n: int, fit_params: dict[str, Any]
    ) -> tuple[np.ndarray | None, dict[str, dict[str, Any]]]:
        """The weights, and what each member's ``fit`` is given: what it asks for, or weights where nobody asks."""
        weight = check_weight(self, sample_weight, n)
        if not sklearn.get_config()["enable_metadata_routing"]:
            for _, member in members if weight is not None else ():
                check_weighs(member, type(self).__name__)
            return weight, {name: {} if weight is None else {"sample_weight": weight} for name, _ in members}
        whole = fit_params if weight is None else {"sample_weight": sample_weight, **fit_params}
        if not whole:
            return weight, {name: {} for name, _ in members}
        routed = process_routing(self, "fit", **whole)
        return weight, {name: dict(routed[name].fit) for name, _ in members}

    def _named(self, members: list[Any]) -> dict[str, Any]:
        """Fitted members in their order and by their names, and the columns that they were fitted to."""
        fitted = iter(members)
        named = {name: member if dropped(member) else next(fitted, None) for name, member in self.estimators}
        found: dict[str, Any] = {
            "estimators_": list(members),
            "named_estimators_": Bunch(**{name: member for name, member in named.items() if member is not None}),
        }
        for member in members:
            if hasattr(member, "feature_names_in_"):
                found["feature_names_in_"] = member.feature_names_in_
        return found

    def _kept_names(self) -> list[str]:
        """Names of the fitted members."""
        check_is_fitted(self)
        return [name for name, member in self.estimators if not dropped(member)][: len(self.estimators_)]

    def _column_names(self, input_features: Any, *, needed: bool = False) -> list[str]:
        """Names of the columns of rows; given ones must be those that were seen. Made up only where `needed`."""
        known = vars(self).get("feature_names_in_")
        if input_features is None:
            made = [f"x{number}" for number in range(self.n_features_in_)] if needed else []
            return made if known is None else [str(name) for name in known]
        given = [str(name) for name in input_features]
        if known is not None and given != [str(name) for name in known]:
            message = f"{type(self).__name__}: input_features is not equal to feature_names_in_; leave it out."
            raise DataError(message)
        if len(given) != self.n_features_in_:
            message = (
                f"{type(self).__name__}: input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(given)}. Name every column."
            )
            raise DataError(message)
        return given

    def _answers(self, X: Any, ask: Callable[[int], Any]) -> list[Any]:
        """What each fitted member answers, in their order; on threads where there are many rows."""
        many = getattr(X, "shape", (0,))[0] > 1000
        threads = min(self._threads(), len(self.estimators_)) if many else 1
        if threads == 1:
            return [ask(number) for number in range(len(self.estimators_))]
        found: list[Any] = []
        run_numbered(ask, len(self.estimators_), threads, found.append)
        return found

    def get_metadata_routing(self) -> Any:
        """Where metadata given to ``fit`` goes: to the members that ask for it.

        Returns
        -------
        MetadataRouter
        """
        router = MetadataRouter(owner=self)
        if super().get_metadata_routing().fit.requests.get("sample_weight") is not None:
            router.add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for name, member in self.estimators:
            if not dropped(member):
                router.add(**{name: member}, method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kept = [pair[1] for pair in self.estimators if not dropped(pair[1])] if _are_pairs(self.estimators) else []
        inner = [get_tags(member).input_tags for member in kept]
        tags.input_tags.sparse = bool(inner) and all(one.sparse for one in inner)
        tags.input_tags.allow_nan = bool(inner) and all(one.allow_nan for one in inner)
        return tags


def _are_pairs(members: Any) -> bool:
    return isinstance(members, list) and all(
        isinstance(one, list | tuple) and len(one) == 2 and isinstance(one[0], str) for one in members
    )
