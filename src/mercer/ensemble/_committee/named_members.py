"""The base of ensembles whose members the user names: parameters of members, names, and fits in parallel."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator
from mercer._base.interface import MetaEstimatorMixin
from mercer._base.parameter import Boolean, Instance, Integer, Nothing, Real, attribute, parameter
from mercer._base.validation import check_weight
from mercer._base.wrapping import check_wrapped_place
from mercer._source.threads import run_numbered
from mercer._stored import Stored, mapping, members, part, texts
from mercer.errors import DataError, ParameterError

# How estimators of a kind are recognised, by its name in errors.
KINDS: dict[str, Callable[[Any], bool]] = {"classifier": is_classifier, "regressor": is_regressor}


def is_dropped(member: Any) -> bool:
    """Return whether a member of the list is left out."""
    return isinstance(member, str) and member == "drop"


def check_accepts_weights(member: Any, subject: str) -> None:
    """Raise if the ``fit`` of a member takes no weights."""
    taken = inspect.signature(member.fit).parameters
    if "sample_weight" not in taken and all(entry.kind is not entry.VAR_KEYWORD for entry in taken.values()):
        raise ParameterError(
            f"{subject}: Underlying estimator {type(member).__name__} does not support sample weights. Repeat the "
            f"rows, or use another estimator."
        )


@dataclass(frozen=True, eq=False)
class FirstLayer:
    """Members that are fitted to all rows, the metadata for the ``fit`` of each by name, and the rows."""

    members: list[tuple[str, Any]]
    params: dict[str, dict[str, Any]]
    X: Any
    y: np.ndarray

    def fit(self, index: int) -> Any:
        """Return a fitted copy of one member."""
        name, member = self.members[index]
        copy = clone(member)
        copy.fit(self.X, self.y, **self.params[name])
        return copy


class NamedMembers(MetaEstimatorMixin, Estimator):
    """An ensemble of (name, estimator) pairs."""

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    estimators: list[tuple[str, Any]] = parameter(
        Instance(list),
        kw_only=False,
        doc='Pairs of a name and a regressor; ``"drop"`` in the place of a regressor leaves it out.',
    )
    n_jobs: int | None = parameter(
        Integer() | Nothing(), default=None, doc="Threads over members; None means all cores. Changes no result."
    )
    verbose: int | bool = parameter(Integer(0) | Boolean(), default=0, doc="Whether to print a line for each member.")
    max_time: float | None = parameter(
        Real(0) | Nothing(), default=None, doc="Seconds after which to stop with the members fitted so far."
    )

    estimators_: list[Any] = attribute()

    # Members of a checkpoint were checked when it was loaded; only after the fit do they tell the number of columns.
    _checks_resumed: ClassVar[bool] = False
    _stored: ClassVar[dict[str, Stored]] = {
        "estimators_": members(part("BaseEstimator")),
        "named_estimators_": mapping(part("BaseEstimator") | texts()),
    }
    _takes_sparse = True

    @property
    def named_estimators(self) -> Bunch:
        """The members as given, by their names."""
        return Bunch(**dict(self.estimators))

    @property
    def n_features_in_(self) -> int:
        """The number of columns, as the first member counted them."""
        if "estimators_" not in vars(self):
            raise NotFittedError(f"{type(self).__name__} object has no attribute n_features_in_ before it is fitted.")
        return int(self.estimators_[0].n_features_in_)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters, members by their names, and parameters of members as ``name__parameter``.

        Parameters
        ----------
        deep : bool, default=True
            Whether members and their parameters are among them.

        Returns
        -------
        dict
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        if not deep or not _are_pairs(self.estimators):
            return params
        params.update(self.estimators)
        for name, member in self.estimators:
            if hasattr(member, "get_params"):
                params.update({f"{name}__{key}": value for key, value in member.get_params(deep=True).items()})
        return params

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
            # A member's name is a parameter that replaces it.
            replaced = {name: params.pop(name) for name in list(params) if name in names}
            if replaced:
                self.estimators = [(name, replaced.get(name, member)) for name, member in self.estimators]
        super().set_params(**params)
        return self

    def _encode_targets(self, y: Any) -> tuple[np.ndarray, dict[str, Any]]:
        """Return the targets that members are fitted to, and the fitted attributes that follow from them."""
        raise NotImplementedError  # classifiers and regressors have their own targets

    def _list_members(self, kind: str | None) -> list[tuple[str, Any]]:
        """Return the members that are not dropped; raise if a name is wrong or a member not of a kind of `KINDS`."""
        subject = type(self).__name__
        if not self.estimators or not _are_pairs(self.estimators):
            raise ParameterError(
                f"{subject}: Invalid 'estimators' attribute, 'estimators' should be a non-empty list of (string, "
                f"estimator) tuples; got {self.estimators!r}."
            )
        self._check_names([name for name, _ in self.estimators])
        kept = [(name, member) for name, member in self.estimators if not is_dropped(member)]
        if not kept:
            raise ParameterError(f"{subject}: All estimators are dropped. At least one is required to be an estimator.")
        for name, member in kept:
            if not hasattr(member, "fit") or (kind is not None and not KINDS[kind](member)):
                raise ParameterError(
                    f"{subject}: The estimator {type(member).__name__} should be a {kind or 'model'}; replace {name!r}."
                )
        return kept

    def _check_names(self, names: list[str]) -> None:
        """Raise if names repeat, equal a parameter, or hold ``__``."""
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
            raise ParameterError(f"{type(self).__name__}: {fault}")

    def _check_call(self, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        """Raise unless rows are in memory, there are targets, and metadata may be routed."""
        subject = type(self).__name__
        if fit_params and not sklearn.get_config()["enable_metadata_routing"]:
            raise ParameterError(
                f"{subject}: passing {sorted(fit_params)} to fit is only supported if enable_metadata_routing=True; "
                f"call sklearn.set_config(enable_metadata_routing=True) first."
            )
        check_wrapped_place(self, X, y)
        if y is None:
            raise DataError(f"{subject}: requires y to be passed, but the target y is None. Give the targets.")

    def _route_fit(
        self, members: list[tuple[str, Any]], sample_weight: Any, n: int, fit_params: dict[str, Any]
    ) -> tuple[np.ndarray | None, dict[str, dict[str, Any]]]:
        """Return the checked weights, and by name the metadata for the ``fit`` of each member.

        Without scikit-learn's metadata routing all members are given the weights, else those that request them.
        """
        weight = check_weight(self, sample_weight, n)
        if not sklearn.get_config()["enable_metadata_routing"]:
            for _, member in members if weight is not None else ():
                check_accepts_weights(member, type(self).__name__)
            return weight, {name: {} if weight is None else {"sample_weight": weight} for name, _ in members}
        whole = fit_params if weight is None else {"sample_weight": sample_weight, **fit_params}
        if not whole:
            return weight, {name: {} for name, _ in members}
        routed = process_routing(self, "fit", **whole)
        return weight, {name: dict(routed[name].fit) for name, _ in members}

    def _name_members(self, members: list[Any]) -> dict[str, Any]:
        """Return fitted members in their order and by their names, and the columns that they were fitted to."""
        # A fit that ended early has fewer members than names: the rest are left out.
        fitted = iter(members)
        # Members not fitted yet, in an interrupted fit, have no name.
        named = {name: member if is_dropped(member) else next(fitted, None) for name, member in self.estimators}
        attributes: dict[str, Any] = {
            "estimators_": list(members),
            "named_estimators_": Bunch(**{name: member for name, member in named.items() if member is not None}),
        }
        for member in members:
            if hasattr(member, "feature_names_in_"):
                attributes["feature_names_in_"] = member.feature_names_in_
        return attributes

    def _list_names(self) -> list[str]:
        """Return the names of the fitted members."""
        check_is_fitted(self)
        return [name for name, member in self.estimators if not is_dropped(member)][: len(self.estimators_)]

    def _predict_members(self, X: Any, predict: Callable[[int], Any]) -> list[Any]:
        """Return ``predict(index)`` for each fitted member, in their order; on threads where there are many rows."""
        many = getattr(X, "shape", (0,))[0] > 1000
        threads = min(self._threads(), len(self.estimators_)) if many else 1
        if threads == 1:
            return [predict(index) for index in range(len(self.estimators_))]
        predictions: list[Any] = []
        run_numbered(predict, len(self.estimators_), threads, predictions.append)
        return predictions

    def get_metadata_routing(self) -> Any:
        """Return the routes of metadata: what ``fit`` is given goes to the members that request it.

        Returns
        -------
        MetadataRouter
        """
        router = MetadataRouter(owner=self)
        if super().get_metadata_routing().fit.requests.get("sample_weight") is not None:
            router.add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for name, member in self.estimators:
            if not is_dropped(member):
                router.add(**{name: member}, method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kept = [pair[1] for pair in self.estimators if not is_dropped(pair[1])] if _are_pairs(self.estimators) else []
        inner = [get_tags(member).input_tags for member in kept]
        tags.input_tags.sparse = bool(inner) and all(tags_of_member.sparse for tags_of_member in inner)
        tags.input_tags.allow_nan = bool(inner) and all(tags_of_member.allow_nan for tags_of_member in inner)
        return tags


def _are_pairs(members: Any) -> bool:
    """Return whether members are a list of pairs that begin with a name."""
    return isinstance(members, list) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in members
    )
