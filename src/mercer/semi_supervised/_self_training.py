"""A classifier that labels rows where it is sure, and learns from them again."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base import Estimator, fitting
from mercer._base.folds import of_rows
from mercer._base.interface import MetaEstimatorMixin
from mercer._base.member_fits import GivenTask
from mercer._base.parameter import Boolean, Choice, HasFit, Integer, Nothing, Real, attribute, parameter
from mercer._base.scoring import ClassifierMixin
from mercer._base.wrapping import check_wrapped_place, take_rows
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._source import Source
from mercer._stored import Stored, choice, integers, labels, part
from mercer._types import Array
from mercer.errors import DataError, ParameterError

_NO_BOUND = Certificate.none("Labels that a classifier gives itself optimise nothing.")
_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "score")


@plain
@dataclass(frozen=True)
class TrainingState:
    """The labels so far, the round that gave each of them, the rounds, and the classifier of the last one."""

    given: Any
    rounds: Any
    n_rounds: int
    estimator: Any
    still: bool


def _has(name: str) -> Callable[[Any], bool]:
    """Return the condition under which a model has a method: its classifier has it."""

    def check(model: Any) -> bool:
        getattr(vars(model).get("estimator_", model.estimator), name)
        return True

    return check


class SelfTrainingClassifier(MetaEstimatorMixin, ClassifierMixin, Estimator):
    """A classifier of rows with and without labels, which labels rows where it is sure and learns from them.

    Each round fits a copy of the classifier to the labelled rows, and labels those of the others whose most probable
    class has a probability above `threshold`, or the `k_best` most certain ones.

    Attributes
    ----------
    estimator_ : estimator
        The classifier, fitted to all rows with a label, given or found.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    transduction_ : ndarray of shape (n_samples,)
        The labels of the last fit; -1 for rows without one.
    labeled_iter_ : ndarray of shape (n_samples,)
        The round that gave each row its label: 0 for given ones, -1 for rows without one.
    termination_condition_ : {"max_iter", "no_change", "all_labeled", "interrupted"}
        Why the rounds ended; the last one is for a time limit or Ctrl-C.
    n_features_in_, feature_names_in_
        The columns of the fit.
    history_, converged_, n_iter_, certificate_
        A step for each round; the objective is the number of rows with a label. There is no certificate.

    Notes
    -----
    Costs a fit and the probabilities of the other rows for each round, and a last fit. Wrong labels stay: thresholds
    mean what they say where probabilities are calibrated. Among equally certain rows the first ones are taken. Rows in
    memory, dense or sparse.

    References
    ----------
    D. Yarowsky, *Unsupervised word sense disambiguation rivaling supervised methods*, ACL (1995).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import LogisticRegression
    >>> from mercer.semi_supervised import SelfTrainingClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> known = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> model = SelfTrainingClassifier(LogisticRegression(max_iter=500), max_iter=None).fit(X, known)
    >>> bool(np.mean(model.predict(X) == y) > 0.8)
    True

    See Also
    --------
    LabelSpreading : Labels that spread along a graph of the rows.
    """

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    estimator: Any = parameter(
        HasFit() | Nothing(), default=None, kw_only=False, doc="The classifier, with ``predict_proba``."
    )
    threshold: float = parameter(
        Real(0, 1, closed="left"), default=0.75, kw_only=False, doc="Probabilities above it give a row its label."
    )
    criterion: str = parameter(
        Choice("threshold", "k_best"), default="threshold", kw_only=False, doc="What chooses the rows of a round."
    )
    k_best: int = parameter(Integer(1), default=10, kw_only=False, doc="Rows labelled in a round, with ``'k_best'``.")
    max_iter: int | None = parameter(
        Integer(0) | Nothing(), default=10, kw_only=False, doc="Most rounds; None goes on while they find labels."
    )
    verbose: int | bool = parameter(Integer(0) | Boolean(), default=False, kw_only=False)
    max_time: float | None = parameter(Real(0) | Nothing(), default=None, doc="Seconds after which no round begins.")

    estimator_: Any = attribute()
    classes_: Array = attribute()
    transduction_: Array = attribute()
    labeled_iter_: Array = attribute()
    termination_condition_: str = attribute()

    _objective_moves: ClassVar[str | None] = "up"
    _checks_resumed: ClassVar[bool] = False
    _check_exceptions: ClassVar[dict[str, str]] = {
        "check_non_transformer_estimators_n_iter": "its rows all have labels: there is no round, as in scikit-learn"
    }
    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "the rows with labels are copied in each round"}
    _stored: ClassVar[dict[str, Stored]] = {
        "estimator_": part("BaseEstimator"),
        "transduction_": labels("rows"),
        "labeled_iter_": integers("rows", low=-1),
        "termination_condition_": choice("max_iter", "no_change", "all_labeled", "interrupted"),
    }

    @fitting
    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the classifier in rounds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, with and without labels.
        y : array-like of shape (n_samples,)
            Labels; -1, or the text "-1", where there is none.
        **params : dict
            Metadata for the ``fit`` of the classifier, through scikit-learn's routing; entries for each row are cut to
            those with labels.
        """
        if self.estimator is None:
            raise ParameterError("SelfTrainingClassifier: estimator must be a classifier; got None. Give one.")
        check_wrapped_place(self, X, y)
        routed = self._route("fit", params)
        X, y = validate_data(self, X, y, accept_sparse=["csr", "csc", "lil", "dok"], ensure_all_finite=False)
        known = np.asarray(y != ("-1" if y.dtype.kind in "US" else -1))
        if not known.any():
            raise DataError("SelfTrainingClassifier: y must name the class of a row; got no labels but -1. Add some.")
        self._warn_of_few(known)
        first = TrainingState(y.copy(), np.where(known, 0, -1), 0, None, False)
        outcome = self._drive(
            partial(self._solve, X, routed, first), GivenTask(X, y, len(y), 1, routed), max_steps=self.max_iter
        )
        self.n_iter_ = outcome.state.n_rounds
        self._conclude(outcome, "raise max_iter")
        return self

    def _warn_of_few(self, known: Array) -> None:
        if known.all():
            warnings.warn("y contains no unlabeled samples", UserWarning, stacklevel=4)
        if self.criterion == "k_best" and self.k_best > np.count_nonzero(~known):
            warnings.warn(
                "k_best is larger than the amount of unlabeled samples. All unlabeled samples will be labeled in the "
                "first iteration",
                UserWarning,
                stacklevel=4,
            )

    def _solve(
        self, X: Any, params: dict[str, Any], first: TrainingState, state: TrainingState | None
    ) -> Solver[TrainingState]:
        """Label rows in rounds, and fit the classifier to all of them."""
        state = first if state is None else state
        while self._may_go_on(state):
            state = yield Dense(partial(self._label, X, params, state), heavy=True)
            yield Step(float(np.count_nonzero(state.rounds >= 0)), state, _NO_BOUND)
        if not state.still:
            # The classifier of the last round has not seen the labels that it gave.
            model = yield Dense(partial(self._fit_known, X, params, state), heavy=True)
            state = TrainingState(state.given, state.rounds, state.n_rounds, model, False)
            if state.n_rounds == 0:
                yield Step(float(np.count_nonzero(state.rounds >= 0)), state, _NO_BOUND)
        return Solution(state, state.still or bool((state.rounds >= 0).all()), _NO_BOUND)

    def _may_go_on(self, state: TrainingState) -> bool:
        more = self.max_iter is None or state.n_rounds < self.max_iter
        return more and not state.still and not (state.rounds >= 0).all()

    def _fit_known(self, X: Any, params: dict[str, Any], state: TrainingState) -> Any:
        """Return a copy of the classifier, fitted to the rows with labels."""
        rows = np.flatnonzero(state.rounds >= 0)
        own = of_rows(params, rows, len(state.given))
        return clone(self.estimator).fit(take_rows(X, rows), state.given[rows], **own)

    def _label(self, X: Any, params: dict[str, Any], state: TrainingState) -> TrainingState:
        """Return the labels after one more round."""
        model = self._fit_known(X, params, state)
        unknown = np.flatnonzero(state.rounds < 0)
        shares = model.predict_proba(take_rows(X, unknown))
        best = shares.max(axis=1)
        if self.criterion == "threshold":
            chosen = np.flatnonzero(best > self.threshold)
        else:
            chosen = np.argsort(-best, kind="stable")[: self.k_best]
        given, rounds = state.given.copy(), state.rounds.copy()
        given[unknown[chosen]] = model.classes_[shares[chosen].argmax(axis=1)]
        rounds[unknown[chosen]] = state.n_rounds + 1
        return TrainingState(given, rounds, state.n_rounds + 1, model, not len(chosen))

    def _fitted(self, state: TrainingState) -> dict[str, Any]:
        ended = "no_change" if state.still else "max_iter" if state.n_rounds == self.max_iter else "interrupted"
        return {
            "estimator_": state.estimator,
            "classes_": state.estimator.classes_,
            "transduction_": state.given,
            "labeled_iter_": state.rounds,
            "termination_condition_": "all_labeled" if (state.rounds >= 0).all() else ended,
        }

    def _describe_step(self, number: int, step: Step) -> str:
        added = np.count_nonzero(step.state.rounds == number + 1)
        return f"End of iteration {number + 1}, added {added} new labels."

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        return source.targets  # type: ignore[attr-defined]

    def _route(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the metadata for a method of the classifier."""
        if params and not sklearn.get_config()["enable_metadata_routing"]:
            raise ValueError(
                f"[{', '.join(params)}] are passed but are not explicitly set as requested or not: passing extra "
                f"keyword arguments to SelfTrainingClassifier.{method} is only supported if "
                f"enable_metadata_routing=True, which you can set using `sklearn.set_config`."
            )
        return dict(getattr(process_routing(self, method, **params).estimator, method)) if params else {}

    def _ask(self, method: str, X: Any, *targets: Any, **params: Any) -> Any:
        """Return what a method of the classifier says of rows."""
        check_is_fitted(self)
        routed = self._route(method, params)
        X = validate_data(self, X, accept_sparse=True, ensure_all_finite=False, reset=False)
        return getattr(self.estimator_, method)(X, *targets, **routed)

    @available_if(_has("predict"))
    def predict(self, X: Any, **params: Any) -> Any:
        """Predict the class of each row."""
        return self._ask("predict", X, **params)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any, **params: Any) -> Any:
        """Predict the probability of each class."""
        return self._ask("predict_proba", X, **params)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X: Any, **params: Any) -> Any:
        """Predict the logarithm of the probability of each class."""
        return self._ask("predict_log_proba", X, **params)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any, **params: Any) -> Any:
        """Return the scores of the classes."""
        return self._ask("decision_function", X, **params)

    @available_if(_has("score"))
    def score(self, X: Any, y: Any, **params: Any) -> float:
        """Return the score of the classifier, most often the accuracy.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        **params : dict
            Metadata for the ``score`` of the classifier, through scikit-learn's routing.

        Returns
        -------
        float
        """
        return self._ask("score", X, y, **params)

    def get_metadata_routing(self) -> Any:
        """Return the routes of metadata: to the methods of the same names of the classifier.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit").add(caller="fit", callee="score")
        for name in _METHODS:
            mapping = mapping.add(caller=name, callee=name)
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    @property
    def _depends_on_units(self) -> tuple[str, ...]:  # type: ignore[override]
        return getattr(self.estimator, "_depends_on_units", ("columns",))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags
