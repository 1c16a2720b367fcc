"""Thresholds of two-class decisions: a given one, and the best one by the scores of rows left out."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_consistent_length, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from mercer._base import Estimator, fitting
from mercer._base.folds import FOLDS, of_rows, read_score, splits
from mercer._base.interface import BaseEstimator, MetaEstimatorMixin
from mercer._base.interface import ClassifierMixin as TheirClassifier
from mercer._base.member_fits import BagState, GivenTask, fit_batch
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import (
    Boolean,
    Choice,
    Function,
    HasFit,
    Integer,
    Nothing,
    Real,
    Seed,
    Text,
    attribute,
    parameter,
)
from mercer._base.scoring import ClassifierMixin
from mercer._base.validation import check_weight, flatten_targets
from mercer._base.wrapping import check_wrapped_place, check_wrapped_rows, take_rows
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._stored import Stored, floats, mapping, part
from mercer._types import Array
from mercer.errors import DataError, ParameterError

_METHODS = ("predict_proba", "decision_function")
_GIVEN = Certificate.none("The threshold is given: nothing is optimised.")
_TRIED = Certificate.none(
    "The best of the thresholds that were tried, by the mean score of rows left out; other rows may ask for another."
)


def _has(name: str) -> Callable[[Any], bool]:
    """Return the condition under which a model has a method: its classifier has it."""

    def check(model: Any) -> bool:
        getattr(vars(model).get("estimator_", model.estimator), name)
        return True

    return check


class ThresholdClassifier(MetaEstimatorMixin, ClassifierMixin, Estimator):
    """A classifier of two classes that decides for one of them where its score reaches a threshold."""

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    estimator: Any = parameter(
        HasFit(), kw_only=False, doc="The classifier, with ``predict_proba`` or ``decision_function``."
    )
    response_method: str = parameter(
        Choice("auto", *_METHODS),
        default="auto",
        doc="What is compared with the threshold; ``'auto'`` takes the first of the two methods that there is.",
    )

    max_time: float | None = parameter(Real(0) | Nothing(), default=None)

    estimator_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {"estimator_": part("BaseEstimator")}
    _checks_resumed: ClassVar[bool] = False
    _depends_on_units = ("columns", "scale")

    @property
    def classes_(self) -> Array:
        """The labels of both classes."""
        known = vars(self).get("estimator_", self.estimator)
        if not hasattr(known, "classes_"):
            raise NotFittedError("The underlying estimator is not fitted yet. Fit it, or this one.")
        return np.asarray(known.classes_)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Return the classifier's probabilities of the classes."""
        return self._ready().predict_proba(X)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the classifier's probabilities."""
        return self._ready().predict_log_proba(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Return the classifier's scores of the second class."""
        return self._ready().decision_function(X)

    def _ready(self) -> Any:
        """Return the fitted classifier; raise NotFittedError if there is none."""
        model = vars(self).get("estimator_")
        if model is None:
            check_is_fitted(self.estimator)
            model = self.estimator
        return model

    def _check(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Return the rows and labels of a fit; raise unless there are two classes."""
        check_wrapped_place(self, X, y)
        if y is None:
            raise DataError(f"{type(self).__name__}: requires y to be passed, but the target y is None.")
        X = check_wrapped_rows(self, self.estimator, X)
        check_consistent_length(X, y)
        kind = type_of_target(y, input_name="y")
        if kind != "binary":
            raise DataError(
                f"{type(self).__name__}: Only binary classification is supported. Unknown label type: {kind}. Wrap it "
                f"in OneVsRestClassifier, or use DecisionClassifier, which takes costs for any number of classes."
            )
        return X, np.asarray(flatten_targets(y))

    def _route(self, sample_weight: Any, y: Array, params: dict[str, Any]) -> tuple[Array | None, Any]:
        """Return the checked weights, and the metadata for the classifier, the splitter and the scorer."""
        weight = check_weight(self, sample_weight, len(y))
        if len(np.unique(y if weight is None else y[weight > 0])) < 2:
            raise DataError(f"{type(self).__name__}: y must have rows of two classes; got one class. Add rows.")
        if sklearn.get_config()["enable_metadata_routing"]:
            given = params if sample_weight is None else params | {"sample_weight": sample_weight}
            return weight, process_routing(self, "fit", **given)
        if weight is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            raise DataError(
                f"{type(self).__name__}: {type(self.estimator).__name__} takes no sample_weight, so weights would be "
                f"dropped. Repeat the rows, or use another estimator."
            )
        return weight, None

    def _describe(self, model: Any) -> dict[str, Any]:
        """Return the attributes that the fitted classifier gives."""
        names = [name for name in ("n_features_in_", "feature_names_in_") if hasattr(model, name)]
        return {"estimator_": model} | {name: getattr(model, name) for name in names}

    def _decide(self, model: Any, X: Any, threshold: float | None, positive: int) -> Array:
        """Return the labels of rows; without a threshold that of the method."""
        scores, method = read_scores(model, X, self.response_method, positive)
        if threshold is None:
            threshold = 0.5 if method == "predict_proba" else 0.0
        chosen = scores >= threshold
        return np.asarray(model.classes_)[np.where(chosen, positive, 1 - positive)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.classifier_tags.multi_class = False
        return tags


def read_scores(model: Any, X: Any, wanted: str, positive: int) -> tuple[Array, str]:
    """Return the scores of one of two classes, and the method that gave them."""
    method = find_method(model, wanted)
    scores = np.asarray(getattr(model, method)(X))
    if method == "predict_proba":
        return scores[:, positive], method
    return (scores if positive else -scores), method


def find_method(model: Any, wanted: str) -> str:
    """Return the method whose scores are compared with the threshold."""
    names = _METHODS if wanted == "auto" else (wanted,)
    method = next((name for name in names if hasattr(model, name)), None)
    if method is None:
        raise AttributeError(
            f"{type(model).__name__} has none of the following attributes: {', '.join(names)}. Take a classifier that "
            f"has, or another response_method."
        )
    return method


class FixedThresholdClassifier(ThresholdClassifier):
    """A classifier of two classes with a threshold of one's own, in the place of probability 0.5 or score 0.

    A row gets the positive class where its probability, or its score, is at least `threshold`.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier.
    classes_ : ndarray of shape (2,)
        The labels.
    history_, converged_, n_iter_, certificate_
        One step, whose objective is the threshold; zero for ``'auto'``.

    Notes
    -----
    Costs what the classifier costs. A fitted classifier can be used without a ``fit`` of this one. Rows in memory.

    Examples
    --------
    >>> from mercer.linear_model import LogisticRegression
    >>> from mercer.model_selection import FixedThresholdClassifier
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(weights=[0.9, 0.1], random_state=0)
    >>> plain = LogisticRegression().fit(X, y)
    >>> careful = FixedThresholdClassifier(LogisticRegression(), threshold=0.1).fit(X, y)
    >>> bool(careful.predict(X).sum() > plain.predict(X).sum())
    True

    See Also
    --------
    TunedThresholdClassifierCV : The threshold with the best score of rows left out.
    mercer.decision.DecisionClassifier : Decisions by costs, for any number of classes.
    """

    threshold: Any = parameter(
        Choice("auto") | Real(),
        default="auto",
        after="estimator",
        doc="The threshold; ``'auto'`` is 0.5 for probabilities and 0 for scores.",
    )
    pos_label: Any = parameter(
        Integer() | Real() | Text() | Boolean() | Nothing(),
        default=None,
        after="threshold",
        doc="The label whose score is compared; None is the second class.",
    )

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the classifier takes them.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, for the classifier.
        **params : dict
            Metadata for the ``fit`` of the classifier, through scikit-learn's routing.
        """
        X, y = self._check(X, y)
        weight, routed = self._route(sample_weight, y, params)
        given = dict(routed.estimator.fit) if routed is not None else params
        if routed is None and weight is not None:
            given = given | {"sample_weight": weight}

        def solve(state: BagState | None) -> Solver[BagState]:
            """Fit the classifier, and check the positive class: one step."""
            if state is None:
                model = yield Dense(partial(clone(self.estimator).fit, X, y, **given), heavy=True)
                find_method(model, self.response_method)
                self._positive(np.asarray(model.classes_))
                state = BagState((model,))
                yield Step(self._read_threshold() or 0.0, state, _GIVEN)
            return Solution(state, True, _GIVEN)

        outcome = self._drive(solve, GivenTask(X, y, len(y), 1, given), max_steps=1)
        self._conclude(outcome)
        return self

    def _fitted(self, state: BagState) -> dict[str, Any]:
        return self._describe(state.members[0])

    def predict(self, X: Any) -> Array:
        """Return the label of each row, by the threshold."""
        model = self._ready()
        return self._decide(model, X, self._read_threshold(), self._positive(np.asarray(model.classes_)))

    def _read_threshold(self) -> float | None:
        return None if isinstance(self.threshold, str) else float(self.threshold)

    def _positive(self, classes: Array) -> int:
        """Return the number of the class whose score is compared."""
        if self.pos_label is None:
            return 1
        found = np.flatnonzero(classes == self.pos_label)
        if not len(found):
            raise ParameterError(
                f"FixedThresholdClassifier: pos_label={self.pos_label!r} is not a valid label: It should be one of "
                f"{classes}."
            )
        return int(found[0])

    def get_metadata_routing(self) -> Any:
        """Return the routes of metadata: to the classifier.

        Returns
        -------
        MetadataRouter
        """
        into_fit = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=into_fit)


@dataclass(frozen=True)
class Outcomes:
    """Weights of the four outcomes of two-class decisions, an entry for each threshold."""

    true_positive: Array
    false_positive: Array
    true_negative: Array
    false_negative: Array

    @classmethod
    def of(cls, scores: Array, positive: Array, weight: Array, thresholds: Array) -> "Outcomes":
        """Return the outcomes where rows are positive whose score is at least the threshold."""
        order = np.argsort(scores, kind="stable")
        # The number of rows below each threshold, which come first among the sorted ones.
        below = np.searchsorted(scores[order], thresholds, side="left")
        of_class = []
        for rows in (positive, ~positive):
            sums = np.concatenate([[0.0], np.cumsum(np.where(rows, weight, 0.0)[order])])
            of_class.append((sums[-1] - sums[below], sums[below]))
        (hits, misses), (alarms, rejections) = of_class
        return cls(hits, alarms, rejections, misses)


def _divide(above: Array, below: Array) -> Array:
    """Return quotients; zero where nothing is divided by nothing, as scikit-learn's scores are."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _find_recall(found: Outcomes) -> Array:
    return _divide(found.true_positive, found.true_positive + found.false_negative)


def _find_specificity(found: Outcomes) -> Array:
    return _divide(found.true_negative, found.true_negative + found.false_positive)


# Scores that the four outcomes determine: all thresholds at once, where a call of the scorer for each takes 0.3 ms.
_RATES: dict[str, Callable[[Outcomes], Array]] = {
    "accuracy": lambda one: _divide(
        one.true_positive + one.true_negative,
        one.true_positive + one.true_negative + one.false_positive + one.false_negative,
    ),
    "balanced_accuracy": lambda one: (_find_recall(one) + _find_specificity(one)) / 2,
    "f1": lambda one: _divide(2 * one.true_positive, 2 * one.true_positive + one.false_positive + one.false_negative),
    "jaccard": lambda one: _divide(one.true_positive, one.true_positive + one.false_positive + one.false_negative),
    "precision": lambda one: _divide(one.true_positive, one.true_positive + one.false_positive),
    "recall": _find_recall,
}
# Those that do not ask which class is the positive one.
_SYMMETRIC = ("accuracy", "balanced_accuracy")


class _Decided(TheirClassifier, BaseEstimator):
    """A fitted classifier that has decided before: a scorer asks it for the labels of a threshold."""

    def __init__(self, classes: Array, labels: Array) -> None:
        self.classes_ = classes
        self.labels = labels

    def predict(self, X: Any) -> Array:
        """Return the labels."""
        return self.labels

    def decision_function(self, X: Any) -> Array:
        """Return 1 for the second class and 0 for the first, for scorers that rank."""
        return (self.labels == self.classes_[1]).astype(np.float64)


@plain
@dataclass(frozen=True, eq=False)
class ThresholdState:
    """The fitted classifier, the thresholds tried, and their mean scores."""

    estimator: Any
    thresholds: Array
    scores: Array


@dataclass(frozen=True)
class _Task:
    """What the fits to all folds share."""

    model: "TunedThresholdClassifierCV"
    X: Any
    y: Array
    weight: Array | None
    fit_params: dict[str, Any]
    score_params: dict[str, Any]

    def fit_copy(self, rows: Array | None) -> Any:
        """Return a copy of the classifier, fitted to some rows or all."""
        copy = clone(self.model.estimator)
        if rows is None:
            return copy.fit(self.X, self.y, **self.fit_params)
        return copy.fit(take_rows(self.X, rows), self.y[rows], **of_rows(self.fit_params, rows, len(self.y)))

    def trace(self, train: Array | None, test: Array) -> tuple[Array, Array, Any]:
        """Return thresholds and scores of the test rows of a fold, and the classifier that gave them."""
        copy = self.model.estimator if train is None else self.fit_copy(train)
        X, y = (self.X, self.y) if train is None else (take_rows(self.X, test), self.y[test])
        scores, _ = read_scores(copy, X, self.model.response_method, 1)
        wanted = self.model.thresholds
        if isinstance(wanted, int | np.integer):
            thresholds = np.linspace(scores.min(), scores.max(), int(wanted))
        else:
            thresholds = np.asarray(wanted, dtype=np.float64)
        params = self.score_params if train is None else of_rows(self.score_params, test, len(self.y))
        return thresholds, self._score(copy, X, y, scores, thresholds, params), copy

    def _score(self, copy: Any, X: Any, y: Array, scores: Array, thresholds: Array, params: dict[str, Any]) -> Array:
        """Return the score of the decisions by each threshold."""
        classes = np.asarray(copy.classes_)
        named = self.model.scoring if isinstance(self.model.scoring, str) else ""
        positive = y == classes[1]
        usual = named in _SYMMETRIC or (classes[1] == 1 if classes.dtype.kind in "iubf" else False)
        # A class that no row has is left out by scikit-learn's balanced accuracy.
        if named in _RATES and usual and not params.keys() - {"sample_weight"} and 0 < positive.sum() < len(y):
            weight = params.get("sample_weight")
            weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
            return _RATES[named](Outcomes.of(scores, positive, weight, thresholds))
        scorer = self.model._scorer()
        name = type(self.model).__name__
        labels = [classes[(scores >= threshold).astype(int)] for threshold in thresholds]
        return np.array([read_score(name, "scoring", scorer(_Decided(classes, one), X, y, **params)) for one in labels])


class TunedThresholdClassifierCV(ThresholdClassifier):
    """A classifier of two classes with the threshold that scores best on rows left out.

    Copies of the classifier are fitted to folds, and the rows left out scored by every threshold between the lowest and
    the highest of their scores. The threshold with the highest mean is taken, and a classifier fitted to all rows.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier.
    best_threshold_ : float
        The threshold.
    best_score_ : float
        Its mean score over the folds.
    cv_results_ : dict
        With ``store_cv_results``: thresholds, and their mean scores.
    classes_ : ndarray of shape (2,)
        The labels.
    history_, converged_, n_iter_, certificate_
        One step, whose objective is the best score.

    Notes
    -----
    Costs a fit to each fold and one more. Accuracy, balanced accuracy, F1, Jaccard's index, precision and recall, by
    name, are counted for all thresholds at once; other scorers are called for each. The positive class is the second
    one. Rows in memory; the classifier sees them as they were given.

    References
    ----------
    C. Elkan, *The foundations of cost-sensitive learning*, IJCAI (2001).

    Examples
    --------
    >>> from mercer.linear_model import LogisticRegression
    >>> from mercer.model_selection import TunedThresholdClassifierCV
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(1000, weights=[0.9, 0.1], random_state=0)
    >>> tuned = TunedThresholdClassifierCV(LogisticRegression()).fit(X, y)
    >>> bool(tuned.best_threshold_ < 0.3)
    True

    See Also
    --------
    FixedThresholdClassifier : A threshold of one's own.
    mercer.decision.DecisionClassifier : Decisions by costs, which need no search where probabilities are right.
    """

    scoring: Any = parameter(
        Text() | Function(),
        default="balanced_accuracy",
        after="estimator",
        doc="What is to be largest: the name of a scorer, or ``scorer(estimator, X, y)``.",
    )
    thresholds: Any = parameter(
        Integer(1) | ArrayRule("entries"),
        default=100,
        after="response_method",
        doc="How many thresholds are tried, or the thresholds themselves.",
    )
    cv: Any = parameter(
        FOLDS | Choice("prefit") | Real(0, 1, closed="neither"),
        default=None,
        doc="The folds; None means five, stratified. A number below one is the share of rows left out once; "
        "``'prefit'`` scores all rows by a fitted classifier.",
    )
    refit: bool = parameter(Boolean(), default=True, doc="Whether a classifier is fitted to all rows at the end.")
    n_jobs: int | None = parameter(
        Integer() | Nothing(), default=None, doc="Threads over folds; None means all cores. Changes no result."
    )
    random_state: Any = parameter(Seed(), default=None, doc="Draws the rows left out where `cv` is their share.")
    store_cv_results: bool = parameter(Boolean(), default=False, doc="Whether to store all thresholds and scores.")

    best_threshold_: float = attribute()
    best_score_: float = attribute()
    cv_results_: dict[str, Array] = attribute()

    _objective_moves: ClassVar[str | None] = "up"
    _check_exceptions: ClassVar[dict[str, str]] = ThresholdClassifier._check_exceptions | dict.fromkeys(
        ("check_sample_weights_pandas_series", "check_sample_weights_not_an_array", "check_estimators_nan_inf"),
        "predictions for a fold of the check's rows are constant, which leaves no threshold to choose",
    )
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "each fold is a copy of its rows, since the classifier may be of any kind",
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "best_threshold_": floats(),
        "best_score_": floats(),
        "cv_results_": mapping(floats("*")),
    }

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit the classifier to folds, find the threshold, and fit the classifier to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the classifier takes them.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, for the classifier and for the scores.
        **params : dict
            Metadata for the ``fit`` of the classifier, the splitter and the scorer, through scikit-learn's routing.
        """
        X, y = self._check(X, y)
        weight, routed = self._route(sample_weight, y, params)
        if routed is None:
            weights = {} if weight is None else {"sample_weight": weight}
            fit_params, score_params, split_params = params | weights, weights, {}
        else:
            fit_params, score_params = dict(routed.estimator.fit), dict(routed.scorer.score)
            split_params = dict(routed.splitter.split)
        self._scorer()
        folds = self._split(X, y, split_params)
        task = _Task(self, X, y, weight, fit_params, score_params)
        outcome = self._drive(
            partial(self._solve, task, folds), GivenTask(X, y, len(y), self._threads(), fit_params), max_steps=1
        )
        self._conclude(outcome)
        return self

    def _split(self, X: Any, y: Array, params: dict[str, Any]) -> list[Any]:
        """Return the folds; that of a classifier which is fitted already has no training rows."""
        if isinstance(self.cv, str):
            if self.refit:
                raise ParameterError(
                    "TunedThresholdClassifierCV: When cv='prefit', refit cannot be True. Set refit=False."
                )
            try:
                check_is_fitted(self.estimator, "classes_")
            except NotFittedError as error:
                raise NotFittedError(
                    "TunedThresholdClassifierCV: When cv='prefit', `estimator` must be fitted. Fit it to other rows."
                ) from error
            return [(None, np.arange(len(y)))]
        cv = self.cv
        if isinstance(cv, float) and 0 < cv < 1:
            cv = StratifiedShuffleSplit(n_splits=1, test_size=cv, random_state=self.random_state)
        folds = splits(cv, X, y, classifier=True, **params)
        if not self.refit and len(folds) > 1:
            raise ParameterError(
                "TunedThresholdClassifierCV: When cv has several folds, refit cannot be False. Set refit=True, or give "
                "a share of rows as cv."
            )
        return folds

    def _solve(self, task: _Task, folds: list[Any], state: ThresholdState | None) -> Solver[ThresholdState]:
        """Trace the scores of all folds, and take the best threshold: one step."""
        if state is not None:
            return Solution(state, True, _TRIED)
        # One more than the folds: the classifier of all rows.
        count = len(folds) + bool(self.refit)
        parts: list[Any] = []
        while len(parts) < count:
            parts += yield Dense(
                fit_batch(
                    lambda number: task.trace(*folds[number]) if number < len(folds) else task.fit_copy(None),
                    len(parts),
                    count,
                    self._threads(),
                ),
                heavy=True,
            )
        curves = parts[: len(folds)]
        thresholds, scores = self._average(curves)
        state = ThresholdState(parts[-1] if self.refit else curves[0][2], thresholds, scores)
        yield Step(float(scores.max()), state, _TRIED)
        return Solution(state, True, _TRIED)

    def _average(self, curves: list[Any]) -> tuple[Array, Array]:
        """Return common thresholds, and the mean over the folds of the scores between theirs."""
        if any(np.isclose(one[0], one[-1]) for one, _, _ in curves):
            raise DataError(
                "TunedThresholdClassifierCV: The provided estimator makes constant predictions. Therefore, it is "
                "impossible to optimize the decision threshold. Take another classifier, or weaken its penalty."
            )
        if isinstance(self.thresholds, int | np.integer):
            least, most = min(one.min() for one, _, _ in curves), max(one.max() for one, _, _ in curves)
            common = np.linspace(least, most, int(self.thresholds))
        else:
            common = np.asarray(self.thresholds, dtype=np.float64)
        return common, np.mean([np.interp(common, one, scores) for one, scores, _ in curves], axis=0)

    def _fitted(self, state: ThresholdState) -> dict[str, Any]:
        best = int(state.scores.argmax())
        found = {"best_threshold_": float(state.thresholds[best]), "best_score_": float(state.scores[best])}
        results = {"cv_results_": {"thresholds": state.thresholds, "scores": state.scores}}
        return self._describe(state.estimator) | found | (results if self.store_cv_results else {})

    def predict(self, X: Any) -> Array:
        """Return the label of each row, by the best threshold."""
        if "best_threshold_" not in vars(self):
            check_is_fitted(self, "estimator_")
        return self._decide(self.estimator_, X, self.best_threshold_, 1)

    def _scorer(self) -> Any:
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        if isinstance(self.scoring, str) and sklearn.get_config()["enable_metadata_routing"]:
            # A scorer given by name has no requests of its own.
            return scorer.set_score_request(sample_weight=True)
        return scorer

    def get_metadata_routing(self) -> Any:
        """Return the routes of metadata: to the classifier, the splitter and the scorer.

        Returns
        -------
        MetadataRouter
        """
        return (
            MetadataRouter(owner=self)
            .add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
            .add(scorer=self._scorer(), method_mapping=MethodMapping().add(caller="fit", callee="score"))
        )
