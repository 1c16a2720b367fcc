"""Give candidates their turn within the time that is left."""

import time
from dataclasses import dataclass, field, replace
from typing import Any

from sklearn.base import clone

from mercer._base.candidate import Candidate
from mercer.app.options import Options
from mercer.app.study.choice.selection import Selection
from mercer.app.study.clock import Clock, predict_seconds, spell_duration
from mercer.app.study.dataset import Dataset
from mercer.app.study.recipe import choose_costs, describe_shape, make_contender
from mercer.errors import MercerError
from mercer.model_selection import Contender, Trial
from mercer.model_selection.trials import OutOfTimeError

# The turn of trees and ensembles, and of families that may be slow.
ENSEMBLES = 2
SLOW = 3
# Share of the budget that is kept for what follows the choice, at least and at most, and fits of the model in it: the
# final fit, and the learning curve.
_LEAST_RESERVE = 0.1
# Seconds that the description of a model takes at least.
_LEAST_SECONDS = 2.0
_MOST_RESERVE = 0.4
_FITS_AFTER = 16
# Further fits where the model is also scored on another kind of new rows.
_FITS_OF_QUESTION = 5
# Share of the budget that the first model may take although the time is over: without it there is no answer.
_FIRST_SHARE = 0.1
# Candidates whose time is measured in search of that first model: each measurement takes time itself.
_FIRST_TRIES = 3
# Share of the budget that the quickest model may take at the end, if there was no time for any other one.
_LAST_CHANCE = 0.5
# Share of the budget up to which a candidate of a quick family has its turn before trees and ensembles.
_QUICK_SHARE = 0.1
# Shares of the budget that are kept for the parts of the report, and for a fit to more rows than are compared.
PARTS_SHARE = 0.25
FIT_SHARE = 0.35
# A trial on many rows is stopped if it takes this many times the seconds that were forecast.
_MOST_OVERRUN = 2.0
# Predictions of inner models that are kept for each candidate: 20 MB in single precision.
_MOST_REMEMBERED = 5_000_000
# Rows of the two fits from which the time of a study without a budget is told.
_FIRST_PROBES = (200, 800)
# Rows of the fit from which the time of a candidate is told that gets no turn: it must not take long itself.
_LAST_PROBE = 100
# Share of the budget that such fits may take.
_LAST_SHARE = 0.02


def find_turn(offer: Candidate) -> tuple[int, float]:
    """Return when a candidate has its turn: by family, then from simple to complex."""
    turns = {"baseline": 0, "linear models": 1, "discriminants": 1, "neighbours": 1, "naive Bayes": 1}
    return turns.get(offer.family, ENSEMBLES if offer.family in ("trees", "ensembles") else SLOW), offer.rank


