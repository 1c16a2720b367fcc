"""What a search keeps of the settings that it has tried, and the table ``cv_results_`` made from it."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.stats import rankdata

from mercer._plain import plain
from mercer._stored import Stored, anything, floats, integers, members, texts
from mercer._types import Array


@dataclass(frozen=True)
class FitScores:
    """How one setting did on one split; ``error`` is the traceback of a fit that failed, or None."""

    test: Any
    train: Any
    fit_seconds: float
    score_seconds: float
    error: str | None = None


@plain
@dataclass(frozen=True, eq=False)
class Trials:
    """The settings of a search and the scores of those that were tried.

    Attributes
    ----------
    settings : tuple of dict
        All settings of all rounds begun, in the order of their rounds.
    rounds : tuple of int
        The number of settings in each round.
    resources : tuple of int
        What each setting of a round may use; empty in searches of one round.
    order : ndarray of shape (n_tried,)
        The settings that were tried, by their numbers, in the order in which they were tried.
    names : tuple of str
        The names of the scores.
    seconds : ndarray of shape (2, n_tried, n_splits)
        Of fits and of scores.
    tests, trains : ndarray of shape (n_names, n_tried, n_splits)
        The scores of test and training rows; no training scores where none were asked for.
    """

    settings: tuple[dict[str, Any], ...]
    rounds: tuple[int, ...]
    resources: tuple[int, ...]
    order: Array
    names: tuple[str, ...]
    seconds: Array
    tests: Array
    trains: Array

    _stored: ClassVar[dict[str, Stored]] = {
        "settings": anything("parameters of the estimator and their values"),
        "rounds": members(integers(low=0)),
        "resources": members(integers(low=0)),
        "order": integers("tried", low=0),
        "names": members(texts()),
        "seconds": floats("*, tried, folds"),
        "tests": floats("names, tried, folds"),
        "trains": floats("*, tried, folds"),
    }

    @cached_property
    def results(self) -> dict[str, Any]:
        """The table ``cv_results_`` of the settings that were tried, in the order of the settings."""
        # A state shares its arrays with later ones, which add rows: those of this state are fixed.
        rows = np.argsort(self.order, kind="stable")
        chosen = self.order[rows]
        table: dict[str, Any] = {}
        if self.resources:
            rounds = np.repeat(np.arange(len(self.rounds)), self.rounds)[chosen]
            table["iter"] = rounds
            table["n_resources"] = np.asarray(self.resources)[rounds]
        for key, values in zip(("fit_time", "score_time"), self.seconds[:, rows], strict=True):
            _add_means(table, key, values)
        settings = [self.settings[number] for number in chosen]
        table |= _tabulate(settings)
        table["params"] = settings
        for place, name in enumerate(self.names):
            _add_scores(table, f"test_{name}", self.tests[place, rows])
            table[f"rank_test_{name}"] = _rank(table[f"mean_test_{name}"])
            if len(self.trains):
                _add_scores(table, f"train_{name}", self.trains[place, rows])
        return table

    def warn_of_gaps(self) -> None:
        """Warn of scores that are not finite."""
        for kind, scores in (("test", self.tests), ("train", self.trains)):
            for values in scores:
                with np.errstate(invalid="ignore"):
                    means = values.mean(axis=1)[np.argsort(self.order, kind="stable")]
                if not np.isfinite(means).all():
                    warnings.warn(
                        f"One or more of the {kind} scores are non-finite: {means}. The settings concerned failed, or "
                        f"their score is not defined on these splits.",
                        UserWarning,
                        stacklevel=6,
                    )


def _add_means(table: dict[str, Any], key: str, values: Array) -> None:
    with np.errstate(invalid="ignore"):
        table[f"mean_{key}"] = means = values.mean(axis=1)
        table[f"std_{key}"] = np.sqrt(((values - means[:, None]) ** 2).mean(axis=1))


def _add_scores(table: dict[str, Any], key: str, values: Array) -> None:
    for number, column in enumerate(values.T):
        table[f"split{number}_{key}"] = column.copy()
    _add_means(table, key, values)


def _rank(means: Array) -> Array:
    """Return ranks from 1; settings without a score rank with the last."""
    if np.isnan(means).all():
        return np.ones(len(means), dtype=np.int32)
    filled = np.where(np.isnan(means), np.nanmin(means) - 1, means)
    return rankdata(-filled, method="min").astype(np.int32, copy=False)


def _tabulate(settings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a column for each parameter, masked where a setting does not have it."""
    columns: dict[str, dict[int, Any]] = {}
    for number, setting in enumerate(settings):
        for name, value in setting.items():
            columns.setdefault(f"param_{name}", {})[number] = value
    return {name: _make_column(values, len(settings)) for name, values in columns.items()}


def _make_column(values: dict[int, Any], length: int) -> Any:
    try:
        kind = np.array(list(values.values()))
        # Texts and sequences stay the objects that they are.
        dtype = np.dtype(object) if kind.dtype.kind == "U" or kind.ndim != 1 else kind.dtype
    except ValueError:
        dtype = np.dtype(object)
    column = np.ma.MaskedArray(np.empty(length, dtype=dtype), mask=True)
    for number, value in values.items():
        column[number] = value
    return column


