"""The solver of a search: tries settings in rounds and chains, several fits at a time, with a step for each."""

import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import FitFailedWarning

from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._source.threads import run_numbered
from mercer.errors import DataError
from mercer.model_selection._searching.judge import Judge, Setting, key_of
from mercer.model_selection._searching.records import FitScores, Log, Trials

# A fit with early_stopping="auto" stops early if it has more rows.
_EARLY_ROWS = 10_000


@dataclass(frozen=True)
class Chain:
    """Settings, by their numbers; each goes on from the fit of the one before, and a chain may have one member."""

    members: tuple[int, ...]
    # The parameter that changes along the chain, without the name of the pipeline's step; None in chains of one.
    parameter: str | None = None


def arrange(judge: Judge, settings: Sequence[Setting]) -> list[Chain]:
    """Return chains that hold every setting once; those that share the first steps of a pipeline are neighbours."""
    groups: dict[Any, list[int]] = {}
    for number, setting in enumerate(settings):
        groups.setdefault(key_of(judge.split_setting(setting)[0]), []).append(number)
    chains = []
    for members in groups.values():
        first, _ = judge.split_setting(settings[members[0]])
        own = {number: judge.split_setting(settings[number])[1] for number in members}
        model = _find_model(judge, first)
        chains += _link(_find_growth(model, own, judge.n_rows), own)
    return chains


def _find_model(judge: Judge, first: Setting) -> Any:
    """Return what the settings of a group are set on: the estimator, or the last step of a pipeline."""
    if judge.last is None:
        return judge.estimator
    # A setting may put another estimator in the place of the last step.
    return first.get(judge.last, judge.estimator.steps[-1][1])


def _find_growth(model: Any, settings: dict[int, Setting], n_rows: int) -> dict[str, int]:
    """Return the parameters along which the model grows: 1 upwards, -1 downwards."""
    grows: dict[str, int] = getattr(type(model), "_grows_with", {})
    seed = getattr(model, "random_state", None)
    # A generator moves on with each fit: a longer fit would not begin as the shorter one did.
    fixed = seed is None or isinstance(seed, int | np.integer)
    if not fixed or not hasattr(model, "warm_start"):
        return {}
    return {} if any(_may_stop_early(model, setting, n_rows) for setting in settings.values()) else grows


def _may_stop_early(model: Any, setting: Setting, n_rows: int) -> bool:
    """Return whether a fit may end before the rounds that it is given."""
    early = setting.get("early_stopping", getattr(model, "early_stopping", None))
    if early is None:
        return setting.get("n_iter_no_change", getattr(model, "n_iter_no_change", None)) is not None
    return n_rows > _EARLY_ROWS if isinstance(early, str) else bool(early)


def _link(grows: dict[str, int], settings: dict[int, Setting]) -> list[Chain]:
    """Return the chains of some settings of one model."""
    singles = [Chain((number,)) for number in settings]
    for parameter, direction in grows.items():
        if len(settings) < 2 or not all(_can_grow(setting, parameter) for setting in settings.values()):
            continue
        groups: dict[Any, list[int]] = {}
        for number, setting in settings.items():
            rest = {name: value for name, value in setting.items() if name != parameter}
            groups.setdefault(key_of(rest), []).append(number)
        return [_order_chain(members, settings, parameter, direction) for members in groups.values()]
    return singles


def _order_chain(members: list[int], settings: dict[int, Setting], parameter: str, direction: int) -> Chain:
    """Return settings in the order in which a fit grows."""
    ordered = sorted(members, key=lambda number: direction * settings[number][parameter])
    return Chain(tuple(ordered), parameter if len(ordered) > 1 else None)


def _can_grow(setting: Setting, parameter: str) -> bool:
    """Return whether a setting has a number for the parameter, and leaves alone what would make a fit start anew."""
    value = setting.get(parameter)
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    return number and "warm_start" not in setting and not isinstance(setting.get("random_state"), np.random.RandomState)


NO_BOUND = Certificate.none("The settings that were tried are compared; others may be better.")
# Seconds that a batch of settings should take: much longer than to hand it to another thread, 0.1 ms, and short enough
# for progress and Ctrl-C.
_BATCH_SECONDS = 0.05
# Shorter fits than this run on one thread: handing them out between threads takes as long.
_SHORT_SECONDS = 2e-3
# Fits for each thread in a batch: the last of them leave threads idle.
_FITS_PER_THREAD = 4


@dataclass(frozen=True)
class Round:
    """Settings that are compared on the same splits; ``resource`` is what each may use, in searches that limit it."""

    settings: Sequence[Setting]
    judge: Judge
    resource: int | None = None


