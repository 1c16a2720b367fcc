"""Estimators that fit copies of one estimator: for each class, for each pair of classes, or for each target."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from mercer._base.estimator import LimitedEstimator
from mercer._base.interface import MetaEstimatorMixin
from mercer._base.member_fits import BagState, GivenTask, MemberFits, fit_at_once
from mercer._base.parameter import HasFit, attribute, parameter
from mercer._base.wrapping import check_wrapped_place, count_given
from mercer._plain import plain
from mercer._solver import Solver
from mercer._source import Source
from mercer._stored import Stored, labels, members, part
from mercer.errors import DataError


@plain
@dataclass(frozen=True)
class ConstantMember:
    """What stands for a copy of an estimator where all targets are equal: it answers that target."""

    target: Any

    _stored: ClassVar[dict[str, Stored]] = {"target": labels("")}

    def predict(self, X: Any) -> np.ndarray:
        """Return the target for each row."""
        return np.full(count_given(X), self.target)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the target for each row."""
        return self.predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities that the target is 0 and 1."""
        own = self.predict(X).astype(np.float64)
        return np.stack([1.0 - own, own], axis=1)


def has_method(name: str) -> Callable[[Any], bool]:
    """Return the condition under which a model has a method: its first copy has it, or what is copied."""

    def check(model: Any) -> bool:
        copies = vars(model).get("estimators_")
        getattr(copies[0] if copies else model.estimator, name)
        return True

    return check


class CopiesModel(MetaEstimatorMixin, LimitedEstimator):
    """Copies of one estimator, each fitted to targets of its own, as many at a time as there are threads."""

    estimator: Any = parameter(HasFit(), kw_only=False, doc="What is copied and fitted.")

    estimators_: Any = attribute()

    _objective_moves: ClassVar[str | None] = "up"
    # Whether the copies are one step: where some of them alone are no model.
    _all_at_once: ClassVar[bool] = False
    _checks_resumed: ClassVar[bool] = False
    _stored: ClassVar[dict[str, Stored]] = {
        "estimators_": members(part("BaseEstimator", "ConstantMember")),
    }

    def _drive_copies(
        self,
        X: Any,
        y: Any,
        fit: Callable[[int], Any],
        n_copies: int,
        attributes: dict[str, Any],
        threads: int | None = None,
    ) -> None:
        """Fit the copies, by default on all threads, and store them beside other attributes."""
        threads = self._threads() if threads is None else threads
        source = GivenTask(X, y, count_given(y), threads)
        solve: Callable[[BagState | None], Solver[BagState]] = MemberFits(fit, n_copies, threads).solve
        steps = n_copies
        if self._all_at_once:
            solve, steps = partial(fit_at_once, fit, n_copies, threads), 1
        outcome = self._drive(solve, source, max_steps=steps, attributes=attributes)
        self._conclude(outcome)

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        return source.targets  # type: ignore[attr-defined]

    def _copy_estimator(self) -> Any:
        return clone(self.estimator)

    def _fit_copy(self, X: Any, y: Any, params: dict[str, Any]) -> Any:
        """Return a copy of the estimator, fitted."""
        copy = clone(self.estimator)
        copy.fit(X, y, **params)
        return copy

    def _fitted(self, state: BagState) -> dict[str, Any]:
        found: dict[str, Any] = {"estimators_": list(state.members)}
        first = state.members[0]
        names = ("n_features_in_", "feature_names_in_")
        return found | {name: getattr(first, name) for name in names if hasattr(first, name)}

    def _begin(self, method: str, X: Any, y: Any, params: dict[str, Any]) -> dict[str, Any]:
        """Check the place of the rows and that there are targets; return the metadata for a method of the copies."""
        check_wrapped_place(self, X, y)
        if y is None:
            raise DataError(
                f"{type(self).__name__}: requires y to be passed, but the target y is None. Give the targets."
            )
        if params and not sklearn.get_config()["enable_metadata_routing"]:
            raise ValueError(
                f"[{', '.join(params)}] are passed but are not explicitly set as requested or not: passing extra "
                f"keyword arguments to {type(self).__name__}.{method} is only supported if "
                f"enable_metadata_routing=True, which you can set using `sklearn.set_config`."
            )
        return dict(getattr(process_routing(self, method, **params).estimator, method)) if params else {}

    def get_metadata_routing(self) -> Any:
        """Return the routes of metadata: to the methods of the same name of the copies.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        if hasattr(self, "partial_fit"):
            mapping = mapping.add(caller="partial_fit", callee="partial_fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self.estimator, method_mapping=mapping)

    @property
    def _depends_on_units(self) -> tuple[str, ...]:  # type: ignore[override]
        return getattr(self.estimator, "_depends_on_units", ("columns",))

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("pairwise", "sparse", "allow_nan"):
            setattr(tags.input_tags, name, getattr(inner.input_tags, name))
        return tags
