"""The base of stacked classifiers and regressors: a layer of members, and an estimator over their predictions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.utils.metadata_routing import MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting
from mercer._base.column_names import read_column_names
from mercer._base.folds import FOLDS, splits
from mercer._base.interface import TransformerMixin
from mercer._base.member_fits import GivenRows, fit_batch
from mercer._base.parameter import Boolean, Choice, HasFit, Nothing, parameter
from mercer._base.wrapping import float_type
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._stored import Stored, integers, members, part, texts
from mercer.ensemble._committee.named_members import (
    KINDS,
    FirstLayer,
    NamedMembers,
    check_accepts_weights,
    is_dropped,
)
from mercer.ensemble._reweighting.weak_learner import predict_shares
from mercer.errors import DataError, ModelFileError, ParameterError

_NO_BOUND = Certificate.none(
    "Each member and the final estimator optimise what they optimise; nothing is optimised over all of them."
)
# The methods whose output stands for a member, the best first.
_PREFERRED = ("predict_proba", "decision_function", "predict")


@plain
@dataclass(frozen=True)
class StackState:
    """The members so far, the columns of their predictions, and the final estimator once all members are fitted."""

    members: Any
    columns: Any
    final: Any


@dataclass(frozen=True, eq=False)
class _Stacking:
    """The solver: fits as many members at a time as there are threads, then the final estimator; each is a step.

    ``fit(index)`` returns a member and its columns, ``finish(columns)`` the final estimator.
    """

    fit: Callable[[int], tuple[Any, np.ndarray]]
    finish: Callable[[Any], Any]
    n_members: int
    threads: int

    def solve(self, state: StackState | None) -> Solver:
        """Fit what `state` does not have yet."""
        state = StackState((), (), None) if state is None else state
        while len(state.members) < self.n_members:
            # A batch of members on all threads, then their steps: a fit can be interrupted between batches.
            batch = fit_batch(self.fit, len(state.members), self.n_members, self.threads)
            for member, column in (yield Dense(batch, heavy=True)):
                state = StackState((*state.members, member), (*state.columns, column), None)
                yield Step(float(len(state.members)), state, _NO_BOUND)
        if state.final is None:
            columns = state.columns
            final = yield Dense(lambda: self.finish(columns), heavy=True)
            state = StackState(state.members, columns, final)
            yield Step(float(self.n_members + 1), state, _NO_BOUND)
        return Solution(state, True, _NO_BOUND)


@dataclass(frozen=True, eq=False)
class _StackedLayer(FirstLayer):
    """Members with their predictions of rows that they were not fitted to.

    ``methods`` names the method of each member that predicts, ``folds`` are the same for all, or None for members that
    are fitted already, and ``arrange(output, method)`` makes columns of predictions.
    """

    methods: list[str]
    folds: Any
    arrange: Callable[[Any, str], np.ndarray]

    def stack(self, index: int) -> tuple[Any, np.ndarray]:
        """Return a fitted member, and its predictions of each fold by a copy that was fitted to the others."""
        from sklearn.model_selection import cross_val_predict

        name, member = self.members[index]
        method = self.methods[index]
        # Members that were fitted before: their predictions of the same rows.
        if self.folds is None:
            return member, self.arrange(getattr(member, method)(self.X), method)
        fitted = self.fit(index)
        # Each row is predicted by a copy that was fitted without its fold.
        output = cross_val_predict(
            clone(member), self.X, self.y, cv=self.folds, method=method, params=self.params[name] or None
        )
        return fitted, self.arrange(output, method)


class StackingModel(TransformerMixin, NamedMembers):
    """Named members, each fitted to all rows, and an estimator fitted to their predictions of rows they did not see."""

    final_estimator: Any = parameter(HasFit() | Nothing(), default=None, kw_only=False, after="estimators")
    cv: Any = parameter(
        FOLDS | Choice("prefit"),
        default=None,
        doc='Folds, the same for all members; None means five. ``"prefit"`` takes the members as they are, already '
        "fitted, preferably to other rows.",
    )
    passthrough: bool = parameter(
        Boolean(), default=False, after="n_jobs", doc="Whether the final estimator also sees the rows themselves."
    )

    _documents = {
        "max_time": "Seconds after which to stop, and to fit the final estimator to the members so far.",
    }

    _objective_moves = "up"
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "each fold is a copy of its rows, since members may be of any kind",
        "row order": "rows are dealt to folds by their numbers, and the final estimator depends on the folds",
        "weights": "copies of a row may be dealt to different folds, a weighted row to one only",
    }

    # Which estimators may be members (None for any) and which the final one, see KINDS.
    _member_kind: ClassVar[str | None]
    _final_kind: ClassVar[str]

    _stored: ClassVar[dict[str, Stored]] = {
        "stack_method_": members(texts()),
        "final_estimator_": part("BaseEstimator"),
        "_widths": members(integers(low=0)),
    }

    def _check_structure(self) -> None:
        # Names are made for as many columns as the members are said to give.
        taken = getattr(vars(self).get("final_estimator_"), "n_features_in_", None)
        widths = vars(self).get("_widths", [])
        if isinstance(taken, int) and sum(widths) > taken:
            raise ModelFileError(
                f"{type(self).__name__}._widths must be columns of final_estimator_, which takes {taken}; the file has "
                f"{sum(widths)}."
            )

    def _choose_final(self) -> Any:
        """Return the final estimator, not fitted."""
        raise NotImplementedError  # classifiers and regressors have their own default

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the members, and the final estimator to their predictions of rows that they were not fitted to.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the members take them.
        y : array-like of shape (n_samples,), or for classification (n_samples, n_labels)
            Labels, or indicators of several labels, for classification; numbers for regression.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, for all members and the final estimator; with scikit-learn's metadata routing, for the members
            that request them.
        **fit_params : dict
            Metadata for ``fit``, through scikit-learn's routing.
        """
        self._check_call(X, y, fit_params)
        members, final = self._list_members(self._member_kind), self._check_final()
        y, attributes = self._encode_targets(y)
        weight, params = self._route_fit(members, sample_weight, len(y), fit_params)
        methods = [self._choose_method(name, member) for name, member in members]
        classes = attributes.get("classes_")
        layer = _StackedLayer(
            *(members, params, X, y),
            *(methods, self._make_folds(X, y, members), lambda out, method: _make_columns(out, method, classes, X)),
        )
        finish = partial(self._fit_final, final, X, y, self._list_final_params(final, weight, fit_params))
        solver = _Stacking(layer.stack, finish, len(members), self._threads())
        # Names of an earlier fit must not outlive a fit to rows without names.
        self.__dict__.pop("feature_names_in_", None)
        outcome = self._drive(
            solver.solve,
            GivenRows(X, y, weight, self._threads()),
            fitted=partial(self._list_attributes, methods=methods, finish=finish),
            max_steps=len(members) + 1,
            attributes=attributes,
        )
        self._conclude(outcome)
        return self

    def _check_final(self) -> Any:
        """Return the final estimator; raise if it is of the wrong kind."""
        final = self._choose_final()
        if not KINDS[self._final_kind](final):
            raise ParameterError(
                f"{type(self).__name__}: 'final_estimator' parameter should be a {self._final_kind}. Got {final!r}; "
                f"replace it."
            )
        return final

    def _list_final_params(self, final: Any, weight: np.ndarray | None, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Return the metadata for the ``fit`` of the final estimator; raise if it takes no weights."""
        if weight is None:
            return fit_params
        check_accepts_weights(final, type(self).__name__)
        return {**fit_params, "sample_weight": weight}

    def _fit_final(self, final: Any, X: Any, y: np.ndarray, params: dict[str, Any], columns: Any) -> Any:
        """Return a copy of the final estimator, fitted to the columns of the members."""
        copy = clone(final)
        copy.fit(self._join_columns(columns, X), y, **params)
        return copy

    def _make_folds(self, X: Any, y: np.ndarray, members: list[tuple[str, Any]]) -> Any:
        """Return the folds, the same for all members; None where members are fitted already."""
        if not isinstance(self.cv, str):
            if len(y) == 0:
                raise DataError(
                    f"{type(self).__name__}: Found array with 0 sample(s), while a minimum of 2 is required; add some."
                )
            return splits(self.cv, X, y, classifier=is_classifier(self))
        for _, member in members:
            check_is_fitted(member)
        return None

    def _choose_method(self, name: str, member: Any) -> str:
        """Return the method of a member whose output stands for it."""
        wanted = getattr(self, "stack_method", "predict")
        for method in _PREFERRED if wanted == "auto" else (wanted,):
            if hasattr(member, method):
                return method
        lacking = " or ".join(_PREFERRED) if wanted == "auto" else wanted
        raise ParameterError(
            f"{type(self).__name__}: Underlying estimator {name} does not implement the method {lacking}. Ask for "
            f"another, or replace the estimator."
        )

    def _list_attributes(self, state: StackState, methods: list[str], finish: Callable[[Any], Any]) -> dict[str, Any]:
        """Return the fitted attributes that depend on the members of a state."""
        return self._name_members(list(state.members)) | {
            "stack_method_": methods[: len(state.members)],
            # A fit that ended early has no final estimator yet: it is fitted to the columns that there are.
            "final_estimator_": finish(state.columns) if state.final is None else state.final,
            "_widths": [column.shape[1] for column in state.columns],
        }

    def _join_columns(self, columns: Any, X: Any) -> Any:
        """Return the columns of all members, followed by those of the rows with `passthrough`."""
        if self.passthrough and scipy.sparse.issparse(X):
            return scipy.sparse.hstack([*columns, X], format=X.format)
        return np.hstack([*columns, np.asarray(X)] if self.passthrough else columns)

    def transform(self, X: Any) -> Any:
        """Return the predictions of each member, with `passthrough` followed by the rows themselves.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_columns)
        """
        return self._compute_columns(X)

    def _compute_columns(self, X: Any) -> Any:
        """Return the rows of the final estimator: those of ``transform``, as an array whatever ``set_output`` says."""
        check_is_fitted(self)
        classes = vars(self).get("classes_")

        def predict(index: int) -> np.ndarray:
            method = self.stack_method_[index]
            output = _call_member(self.estimators_[index], method, classes, X, self.cv)
            return _make_columns(output, method, classes, X)

        return self._join_columns(self._predict_members(X, predict), X)

    def _predict_final(self, X: Any, params: dict[str, Any]) -> Any:
        """Return the predictions of the final estimator."""
        check_is_fitted(self)
        if params and sklearn.get_config()["enable_metadata_routing"]:
            params = dict(process_routing(self, "predict", **params).final_estimator_.predict)
        return self.final_estimator_.predict(self._compute_columns(X), **params)

    def _call_final(self, name: str, X: Any) -> Any:
        """Return the output of a method of the final estimator."""
        check_is_fitted(self)
        return getattr(self.final_estimator_, name)(self._compute_columns(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of ``transform``.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            The names of the rows' columns; used where rows are passed through.

        Returns
        -------
        ndarray of str
        """
        kept, prefix = self._list_names(), type(self).__name__.lower()
        columns = read_column_names(self, input_features, needed=self.passthrough)
        names: list[str] = []
        for name, width in zip(kept, self._widths, strict=True):
            names += [f"{prefix}_{name}"] if width == 1 else [f"{prefix}_{name}{index}" for index in range(width)]
        return np.asarray(names + (columns if self.passthrough else []), dtype=object)

    def get_metadata_routing(self) -> Any:
        """Return the routes of metadata: from ``fit`` to the members, from ``predict`` to the final estimator.

        Returns
        -------
        MetadataRouter
        """
        final = vars(self).get("final_estimator_", self._choose_final())
        mapping = MethodMapping().add(caller="predict", callee="predict")
        return super().get_metadata_routing().add(final_estimator_=final, method_mapping=mapping)

    def _describe_step(self, number: int, step: Step) -> str:
        names = [name for name, member in self.estimators if not is_dropped(member)] + ["final_estimator"]
        return f"{type(self).__name__}: fitted {names[number]!r}, {number + 1} of {len(names)}"


