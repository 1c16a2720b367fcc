"""Choose among candidates within a budget, simple ones first."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.base import clone

from mercer._base.candidate import Candidate
from mercer._source.threads import n_threads
from mercer.app.options import Options
from mercer.app.study.choice.racing import race
from mercer.app.study.choice.splits import draw_plan
from mercer.app.study.clock import Clock
from mercer.app.study.material import Material
from mercer.app.study.metrics import Metric, find_metric
from mercer.app.study.recipe import choose_costs, describe_shape, make_balanced_costs, make_contender, make_encoder
from mercer.errors import MercerError, ParameterError
from mercer.model_selection import Contender, NestedResult, Trial, candidates
from mercer.model_selection.trials import OutOfTimeError, Plan, conclude

__all__ = ["Selection", "keep_winner", "measure_brier", "open_selection", "select", "try_candidates"]

# The turn of families that may be slow.
_SLOW = 3
# Share of the budget that is kept for what follows the choice, at least and at most, and fits of the model in it: the
# final fit, and the learning curve.
_LEAST_RESERVE = 0.1
# Seconds that the description of a model takes at least.
_LEAST_SECONDS = 2.0
_MOST_RESERVE = 0.4
_FITS_AFTER = 16
# Numbers of rows of the two fits from which the time of a trial is predicted.
_PROBES = (500, 2000)


@dataclass
class Selection:
    """The candidates that were tried, and their results."""

    plan: Plan
    metric: Metric
    offers: list[Candidate]
    contenders: dict[str, Contender] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    distrusted: list[str] = field(default_factory=list)  # candidates with worse probabilities than the constant guess
    conclusion: NestedResult | None = None
    seconds: dict[str, float] = field(default_factory=dict)  # wall time of one fit, by candidate
    calibrated: bool = False
    groups: np.ndarray | None = None  # rows of one group depend on each other
    timed: bool = False  # whether the splits go forward in time
    costs: np.ndarray | None = None  # by which classes are predicted from probabilities; None takes the most probable

    def threads(self, n_jobs: int | None) -> int:
        """Return the number of threads for fits of the winner.

        It is one after calibration: scikit-learn then sets warning filters, which all threads share.
        """
        return 1 if self.calibrated else n_threads(n_jobs)

    @property
    def result(self) -> NestedResult:
        """The choice among the trials, once all of them are done."""
        assert self.conclusion is not None
        return self.conclusion

    @property
    def winner(self) -> Trial:
        """The trial of the candidate that was chosen."""
        return self.result.trial(self.result.winner)


def open_selection(material: Material, options: Options) -> Selection:
    """Return the folds and the candidates of a comparison that has not begun."""
    metric = find_metric(options.metric, material.task)
    costs = choose_costs(material, metric.scorer, options.threshold)
    return Selection(
        draw_plan(material, metric, options),
        metric,
        _list_offers(material.task, options.candidates),
        groups=material.groups,
        timed=material.time is not None,
        costs=make_balanced_costs(material.y, material.classes) if isinstance(costs, str) else costs,
    )


def select(material: Material, options: Options, clock: Clock) -> Selection:
    """Try the candidates one by one, and choose among them."""
    selection = open_selection(material, options)
    try_candidates(selection, material, options, clock)
    return selection


def try_candidates(selection: Selection, material: Material, options: Options, clock: Clock) -> None:
    """Try the candidates one by one, and choose among those that could be fitted, if there are any.

    Quick ones come first, then ensembles, then the others; if time is limited, the quickest of these first. A candidate
    for which there is no time gets another turn at the end, with one setting, if time is left over.
    """
    n_columns = _count_columns(material)
    trying = _Turn(selection, material, options, clock, n_columns, n_threads(options.n_jobs))
    try:
        selection.skipped |= race(selection.offers, material, selection.metric, options, clock, n_columns)
        order = sorted(selection.offers, key=_find_turn)
        order = [offer for offer in order if offer.name not in selection.skipped]
        quick = [offer for offer in order if _find_turn(offer)[0] < _SLOW]
        for number, offer in enumerate(quick):
            trying.attempt(offer, 0.05 + 0.5 * number / len(order))
        slow = sorted(order[len(quick) :], key=trying.predict)
        for number, offer in enumerate(slow, start=len(quick)):
            trying.attempt(offer, 0.05 + 0.5 * number / len(order))
        for offer in [offer for offer in order if offer.name in trying.late]:
            trying.attempt(offer, 0.58, single=True)
    except KeyboardInterrupt:
        if not selection.trials:
            raise
        clock.interrupted = True
        settled = {trial.name for trial in selection.trials} | set(selection.skipped) | set(selection.failed)
        selection.skipped |= {offer.name: "interrupted" for offer in selection.offers if offer.name not in settled}
    ranks = {offer.name: place for place, offer in enumerate(selection.offers)}
    selection.trials.sort(key=lambda trial: ranks[trial.name])
    if selection.trials:
        _choose(selection, material, options)


def _find_turn(offer: Candidate) -> tuple[int, float]:
    """Return when a candidate has its turn: by family, then from simple to complex."""
    turns = {"baseline": 0, "linear models": 1, "discriminants": 1, "neighbours": 1, "naive Bayes": 1, "trees": 2}
    return turns.get(offer.family, 2 if offer.family == "ensembles" else _SLOW), offer.rank


def _choose(selection: Selection, material: Material, options: Options) -> None:
    """Choose among the trials by paired differences, without those whose probabilities are worse than a constant's."""
    trusted = selection.trials
    if material.classes:
        worst = measure_brier(selection.trials[0], material)
        selection.distrusted = [
            trial.name for trial in selection.trials[1:] if measure_brier(trial, material) > worst + 1e-12
        ]
        trusted = [trial for trial in selection.trials if trial.name not in selection.distrusted]
        if len(trusted) == 1:
            # Beside the constant nothing is left; calibration may still mend the probabilities of the best one.
            trusted = selection.trials
    result = conclude(selection.plan, trusted, rule="paired", level=options.level)
    selection.conclusion = replace(result, trials=selection.trials)


