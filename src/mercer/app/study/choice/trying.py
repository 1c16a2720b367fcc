"""Try candidates one by one within a budget, simple ones first, and choose among them."""

import time
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from mercer._base.candidate import Candidate
from mercer._source.threads import n_threads, run_numbered
from mercer.app.options import Options
from mercer.app.study.choice.constraints import find_unable
from mercer.app.study.choice.exploring import FIRST_SHARE, explore
from mercer.app.study.choice.schedule import ENSEMBLES, Schedule, find_turn, limit_time
from mercer.app.study.choice.selection import Selection, open_selection
from mercer.app.study.choice.splits import has_many_rows, make_scorer
from mercer.app.study.choice.stacking import NAME as STACKED
from mercer.app.study.choice.stacking import fit_folds
from mercer.app.study.choice.winner import add_stack, choose
from mercer.app.study.clock import Clock, forecast_study, spell_forecast
from mercer.app.study.dataset import Dataset, draw_rows
from mercer.app.study.metrics import Metric
from mercer.app.study.recipe import choose_costs, describe_shape, make_contender, make_encoder
from mercer.model_selection import score_interval
from mercer.model_selection.trials import Rows, check_deadline, fit_settings, split_rows


def select(dataset: Dataset, options: Options, clock: Clock) -> Selection:
    """Try the candidates one by one, and choose among them."""
    selection = open_selection(dataset, options)
    try_candidates(selection, dataset, options, clock)
    return selection


def try_candidates(selection: Selection, dataset: Dataset, options: Options, clock: Clock) -> None:
    """Try the candidates one by one, and choose among those that could be fitted, if there are any.

    Quick ones come first, then trees and ensembles, then the others; if time is limited, the quickest of each first,
    and candidates of quick families that are slow on this table come last.
    A candidate for which there is no time gets another turn at the end, with one setting, if time is left over.
    """
    n_columns = _count_columns(dataset)
    many = has_many_rows(dataset, options)
    trying = Schedule(selection, dataset, options, clock, n_columns, n_threads(options.n_jobs), many=many)
    try:
        shape = describe_shape(dataset, n_columns, options.seed)
        selection.skipped |= find_unable(selection.offers, shape, dataset)
        first = _begin(trying) if trying.many else None
        if first is not None:
            explore(trying, first, 0.05, FIRST_SHARE)
        able = [offer for offer in selection.offers if offer.name not in selection.skipped]
        selection.skipped |= race(able, dataset, selection.metric, options, clock, n_columns)
        order = sorted(selection.offers, key=find_turn)
        tried = {trial.name for trial in selection.trials}
        order = [offer for offer in order if offer.name not in selection.skipped and offer.name not in tried]
        quick = [offer for offer in order if find_turn(offer)[0] < ENSEMBLES]
        trees = [offer for offer in order if find_turn(offer)[0] == ENSEMBLES]
        if clock.budget is None and clock.watch is not None:
            _forecast(trying, order)
        others = order[len(quick) + len(trees) :]
        done = 0
        for part in (quick, trees, others):
            for offer in part if part is quick else sorted(part, key=trying.predict):
                if part is quick and trying.is_slow(offer):
                    others.append(offer)
                    continue
                trying.attempt(offer, 0.05 + 0.5 * done / len(order))
                done += 1
            if part is quick and first is not None:
                explore(trying, first, 0.05 + 0.5 * done / len(order))
        for offer in [offer for offer in order if offer.name in trying.late]:
            trying.attempt(offer, 0.58, single=True)
        if len(selection.trials) == 1:
            trying.attempt_quickest(order, 0.59)
    # What was finished before Ctrl-C is worth a report; without any trial there is nothing to report.
    except KeyboardInterrupt:
        if not selection.trials:
            raise
        clock.interrupted = True
        settled = {trial.name for trial in selection.trials} | set(selection.skipped) | set(selection.failed)
        selection.skipped |= {offer.name: "interrupted" for offer in selection.offers if offer.name not in settled}
    ranks = {offer.name: place for place, offer in enumerate(selection.offers)}
    selection.trials.sort(key=lambda trial: ranks[trial.name])
    if selection.trials:
        if options.candidates is None or STACKED in options.candidates:
            add_stack(selection, dataset, options, clock)
        choose(selection, dataset, options)
        if selection.conclusion is not None and selection.conclusion.winner == STACKED and selection.stack is not None:
            clock.tell(STACKED, 0.59)
            fit_folds(selection, selection.stack, dataset, options)


def count_affordable(selection: Selection, dataset: Dataset, options: Options, clock: Clock) -> int:
    """Return on how many rows candidates are compared, so that the one that leads on many rows has time for its trial.

    On fewer rows it is still better than others that could be tried on all of them. It is fitted to the others later.
    """
    leader = next((offer for offer in selection.offers if offer.draw is not None), None)
    n_rows = len(dataset)
    if leader is None or not has_many_rows(dataset, options) or n_rows <= _FEWEST_COMPARED:
        return n_rows
    assert clock.budget is not None
    trying = Schedule(selection, dataset, options, clock, _count_columns(dataset), n_threads(options.n_jobs), many=True)
    needed = trying.forecast_alone(leader)
    allowed = _LEADER_SHARE * clock.measure_left()
    if needed is None or needed <= allowed:
        return n_rows
    return max(_FEWEST_COMPARED, int(n_rows * max(allowed, 0.0) / needed))


def _begin(trying: Schedule) -> Candidate | None:
    """Try the constant guess and the candidate that leads on many rows, with one setting; return that candidate."""
    offers = [offer for offer in trying.selection.offers if offer.name not in trying.selection.skipped]
    first = next((offer for offer in offers if offer.draw is not None), None)
    if first is not None:
        trying.attempt(offers[0], 0.04)
        trying.attempt(first, 0.05, single=True)
    return first