class Log:
    """Collects scores of fits; its states share the arrays, to which rows are only ever added.

    Parameters
    ----------
    state : Trials or None
        What an earlier fit that is resumed has tried.
    """

    def __init__(self, state: Trials | None, error_score: Any, trains: bool) -> None:
        self.error_score = error_score
        self.with_trains = trains
        self.settings: list[dict[str, Any]] = list(state.settings) if state is not None else []
        self.rounds: list[int] = list(state.rounds) if state is not None else []
        self.resources: list[int] = list(state.resources) if state is not None else []
        self.count = len(state.order) if state is not None else 0
        self.state_before = state
        self.best = -np.inf
        self._names: tuple[str, ...] = state.names if state is not None else ()
        self._tables: dict[str, Array] = {}
        self.is_named = state is not None and state.names != ("score",)
        # The tracebacks of the fits of this round that failed, None for the others.
        self.errors: list[str | None] = []
        self._frozen: tuple[dict[str, Any], ...] = tuple(self.settings)

    def begin_round(self, settings: Sequence[dict[str, Any]], resource: int | None, n_splits: int) -> None:
        """Make room for the settings of a round."""
        self.settings += settings
        self._frozen = tuple(self.settings)
        self.errors = []
        self.rounds.append(len(settings))
        if resource is not None:
            self.resources.append(resource)
        self._reserve(len(self.settings), n_splits)

    def resume_rounds(self, n_splits: int) -> None:
        """Make room for the settings of the rounds that an earlier fit has begun."""
        self._reserve(len(self.settings), n_splits)
        state = self.state_before
        if state is None:
            return
        self._tables["order"][: self.count] = state.order
        for name in ("seconds", "tests", "trains"):
            self._tables[name][:, : self.count] = getattr(state, name)
        if self.count:
            means = state.tests[0].mean(axis=1)
            self.best = float(np.nanmax(means)) if np.isfinite(means).any() else -np.inf

    def _reserve(self, n_settings: int, n_splits: int) -> None:
        wide = max(1, len(self._names))
        shapes = {
            "order": (n_settings,),
            "seconds": (2, n_settings, n_splits),
            "tests": (wide, n_settings, n_splits),
            "trains": (wide if self.with_trains else 0, n_settings, n_splits),
        }
        before, self._tables = (
            self._tables,
            {
                name: np.full(
                    shape, -1 if name == "order" else np.nan, dtype=np.int64 if name == "order" else np.float64
                )
                for name, shape in shapes.items()
            },
        )
        for name, values in before.items():
            if name == "order":
                self._tables[name][: self.count] = values[: self.count]
            else:
                self._tables[name][: len(values), : self.count] = values[:, : self.count]

    def add(self, number: int, fits: Sequence[FitScores]) -> Trials:
        """Record how a setting did on all splits, and return the state with it."""
        self._learn_names(fits)
        place = self.count
        self._tables["order"][place] = number
        for split, fit in enumerate(fits):
            self._tables["seconds"][:, place, split] = fit.fit_seconds, fit.score_seconds
            self._tables["tests"][:, place, split] = self._spread(fit.test)
            if self.with_trains:
                self._tables["trains"][:, place, split] = self._spread(fit.train)
            self.errors.append(fit.error)
        self.count += 1
        mean = float(self._tables["tests"][0, place].mean())
        if mean > self.best:
            self.best = mean
        return self.state()

    def _learn_names(self, fits: Sequence[FitScores]) -> None:
        """Take the names of the scores from the first fit that did not fail."""
        if self._names:
            return
        for fit in fits:
            if fit.error is None:
                self.is_named = isinstance(fit.test, dict)
                self._names = tuple(fit.test) if self.is_named else ("score",)
                if len(self._names) > 1:
                    tests, trains = self._tables["tests"], self._tables["trains"]
                    # Settings that failed before have the error score under every name.
                    self._tables["tests"] = np.repeat(tests[:1], len(self._names), axis=0)
                    self._tables["trains"] = np.repeat(trains[:1], len(self._names), axis=0)
                return

    def _spread(self, scores: Any) -> Any:
        """Return scores in the order of their names; the score of a failure stands for all."""
        return [scores[name] for name in self._names] if isinstance(scores, dict) else scores

    def average_round(self, number: int) -> Array:
        """Return the mean score of each setting of a complete round, in the order of its settings."""
        begin, length = sum(self.rounds[:number]), self.rounds[number]
        order = self._tables["order"][begin : begin + length]
        means = np.empty(length)
        means[order - begin] = self._tables["tests"][0, begin : begin + length].mean(axis=1)
        return means

    def state(self) -> Trials:
        """Return what is known so far."""
        tables, end = self._tables, self.count
        return Trials(
            self._frozen,
            tuple(self.rounds),
            tuple(self.resources),
            tables["order"][:end],
            self._names or ("score",),
            tables["seconds"][:, :end],
            tables["tests"][:, :end],
            tables["trains"][:, :end],
        )