def final_has(name: str) -> Callable[[StackingModel], bool]:
    """Return a check for ``available_if``: whether the final estimator has a method."""

    def check(model: StackingModel) -> bool:
        getattr(vars(model).get("final_estimator_", model._choose_final()), name)
        return True

    return check


def _call_member(member: Any, method: str, classes: Any, X: Any, cv: Any) -> Any:
    """Return the output of a method of a member; a class that it does not know has the probability 0.

    That happens to a class whose rows all have weight zero.
    """
    output = getattr(member, method)(X)
    whole = method != "predict_proba" or not isinstance(classes, np.ndarray) or output.shape[1] == len(classes)
    return output if whole or isinstance(cv, str) else predict_shares(member, X, np.arange(len(classes)))


def _make_columns(output: Any, method: str, classes: Any, X: Any) -> np.ndarray:
    """Return the output of a member as columns; the probabilities of two classes, which sum to one, as one column."""
    if isinstance(output, list):
        # Indicators of several labels: each label has two probabilities that sum to one, so that the second suffices.
        columns = np.hstack([np.asarray(probabilities)[:, 1:] for probabilities in output])
    else:
        columns = np.asarray(output)
        if columns.ndim == 1:
            columns = columns[:, None]
        elif method == "predict_proba" and isinstance(classes, np.ndarray) and len(classes) == 2:
            columns = columns[:, 1:]
    return columns.astype(float_type(X), copy=False) if columns.dtype.kind == "f" else columns
