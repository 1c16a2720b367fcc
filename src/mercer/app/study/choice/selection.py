"""Choose among candidates within a budget, simple ones first."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.base import clone

from mercer._base.candidate import Candidate
from mercer._source.threads import n_threads
from mercer.app.options import Options
from mercer.app.study.choice.splits import draw_plan
from mercer.app.study.clock import Clock
from mercer.app.study.material import Material
from mercer.app.study.metrics import Metric, find_metric
from mercer.app.study.recipe import choose_costs, describe_shape, make_contender, make_encoder
from mercer.errors import MercerError, ParameterError
from mercer.model_selection import Contender, NestedResult, Trial, candidates
from mercer.model_selection.trials import OutOfTimeError, Plan, conclude

__all__ = ["Selection", "keep_winner", "open_selection", "select", "try_candidates"]

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
    conclusion: NestedResult | None = None
    seconds: dict[str, float] = field(default_factory=dict)  # wall time of one fit, by candidate
    calibrated: bool = False

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
    return Selection(draw_plan(material, metric, options), metric, _list_offers(material.task, options.candidates))


def select(material: Material, options: Options, clock: Clock) -> Selection:
    """Try the candidates one by one, and choose among them."""
    selection = open_selection(material, options)
    try_candidates(selection, material, options, clock)
    return selection


def try_candidates(selection: Selection, material: Material, options: Options, clock: Clock) -> None:
    """Try the candidates one by one, and choose among those that could be fitted, if there are any."""
    n_columns = _count_columns(material)
    threads = n_threads(options.n_jobs)
    offers = selection.offers
    for number, offer in enumerate(offers):
        share = 0.05 + 0.55 * number / len(offers)
        try:
            _try_one(selection, offer, material, options, clock, n_columns, threads, share)
        except KeyboardInterrupt:
            if not selection.trials:
                raise
            clock.interrupted = True
            for left in offers[number:]:
                selection.skipped[left.name] = "interrupted"
            break
        except Exception as wrong:
            if options.debug:
                raise
            selection.failed[offer.name] = _describe_failure(wrong)
    if selection.trials:
        selection.conclusion = conclude(selection.plan, selection.trials, level=options.level)


def _describe_failure(wrong: Exception) -> str:
    """Return the first line of an error, with its kind if it is none of mercer's own sentences."""
    line = str(wrong).splitlines()[0][:300] if str(wrong) else "no further words"
    return line if isinstance(wrong, MercerError) else f"{type(wrong).__name__}: {line}"


def keep_winner(selection: Selection) -> None:
    """Drop the fitted models of all candidates except the chosen one, to free memory."""
    slim = [trial if trial.name == selection.result.winner else replace(trial, models=[]) for trial in selection.trials]
    selection.trials = slim
    selection.conclusion = replace(selection.result, trials=slim)


def _try_one(
    selection: Selection,
    offer: Candidate,
    material: Material,
    options: Options,
    clock: Clock,
    n_columns: int,
    threads: int,
    share: float,
) -> None:
    """Try one candidate and note its trial, or why there is none."""
    reason = offer.unfit(describe_shape(material, n_columns, options.seed))
    if reason:
        selection.skipped[offer.name] = reason
        return
    costs = choose_costs(material, selection.metric.scorer, options.threshold)
    contender = make_contender(offer, material, n_columns, options.seed, costs)
    limit = clock.measure_choosing_left() if selection.trials else float("inf")
    clock.tell(offer.name, share)
    try:
        if np.isfinite(limit):
            needed = _predict_seconds(contender, selection.plan, threads)
            if needed > limit:
                selection.skipped[offer.name] = (
                    f"would take about {needed:.0f} s, but only {max(limit, 0):.0f} s were left"
                )
                return
        deadline = None if not selection.trials or clock.budget is None else clock.find_deadline(0.75)
        began = time.perf_counter()
        limited = contender if deadline is None else _limit_time(contender, deadline - time.monotonic())
        trial = selection.plan.run(limited, threads=threads, deadline=deadline, keep=True)
    except OutOfTimeError:
        selection.skipped[offer.name] = "not finished when the time was over"
        return
    selection.seconds[offer.name] = (time.perf_counter() - began) / selection.plan.n_fits(contender)
    selection.contenders[offer.name] = contender
    selection.trials.append(trial)


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


def _predict_seconds(contender: Contender, plan: Plan, threads: int) -> float:
    """Predict the seconds of a trial from fits to two samples of the first training part."""
    train = plan.outer[0][0]
    sizes = [min(len(train), size) for size in _PROBES]
    seconds = []
    for size in sizes:
        rows = train[np.linspace(0, len(train) - 1, size).astype(int)]
        began = time.perf_counter()
        clone(contender.estimator).fit(plan.rows.X.iloc[rows], plan.rows.y[rows])
        seconds.append(time.perf_counter() - began)
    slope = 1.0
    if sizes[1] > sizes[0]:
        slope = float(np.clip(np.log(seconds[1] / seconds[0]) / np.log(sizes[1] / sizes[0]), 0.3, 3.0))
    once = seconds[1] * (len(train) / sizes[1]) ** slope
    return once * plan.n_fits(contender) / max(1.0, 0.7 * threads)