def measure_brier(trial: Trial, material: Material) -> float:
    """Return the Brier score of the predictions of unseen rows: the mean squared error of all class probabilities."""
    predictions = trial.predictions
    if predictions.ndim == 1:
        return 0.0
    seen = np.flatnonzero(~np.isnan(predictions[:, 0]))
    true = np.searchsorted(material.classes, material.y[seen])
    target = np.eye(len(material.classes))[true]
    weight = None if material.weight is None else material.weight[seen]
    return float(np.average(((predictions[seen] - target) ** 2).sum(axis=1), weights=weight))


def _describe_failure(wrong: Exception) -> str:
    """Return the first line of an error, with its kind if it is none of mercer's own sentences."""
    line = str(wrong).splitlines()[0][:300] if str(wrong) else "no further words"
    return line if isinstance(wrong, MercerError) else f"{type(wrong).__name__}: {line}"


def keep_winner(selection: Selection) -> None:
    """Drop the fitted models of all candidates except the chosen one, to free memory."""
    slim = [trial if trial.name == selection.result.winner else replace(trial, models=[]) for trial in selection.trials]
    selection.trials = slim
    selection.conclusion = replace(selection.result, trials=slim)


@dataclass
class _Turn:
    """Gives candidates their turn, and remembers those for which there was no time."""

    selection: Selection
    material: Material
    options: Options
    clock: Clock
    n_columns: int
    threads: int
    late: set[str] = field(default_factory=set)
    predicted: dict[str, tuple[float, float]] = field(default_factory=dict)  # seconds, with all settings and with one

    def attempt(self, offer: Candidate, share: float, single: bool = False) -> None:
        """Try one candidate and note its trial, or why there is none; with `single`, without a choice of settings."""
        selection = self.selection
        try:
            reason = offer.unfit(describe_shape(self.material, self.n_columns, self.options.seed))
            if reason:
                selection.skipped[offer.name] = reason
                return
            self.clock.tell(offer.name, share)
            n_trials = len(selection.trials)
            self._run(offer, single)
            if len(selection.trials) > n_trials:
                self._tell_result(share)
        except OutOfTimeError:
            selection.skipped[offer.name] = "not finished when the time was over"
        except Exception as wrong:
            if self.options.debug:
                raise
            selection.failed[offer.name] = _describe_failure(wrong)

    def predict(self, offer: Candidate) -> float:
        """Return the seconds that the trial of a candidate takes; without a budget, or without time, its rank."""
        shape = describe_shape(self.material, self.n_columns, self.options.seed)
        if self.clock.budget is None or not self.selection.trials or offer.unfit(shape) or self._measure_left() <= 0:
            return float(offer.rank)
        try:
            self.predicted[offer.name] = _predict_seconds(self._make(offer), self.selection.plan, self.threads)
        except Exception:  # the trial will say why
            return float("inf")
        return self.predicted[offer.name][0]

    def _make(self, offer: Candidate) -> Contender:
        """Return the candidate as a pipeline."""
        costs = choose_costs(self.material, self.selection.metric.scorer, self.options.threshold)
        return make_contender(offer, self.material, self.n_columns, self.options.seed, costs)

    def _tell_result(self, share: float) -> None:
        """Tell the watcher the score of the last trial."""
        scores = [float(trial.scores.mean()) for trial in self.selection.trials]
        sign = 1.0 if self.selection.metric.greater_is_better else -1.0
        name = self.selection.trials[-1].name
        self.clock.tell(name, share, (name, sign * scores[-1], scores[-1] == max(scores)))

    def _run(self, offer: Candidate, single: bool) -> None:
        """Run the trial of a candidate if there is time for it."""
        selection, clock = self.selection, self.clock
        contender = self._make(offer)
        deadline = None
        if selection.trials and clock.budget is not None:
            left = self._measure_left()
            if offer.name not in self.predicted:
                if left <= 0:
                    selection.skipped[offer.name] = "no time was left for it"
                    return
                self.predicted[offer.name] = _predict_seconds(contender, selection.plan, self.threads)
            needed, alone = self.predicted[offer.name]
            left = self._measure_left()
            if single or (needed > left >= alone):
                contender, needed = replace(contender, space={}), alone
            if needed > left:
                self.late.add(offer.name)
                reason = f"would take about {needed:.2g} s, but only {max(left, 0):.2g} s were left"
                selection.skipped[offer.name] = reason
                return
            # A trial may take half of what is kept for the rest of the study.
            deadline = time.monotonic() + left + 0.5 * self._find_reserve()
        began = time.perf_counter()
        # The models of the rest of the study have no time limit inside their fits.
        limited = contender if deadline is None else _limit_time(contender, deadline - time.monotonic())
        trial = selection.plan.run(limited, threads=self.threads, deadline=deadline, keep=True)
        selection.skipped.pop(offer.name, None)
        selection.seconds[offer.name] = (time.perf_counter() - began) / selection.plan.n_fits(contender)
        selection.contenders[offer.name] = contender
        selection.trials.append(trial)

    def _measure_left(self) -> float:
        """Return the seconds left for choosing a model."""
        return self.clock.measure_left() - self._find_reserve()

    def _find_reserve(self) -> float:
        """Return the seconds that are kept for the final fit and for describing the model."""
        assert self.clock.budget is not None
        best = max(self.selection.trials, key=lambda trial: float(trial.scores.mean()))
        least = max(_LEAST_RESERVE * self.clock.budget, _LEAST_SECONDS)
        return min(least + _FITS_AFTER * self.selection.seconds[best.name], _MOST_RESERVE * self.clock.budget)