@dataclass(eq=False)
class _Pace:
    """How many settings are tried in one batch, by how many threads; neither changes a result."""

    threads: int
    n_splits: int
    size: int = 1
    alone: bool = False

    def learn(self, seconds: float, n_settings: int) -> None:
        """Take the seconds of a batch into account."""
        each = max(seconds / n_settings, 1e-6)
        self.alone = each / self.n_splits < _SHORT_SECONDS
        threads = 1 if self.alone else self.threads
        wanted = -(-_FITS_PER_THREAD * threads // self.n_splits) if threads > 1 else 1
        self.size = max(wanted, int(_BATCH_SECONDS / each), 1)


@dataclass(eq=False)
class Search:
    """Tries the settings of each round that ``plan(number, log)`` gives, until it gives none.

    The order of settings, and the fits that go on from each other, depend on the settings alone; so a search gives the
    same numbers for any number of threads, and where it is resumed.
    """

    plan: Callable[[int, Log], Round | None]
    threads: int
    n_splits: int
    error_score: Any
    train_scores: bool
    log: Log = field(init=False)

    def solve(self, state: Trials | None) -> Solver[Trials]:
        """Try what `state` has not tried yet."""
        log = self.log = Log(state, self.error_score, self.train_scores)
        log.resume_rounds(self.n_splits)
        # Rounds that were complete are planned again, since later ones depend on the settings that they keep.
        done, number, pace = log.count, 0, _Pace(self.threads, self.n_splits)
        while (current := self.plan(number, log)) is not None:
            if not current.settings or not self.n_splits:
                raise DataError(
                    "No fits were performed. Was the CV iterator empty? Were there no candidates? Give at least one "
                    "split and one setting."
                )
            first = sum(log.rounds[:number])
            if number == len(log.rounds):
                log.begin_round(current.settings, current.resource, self.n_splits)
            if done < first + len(current.settings):
                yield from self._run_round(current, first, max(0, done - first), pace)
            number += 1
        trials = log.state()
        return Solution(trials, True, NO_BOUND)

    def _run_round(self, current: Round, first: int, done: int, pace: _Pace) -> Generator[Any, Any, None]:
        """Try the settings of a round; the first `done` in order are known."""
        log, judge = self.log, current.judge
        judge.meet(current.settings)
        queue = [(chain, place) for chain in arrange(judge, current.settings) for place in range(len(chain.members))]
        models: dict[tuple[Chain, int], Any] = {}
        while done < len(queue):
            batch = queue[done : done + pace.size]
            begun = time.perf_counter()
            run = partial(self._run_batch, current, batch, models, 1 if pace.alone else self.threads)
            found = yield Dense(run, heavy=True)
            pace.learn(time.perf_counter() - begun, len(batch))
            for (chain, place), fits in zip(batch, found, strict=True):
                state = log.add(first + chain.members[place], fits)
                yield Step(log.best, state, NO_BOUND)
            done += len(batch)
        _report_failures(log.errors, self.error_score)

    def _run_batch(
        self, current: Round, batch: list[tuple[Chain, int]], models: dict[tuple[Chain, int], Any], threads: int
    ) -> list[list[FitScores]]:
        """Return the scores of each setting of a batch on every split."""
        # What goes on from each other is done in one piece: a part of a chain on one split.
        strands: dict[tuple[Chain, int], list[int]] = {}
        for number, (chain, _) in enumerate(batch):
            for split in range(self.n_splits):
                strands.setdefault((chain, split), []).append(number)
        keys = list(strands)
        fits: list[list[Any]] = [[None] * self.n_splits for _ in batch]

        def run_strand(place: int) -> None:
            chain, split = keys[place]
            model = models.pop((chain, split), None)
            for number in strands[keys[place]]:
                fits[number][split], model = _evaluate(current, chain, batch[number][1], split, model)
            if chain.parameter is not None and batch[strands[keys[place]][-1]][1] + 1 < len(chain.members):
                models[chain, split] = model

        if min(threads, len(keys)) == 1:
            # A fit that runs alone may use all threads itself.
            for place in range(len(keys)):
                run_strand(place)
        else:
            run_numbered(run_strand, len(keys), min(threads, len(keys)))
        return fits


def _evaluate(current: Round, chain: Chain, place: int, split: int, model: Any) -> tuple[FitScores, Any]:
    """Return the scores of a member of a chain on a split, and the model from which the next one goes on."""
    judge, setting = current.judge, current.settings[chain.members[place]]
    if chain.parameter is None:
        return judge.evaluate(setting, split)[0], None
    if model is None and place > 0:
        # A search that is resumed has no models: the fits before this one are done again.
        for earlier in range(place):
            model = _grow(current, chain, earlier, split, model)
    if model is None:
        return judge.evaluate(setting | _warm_start(judge), split)
    _set_growth(current, chain, place, model)
    return judge.evaluate(setting, split, model)


def _grow(current: Round, chain: Chain, place: int, split: int, model: Any) -> Any:
    """Return the model of a member of a chain, fitted without being scored; None where the fit fails."""
    judge, setting = current.judge, current.settings[chain.members[place]]
    if model is not None:
        _set_growth(current, chain, place, model)
    try:
        return judge.fit(setting if model is not None else setting | _warm_start(judge), split, model)[0]
    except Exception:
        if judge.scoring.error_score == "raise":
            raise
        return None


def _warm_start(judge: Judge) -> Setting:
    return {"warm_start" if judge.last is None else f"{judge.last}__warm_start": True}


def _set_growth(current: Round, chain: Chain, place: int, model: Any) -> None:
    """Set the parameter of a chain to its value at a place."""
    own = current.judge.split_setting(current.settings[chain.members[place]])[1]
    if chain.parameter is not None:
        model.set_params(**{chain.parameter: own[chain.parameter]})


def _report_failures(errors: list[str | None], error_score: Any) -> None:
    """Warn of fits that failed, and raise if all of them did."""
    failed = [error for error in errors if error is not None]
    if not failed:
        return
    listed = "\n".join(
        f"{'-' * 80}\n{number} fits failed with the following error:\n{error}"
        for error, number in Counter(failed).items()
    )
    details = f"Below are more details about the failures:\n{listed}"
    if len(failed) == len(errors):
        raise ValueError(
            f"\nAll the {len(errors)} fits failed.\nIt is very likely that your model is misconfigured.\nYou can try "
            f"to debug the error by setting error_score='raise'.\n\n{details}"
        )
    warnings.warn(
        f"\n{len(failed)} fits failed out of a total of {len(errors)}.\nThe score on these train-test partitions for "
        f"these parameters will be set to {error_score}.\nIf these failures are not expected, you can try to debug "
        f"them by setting error_score='raise'.\n\n{details}",
        FitFailedWarning,
        stacklevel=2,
    )
