"""Search more settings of a candidate on many rows while there is time, by successive halving."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._base.candidate import Candidate
from mercer._source.threads import run_numbered
from mercer.app.study.choice.schedule import Schedule, limit_time
from mercer.model_selection import Trial
from mercer.model_selection.trials import OutOfTimeError, fit_settings, halve_settings, list_sizes

# Settings that are drawn in one round, at least and at most.
_FEWEST_DRAWN = 4
_MOST_DRAWN = 40
# Settings that a round returns, which are compared in all splits with the best one so far, and splits that halve them.
_N_KEPT = 1
_N_SPLITS = 2
# Drawn settings that are fitted before the first round, to forecast its time, and test rows on which they are scored.
_N_TIMED = 3
_TIMED_ROWS = 1000
# Share of the time left that a round may take, so that a wrong forecast leaves time for other candidates.
_ROUND_SHARE = 0.8
# The search ends after rounds that have not improved the score, and after `_MOST_ROUNDS` in any case.
_PATIENCE = 2
_MOST_ROUNDS = 8
# Share of the time left that the search may take before other candidates have their turn.
FIRST_SHARE = 0.5


def explore(trying: Schedule, offer: Candidate, share: float, part: float = 1.0) -> None:
    """Search settings of a candidate that was tried, and keep its best ones in its trial.

    Each round draws settings at random, halves them on growing samples, and compares the best on all rows of the plan
    with the best one so far. The number of settings follows from the `part` of the time left that the search may take.
    """
    # A later search draws other settings.
    random = np.random.default_rng([trying.options.seed, 38, trying.n_rounds])
    idle, kept = 0, (1 - part) * trying.measure_left()
    while trying.n_rounds < _MOST_ROUNDS:
        tried = next((trial for trial in trying.selection.trials if trial.name == offer.name), None)
        left = trying.measure_left() - kept
        if tried is None or idle >= _PATIENCE or not 0 < left < np.inf:
            return
        try:
            if trying.pace is None:
                trying.pace = _measure_pace(trying, offer, random, time.monotonic() + left)
                left = trying.measure_left() - kept
            n_drawn = trying.pace.afford(len(trying.selection.plan.outer), _ROUND_SHARE * left)
            if n_drawn < _FEWEST_DRAWN:
                return
            trying.clock.tell(f"{offer.name}, {n_drawn} more settings", share)
            # The first round tries the candidate's own settings too.
            own = trying.list_grids(offer) if trying.n_rounds == 0 else []
            trial = _search(trying, offer, tried, random, n_drawn, own, time.monotonic() + left)
        except OutOfTimeError:
            return
        trying.n_rounds += 1
        idle = 0 if _measure_inside(trial) > _measure_inside(tried) else idle + 1


@dataclass(frozen=True)
class _Pace:
    """Wall seconds of a fit of a drawn setting on the rows of each round of halving, and on all inner training rows."""

    rounds: list[float]
    whole: float

    def afford(self, n_splits: int, seconds: float) -> int:
        """Return how many settings can be searched in some seconds."""
        # The finalists and the best setting so far are fitted to all inner training rows, and the choice to the outer.
        last = (_N_KEPT + 2) * self.whole
        # Each round has a third of the settings of the one before it.
        each = sum(fit / 3**place for place, fit in enumerate(self.rounds))
        return int(np.clip((seconds - n_splits * last) / max(_N_SPLITS * each, 1e-9), 0, _MOST_DRAWN))


def _measure_pace(trying: Schedule, offer: Candidate, random: np.random.Generator, deadline: float) -> _Pace:
    """Time drawn settings on the rows of the rounds; a line through two sizes gives the time on all rows."""
    assert offer.draw is not None
    drawn = [{name: [value] for name, value in offer.draw(random).items()} for _ in range(_N_TIMED)]
    contender, plan = trying.make(offer, drawn), trying.selection.plan
    settings = plan.list_settings(contender)[-_N_TIMED:]
    train, test = plan.inner[0][0]
    order = random.permutation(train)
    sizes = list_sizes(len(train))
    seconds = []
    for size in sizes:
        rows = np.sort(order[:size])

        def fit(place: int, rows: np.ndarray = rows) -> Any:
            tried = [settings[place]]
            return fit_settings(contender.estimator, tried, plan.rows, rows, test[:_TIMED_ROWS], deadline=deadline)

        began = time.perf_counter()
        run_numbered(fit, len(settings), trying.threads, lambda verdicts: None)
        seconds.append((time.perf_counter() - began) / len(settings))
    per_row = seconds[0] / sizes[0]
    if len(sizes) > 1:
        per_row = max(seconds[-1] - seconds[0], 0.1 * seconds[-1]) / (sizes[-1] - sizes[0])
    return _Pace(seconds, seconds[-1] + per_row * (len(train) - sizes[-1]))


def _search(
    trying: Schedule,
    offer: Candidate,
    tried: Trial,
    random: np.random.Generator,
    n_drawn: int,
    own: list[dict[str, list[Any]]],
    deadline: float,
) -> Trial:
    """Return the trial of the candidate with the finalists of one round, which takes the place of the earlier one."""
    selection, dataset = trying.selection, trying.dataset
    assert offer.draw is not None
    drawn = [{name: [value] for name, value in offer.draw(random).items()} for _ in range(n_drawn)]
    contender = trying.make(offer, drawn)
    settings = selection.plan.list_settings(contender)
    # Of settings with and without a logarithm of the target, as many are tried as were drawn.
    settings = [settings[place] for place in sorted(random.permutation(len(settings))[:n_drawn])]
    if own:
        settings = [*selection.plan.list_settings(trying.make(offer, own)), *settings]
    finalists = halve_settings(
        selection.plan,
        limit_time(contender, deadline - time.monotonic()),
        settings,
        n_kept=_N_KEPT,
        n_splits=_N_SPLITS,
        forward=dataset.time is not None,
        threads=trying.threads,
        deadline=deadline,
        seed=trying.options.seed,
    )
    best = [tried.best_setting, *finalists]
    space: Any = [{name: [value] for name, value in setting.items()} for setting in best]
    rival, began = replace(contender, space=space), time.perf_counter()
    limited = limit_time(rival, deadline - time.monotonic())
    trial = selection.plan.run(
        limited, threads=trying.threads, deadline=deadline, keep=True, remember=trying.remembers()
    )
    trying.store(trial, rival, time.perf_counter() - began)
    return trial


def _measure_inside(trial: Trial) -> float:
    """Return the best mean inner score of the settings of a trial."""
    return float(trial.inner_scores.mean(axis=(0, 2)).max())
