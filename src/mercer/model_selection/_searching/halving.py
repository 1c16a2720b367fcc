"""Searches by successive halving: many settings with few resources, the best of them with more."""

from dataclasses import dataclass
from math import ceil, floor, log
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import resample
from sklearn.utils.multiclass import check_classification_targets

from mercer._base.folds import FOLDS
from mercer._base.parameter import Boolean, Choice, Function, Integer, Nothing, Real, Seed, Text, attribute, parameter
from mercer._stored import Stored, integers, members
from mercer.errors import DataError, ParameterError
from mercer.model_selection._searching.base import BaseSearch, Split, Task, list_settings, read_seed
from mercer.model_selection._searching.grid import GRID
from mercer.model_selection._searching.records import Log, Trials
from mercer.model_selection._searching.solver import Round, Search

# Rows of each fold, and class, that "smallest" means, as in scikit-learn.
_ROWS_PER_FOLD = 2


@dataclass(frozen=True)
class _Schedule:
    """How many rounds there are, and what the settings of each may use."""

    factor: float
    least: int
    most: int
    required: int
    possible: int
    aggressive: bool

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return self.required if self.aggressive else min(self.possible, self.required)

    def allot(self, number: int) -> int:
        """Return what a setting of a round may use."""
        # Aggressive elimination repeats the first round until the rest can grow to the most.
        power = max(0, number - self.required + self.possible) if self.aggressive else number
        return min(int(self.factor**power * self.least), self.most)


