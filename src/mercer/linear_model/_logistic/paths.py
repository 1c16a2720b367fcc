"""Paths of logistic regression along C on the folds of cross-validation: warm starts, shared moments, any threads."""

import math
import threading
import time
import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning

from mercer._base import seed_sequence
from mercer._base.folds import fold_source, of_rows, read_score
from mercer._base.scikit_learn import callbacks_of
from mercer._objective import Logistic, Softmax
from mercer._solver import Step, drive
from mercer._solver.linear_problem import LinearProblem
from mercer._source import Source
from mercer._source.threads import run_numbered
from mercer._statistic.class_moments import LabelledScatter
from mercer.errors import ParameterError
from mercer.linear_model._logistic.logistic import LogisticRegression
from mercer.linear_model._logistic.penalty import check_solver, strengths

# Test rows whose scores are computed at once: with 10 penalties of 10 classes 3 MB.
_SCORED = 4096
_SHARED = ("dual", "tol", "fit_intercept", "intercept_scaling", "solver", "max_iter")
_LATER = {
    "l1_ratios": (
        "The default value for l1_ratios will change from None to (0.0,) in version 1.10. From version 1.10 onwards, "
        "only array-like with values in [0, 1] will be allowed, None will be forbidden. To avoid this warning, set a "
        "value, e.g. l1_ratios=(0,)."
    ),
    "scoring": (
        "The default value of the parameter 'scoring' will change from None, i.e. accuracy, to 'neg_log_loss' in "
        "version 1.11. To silence this warning, set scoring='neg_log_loss' for the new default, or 'accuracy' for the "
        "old one."
    ),
    "use_legacy_attributes": (
        "The fitted attributes of LogisticRegressionCV will be simplified in scikit-learn 1.10 to remove redundancy. "
        "Set `use_legacy_attributes=False` to have the new ones now, or True to silence this warning and keep the old. "
        "The default value of use_legacy_attributes will change from True to False in scikit-learn 1.10."
    ),
    "penalty": (
        "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, leave 'penalty' "
        "set to its default value and use 'l1_ratios' and 'Cs' instead: l1_ratios=(0,) for penalty='l2', (1,) for "
        "'l1', values between for 'elasticnet', and Cs=(np.inf,) for no penalty."
    ),
    "none": (
        "'l1_ratios=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use an array-like with "
        "values in [0, 1] instead."
    ),
}


@dataclass(frozen=True, eq=False)
class Choices:
    """Penalties to search, and how their results are to be shown.

    ``has_ratios`` says whether l1 ratios were given, and so have an axis of their own in scikit-learn's old attributes.
    """

    Cs: np.ndarray
    ratios: np.ndarray
    has_ratios: bool
    legacy: bool


def read_choices(estimator: Any) -> Choices:
    """Read and check the parameters of a LogisticRegressionCV."""
    given = estimator.l1_ratios
    if isinstance(given, str):
        _warn("l1_ratios")
        given = None
    elif given is None and estimator.penalty == "deprecated":
        _warn("none")
    if estimator.penalty != "deprecated":
        _warn("penalty")
        if given is not None and estimator.penalty != "elasticnet":
            warnings.warn(
                f"l1_ratios parameter is only used when penalty is 'elasticnet'. Got (penalty={estimator.penalty})",
                stacklevel=5,
            )
    for name in ("scoring", "use_legacy_attributes"):
        if isinstance(getattr(estimator, name), str) and getattr(estimator, name) == "warn":
            _warn(name)
    ratios, Cs = _ratios(estimator, given), _strengths(estimator)
    # Before the first fit, so that a combination without a solver does not surface after some folds.
    for C in Cs:
        for ratio in ratios:
            check_solver(estimator, float(C), float(ratio))
    return Choices(Cs, ratios, given is not None, estimator.use_legacy_attributes is not False)


def _warn(name: str) -> None:
    warnings.warn(_LATER[name], FutureWarning, stacklevel=6)


def _ratios(estimator: Any, given: Any) -> np.ndarray:
    fixed = {"l1": 1.0, "l2": 0.0, "deprecated": 0.0}
    if estimator.penalty in ("l1", "l2") or (given is None and estimator.penalty in fixed):
        return np.array([fixed[estimator.penalty]] * (1 if given is None else len(given)))
    values = [] if given is None else list(np.ravel(np.asarray(given, dtype=object)))
    if not values or not all(isinstance(ratio, Real) and 0 <= float(ratio) <= 1 for ratio in values):
        raise ParameterError(
            f"{type(estimator).__name__}: l1_ratios must be an array-like of numbers between 0 and 1; got "
            f"(l1_ratios={given!r})."
        )
    return np.asarray(values, dtype=np.float64)


