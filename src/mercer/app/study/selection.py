"""Choosing among candidates under a budget, simple ones first."""

import time
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.base import clone
from sklearn.metrics import get_scorer

from mercer._base.candidate import Candidate
from mercer._source.threads import n_threads
from mercer.app.options import Options
from mercer.app.study.clock import Clock
from mercer.app.study.material import Material
from mercer.app.study.metrics import Metric, find_metric
from mercer.app.study.recipe import contender_of, encoder_for, shape_of
from mercer.errors import DataError, ParameterError
from mercer.model_selection import Contender, NestedResult, Trial, candidates
from mercer.model_selection.trials import OutOfTimeError, Plan, Rows, conclude, make_plan

__all__ = ["Selection", "keep_winner", "select"]

# Rows of the two fits that a candidate's time is foretold from.
_PROBES = (500, 2000)


@dataclass
class Selection:
    """What was tried and what came of it."""

    plan: Plan
    metric: Metric
    offers: list[Candidate]
    contenders: dict[str, Contender] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    result: NestedResult | None = None
    seconds: dict[str, float] = field(default_factory=dict)  # by the clock, for one fit of each candidate

    calibrated: bool = False

    def threads(self, n_jobs: int | None) -> int:
        """Threads over fits of the winner: scikit-learn's calibration sets warning filters, which all threads share."""
        return 1 if self.calibrated else n_threads(n_jobs)

    @property
    def winner(self) -> Trial:
        """The trial of the candidate that was chosen."""
        return self.result.trial(self.result.winner)


def select(material: Material, options: Options, clock: Clock) -> Selection:
    """Try the candidates one after the other, and choose the simplest that is as good as any."""
    metric = find_metric(options.metric, material.task)
    rows = Rows(material.X, material.y, material.weight, get_scorer(metric.scorer))
    plan = make_plan(
        rows, material.splitting(), outer=options.folds, inner=options.inner, repeats=options.repeats, seed=options.seed
    )
    offers = _offers(material.task, options.candidates)
    found = Selection(plan, metric, offers)
    n_columns = _count_columns(material)
    threads = n_threads(options.n_jobs)
    for number, offer in enumerate(offers):
        share = 0.05 + 0.55 * number / len(offers)
        try:
            _try_one(found, offer, material, options, clock, n_columns, threads, share)
        except KeyboardInterrupt:
            if not found.trials:
                raise
            clock.interrupted = True
            for one in offers[number:]:
                found.skipped[one.name] = "interrupted"
            break
    if not found.trials:
        name, text = next(iter(found.failed.items()))
        message = f"no candidate could be fitted; the first, {name}, said: {text}"
        raise DataError(message)
    found.result = conclude(plan, found.trials, level=options.level)
    return found


def keep_winner(found: Selection) -> None:
    """Forget the models of all candidates but the chosen one."""
    slim = [one if one.name == found.result.winner else replace(one, models=[]) for one in found.trials]
    found.trials = slim
    found.result = replace(found.result, trials=slim)


def _try_one(
    found: Selection,
    offer: Candidate,
    material: Material,
    options: Options,
    clock: Clock,
    n_columns: int,
    threads: int,
    share: float,
) -> None:
    reason = offer.unfit(shape_of(material, n_columns, options.seed))
    if reason:
        found.skipped[offer.name] = reason
        return
    balanced = found.metric.scorer == "balanced_accuracy"
    contender = contender_of(offer, material, n_columns, options.seed, balanced)
    limit = clock.choosing_left() if found.trials else float("inf")
    clock.tell(offer.name, share)
    try:
        if np.isfinite(limit):
            needed = _foretell(contender, found.plan, threads)
            if needed > limit:
                found.skipped[offer.name] = f"would take about {needed:.0f} s, and {max(limit, 0):.0f} s were left"
                return
        deadline = None if not found.trials or clock.budget is None else clock.deadline(0.75)
        began = time.perf_counter()
        limited = contender if deadline is None else _limited(contender, deadline - time.monotonic())
        trial = found.plan.run(limited, threads=threads, deadline=deadline, keep=True)
    except OutOfTimeError:
        found.skipped[offer.name] = "not done when the time was over"
        return
    except Exception as wrong:
        if options.debug:
            raise
        found.failed[offer.name] = str(wrong).splitlines()[0]
        return
    found.seconds[offer.name] = (time.perf_counter() - began) / found.plan.n_fits(contender)
    found.contenders[offer.name] = contender
    found.trials.append(trial)


def _limited(contender: Contender, seconds: float) -> Contender:
    """The contender with fits that end by themselves when the time is over: the clock is read only between fits."""
    names = [name for name in contender.estimator.get_params() if name.endswith("__max_time")]
    limits = dict.fromkeys((name for name in names if name.startswith("model__")), max(seconds, 0.1))
    return replace(contender, estimator=clone(contender.estimator).set_params(**limits))


def _offers(task: str, wanted: list[str] | None) -> list[Candidate]:
    offers = candidates(task)
    if wanted is None:
        return offers
    known = {one.name for one in offers}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        message = f"candidates: must be among {', '.join(sorted(known))}; got {unknown[0]!r}."
        raise ParameterError(message)
    # The constant guess stays: every score is read beside it.
    return [one for one in offers if one.rank == 0 or one.name in wanted]


def _count_columns(material: Material) -> int:
    """How many columns of numbers the table becomes."""
    head = material.take(np.arange(min(len(material), 2000)))
    return int(encoder_for(head).fit_transform(head.X, head.y).shape[1])


def _foretell(contender: Contender, plan: Plan, threads: int) -> float:
    """Seconds that a trial will take, from fits to two samples of the first training part."""
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
