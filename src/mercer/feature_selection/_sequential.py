"""Columns added, or dropped, one at a time by the cross-validated score."""

from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from mercer._base.estimator import fitting
from mercer._base.folds import FOLDS, of_rows, splits
from mercer._base.member_fits import GivenTask
from mercer._base.parameter import Boolean, Choice, Function, Integer, Nothing, Real, Text, attribute, parameter
from mercer._base.wrapping import take_rows
from mercer._plain import plain
from mercer._solver import Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._source.threads import run_numbered
from mercer._stored import Stored, flags, integers
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.feature_selection._wrapped import NO_BOUND, SupportSelector, fit_copy


@plain
@dataclass(frozen=True)
class Chosen:
    """The columns added or dropped so far, and the score with the last of them."""

    mask: Any
    score: float


class SequentialFeatureSelector(SupportSelector):
    """Add columns one at a time, each time the one with the best cross-validated score; or drop them so.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        Which columns are kept.
    n_features_to_select_ : int
        How many columns are kept.
    history_, converged_, n_iter_, certificate_
        How the fit went: a step for each column that is added or dropped, whose objective is the mean score of the
        folds.

    See Also
    --------
    RFE : Drops columns by their importance, with one fit each.

    Notes
    -----
    Each step costs a fit for each fold and each column that is left to try; those of a step run beside each other on
    the threads, with the same result for any number. All candidates of a fit are scored on the same folds. ``max_time``
    and Ctrl-C keep the columns so far. Rows in memory.

    References
    ----------
    F. Ferri, P. Pudil, M. Hatef and J. Kittler, Comparative study of techniques for large-scale feature selection,
    Pattern Recognition in Practice IV, 1994.

    Examples
    --------
    >>> from mercer.feature_selection import SequentialFeatureSelector
    >>> from mercer.naive_bayes import GaussianNB
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = SequentialFeatureSelector(GaussianNB(), n_features_to_select=1).fit(X, y)
    >>> selector.get_support(indices=True).tolist(), round(float(selector.history_["objective"][-1]), 2)
    ([3], 0.96)
    """

    n_features_to_select: Any = parameter(
        Choice("auto") | Integer(1) | Real(0, 1, closed="right"),
        default="auto",
        doc="How many columns to keep; a number up to 1 that is no integer is a share of them. 'auto' means half, or "
        "with `tol` as many as it decides.",
    )
    tol: float | None = parameter(
        Real(squared=False) | Nothing(),
        default=None,
        doc="With n_features_to_select='auto' the fit ends when the score rises by less. Below 0 it may fall by as "
        "much when columns are dropped.",
    )
    direction: str = parameter(
        Choice("forward", "backward"), default="forward", doc="Whether columns are added to none or dropped from all."
    )
    scoring: Any = parameter(
        Text() | Function() | Nothing(),
        default=None,
        doc="What is to be largest on the test rows; None takes the method ``score`` of the estimator.",
    )
    cv: Any = parameter(FOLDS, default=5, doc="The folds; an integer is their number, stratified for classifiers.")
    verbose: int | bool = parameter(Integer(0) | Boolean(), default=0)

    n_features_to_select_: int = attribute()

    _documents = {
        "max_time": "Seconds after which no more columns are added or dropped.",
        "n_jobs": "Fits at the same time; None means all cores. Changes no result.",
    }
    _objective_moves: ClassVar[str | None] = None
    _stored: ClassVar[dict[str, Stored]] = {
        "support_": flags("columns"),
        "n_features_to_select_": integers(low=0),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, **params: Any) -> "SequentialFeatureSelector":
        """Choose the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets.
        **params : dict
            Metadata for the estimator, the scorer and the splitter, with scikit-learn's routing.
        """
        self._refuse_parameters("fit", params)
        routed = self._read_routes("fit", params)
        X, y = self._check_table(X, y, "csc")
        if hasattr(X, "tocsr"):
            X = X.tocsr()
        rounds = self._count_rounds(X.shape[1])
        fit_params = {} if routed is None else dict(routed.estimator.fit)
        score_params = {} if routed is None else dict(routed.scorer.score)
        split_params = {} if routed is None else dict(routed.splitter.split)
        folds = splits(self.cv, X, y, classifier=is_classifier(self.estimator), **split_params)
        trial = Trial(self.estimator, X, y, folds, fit_params, score_params, self._make_scorer())
        source = GivenTask(X, y, X.shape[0], self._threads(), params)
        outcome = self._drive(partial(self._add, trial, rounds), source, max_steps=max(rounds, 1))
        self._conclude(outcome, "raise max_time")
        return self

    def _count_rounds(self, width: int) -> int:
        """Return the most columns that are added or dropped."""
        wanted, forward = self.n_features_to_select, self.direction == "forward"
        if self.tol is not None and self.tol < 0 and forward:
            raise ParameterError(
                f"SequentialFeatureSelector: tol must be strictly positive when doing forward selection; got "
                f"{self.tol}. Give a number above 0, or drop columns by direction='backward'."
            )
        if isinstance(wanted, str):
            return width // 2 if self.tol is None else width - 1
        if isinstance(wanted, Integral):
            if int(wanted) >= width:
                raise DataError(
                    f"SequentialFeatureSelector: n_features_to_select must be < n_features. Got {wanted} of {width} "
                    f"columns; give a smaller number."
                )
        else:
            wanted = int(width * wanted)
        return int(wanted) if forward else width - int(wanted)

    def _add(self, trial: "Trial", rounds: int, state: Chosen | None) -> Solver[Chosen]:
        """Add columns to the mask, each a step."""
        asked = isinstance(self.n_features_to_select, str) and self.tol is not None
        backward, threads = self.direction == "backward", self._threads()
        if state is None:
            state = Chosen(np.zeros(trial.X.shape[1], bool), -np.inf)
            if not rounds:
                yield Step(0.0, state, NO_BOUND)
        while state.mask.sum() < rounds:
            columns = np.flatnonzero(~state.mask)
            masks = np.repeat(state.mask[None], len(columns), axis=0)
            masks[np.arange(len(columns)), columns] = True
            scores = yield Dense(partial(trial.score_all, ~masks if backward else masks, threads), heavy=True)
            best = int(np.argmax(scores))
            if asked and scores[best] - state.score < self.tol:
                if not state.mask.any():
                    yield Step(float(scores[best]), state, NO_BOUND)
                break
            state = Chosen(masks[best], float(scores[best]))
            yield Step(state.score, state, NO_BOUND)
        return Solution(state, True, NO_BOUND)

    def _fitted(self, state: Chosen) -> dict[str, Any]:
        support = ~state.mask if self.direction == "backward" else state.mask
        return {"support_": support, "n_features_to_select_": int(support.sum())}

    def _make_scorer(self) -> Any:
        from sklearn.metrics import check_scoring

        return check_scoring(self.estimator, scoring=self.scoring)

    def get_metadata_routing(self) -> Any:
        """Return the routes of metadata: to the estimator, to the splitter and to the scorer.

        Returns
        -------
        MetadataRouter
        """
        into_fit = MethodMapping().add(caller="fit", callee="fit")
        into_split = MethodMapping().add(caller="fit", callee="split")
        into_score = MethodMapping().add(caller="fit", callee="score")
        return (
            MetadataRouter(owner=self)
            .add(estimator=self.estimator, method_mapping=into_fit)
            .add(splitter=check_cv(self.cv, classifier=is_classifier(self.estimator)), method_mapping=into_split)
            .add(scorer=self._make_scorer(), method_mapping=into_score)
        )


