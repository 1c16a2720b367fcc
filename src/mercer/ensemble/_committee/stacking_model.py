"""What stacked classifiers and regressors share: a layer of members, and an estimator over what they say."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
import sklearn
from sklearn.base import TransformerMixin, clone, is_classifier
from sklearn.model_selection import cross_val_predict
from sklearn.utils.metadata_routing import MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from mercer._base.folds import FOLDS, splits
from mercer._base.parameter import Boolean, Choice, HasFit, Instance, Integer, Nothing, Real, Rule
from mercer._base.wrapping import float_type
from mercer._plain import plain
from mercer._solver import Certificate, Outcome, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer.ensemble._committee.named_members import (
    FirstLayer,
    GivenRows,
    NamedMembers,
    check_weighs,
    dropped,
    side_by_side,
)
from mercer.ensemble._reweighting.weak_learner import predict_shares
from mercer.errors import DataError, ParameterError

__all__ = ["StackState", "StackingModel", "final_has"]

_STATEMENT = "Each member and the final estimator optimise what they optimise; nothing is optimised over all of them."
_PREFERRED = ("predict_proba", "decision_function", "predict")


@plain
@dataclass(frozen=True)
class StackState:
    """The members so far, the columns that stand for them, and the estimator over these once all are there."""

    members: Any
    columns: Any
    final: Any


@dataclass(frozen=True, eq=False)
class _Stack:
    """The solver: as many members at a time as there are threads, a step for each, and one for the final estimator."""

    fit: Callable[[int], tuple[Any, np.ndarray]]
    finish: Callable[[Any], Any]
    n_members: int
    threads: int

    def solve(self, state: StackState | None) -> Solver:
        state = StackState((), (), None) if state is None else state
        nothing = Certificate.none(_STATEMENT)
        while len(state.members) < self.n_members:
            first = len(state.members)
            size = min(self.threads, self.n_members - first)
            for member, column in (yield Dense(side_by_side(self.fit, first, size), heavy=True)):
                state = StackState((*state.members, member), (*state.columns, column), None)
                yield Step(float(len(state.members)), state, nothing)
        if state.final is None:
            columns = state.columns
            found = yield Dense(side_by_side(lambda _: self.finish(columns), 0, 1), heavy=True)
            state = StackState(state.members, columns, found[0])
            yield Step(float(self.n_members + 1), state, nothing)
        return Solution(state, True, nothing)


@dataclass(frozen=True, eq=False)
class _StackedLayer(FirstLayer):
    """Members with what they say of rows that they were not fitted to."""

    methods: list[str]
    folds: Any
    block: Callable[[Any, str], np.ndarray]

    def stack(self, number: int) -> tuple[Any, np.ndarray]:
        """A fitted member, and its answers to rows of folds that it did not see."""
        name, member = self.members[number]
        method = self.methods[number]
        if self.folds is None:
            return member, self.block(getattr(member, method)(self.X), method)
        fitted = self.fit(number)
        said = cross_val_predict(
            clone(member), self.X, self.y, cv=self.folds, method=method, params=self.params[name] or None
        )
        return fitted, self.block(said, method)


class StackingModel(TransformerMixin, NamedMembers):
    """Named members, each fitted to all rows, and an estimator fitted to what they say of rows they did not see."""

    final_estimator: Any
    cv: Any
    passthrough: bool
    _parameters: ClassVar[dict[str, Rule]] = {
        "estimators": Instance(list),
        "final_estimator": HasFit() | Nothing(),
        "cv": FOLDS | Choice("prefit"),
        "n_jobs": Integer() | Nothing(),
        "passthrough": Boolean(),
        "verbose": Integer(0) | Boolean(),
        "max_time": Real(0) | Nothing(),
    }
    _objective_moves = "up"
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "each fold is a copy of its rows, since members may be of any kind",
        "row order": "rows are dealt to folds by their numbers, and the final estimator depends on the folds",
        "weights": "copies of a row may be dealt to different folds, a weighted row to one only",
    }

    def _default_final(self) -> Any:
        """The final estimator that None stands for."""
        raise NotImplementedError  # classifiers and regressors have their own

    def _chosen_final(self) -> Any:
        return self._default_final() if self.final_estimator is None else self.final_estimator

    def _checked_final(self, accepts: Callable[[Any], bool], kind: str) -> Any:
        chosen = self._chosen_final()
        if not accepts(chosen):
            message = (
                f"{type(self).__name__}: 'final_estimator' parameter should be a {kind}. Got {chosen!r}; replace it."
            )
            raise ParameterError(message)
        return chosen

    def _fit_stack(
        self,
        X: Any,
        y: np.ndarray,
        sample_weight: Any,
        fit_params: dict[str, Any],
        members: list[tuple[str, Any]],
        final: Any,
        attributes: dict[str, Any],
    ) -> Outcome:
        weight, params = self._given(members, sample_weight, len(y), fit_params)
        methods = [self._method(name, member) for name, member in members]
        classes = attributes.get("classes_")
        layer = _StackedLayer(
            *(members, params, X, y),
            *(methods, self._folds(X, y, members), lambda said, method: _block(said, method, classes, X)),
        )
        # A state without a final estimator stands for a fit that ended early; one is fitted to what columns there are.
        self._finish = partial(self._fit_final, final, X, y, self._given_to_final(final, weight, fit_params))
        self._methods = methods
        stack = _Stack(layer.stack, self._finish, len(members), self._threads())
        self.__dict__.pop("feature_names_in_", None)
        source = GivenRows(X, y, weight, self._threads())
        outcome = self._drive(stack.solve, source, max_steps=len(members) + 1, attributes=attributes)
        del self._finish, self._methods
        return outcome

    def _given_to_final(self, final: Any, weight: np.ndarray | None, fit_params: dict[str, Any]) -> dict[str, Any]:
        if weight is None:
            return fit_params
        check_weighs(final, type(self).__name__)
        return {**fit_params, "sample_weight": weight}

    def _fit_final(self, final: Any, X: Any, y: np.ndarray, params: dict[str, Any], columns: Any) -> Any:
        copy = clone(final)
        copy.fit(self._beside(columns, X), y, **params)
        return copy

    def _folds(self, X: Any, y: np.ndarray, members: list[tuple[str, Any]]) -> Any:
        """The same folds for all members; None where members are fitted already."""
        if not isinstance(self.cv, str):
            if len(y) == 0:
                message = (
                    f"{type(self).__name__}: Found array with 0 sample(s), while a minimum of 2 is required; add some."
                )
                raise DataError(message)
            return splits(self.cv, X, y, classifier=is_classifier(self))
        for _, member in members:
            check_is_fitted(member)
        return None

    def _method(self, name: str, member: Any) -> str:
        """The method of a member that says what stands for it."""
        wanted = getattr(self, "stack_method", "predict")
        for method in _PREFERRED if wanted == "auto" else (wanted,):
            if hasattr(member, method):
                return method
        lacking = " or ".join(_PREFERRED) if wanted == "auto" else wanted
        message = (
            f"{type(self).__name__}: Underlying estimator {name} does not implement the method {lacking}. Ask for "
            f"another, or replace the estimator."
        )
        raise ParameterError(message)

    def _fitted(self, state: StackState) -> dict[str, Any]:
        return self._named(list(state.members)) | {
            "stack_method_": self._methods[: len(state.members)],
            "final_estimator_": self._finish(state.columns) if state.final is None else state.final,
            "_widths": [column.shape[1] for column in state.columns],
        }

    def _beside(self, columns: Any, X: Any) -> Any:
        """The members' columns side by side, followed by those of the rows where these are passed through."""
        if self.passthrough and scipy.sparse.issparse(X):
            return scipy.sparse.hstack([*columns, X], format=X.format)
        return np.hstack([*columns, np.asarray(X)] if self.passthrough else columns)

    def transform(self, X: Any) -> Any:
        """What each member says of rows, and the rows themselves where these are passed through.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_columns)
        """
        return self._columns(X)

    def _columns(self, X: Any) -> Any:
        """What ``transform`` returns, as an array whatever ``set_output`` says: the final estimator's rows."""
        check_is_fitted(self)
        classes = vars(self).get("classes_")

        def ask(number: int) -> np.ndarray:
            method = self.stack_method_[number]
            return _block(_said(self.estimators_[number], method, classes, X, self.cv), method, classes, X)

        return self._beside(self._answers(X, ask), X)

    def _final_answer(self, X: Any, params: dict[str, Any]) -> Any:
        check_is_fitted(self)
        if params and sklearn.get_config()["enable_metadata_routing"]:
            params = dict(process_routing(self, "predict", **params).final_estimator_.predict)
        return self.final_estimator_.predict(self._columns(X), **params)

    def _asked(self, name: str, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.final_estimator_, name)(self._columns(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns of ``transform``.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            The names of the rows' columns; used where rows are passed through.

        Returns
        -------
        ndarray of str
        """
        kept, prefix = self._kept_names(), type(self).__name__.lower()
        columns = self._column_names(input_features, needed=self.passthrough)
        names: list[str] = []
        for name, width in zip(kept, self._widths, strict=True):
            names += [f"{prefix}_{name}"] if width == 1 else [f"{prefix}_{name}{number}" for number in range(width)]
        return np.asarray(names + (columns if self.passthrough else []), dtype=object)

    def get_metadata_routing(self) -> Any:
        """Where metadata goes: that of ``fit`` to the members, that of ``predict`` to the final estimator.

        Returns
        -------
        MetadataRouter
        """
        final = vars(self).get("final_estimator_", self._chosen_final())
        mapping = MethodMapping().add(caller="predict", callee="predict")
        return super().get_metadata_routing().add(final_estimator_=final, method_mapping=mapping)

    def _describe_step(self, number: int, step: Step) -> str:
        names = [name for name, member in self.estimators if not dropped(member)] + ["final_estimator"]
        return f"{type(self).__name__}: fitted {names[number]!r}, {number + 1} of {len(names)}"


def final_has(name: str) -> Callable[[StackingModel], bool]:
    """A check for ``available_if``: whether the final estimator has a method."""

    def check(model: StackingModel) -> bool:
        getattr(vars(model).get("final_estimator_", model._chosen_final()), name)
        return True

    return check


def _said(member: Any, method: str, classes: Any, X: Any, cv: Any) -> Any:
    """What a member answers; a class whose rows all weighed nothing may be unknown to it, and has the probability 0."""
    said = getattr(member, method)(X)
    whole = method != "predict_proba" or not isinstance(classes, np.ndarray) or said.shape[1] == len(classes)
    return said if whole or isinstance(cv, str) else predict_shares(member, X, np.arange(len(classes)))


def _block(said: Any, method: str, classes: Any, X: Any) -> np.ndarray:
    """A member's answers as columns; of probabilities of two classes, which sum to one, the second only."""
    if isinstance(said, list):
        found = np.hstack([np.asarray(one)[:, 1:] for one in said])
    else:
        found = np.asarray(said)
        if found.ndim == 1:
            found = found[:, None]
        elif method == "predict_proba" and isinstance(classes, np.ndarray) and len(classes) == 2:
            found = found[:, 1:]
    return found.astype(float_type(X), copy=False) if found.dtype.kind == "f" else found