class Halving(BaseSearch):
    """A search in rounds; each keeps one of ``factor`` settings and gives it ``factor`` times more."""

    factor: float = parameter(
        Real(0, closed="neither"),
        default=3,
        after="estimator",
        doc="One of `factor` settings goes on to the next round.",
    )
    resource: str = parameter(
        Text(),
        default="n_samples",
        doc="What grows from round to round: the rows, or a parameter of the estimator such as ``n_estimators``.",
    )
    max_resources: Any = parameter(
        Integer(1) | Choice("auto"), default="auto", doc="The most that a setting may use; 'auto' means all rows."
    )
    min_resources: Any = parameter(
        Integer(1) | Choice("exhaust", "smallest"),
        default="exhaust",
        doc="What a setting of the first round uses. 'smallest' takes two rows for each fold, and class, or 1; "
        "'exhaust' takes as much as lets the last round use the most.",
    )
    aggressive_elimination: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether first rounds are repeated with the fewest resources until the last one has at most `factor` "
        "settings.",
    )
    cv: Any = parameter(FOLDS, default=5)
    scoring: Any = parameter(Text() | Function() | Nothing(), default=None)
    return_train_score: bool = parameter(Boolean(), default=True)
    random_state: Any = parameter(
        Seed(), default=None, after="return_train_score", doc="Draws the rows of each round, and settings."
    )

    n_candidates_: list[int] = attribute()
    n_resources_: list[int] = attribute()
    n_remaining_candidates_: int = attribute()
    n_required_iterations_: int = attribute()
    n_possible_iterations_: int = attribute()
    n_iterations_: int = attribute()
    min_resources_: int = attribute()
    max_resources_: int = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "n_candidates_": members(integers(low=0)),
        "n_resources_": members(integers(low=0)),
        **dict.fromkeys(
            (
                *("n_remaining_candidates_", "n_required_iterations_", "n_possible_iterations_", "n_iterations_"),
                *("min_resources_", "max_resources_"),
            ),
            integers(low=0),
        ),
    }

    def _list(self, least: int, most: int, seed: Any) -> Any:
        """Return the settings of the first round."""
        raise NotImplementedError  # each search has settings of its own

    def _prepare(self, task: Task) -> None:
        self._check_resource(task)
        task.seed = read_seed(self.random_state)
        least, most = self._read_limits(task)
        task.settings = list_settings(self._list(least, most, task.seed))
        if self.resource != "n_samples" and any(self.resource in setting for setting in task.settings):
            raise ParameterError(
                f"Cannot use parameter {self.resource} as the resource since it is part of the searched parameters. "
                f"Take it out of these."
            )
        required = 1 + floor(log(max(1, len(task.settings)), self.factor))
        if self.min_resources == "exhaust":
            least = max(least, int(most // self.factor ** (required - 1)))
        possible = 1 + floor(log(most // least, self.factor))
        task.schedule = schedule = _Schedule(self.factor, least, most, required, possible, self.aggressive_elimination)
        if self.verbose:
            print(f"n_iterations: {schedule.n_rounds}")
            print(f"n_required_iterations: {required}")
            print(f"n_possible_iterations: {possible}")
            print(f"min_resources_: {least}")
            print(f"max_resources_: {most}")
            print(f"aggressive_elimination: {self.aggressive_elimination}")
            print(f"factor: {self.factor}")
        if self.resource != "n_samples":
            task.judge = task.make_judge(task.splits)

    def _check_resource(self, task: Task) -> None:
        """Raise if splits change from call to call, or the resource is no parameter of the estimator."""
        shuffled, seed = getattr(task.cv, "shuffle", True), getattr(task.cv, "random_state", 0)
        if shuffled and not isinstance(seed, Integral):
            raise ParameterError(
                "The cv parameter must yield consistent folds across calls to split(). Set its random_state to an int, "
                "or set shuffle=False."
            )
        if self.resource != "n_samples" and self.resource not in self.estimator.get_params():
            raise ParameterError(
                f"Cannot use resource={self.resource} which is not supported by estimator "
                f"{type(self.estimator).__name__}. Name one of its parameters."
            )

    def _read_limits(self, task: Task) -> tuple[int, int]:
        """Return the fewest and the most resources of a setting; the fewest may rise later."""
        least = self.min_resources
        if isinstance(least, str):
            least = 1
            if self.resource == "n_samples":
                least = _ROWS_PER_FOLD * self.n_splits_
                if is_classifier(self.estimator):
                    if task.y is None:
                        raise DataError(f"{type(self).__name__}: requires y to be passed, but the target y is None.")
                    y = np.asarray(task.y)
                    check_classification_targets(y)
                    least *= len(np.unique(y))
        most = self.max_resources
        if most == "auto":
            if self.resource != "n_samples":
                raise ParameterError("resource can only be 'n_samples' when max_resources='auto'. Give a number.")
            most = task.n_rows
        if least > most:
            raise ParameterError(
                f"min_resources_={least} is greater than max_resources_={most}. Give more rows, or lower min_resources."
            )
        return int(least), int(most)

    def _plan(self, task: Task, number: int, log: Log) -> Round | None:
        schedule: _Schedule = task.schedule
        if number >= schedule.n_rounds:
            return None
        amount = schedule.allot(number)
        begin = sum(log.rounds[:number])
        if number < len(log.rounds):
            settings = log.settings[begin : begin + log.rounds[number]]
        else:
            settings = task.settings if number == 0 else self._keep(log, number - 1)
        if self.verbose:
            print("-" * 10)
            print(f"iter: {number}")
            print(f"n_candidates: {len(settings)}")
            print(f"n_resources: {amount}")
        if self.resource == "n_samples":
            judge = task.make_judge(_draw(task.splits, amount / task.n_rows, task.seed))
        else:
            judge = task.judge
            settings = [setting | {self.resource: amount} for setting in settings]
        return Round(settings, judge, amount)

    def _keep(self, log: Log, number: int) -> list[dict[str, Any]]:
        """Return the best settings of a complete round, best last."""
        begin, length = sum(log.rounds[:number]), log.rounds[number]
        means = log.average_round(number)
        # NaN sorts last; settings without a score go to the front, among those that are left out.
        order = np.roll(np.argsort(means), np.count_nonzero(np.isnan(means)))
        return [log.settings[begin + place] for place in order[-ceil(length / self.factor) :]]

    def _choose(self, task: Task, search: Search, trials: Trials) -> dict[str, Any]:
        found = super()._choose(task, search, trials)
        index, schedule = found["best_index_"], task.schedule
        tried = [amount for amount, _ in zip(trials.resources, trials.rounds, strict=True)]
        return found | {
            "best_score_": float(trials.results["mean_test_score"][index]),
            "n_candidates_": list(trials.rounds),
            "n_resources_": tried,
            "n_remaining_candidates_": ceil(trials.rounds[-1] / self.factor),
            "n_required_iterations_": schedule.required,
            "n_possible_iterations_": schedule.possible,
            "n_iterations_": schedule.n_rounds,
            "min_resources_": schedule.least,
            "max_resources_": schedule.most,
        }

    def _select(self, trials: Trials, metric: str) -> int:
        """Return the index of the best setting of the last complete round, or of the first round begun."""
        table = trials.results
        rounds = table["iter"]
        complete = [number for number, size in enumerate(trials.rounds) if np.count_nonzero(rounds == number) == size]
        members = np.flatnonzero(rounds == (complete[-1] if complete else 0))
        means = table["mean_test_score"][members]
        return int(members[0 if np.isnan(means).all() else np.nanargmax(means)])


def _draw(splits: list[Split], share: float, seed: Any) -> list[Split]:
    """Return a share of the rows of each side of each split."""
    return [
        tuple(  # type: ignore[misc]
            resample(rows, replace=False, random_state=seed, n_samples=int(share * len(rows))) for rows in split
        )
        for split in splits
    ]


class HalvingGridSearchCV(Halving):
    """A search that tries every combination of values with few resources, and the best of them with more.

    Round i gives each setting ``min_resources * factor**i`` rows, or units of a parameter such as the number of trees,
    and keeps one of ``factor`` settings.

    Attributes
    ----------
    best_estimator_ : estimator
        The best setting, fitted to all rows; only with `refit`.
    best_params_ : dict
        The best setting.
    best_score_ : float
        Its mean score over the splits; not where `refit` is a function.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of ndarray
        Settings, scores, ranks and seconds, with scikit-learn's keys; a DataFrame can be made of it.
    scorer_ : callable or dict
        The scorer, or the scorers by their names.
    n_splits_ : int
        The number of splits.
    refit_time_ : float
        Seconds of the last fit.
    multimetric_ : bool
        Whether there are several scores.
    classes_, n_features_in_, feature_names_in_
        As in the best model.
    n_iterations_, n_required_iterations_, n_possible_iterations_ : int
        Rounds, those that leave fewer than ``factor`` settings, and those that the resources allow.
    n_resources_, n_candidates_ : list of int
        What a setting may use in each round, and how many settings it has.
    n_remaining_candidates_ : int
        The settings that would go on after the last round.
    min_resources_, max_resources_ : int
        The fewest and the most resources.
    history_, converged_, n_iter_, certificate_
        A step for each setting; the objective is the best mean score so far. There is no certificate: the settings
        are compared, and others may be better.

    Notes
    -----
    With 27 settings and a factor of 3, rounds of 27, 9, 3 and 1 settings use 1/27, 1/9, 1/3 and all of the rows: four
    full fits in the place of 27. A setting that does worse on few rows than on all may be lost. The choice is made
    among those of the last complete round. The rows of each round and the settings kept are those of scikit-learn's
    search with the same seed. All else is as in :class:`GridSearchCV`; no experimental import is needed.

    References
    ----------
    K. Jamieson and A. Talwalkar, *Non-stochastic best arm identification and hyperparameter optimization*, AISTATS
    (2016).

    Examples
    --------
    >>> from mercer.model_selection import HalvingGridSearchCV
    >>> from mercer.svm import SVC
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> grid = {"C": [1, 10, 100], "gamma": [1e-2, 1e-3, 1e-4]}
    >>> search = HalvingGridSearchCV(SVC(), grid, random_state=0).fit(X, y)
    >>> search.n_candidates_, search.best_params_["gamma"]
    ([9, 3, 1], 0.001)

    See Also
    --------
    HalvingRandomSearchCV : The same with settings drawn at random.
    GridSearchCV : Tries every setting on all rows.
    """

    param_grid: Any = parameter(
        GRID,
        kw_only=False,
        after="estimator",
        doc="Values for each parameter, by its name; every combination is tried. A list of such dictionaries is one "
        "grid after the other.",
    )

    def _list(self, least: int, most: int, seed: Any) -> Any:
        return ParameterGrid(self.param_grid)


class HalvingRandomSearchCV(Halving):
    """A search that tries settings drawn at random with few resources, and the best of them with more.

    Round i gives each setting ``min_resources * factor**i`` rows, or units of a parameter such as the number of trees,
    and keeps one of ``factor`` settings.

    Attributes
    ----------
    best_estimator_ : estimator
        The best setting, fitted to all rows; only with `refit`.
    best_params_ : dict
        The best setting.
    best_score_ : float
        Its mean score over the splits; not where `refit` is a function.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of ndarray
        Settings, scores, ranks and seconds, with scikit-learn's keys; a DataFrame can be made of it.
    scorer_ : callable or dict
        The scorer, or the scorers by their names.
    n_splits_ : int
        The number of splits.
    refit_time_ : float
        Seconds of the last fit.
    multimetric_ : bool
        Whether there are several scores.
    classes_, n_features_in_, feature_names_in_
        As in the best model.
    n_iterations_, n_required_iterations_, n_possible_iterations_ : int
        Rounds, those that leave fewer than ``factor`` settings, and those that the resources allow.
    n_resources_, n_candidates_ : list of int
        What a setting may use in each round, and how many settings it has.
    n_remaining_candidates_ : int
        The settings that would go on after the last round.
    min_resources_, max_resources_ : int
        The fewest and the most resources.
    history_, converged_, n_iter_, certificate_
        A step for each setting; the objective is the best mean score so far. There is no certificate: the settings
        are compared, and others may be better.

    Notes
    -----
    With 27 settings and a factor of 3, rounds of 27, 9, 3 and 1 settings use 1/27, 1/9, 1/3 and all of the rows: four
    full fits in the place of 27. A setting that does worse on few rows than on all may be lost. The choice is made
    among those of the last complete round. The rows of each round and the settings kept are those of scikit-learn's
    search with the same seed. All else is as in :class:`GridSearchCV`; no experimental import is needed.

    References
    ----------
    K. Jamieson and A. Talwalkar, *Non-stochastic best arm identification and hyperparameter optimization*, AISTATS
    (2016).

    Examples
    --------
    >>> from mercer.linear_model import Ridge
    >>> from mercer.model_selection import HalvingRandomSearchCV
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> drawn = {"alpha": loguniform(1e-4, 1e3)}
    >>> search = HalvingRandomSearchCV(Ridge(), drawn, min_resources=40, random_state=0).fit(X, y)
    >>> search.n_resources_, bool(search.best_params_["alpha"] < 1)
    ([40, 120, 360], True)

    See Also
    --------
    HalvingGridSearchCV : The same for all settings of a grid.
    RandomizedSearchCV : Tries each setting on all rows.
    """

    _law_exceptions: ClassVar[dict[str, str]] = Halving._law_exceptions | {
        "row order": "the rows of each round are drawn by their numbers",
    }

    param_distributions: Any = parameter(
        GRID,
        kw_only=False,
        after="estimator",
        doc="For each parameter, by its name, a list of values or a distribution with a method ``rvs``; or a list of "
        "such dictionaries.",
    )
    n_candidates: Any = parameter(
        Integer(1) | Choice("exhaust"),
        default="exhaust",
        after="param_distributions",
        doc="The number of settings of the first round; 'exhaust' takes as many as let the last round use the most.",
    )
    min_resources: Any = parameter(Integer(1) | Choice("exhaust", "smallest"), default="smallest")

    def _list(self, least: int, most: int, seed: Any) -> Any:
        n = self.n_candidates
        if n == "exhaust":
            if self.min_resources == "exhaust":
                raise ParameterError(
                    "n_candidates and min_resources cannot be both set to 'exhaust'. Give one of them."
                )
            n = most // least
        return ParameterSampler(self.param_distributions, n, random_state=seed)