def _limit_time(contender: Contender, seconds: float) -> Contender:
    """Return the contender with a time limit inside its fits: the deadline is checked only between fits."""
    names = [name for name in contender.estimator.get_params() if name.endswith("__max_time")]
    limits = dict.fromkeys((name for name in names if name.startswith("model__")), max(seconds, 0.1))
    return replace(contender, estimator=clone(contender.estimator).set_params(**limits))


def _list_offers(task: str, wanted: Sequence[str] | None) -> list[Candidate]:
    """Return the candidates for `task`, or those of them that are `wanted`."""
    offers = candidates(task)
    if wanted is None:
        return offers
    known = {offer.name for offer in offers}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        message = f"candidates: must be among {', '.join(sorted(known))}; got {unknown[0]!r}."
        raise ParameterError(message)
    # The constant guess always takes part: every score is compared with it.
    return [offer for offer in offers if offer.rank == 0 or offer.name in wanted]


def _count_columns(material: Material) -> int:
    """Return how many numeric columns the encoded table has."""
    head = material.take(np.arange(min(len(material), 2000)))
    return int(make_encoder(head).fit_transform(head.X, head.y).shape[1])


def _predict_seconds(contender: Contender, plan: Plan, threads: int) -> tuple[float, float]:
    """Predict the seconds of a trial, and of one with a single setting, from fits to samples of a training part.

    The steps before the model are fitted once for all settings of a split.
    """
    train = plan.outer[0][0]
    sizes = sorted({min(len(train), size) for size in _PROBES})
    seconds = []
    for size in sizes:
        rows = train[np.linspace(0, len(train) - 1, size).astype(int)]
        estimator = clone(contender.estimator)
        began = time.perf_counter()
        numbers = estimator[:-1].fit_transform(plan.rows.X.iloc[rows], plan.rows.y[rows])
        between = time.perf_counter()
        estimator[-1].fit(numbers, plan.rows.y[rows])
        seconds.append((between - began, time.perf_counter() - between))
    once = []
    for first, last in zip(seconds[0], seconds[-1]):
        slope = 1.0
        if len(sizes) > 1:
            ratio = max(last, 1e-9) / max(first, 1e-9)
            slope = float(np.clip(np.log(ratio) / np.log(sizes[-1] / sizes[0]), 0.3, 3.0))
        once.append(last * (len(train) / sizes[-1]) ** slope)
    encoding, fitting = once
    n_splits = sum(len(splits) for splits in plan.inner) + len(plan.outer)
    speed = max(1.0, 0.7 * threads)
    return (
        (encoding * n_splits + fitting * plan.n_fits(contender)) / speed,
        (encoding + fitting) * n_splits / speed,
    )
