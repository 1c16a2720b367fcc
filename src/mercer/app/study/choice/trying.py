"""Try candidates one by one within a budget, simple ones first, and choose among them."""

import numpy as np

from mercer._base.candidate import Candidate
from mercer._source.threads import n_threads
from mercer.app.options import Options
from mercer.app.study.choice.constraints import find_unable
from mercer.app.study.choice.durations import forecast_study, spell_forecast
from mercer.app.study.choice.racing import race
from mercer.app.study.choice.selection import Selection, open_selection
from mercer.app.study.choice.stacking import NAME as STACKED
from mercer.app.study.choice.stacking import fit_folds
from mercer.app.study.choice.turns import ENSEMBLES, Turn, find_turn
from mercer.app.study.choice.verdict import add_stack, choose
from mercer.app.study.clock import Clock
from mercer.app.study.material import Material
from mercer.app.study.recipe import describe_shape, make_encoder


def select(material: Material, options: Options, clock: Clock) -> Selection:
    """Try the candidates one by one, and choose among them."""
    selection = open_selection(material, options)
    try_candidates(selection, material, options, clock)
    return selection


def try_candidates(selection: Selection, material: Material, options: Options, clock: Clock) -> None:
    """Try the candidates one by one, and choose among those that could be fitted, if there are any.

    Quick ones come first, then trees and ensembles, then the others; if time is limited, the quickest of each first,
    and candidates of quick families that are slow on this table come last.
    A candidate for which there is no time gets another turn at the end, with one setting, if time is left over.
    """
    n_columns = _count_columns(material)
    trying = Turn(selection, material, options, clock, n_columns, n_threads(options.n_jobs))
    try:
        shape = describe_shape(material, n_columns, options.seed)
        selection.skipped |= find_unable(selection.offers, shape, material)
        able = [offer for offer in selection.offers if offer.name not in selection.skipped]
        selection.skipped |= race(able, material, selection.metric, options, clock, n_columns)
        order = sorted(selection.offers, key=find_turn)
        order = [offer for offer in order if offer.name not in selection.skipped]
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
            add_stack(selection, material, options, clock)
        choose(selection, material, options)
        if selection.conclusion is not None and selection.conclusion.winner == STACKED and selection.stack is not None:
            clock.tell(STACKED, 0.59)
            fit_folds(selection, selection.stack, material, options)


def _forecast(trying: Turn, offers: list[Candidate]) -> None:
    """Tell how long a study without a budget will take, from a short fit of each candidate."""
    # A fit is one of 20 to 60 in the trial of a candidate, so that the forecast takes a small part of the time.
    seconds = {offer.name: trying.forecast(offer) for offer in offers if offer.rank > 0}
    known = {name: value for name, value in seconds.items() if value is not None}
    if known:
        trying.clock.announce(spell_forecast(known), forecast_study(known))


def _count_columns(material: Material) -> int:
    """Return how many numeric columns the encoded table has."""
    head = material.take(np.arange(min(len(material), 2000)))
    return int(make_encoder(head).fit_transform(head.X, head.y).shape[1])
