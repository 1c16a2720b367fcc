"""Recursive elimination to the number of columns with the best cross-validated score."""

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import metadata_routing
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from mercer._base.estimator import fitting
from mercer._base.folds import FOLDS, of_rows, splits
from mercer._base.member_fits import BagState, GivenTask, MemberFits
from mercer._base.parameter import Function, Integer, Nothing, Text, attribute, parameter
from mercer._base.scoring import compute_accuracy, compute_determination
from mercer._base.wrapping import take_rows
from mercer._stored import Stored, flags, floats, integers, mapping
from mercer._types import Array
from mercer.feature_selection._elimination import EliminationSelector

# What one fold finds, from all columns to the fewest: scores, columns that are left, rankings.
Fold = tuple[Array, Array, Array]


class RFECV(EliminationSelector):
    """Eliminate columns recursively, down to the number of columns with the best cross-validated score.

    In each fold columns are eliminated by the training rows, and each number of columns is scored on the test rows. The
    number with the best mean score (of equal ones the least) is then left over from an elimination on all rows.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        Which columns are kept.
    ranking_ : ndarray of int of shape (n_features,)
        1 for columns that are kept, 2 for those dropped last, and so on.
    n_features_ : int
        How many columns are kept.
    cv_results_ : dict
        For each ``n_features`` that was tried: ``mean_test_score``, ``std_test_score`` and, for each fold,
        ``split0_test_score``, ``split0_ranking`` and ``split0_support``.
    estimator_ : estimator
        The model of the columns that are kept.
    classes_ : ndarray
        The labels, where the estimator is a classifier.
    history_, converged_, n_iter_, certificate_
        How the fit went: a step for each fold, whose objective is their number.

    See Also
    --------
    RFE : The number of columns is given.

    Notes
    -----
    Costs an elimination for each fold and one on all rows. Folds run beside each other on the threads, with the same
    result for any number. ``max_time`` ends the fit with the folds so far, by which the number of columns is then
    chosen. Rows in memory.

    References
    ----------
    I. Guyon, J. Weston, S. Barnhill and V. Vapnik, Gene selection for cancer classification using support vector
    machines, Machine Learning 46, 2002.

    Examples
    --------
    >>> from mercer.feature_selection import RFECV
    >>> from mercer.linear_model import LinearRegression
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(100, 12, n_informative=3, noise=1.0, random_state=0)
    >>> selector = RFECV(LinearRegression()).fit(X, y)
    >>> selector.n_features_, selector.get_support(indices=True).tolist()
    (3, [4, 5, 6])
    """

    # The splitter is given groups by the routes below.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": metadata_routing.UNUSED}

    min_features_to_select: int = parameter(Integer(1), default=1, doc="The fewest columns to keep.")
    cv: Any = parameter(FOLDS, default=None, doc="The folds; None means five, stratified for classifiers.")
    scoring: Any = parameter(
        Text() | Function() | Nothing(),
        default=None,
        doc="What is to be largest on the test rows; None means accuracy, or the coefficient of determination.",
    )

    cv_results_: dict[str, Array] = attribute()

    _documents = {
        "max_time": "Seconds after which no more folds are fitted.",
        "n_jobs": "Folds at the same time; None means all cores. Changes no result.",
    }
    _objective_moves: ClassVar[str | None] = "up"
    _absences: ClassVar[dict[str, str]] = {
        "estimator_": "the fit was ended by Ctrl-C before columns were eliminated on all rows. Fit RFE with "
        "n_features_to_select=selector.n_features_.",
    }
    _stored: ClassVar[dict[str, Stored]] = {"cv_results_": mapping(floats("*") | integers("* | *, *") | flags("*, *"))}

    @fitting
    def fit(self, X: Any, y: Any, *, groups: Any = None, **params: Any) -> "RFECV":
        """Choose the number of columns by cross-validation, and eliminate the others on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        groups : array-like of shape (n_samples,) or None, default=None
            Groups of rows, for splitters that ask for them.
        **params : dict
            Metadata for the estimator, the scorer and the splitter, with scikit-learn's routing.
        """
        self._require_targets(X, y)
        self._refuse_parameters("fit", params)
        if groups is not None:
            params["groups"] = groups
        routed = self._read_routes("fit", params)
        X, y = self._check_table(X, y, "csr")
        n_rows, width = X.shape
        fewest = min(self.min_features_to_select, width)
        if self.min_features_to_select > width:
            warnings.warn(
                f"Found min_features_to_select={self.min_features_to_select} > n_features={width}. There will be no "
                f"feature selection and all features will be kept.",
                UserWarning,
                stacklevel=4,
            )
        fit_params, score_params, split_params = _unpack(routed, params)
        folds = splits(self.cv, X, y, classifier=is_classifier(self.estimator), **split_params)
        ask = self._choose_scorer()

        def fit_fold(number: int) -> Fold:
            """Eliminate columns by the training rows of a fold, and score each number of them on the test rows."""
            train, test = folds[number]
            own = of_rows(fit_params, train, n_rows)
            plan = self._plan(take_rows(X, train), take_rows(y, train), own, fewest)
            unseen, truth, given = take_rows(X, test), take_rows(y, test), of_rows(score_params, test, n_rows)
            states = list(plan.list_states())
            scores = [ask(one.model, unseen[:, np.flatnonzero(one.support)], truth, given) for one in states]
            return (
                np.array(scores),
                np.array([one.support for one in states]),
                np.array([one.ranking for one in states]),
            )

        source = GivenTask(X, y, n_rows, self._threads(), params)
        known: dict[int, dict[str, Any]] = {}

        def choose(state: BagState) -> dict[str, Any]:
            """Return the scores, and the best number of columns."""
            results = summarise(state.members)
            best = int(results["n_features"][results["mean_test_score"].argmax()])
            return {"cv_results_": results, "n_features_": best}

        def finish(state: BagState) -> dict[str, Any]:
            """Return what `choose` does, and the columns that are left over on all rows."""
            found = choose(state)
            best = found["n_features_"]
            if best not in known:
                *_, last = self._plan(X, y, fit_params, best).list_states()
                known[best] = super(RFECV, self)._fitted(last)
            return found | known[best]

        solve = MemberFits(fit_fold, len(folds), self._threads()).solve
        outcome = self._drive(solve, source, fitted=finish, fitted_after_interrupt=choose, max_steps=len(folds))
        self._conclude(outcome, "raise max_time")
        return self

    def _choose_scorer(self) -> Any:
        """Return a function of a model, rows, targets and metadata."""
        if self.scoring is None:
            quick = compute_accuracy if is_classifier(self.estimator) else compute_determination
            return lambda model, X, y, params: quick(y, model.predict(X), **params)
        scorer = self._get_scorer()
        return lambda model, X, y, params: scorer(model, X, y, **params)

    def _get_scorer(self) -> Any:
        from sklearn.metrics import get_scorer

        default = "accuracy" if is_classifier(self.estimator) else "r2"
        return get_scorer(default if self.scoring is None else self.scoring)

    def score(self, X: Any, y: Any, **score_params: Any) -> float:
        """Return the score of the model of the columns that are left, by `scoring`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        **score_params : dict
            Metadata for the scorer, with scikit-learn's routing.

        Returns
        -------
        float
        """
        self._refuse_parameters("score", score_params)
        check_is_fitted(self)
        routed = self._read_routes("score", score_params)
        return float(self._get_scorer()(self, X, y, **({} if routed is None else routed.scorer.score)))

    def get_metadata_routing(self) -> Any:
        """Return the routes of metadata: to the estimator, to the splitter and to the scorer.

        Returns
        -------
        MetadataRouter
        """
        of_model = MethodMapping().add(caller="fit", callee="fit").add(caller="predict", callee="predict")
        of_score = MethodMapping().add(caller="fit", callee="score").add(caller="score", callee="score")
        return (
            MetadataRouter(owner=self)
            .add(estimator=self.estimator, method_mapping=of_model)
            .add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))
            .add(scorer=self._get_scorer(), method_mapping=of_score)
        )


def _unpack(routed: Any, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the metadata for the estimator, for the scorer and for the splitter."""
    if routed is None:
        return {}, {}, {"groups": params.get("groups")}
    return dict(routed.estimator.fit), dict(routed.scorer.score), dict(routed.splitter.split)


def summarise(folds: Any) -> dict[str, Array]:
    """Return the table of the scores of folds, from the fewest columns to all."""
    scores, supports, rankings = (np.array(part)[:, ::-1] for part in zip(*folds, strict=True))
    return {
        "mean_test_score": scores.mean(axis=0),
        "std_test_score": scores.std(axis=0),
        **{f"split{number}_test_score": one for number, one in enumerate(scores)},
        **{f"split{number}_ranking": one for number, one in enumerate(rankings)},
        **{f"split{number}_support": one for number, one in enumerate(supports)},
        "n_features": supports[0].sum(axis=1),
    }