class Trial:
    """Scores sets of columns by cross-validation; the rows of each fold are taken once."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        folds: list[tuple[Array, Array]],
        fit_params: dict[str, Any],
        score_params: dict[str, Any],
        scorer: Any,
    ) -> None:
        self.estimator, self.X, self.scorer = estimator, X, scorer
        n = X.shape[0]
        self.folds = [
            (*self._take(y, train), of_rows(fit_params, train, n), *self._take(y, test), of_rows(score_params, test, n))
            for train, test in folds
        ]

    def _take(self, y: Any, rows: Array) -> tuple[Any, Any]:
        return take_rows(self.X, rows), None if y is None else take_rows(y, rows)

    def score_all(self, masks: Array, threads: int) -> Array:
        """Return the mean score over the folds for each set of columns."""
        scores: list[float] = []
        run_numbered(lambda number: self.score(masks[number]), len(masks), threads, scores.append)
        return np.array(scores)

    def score(self, mask: Array) -> float:
        """Return the mean score over the folds for a set of columns."""
        columns = np.flatnonzero(mask)
        scores = []
        for X, y, fit_params, unseen, truth, score_params in self.folds:
            model = fit_copy(self.estimator, X[:, columns], y, fit_params)
            given = (unseen[:, columns],) if y is None else (unseen[:, columns], truth)
            scores.append(self.scorer(model, *given, **score_params))
        return float(np.mean(scores))
