"""What all searches share: the parameters, the fit, and the methods of the best model."""

import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from math import nan
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import sklearn
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, fitting
from mercer._base.folds import FOLDS
from mercer._base.gathering import gather_rows
from mercer._base.interface import MetaEstimatorMixin
from mercer._base.member_fits import GivenTask
from mercer._base.parameter import Boolean, Function, HasFit, Integer, Nothing, Rule, Text, attribute, parameter
from mercer._base.parameter import Real as Number
from mercer._base.randomness import draw_seed
from mercer._base.wrapping import check_wrapped_place
from mercer._solver import Step
from mercer._solver.request import run_aside
from mercer._source import Source, place_of
from mercer._source.table.encoded import RowSubset, can_be_split, open_subset
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, anything, flags, floats, integers, mapping, part
from mercer.errors import DataError, ParameterError
from mercer.model_selection._searching.judge import Judge, Setting, copy_values
from mercer.model_selection._searching.records import Log, Trials
from mercer.model_selection._searching.rows import SplitRows, count_rows, is_pairwise
from mercer.model_selection._searching.scores import Scoring
from mercer.model_selection._searching.solver import Round, Search

Split = tuple[np.ndarray, np.ndarray]


class _Scorers(Rule):
    """What ``scoring`` of a search may be."""

    text = "the name of a score, a callable, or a list, a tuple, a set or a dict of them"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str):
            return value in get_scorer_names()
        return callable(value) or isinstance(value, list | tuple | set | dict)

    def list_refused(self) -> Iterator[Any]:
        yield from ("no score", 1.5)


class _ErrorScore(Rule):
    """What stands for a score that failed: a number, NaN included, or "raise"."""

    text = "'raise' or a number"

    def accepts(self, value: Any) -> bool:
        return value == "raise" if isinstance(value, str) else isinstance(value, Real)

    def list_refused(self) -> Iterator[Any]:
        yield from ("ignore", None)


SCORERS = _Scorers()


def _delegate(name: str) -> Callable[[Any], bool]:
    """Return the condition under which a search has a method: the best model has it."""

    def has_method(search: Any) -> bool:
        search._check_refit(name)
        model = vars(search).get("best_estimator_", search.estimator)
        getattr(model, name)
        return True

    return has_method