def _strengths(estimator: Any) -> np.ndarray:
    if np.ndim(estimator.Cs) == 0:
        # scikit-learn's grid: Cs values from 1e-4 to 1e4 at equal ratios.
        return np.logspace(-4, 4, int(estimator.Cs))
    Cs = np.asarray(estimator.Cs, dtype=np.float64)
    if Cs.size == 0 or not (Cs > 0).all():
        worst = "none" if Cs.size == 0 else f"{Cs.min():g}"
        raise ParameterError(
            f"{type(estimator).__name__}: every C in Cs must be a number in (0, {math.inf}]; got {worst}. Drop it."
        )
    return Cs


@dataclass(frozen=True, eq=False)
class Paths:
    """For each fold, l1 ratio and C: parameters (f, r, a, k, d + 1), steps and scores (f, r, a)."""

    parameters: np.ndarray
    n_steps: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True, eq=False)
class Search:
    """What is searched: rows with numbered labels, folds, penalties, and what scores them.

    Parameters
    ----------
    estimator : LogisticRegressionCV
    source : Source
        Rows in memory with numbers for labels.
    labels : array of shape (n,)
        The labels themselves, for the scorer.
    classes : array
    folds : list of pairs
    Cs, ratios : array
    scorer : callable
    parameters : dict
        For the scorer.
    """

    estimator: Any
    source: Source
    labels: Any
    classes: np.ndarray
    folds: list
    Cs: np.ndarray
    ratios: np.ndarray
    scorer: Any
    parameters: dict[str, Any]

    @property
    def loss(self) -> Logistic | Softmax:
        return Logistic() if len(self.classes) == 2 else Softmax(len(self.classes))

    def run(self) -> Paths:
        """Fit the paths on all threads, a fold and an l1 ratio at a time, then score them in this one."""
        shape = (len(self.folds), len(self.ratios), len(self.Cs))
        # A seed for each path, drawn before the threads begin: results do not depend on which thread fits which path.
        seeds = seed_sequence(self.estimator.random_state).spawn(shape[0] * shape[1])
        results: list[tuple[np.ndarray, np.ndarray, int]] = []
        watch = _Stop(_deadline(self.estimator))

        def path(number: int) -> tuple[np.ndarray, np.ndarray, int]:
            fold, ratio = divmod(number, shape[1])
            try:
                return self._path(self.folds[fold][0], self.ratios[ratio], seeds[number], watch)
            except BaseException:
                # Other threads end at their next step, so that Ctrl-C does not wait for them.
                watch.event.set()
                raise

        run_numbered(path, shape[0] * shape[1], self.source.threads, results.append)
        _warn_of_limits(self.estimator, sum(short for _, _, short in results), math.prod(shape))
        parameters = np.stack([path_parameters for path_parameters, _, _ in results])
        parameters = parameters.reshape(*shape, *parameters.shape[2:])
        n_steps = np.stack([steps for _, steps, _ in results]).reshape(shape)
        return Paths(parameters, n_steps, self._scores(parameters))

    def _path(
        self, train: np.ndarray, ratio: float, seed: np.random.SeedSequence, watch: "_Stop"
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Compute parameters and steps for each C on the training rows of a fold, and count unconverged fits."""
        # Moments of the fold are asked for once for all penalties.
        source: Any = _Remembering(fold_source(self.source, train, 1))
        total = source.total_weight()
        model = worker_of(self.estimator, int(seed.generate_state(1)[0]))
        solutions: list[np.ndarray] = []
        steps, short = [], 0
        # From one C to the next each solution starts from the last.
        for C in self.Cs:
            problem = make_problem(model, self.loss, C, ratio, source.n_features, total)
            _, solve = model._choose(problem, source)
            # The state of the dual has a value per row, which the coefficients do not determine.
            begin = solutions[-1] if solutions and not model.dual else None
            outcome = drive(solve(begin), source, [watch])
            solutions.append(outcome.state.parameters)
            steps.append(outcome.state.n_steps)
            short += not outcome.converged
        return np.stack(solutions), np.array(steps, dtype=np.int32), short

    def _scores(self, parameters: np.ndarray) -> np.ndarray:
        # One fold per call, so that its test rows are freed before those of the next are copied.
        return np.stack([self._fold_scores(test, own) for (_, test), own in zip(self.folds, parameters)])

    def _fold_scores(self, test: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Score the paths of a fold on its test rows (r, a)."""
        chosen = of_rows(self.parameters, test, self.source.n_rows)
        if self._counts_hits and chosen.keys() <= {"sample_weight"}:
            return self._count_hits(test, parameters, chosen.get("sample_weight"))
        X, y = self.source.whole()[test], np.asarray(self.labels)[test]
        scores = np.empty(parameters.shape[:2])
        for place in np.ndindex(*scores.shape):
            scores[place] = self._score(self.model(parameters[place]), X, y, chosen)
        return scores

    @property
    def _counts_hits(self) -> bool:
        """Whether the score is the accuracy, which needs no model of each penalty."""
        scoring = self.estimator.scoring
        return scoring is None or (isinstance(scoring, str) and scoring in ("accuracy", "warn"))

    def _count_hits(self, test: np.ndarray, parameters: np.ndarray, weight: Any) -> np.ndarray:
        """Compute the accuracies (r, a) of all penalties on the test rows, by one product.

        A scorer checks rows, labels and predictions anew for each penalty: half of the time of a small search.
        """
        n_scores, width = parameters.shape[2:]
        X, table = self.source.whole(), parameters.reshape(-1, width)
        hits = np.empty((len(test), len(table) // n_scores), dtype=bool)
        # Some rows at a time, so that their copy and their scores stay small.
        for first in range(0, len(test), _SCORED):
            rows = test[first : first + _SCORED]
            values = (X[rows] @ table[:, :-1].T + table[:, -1]).reshape(len(rows), -1, n_scores)
            # One score of two classes decides by its sign, several by the largest.
            found = values[..., 0] > 0 if n_scores == 1 else values.argmax(axis=2)
            hits[first : first + _SCORED] = found == self.source.y[rows][:, None]
        return np.average(hits, axis=0, weights=weight).reshape(parameters.shape[:2])

    def _score(self, model: LogisticRegression, X: Any, y: Any, chosen: dict[str, Any]) -> float:
        """Score a model; a metric that misses classes in the test rows is told of them."""
        try:
            value = self.scorer(model, X, y, **chosen)
        except ValueError as error:
            extra: dict[str, Any] = {"labels": self.classes}
            for more in ({"pos_label": self.classes[-1]}, {}) if len(self.classes) == 2 else ({},):
                try:
                    with sklearn.config_context(enable_metadata_routing=True):
                        return self.scorer(model, X, y, **chosen, **extra, **more)
                except (TypeError, ValueError):
                    continue
            raise error
        return read_score(type(self.estimator).__name__, "scoring", value)

    def model(self, parameters: np.ndarray) -> LogisticRegression:
        """Return a fitted model, for a scorer."""
        model = worker_of(self.estimator, None)
        model.n_features_in_, model.classes_ = parameters.shape[1] - 1, self.classes
        model.coef_, model.intercept_ = parameters[:, :-1], parameters[:, -1]
        return model


def worker_of(estimator: Any, seed: int | None) -> LogisticRegression:
    """Return a logistic regression with the estimator's parameters, one thread, and its own seed."""
    shared = {name: getattr(estimator, name) for name in _SHARED}
    return LogisticRegression(**shared, random_state=seed, n_jobs=1)


def make_problem(
    model: Any, loss: Logistic | Softmax, C: float, ratio: float, n_features: int, total: float
) -> LinearProblem:
    """Return the penalised mean loss for a C and an l1 ratio."""
    penalty = strengths(model, float(C), float(ratio), n_features, total)
    return LinearProblem(loss, penalty, total, model.fit_intercept, model.tol)


class _Remembering:
    """A source that sums the moments of the labelled rows once: they are the same for every penalty."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._moments: dict[bool, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def reduce(self, statistic: Any) -> Any:
        if not isinstance(statistic, LabelledScatter):
            return self._source.reduce(statistic)
        if statistic.diagonal not in self._moments:
            self._moments[statistic.diagonal] = self._source.reduce(statistic)
        return self._moments[statistic.diagonal]


class _Stop:
    """Ends fits at their next step when one of them has failed, or when time is up."""

    def __init__(self, deadline: float) -> None:
        self.event = threading.Event()
        self.deadline = deadline

    def step(self, number: int, step: Step) -> str | None:
        return "max_time" if self.event.is_set() or time.perf_counter() >= self.deadline else None

    def choose_step(self, last: Step) -> Step:
        return last


def _deadline(estimator: Any) -> float:
    """Return the time by which the folds must be done: the limits of the estimator and its callbacks, from now."""
    limits = [
        estimator.max_time,
        *(getattr(callback, "seconds", None) for callback in callbacks_of(estimator)),
    ]
    limits = [limit for limit in limits if limit is not None]
    return time.perf_counter() + min(limits) if limits else math.inf


def _warn_of_limits(estimator: Any, short: int, total: int) -> None:
    if short:
        warnings.warn(
            f"{type(estimator).__name__}: {short} of {total} fits on folds ended before they met "
            f"tol={estimator.tol:g}; raise max_iter (now {estimator.max_iter}) or tol, or scale the columns.",
            ConvergenceWarning,
            stacklevel=2,
        )