@dataclass
class Schedule:
    """Gives candidates their turn, and remembers those for which there was no time."""

    selection: Selection
    dataset: Dataset
    options: Options
    clock: Clock
    n_columns: int
    threads: int
    late: set[str] = field(default_factory=set)
    predicted: dict[str, tuple[float, float]] = field(default_factory=dict)  # seconds, with all settings and with one
    alone: dict[str, float] = field(default_factory=dict)  # seconds with one setting, of candidates without a turn
    many: bool = False  # whether the table has many rows, so that the best candidate comes first
    forced: bool = False  # whether the next candidate has no deadline
    n_rounds: int = 0  # rounds of the search for settings of the candidate that leads on many rows
    pace: Any = None  # the time of fits in these rounds, once it was measured
    spent_late: float = 0.0  # seconds of fits that only tell how long a candidate without a turn would take

    def attempt(self, offer: Candidate, share: float, single: bool = False) -> None:
        """Try one candidate and note its trial, or why there is none; with `single`, without a choice of settings."""
        selection = self.selection
        try:
            reason = offer.unfit(describe_shape(self.dataset, self.n_columns, self.options.seed))
            if reason:
                selection.skipped[offer.name] = reason
                return
            self.clock.tell(offer.name, share)
            n_trials = len(selection.trials)
            self._run(offer, single)
            if len(selection.trials) > n_trials:
                self._tell_result(share)
        except OutOfTimeError:
            needed = self.predicted.get(offer.name, (0.0, 0.0))[0]
            selection.lacking[offer.name] = needed
            selection.skipped[offer.name] = (
                f"not finished when the time was over; it was to take about {spell_duration(needed)}"
            )
        except Exception as wrong:
            if self.options.debug:
                raise
            selection.failed[offer.name] = _describe_failure(wrong)

    def attempt_quickest(self, offers: list[Candidate], share: float) -> None:
        """Try the quickest candidate with one setting, although the time is over: without a model there is no answer.

        It must be expected to take at most half of the budget.
        """
        alone = self.alone | {name: seconds for name, (_, seconds) in self.predicted.items()}
        known = [offer for offer in offers if offer.name in alone]
        if not known or self.clock.budget is None:
            return
        quickest = min(known, key=lambda offer: alone[offer.name])
        if alone[quickest.name] <= _LAST_CHANCE * self.clock.budget:
            self.forced = True
            self.attempt(quickest, share, single=True)

    def predict(self, offer: Candidate) -> float:
        """Return the seconds that the trial of a candidate takes; without a budget, or without time, its rank.

        Of ensembles it is the trial with one setting: boosted trees have more settings than forests, but are quicker,
        and often better on many rows.
        """
        shape = describe_shape(self.dataset, self.n_columns, self.options.seed)
        if self.clock.budget is None or not self.selection.trials or offer.unfit(shape) or self.measure_left() <= 0:
            return float(offer.rank)
        try:
            self.predicted[offer.name] = predict_seconds(self.make(offer), self.selection.plan, self.threads)
        except Exception:  # the trial will say why
            return float("inf")
        return self.predicted[offer.name][1 if find_turn(offer)[0] == ENSEMBLES else 0]

    def is_slow(self, offer: Candidate) -> bool:
        """Return whether a candidate would take more than `_QUICK_SHARE` of the budget, and so has to wait."""
        if self.clock.budget is None or not self.selection.trials:
            return False
        self.predict(offer)
        return self.predicted.get(offer.name, (0.0, 0.0))[0] > _QUICK_SHARE * self.clock.budget

    def forecast(self, offer: Candidate) -> float | None:
        """Return the seconds that the trial of a candidate will take; None if it is not fit for the table."""
        if offer.unfit(describe_shape(self.dataset, self.n_columns, self.options.seed)):
            return None
        try:
            return predict_seconds(self.make(offer), self.selection.plan, self.threads, _FIRST_PROBES)[0]
        except Exception:  # the trial will say why
            return None

    def forecast_alone(self, offer: Candidate) -> float | None:
        """Return the seconds that the trial of a candidate with one setting will take; None if it is not fit for it."""
        if offer.unfit(describe_shape(self.dataset, self.n_columns, self.options.seed)):
            return None
        try:
            return predict_seconds(self.make(offer, [{}]), self.selection.plan, self.threads, _FIRST_PROBES)[1]
        except Exception:  # the trial will say why
            return None

    def make(self, offer: Candidate, grids: list[dict[str, list[Any]]] | None = None) -> Contender:
        """Return the candidate as a pipeline, with its own settings or those of `grids`."""
        costs = choose_costs(self.dataset, self.selection.metric.scorer, self.options.threshold)
        return make_contender(offer, self.dataset, self.n_columns, self.options.seed, costs, grids)

    def list_grids(self, offer: Candidate) -> list[dict[str, list[Any]]]:
        """Return the candidate's own settings."""
        return offer.list_grids(describe_shape(self.dataset, self.n_columns, self.options.seed))

    def _tell_result(self, share: float) -> None:
        """Tell the watcher the score of the last trial."""
        scores = [float(trial.scores.mean()) for trial in self.selection.trials]
        sign = 1.0 if self.selection.metric.greater_is_better else -1.0
        name = self.selection.trials[-1].name
        self.clock.tell(name, share, (name, sign * scores[-1], scores[-1] == max(scores)))

    def _run(self, offer: Candidate, single: bool) -> None:
        """Run the trial of a candidate if there is time for it."""
        selection, clock = self.selection, self.clock
        contender = self.make(offer)
        deadline = None
        if self.forced:
            contender = replace(contender, space={})
        elif selection.trials and clock.budget is not None:
            left = self.measure_left()
            if offer.name not in self.predicted:
                if left <= 0:
                    selection.skipped[offer.name] = f"no time was left for it{self._tell_need(offer, contender)}"
                    return
                self.predicted[offer.name] = predict_seconds(contender, selection.plan, self.threads)
            needed, alone = self.predicted[offer.name]
            left = self.measure_left()
            if single or (needed > left >= alone):
                contender, needed = replace(contender, space={}), alone
            if needed > left:
                self.late.add(offer.name)
                selection.lacking[offer.name] = needed
                time_left = f"only {spell_duration(left)} were left" if left > 0 else "no time was left for it"
                selection.skipped[offer.name] = f"would take about {spell_duration(needed)}, but {time_left}"
                return
            # A trial may take half of what is kept for the rest of the study. Of many rows the report has a share of
            # its own, and a trial that takes much longer than was forecast takes the time of the others. The first one
            # has all the time: it is the answer if there is no other.
            most = left + 0.5 * self._find_reserve()
            if self.many and len(selection.trials) > 1:
                most = min(left, _MOST_OVERRUN * needed + 1.0)
            deadline = time.monotonic() + most
        began = time.perf_counter()
        # The models of the rest of the study have no time limit inside their fits.
        limited = contender if deadline is None else limit_time(contender, deadline - time.monotonic())
        remember = self.remembers() and offer.rank > 0
        trial = selection.plan.run(limited, threads=self.threads, deadline=deadline, keep=True, remember=remember)
        selection.skipped.pop(offer.name, None)
        selection.lacking.pop(offer.name, None)
        self.store(trial, contender, time.perf_counter() - began)

    def store(self, trial: Trial, contender: Contender, seconds: float) -> None:
        """Keep a trial of a candidate, in the place of an earlier one."""
        selection = self.selection
        selection.seconds[trial.name] = seconds / selection.plan.n_fits(contender)
        selection.contenders[trial.name] = contender
        selection.trials = [*(other for other in selection.trials if other.name != trial.name), trial]

    def remembers(self) -> bool:
        """Return whether predictions of the inner models are kept for a stack: not if they are too large."""
        n_numbers = len(self.selection.plan.outer) * len(self.dataset) * max(1, len(self.dataset.classes))
        return n_numbers <= _MOST_REMEMBERED

    def _tell_need(self, offer: Candidate, contender: Contender) -> str:
        """Return how long a candidate without a turn would take, from a fit to few rows; empty if that is not known."""
        assert self.clock.budget is not None
        self.selection.lacking[offer.name] = float("nan")
        if self.spent_late > _LAST_SHARE * self.clock.budget:
            return ""
        began = time.perf_counter()
        limited = limit_time(contender, _LAST_SHARE * self.clock.budget)
        try:
            needed, self.alone[offer.name] = predict_seconds(limited, self.selection.plan, self.threads, [_LAST_PROBE])
        except Exception:  # what is wrong will be found when there is time for it
            return ""
        finally:
            self.spent_late += time.perf_counter() - began
        self.selection.lacking[offer.name] = needed
        return f"; it would take about {spell_duration(needed)}, or more"

    def measure_left(self) -> float:
        """Return the seconds left for choosing a model; some until one was tried beside the constant guess."""
        left = self.clock.measure_left() - self._find_reserve()
        if len(self.selection.trials) > 1 or self.clock.budget is None or len(self.predicted) >= _FIRST_TRIES:
            return left
        return max(left, _FIRST_SHARE * self.clock.budget)

    def _find_reserve(self) -> float:
        """Return the seconds that are kept for the final fit and for describing the model."""
        assert self.clock.budget is not None
        best = max(self.selection.trials, key=lambda trial: float(trial.scores.mean()))
        if len(self.selection.trials) == 1:
            # A description of the constant guess is worth less than a trial of a model.
            return _LEAST_RESERVE * self.clock.budget
        if self.many:
            return measure_reserve(self.clock) + 2 * self.selection.seconds[best.name]
        least = max(_LEAST_RESERVE * self.clock.budget, _LEAST_SECONDS)
        n_fits = _FITS_AFTER + (_FITS_OF_QUESTION if self.clock.asks else 0)
        return min(least + n_fits * self.selection.seconds[best.name], _MOST_RESERVE * self.clock.budget)


def measure_reserve(clock: Clock) -> float:
    """Return the seconds of a budget that are kept on many rows: for the report, and for a fit to further rows."""
    assert clock.budget is not None
    parts = min(max(PARTS_SHARE * clock.budget, _LEAST_SECONDS), _MOST_RESERVE * clock.budget)
    return parts + (FIT_SHARE * clock.budget if clock.n_more_rows else 0.0)


def _describe_failure(wrong: Exception) -> str:
    """Return the first line of an error, with its kind if it is none of mercer's own sentences."""
    line = str(wrong).splitlines()[0][:300] if str(wrong) else "no further words"
    return line if isinstance(wrong, MercerError) else f"{type(wrong).__name__}: {line}"


def limit_time(contender: Contender, seconds: float) -> Contender:
    """Return the contender with a time limit inside its fits: the deadline is checked only between fits."""
    names = [name for name in contender.estimator.get_params() if name.endswith("__max_time")]
    limits = dict.fromkeys((name for name in names if name.startswith("model__")), max(seconds, 0.1))
    return replace(contender, estimator=clone(contender.estimator).set_params(**limits))