def _forecast(trying: Schedule, offers: list[Candidate]) -> None:
    """Tell how long a study without a budget will take, from a short fit of each candidate."""
    # A fit is one of 20 to 60 in the trial of a candidate, so that the forecast takes a small part of the time.
    seconds = {offer.name: trying.forecast(offer) for offer in offers if offer.rank > 0}
    known = {name: value for name, value in seconds.items() if value is not None}
    if known:
        trying.clock.announce(spell_forecast(known), forecast_study(known))


def _count_columns(dataset: Dataset) -> int:
    """Return how many numeric columns the encoded table has."""
    head = dataset.take(np.arange(min(len(dataset), 2000)))
    return int(make_encoder(head).fit_transform(head.X, head.y).shape[1])


# Share of the time left that the trial of the candidate which leads on many rows may take, and the fewest rows on which
# candidates are compared so that it has time.
_LEADER_SHARE = 0.3
_FEWEST_COMPARED = 2500
# Rows of the first round, and the factor from one round to the next.
_FIRST = 1000
_GROWTH = 4
# A round is worth its time only if the whole comparison has at least this many times its rows.
_WORTH = 3
_FOLDS = 5
# Confidence with which a candidate must lag, and by which share of the leader's distance to guessing.
_LEVEL = 0.98
_SHARE = 0.1
# Share of the budget after which no further candidate begins, and that after which one under way is stopped: boosted
# trees of 17 classes took 25 of 15 s on 1000 rows.
_MOST_TIME = 0.2
_LAST_TIME = 0.25


def list_rounds(n_rows: int) -> list[int]:
    """Return the numbers of rows of the rounds; none for small tables."""
    sizes = []
    size = _FIRST
    while _WORTH * size <= n_rows:
        sizes.append(size)
        size *= _GROWTH
    return sizes


def race(
    offers: list[Candidate], dataset: Dataset, metric: Metric, options: Options, clock: Clock, n_columns: int
) -> dict[str, str]:
    """Return the candidates that drop out, with the reason."""
    dropped: dict[str, str] = {}
    for size in list_rounds(len(dataset)):
        scores: dict[str, np.ndarray] = {}
        late = False
        # In the order of their turns, ensembles come before slow candidates: a round that ends early has its leader.
        for offer in sorted(offers, key=find_turn):
            late = clock.budget is not None and clock.measure_spent() > _MOST_TIME * clock.budget
            if late:
                break
            shape = describe_shape(dataset, n_columns, options.seed)
            if offer.name not in dropped and not offer.unfit(shape):
                clock.tell(f"{offer.name}, on {size} rows", 0.04)
                left = clock.measure_left(_LAST_TIME)
                measured = _score(offer, dataset, size, metric, options, n_columns, left)
                if measured is not None:
                    scores[offer.name] = measured
        # The constant guess is the reference, and ensembles tend to gain from more rows than a round has.
        safe = [offer.name for offer in offers if offer.rank == 0 or offer.family == "ensembles"]
        for name in find_lagging(scores, offers[0].name, safe):
            sign = 1.0 if metric.greater_is_better else -1.0
            best = max(float(values.mean()) for values in scores.values())
            own = float(scores[name].mean())
            dropped[name] = f"dropped early: {sign * own:.3g} on {size} rows, where the best one has {sign * best:.3g}"
        if late:
            break
    return dropped


def find_lagging(scores: dict[str, np.ndarray], constant: str, safe: list[str]) -> list[str]:
    """Return the names of the candidates that lag too far behind the leader; those in `safe` never do."""
    if constant not in scores or len(scores) < 3:
        return []
    leader = max(scores.values(), key=lambda values: float(values.mean()))
    # The leader's lead over the constant guess is the scale: small absolute differences may be large for a hard target.
    least = _SHARE * float(leader.mean() - scores[constant].mean())
    lagging = []
    for name, values in scores.items():
        # A round's folds share training rows; test_share corrects the interval for that.
        lag = score_interval(leader - values, test_share=1 / (_FOLDS - 1), level=_LEVEL)
        if name not in safe and lag.low > 0 and lag.mean > max(least, 0.0):
            lagging.append(name)
    return lagging


def _score(
    offer: Candidate, dataset: Dataset, size: int, metric: Metric, options: Options, n_columns: int, left: float
) -> np.ndarray | None:
    """Return the scores of a candidate's best setting on each fold of some rows; None if it fails or has no time."""
    sample = draw_rows(dataset, size, options.seed)
    folds = split_rows(len(sample), sample.splitting(), _FOLDS, 1, options.seed)
    costs = choose_costs(sample, metric.scorer, options.threshold)
    contender = make_contender(offer, sample, n_columns, options.seed, costs)
    deadline = None
    if np.isfinite(left):
        contender, deadline = limit_time(contender, left), time.monotonic() + left
    rows = Rows(sample.X, sample.y, sample.weight, make_scorer(metric, sample.classes))
    space: Any = contender.space
    settings = [dict(setting) for setting in ParameterGrid(space)]
    results: list[Any] = []

    def score(fold: int) -> list[float]:
        judged = fit_settings(contender.estimator, settings, rows, *folds[fold], deadline=deadline)
        # Fits whose time limit ended them are no measure of the candidate.
        check_deadline(deadline)
        return [scored.test for scored in judged]

    try:
        run_numbered(score, len(folds), n_threads(options.n_jobs), results.append)
    except Exception:
        # The candidate stays in the race; if it fails on all rows too, the report says why.
        return None
    table = np.array(results)
    return table[:, int(table.mean(axis=0).argmax())]