class BaseSearch(MetaEstimatorMixin, Estimator):
    """A search for the setting of an estimator with the best cross-validated score."""

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    estimator: Any = parameter(
        HasFit(), kw_only=False, doc="What is fitted with each setting; it needs a method ``score``, or `scoring`."
    )
    scoring: Any = parameter(
        SCORERS | Nothing(),
        default=None,
        doc="What is to be largest on the test rows; None takes the method ``score`` of the estimator. Several scores "
        "are all computed, and `refit` names the one that chooses.",
    )
    n_jobs: int | None = parameter(
        Integer() | Nothing(), default=None, doc="Fits at the same time; None means all cores. Changes no result."
    )
    refit: Any = parameter(
        Boolean() | Text() | Function(),
        default=True,
        doc="Whether the best setting is fitted to all rows: of several scores the name of the one that chooses, or a "
        "function from ``cv_results_`` to the index of the setting.",
    )
    cv: Any = parameter(FOLDS, default=None, doc="The splits; None means five folds, stratified for classifiers.")
    verbose: int | bool = parameter(Integer(0) | Boolean(), default=0)
    error_score: Any = parameter(
        _ErrorScore(), default=nan, doc="The score of a fit that fails, with a warning; 'raise' raises its error."
    )
    return_train_score: bool = parameter(
        Boolean(), default=False, doc="Whether training rows are scored too, which costs predictions for them."
    )
    max_time: float | None = parameter(
        Number(0) | Nothing(),
        default=None,
        doc="Seconds after which no more settings are tried; the best so far is then fitted to all rows.",
    )

    best_estimator_: Any = attribute()
    best_index_: int = attribute()
    best_params_: dict[str, Any] = attribute()
    best_score_: float = attribute()
    n_splits_: int = attribute()
    multimetric_: bool = attribute()
    _trials: Trials = attribute()
    _refit_seconds: float = attribute()

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream")
    _objective_moves: ClassVar[str | None] = "up"
    _checks_resumed: ClassVar[bool] = False
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "each split is a copy of its rows, since the estimator may be of any kind",
    }
    _absences: ClassVar[dict[str, str]] = {
        "best_estimator_": "the search was ended by Ctrl-C before the best setting was fitted to all rows. Fit "
        "clone(search.estimator).set_params(**search.best_params_)."
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "best_estimator_": part("BaseEstimator"),
        "best_index_": integers(low=0),
        "best_params_": mapping(anything("values of parameters")),
        "best_score_": floats(),
        "n_splits_": integers(low=1),
        "multimetric_": flags(),
        "_trials": part("Trials"),
        "_refit_seconds": floats(),
    }

    # Which settings are tried; each search has its own.
    def _plan(self, task: "Task", number: int, log: Log) -> Round | None:
        raise NotImplementedError

    def _prepare(self, task: "Task") -> None:
        """Check what depends on the rows, and store what the rounds need."""

    def _count_settings(self, task: "Task") -> int | None:
        """Return how many settings are tried, if that is known before."""
        return None

    @fitting
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Try the settings, and fit the best one to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or of shape (n_samples, n_samples) for values of pairs
            Rows, as the estimator takes them; or a table in a file or a stream that can be read again. Each fit then
            reads the rows of its split block by block, in the order of the table, and the targets alone are in memory.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets; of a table elsewhere also the name of their column, which ``groups`` may be too.
        **params : dict
            Metadata for the ``fit`` of the estimator, for the scorer and for the splitter. Without scikit-learn's
            routing ``groups`` goes to the splitter, ``sample_weight`` to the estimator and to the scorer, and the rest
            to the estimator. What has an entry for each row is split as the rows are.
        """
        place = place_of(X, y)
        if place in ("file", "stream") and can_be_split(X):
            X, y, groups = open_subset(X, y, params.get("groups"), place, type(self).__name__)
            params = params if groups is None else params | {"groups": groups}
        elif place in ("file", "stream"):
            # Sparse rows, and what a transformer before the search makes of a table.
            X, y, _ = gather_rows(self, place, X, y, None, None)
            if issparse(X) and not get_tags(self.estimator).input_tags.sparse:
                raise DataError(
                    f"{type(self).__name__}: Sparse data was passed, but dense data is required; load and densify it."
                )
        else:
            check_wrapped_place(self, X, y)
        task = self._read_task(X, y, params)
        self.n_splits_ = len(task.splits)
        self._prepare(task)
        search = Search(
            partial(self._plan, task), self._threads(), self.n_splits_, self.error_score, self.return_train_score
        )
        source = GivenTask(task.X, task.y, task.n_rows, self._threads(), task.splits)
        outcome = self._drive(
            search.solve,
            source,
            fitted=partial(self._fit_best, task, search),
            fitted_after_interrupt=partial(self._choose, task, search),
            max_steps=self._count_settings(task),
        )
        if outcome.interrupt is None:
            try:
                with one_blas_thread():
                    attributes = run_aside(partial(self._fit_best, task, search, outcome.state))
            except KeyboardInterrupt as interrupt:
                outcome.interrupt = interrupt
            else:
                for name, value in attributes.items():
                    setattr(self, name, value)
        self._trials.warn_of_gaps()
        self._conclude(outcome, "raise max_time")
        return self

    def _fit_best(self, task: "Task", search: Search, trials: Trials) -> dict[str, Any]:
        """Return what is known from some trials, and the best setting fitted to all rows."""
        found = self._choose(task, search, trials)
        if not self.refit:
            return found
        # The driver, callbacks and the end of the fit may ask for the same state.
        known = task.refits.get(found["best_index_"])
        if known is None:
            begun = time.perf_counter()
            model = clone(self.estimator).set_params(**copy_values(found["best_params_"]))
            model.fit(*((task.X,) if task.y is None else (task.X, task.y)), **task.fit)
            known = {"best_estimator_": model, "_refit_seconds": time.perf_counter() - begun}
            task.refits.clear()
            task.refits[found["best_index_"]] = known
        return found | known

    def _choose(self, task: "Task", search: Search, trials: Trials) -> dict[str, Any]:
        """Return the attributes that some trials stand for, without the model."""
        several = search.log.is_named
        found: dict[str, Any] = {"_trials": trials, "multimetric_": several}
        metric = "score"
        if several:
            if self.refit is not False and not callable(self.refit) and self.refit not in trials.names:
                raise ParameterError(_describe_refit(self.refit))
            metric = self.refit
        if self.refit is False and several:
            return found
        table = trials.results
        index = self._select(trials, metric)
        if not callable(self.refit):
            found["best_score_"] = float(table[f"mean_test_{metric}"][index])
        return found | {"best_index_": int(index), "best_params_": table["params"][index]}

    def _select(self, trials: Trials, metric: str) -> int:
        """Return the index of the best setting in the table of results; the first one in case of a tie."""
        table = trials.results
        if not callable(self.refit):
            return int(table[f"rank_test_{metric}"].argmin())
        index = self.refit(table)
        if not isinstance(index, Integral):
            raise TypeError(f"best_index_ returned is not an integer; got {index!r}. Return an index of a setting.")
        if not 0 <= int(index) < len(table["params"]):
            raise IndexError(f"best_index_ index out of range; got {index} of {len(table['params'])} settings.")
        return int(index)

    def _read_task(self, X: Any, y: Any, params: dict[str, Any]) -> "Task":
        """Return the rows, the splits, and the metadata for each of those who take some."""
        scoring = self._read_scoring()
        X, y = indexable(X, y)
        n_rows = count_rows(X)
        fit, score, split = self._route(scoring, params)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        wanted = cv.get_n_splits(X, y, **split)
        splits = list(cv.split(X, y, **split))
        if len(splits) != wanted:
            raise DataError(
                f"{type(self).__name__}: cv.split and cv.get_n_splits return inconsistent results. Expected {wanted} "
                f"splits, got {len(splits)}. Mend the splitter."
            )
        return Task(self.estimator, X, y, n_rows, cv, splits, scoring, fit, score, self.return_train_score)

    def _read_scoring(self) -> Scoring:
        scoring = Scoring(self.estimator, self.scoring, self.error_score)
        if scoring.several:
            known = isinstance(self.refit, str) and self.refit in scoring.name_scorers()
            if self.refit is not False and not known and not callable(self.refit):
                raise ParameterError(_describe_refit(self.refit))
        return scoring

    def _route(self, scoring: Scoring, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Return the metadata for the estimator, for the scorer and for the splitter."""
        if sklearn.get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **params)
            return dict(routed.estimator.fit), dict(routed.scorer.score), dict(routed.splitter.split)
        fit = {name: value for name, value in params.items() if name != "groups"}
        weight = fit.get("sample_weight")
        score = {"sample_weight": weight} if weight is not None and scoring.takes_weight(self) else {}
        return fit, score, {"groups": params.get("groups")}

    def get_metadata_routing(self) -> Any:
        """Return the routes of metadata: to the estimator, to the scorer, and to the splitter.

        Returns
        -------
        MetadataRouter
        """
        score = MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
        return (
            MetadataRouter(owner=self)
            .add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
            .add(scorer=self._read_scoring().scorer, method_mapping=score)
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        return source.targets  # type: ignore[attr-defined]

    def _describe_step(self, number: int, step: Step) -> str:
        trials: Trials = step.state
        setting = trials.settings[trials.order[number]]
        shown = ", ".join(f"{name}={value}" for name, value in sorted(setting.items()))
        score = f"score {trials.tests[0, number].mean():.3f}"
        seconds = trials.seconds[:, number].sum()
        return f"[CV {number + 1}/{len(trials.settings)}] END {shown}; {score}, total time={seconds:.1f}s"

    @property
    def cv_results_(self) -> dict[str, Any]:
        """The settings that were tried, with their scores and times; a DataFrame can be made of it."""
        return self._trials.results

    @property
    def scorer_(self) -> Any:
        """The scorer, or the scorers by their names."""
        check_is_fitted(self, "_trials")
        return self._read_scoring().name_scorers()

    @property
    def refit_time_(self) -> float:
        """The seconds that fitting the best setting to all rows took."""
        return self._refit_seconds

    @property
    def classes_(self) -> Any:
        """The labels that the best model knows."""
        _delegate("classes_")(self)
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """The number of columns of the fit."""
        return self.best_estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> Any:
        """The names of the columns of the fit."""
        return self.best_estimator_.feature_names_in_

    def _check_refit(self, name: str) -> None:
        """Raise AttributeError if there is no best model."""
        if not self.refit:
            raise AttributeError(
                f"This {type(self).__name__} instance was initialized with `refit=False`. {name} is available only "
                f"after refitting on the best parameters. You can refit an estimator manually using the `best_params_` "
                f"attribute"
            )

    def score(self, X: Any, y: Any = None, **params: Any) -> float:
        """Return the score of the best model: that of `scoring`, or of its own method ``score``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets; of a table elsewhere also the name of their column, which ``groups`` may be too.
        **params : dict
            Metadata for the scorer, with scikit-learn's routing.

        Returns
        -------
        float
        """
        self._check_refit("score")
        check_is_fitted(self)
        routed: dict[str, Any] = {}
        if sklearn.get_config()["enable_metadata_routing"]:
            routed = dict(process_routing(self, "score", **params).scorer.score)
        elif params:
            raise ValueError(
                f"[{', '.join(params)}] are passed but are not explicitly set as requested or not: passing extra "
                f"keyword arguments to {type(self).__name__}.score is only supported if enable_metadata_routing=True, "
                f"which you can set using `sklearn.set_config`."
            )
        scorer = self.scorer_
        if isinstance(scorer, dict):
            scorer = scorer[self.refit]
        found = scorer(self.best_estimator_, X, y, **routed)
        return found[self.refit] if self.multimetric_ and isinstance(found, dict) else found

    @available_if(_delegate("predict"))
    def predict(self, X: Any) -> Any:
        """Predict by the best model."""
        return self.best_estimator_.predict(X)

    @available_if(_delegate("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class by the best model."""
        return self.best_estimator_.predict_proba(X)

    @available_if(_delegate("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of the probability of each class by the best model."""
        return self.best_estimator_.predict_log_proba(X)

    @available_if(_delegate("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Return the scores of the classes by the best model."""
        return self.best_estimator_.decision_function(X)

    @available_if(_delegate("score_samples"))
    def score_samples(self, X: Any) -> Any:
        """Return the score of each row by the best model."""
        return self.best_estimator_.score_samples(X)

    @available_if(_delegate("transform"))
    def transform(self, X: Any) -> Any:
        """Transform rows by the best model."""
        return self.best_estimator_.transform(X)

    @available_if(_delegate("inverse_transform"))
    def inverse_transform(self, X: Any) -> Any:
        """Transform rows back by the best model."""
        return self.best_estimator_.inverse_transform(X)

    @property
    def _depends_on_units(self) -> tuple[str, ...]:  # type: ignore[override]
        # Values of parameters, such as penalties and lengths, are mostly in the units of the columns.
        return tuple(dict.fromkeys((*getattr(self.estimator, "_depends_on_units", ()), "columns", "scale")))

    def __sklearn_is_fitted__(self) -> bool:
        return "_trials" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        for name in ("classifier_tags", "regressor_tags", "transformer_tags", "target_tags", "input_tags"):
            setattr(tags, name, deepcopy(getattr(inner, name)))
        return tags


class Task:
    """What one fit of a search works on: rows, splits, scorer and metadata."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        n_rows: int,
        cv: Any,
        splits: list[Split],
        scoring: Scoring,
        fit: dict[str, Any],
        score: dict[str, Any],
        train_scores: bool,
    ) -> None:
        self.estimator, self.X, self.y, self.n_rows, self.cv = clone(estimator), X, y, n_rows, cv
        self.splits, self.scoring, self.fit, self.score = splits, scoring, fit, score
        self.train_scores = train_scores
        # What the search is about to try, and what evaluates it; `_prepare` sets them.
        self.settings: list[Setting] = []
        self.judge: Any = None
        self.schedule: Any = None
        self.seed: Any = None
        # The best setting so far, fitted to all rows, by its index.
        self.refits: dict[int, dict[str, Any]] = {}

    def make_judge(self, splits: list[Split]) -> Judge:
        """Return what evaluates settings on some splits."""
        if isinstance(self.X, RowSubset):
            # Rows of a table outside of memory come in its order.
            splits = [(np.sort(train), np.sort(test)) for train, test in splits]
        rows = SplitRows(self.X, self.y, splits, is_pairwise(self.estimator))
        return Judge(self.estimator, rows, self.scoring, self.fit, self.score, self.n_rows, self.train_scores)


def _describe_refit(refit: Any) -> str:
    return (
        f"For multi-metric scoring, the parameter refit must be set to a scorer key or a callable to refit an "
        f"estimator with the best parameter setting on the whole data and make the best_* attributes available for "
        f"that metric. If this is not needed, refit should be set to False explicitly. {refit!r} was passed."
    )


def read_seed(random_state: Any) -> Any:
    """Return a seed as scikit-learn's functions take it; a Generator is asked for one."""
    return draw_seed(random_state) if isinstance(random_state, np.random.Generator) else random_state


def list_settings(settings: Any) -> list[Setting]:
    """Return settings as dictionaries of their own."""
    return [dict(setting) for setting in settings]
