"""Measure how soon fits notice Ctrl-C: ``python -m tools.fuzzing latency --classes KMeans SVC``.

Each setting is fitted on one thread to more and more rows, until a fit takes a second of processor time. A timer of the
process's own time sends a signal every 5 ms. The interpreter handles it as soon as it is in control, so the longest
time between two handled signals is the longest that Ctrl-C can wait. Processor time does not depend on what else the
machine does. After some seconds the handler raises KeyboardInterrupt, and the time until `fit` has raised it is
measured too.
"""

import argparse
import json
import signal
import statistics
import time
import warnings
from dataclasses import asdict, dataclass
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer._solver.request import join_abandoned
from mercer._written_file import write_whole
from tests.laws.subjects import Subject, subjects
from tools.fuzzing.choice import add_choice, choose_subjects
from tools.fuzzing.ledger import run_jobs
from tools.fuzzing.results import add_earlier, find_commit

# Seconds of processor time between two signals.
_TICK = 0.005
# Seconds that a fit must last to be judged, and after which it is interrupted.
_ENOUGH = 1.0
_LONGEST = 1.6
# Rows and columns of the fits, one after the other until a fit is long enough.
_SIZES = ((2_000, 20), (16_000, 20), (128_000, 20), (512_000, 20), (64_000, 200))
# Seconds that the library promises.
PROMISE = 0.2


@dataclass
class Latency:
    """What was measured of one setting: seconds of processor time, and where the interpreter was longest away."""

    subject: str
    rows: int = 0
    seconds: float = 0.0
    worst: float = 0.0
    leaving: float = 0.0
    place: str = ""
    error: str = ""

    @property
    def latency(self) -> float:
        """Return the longest time from Ctrl-C to the end of the fit."""
        return self.worst + self.leaving


class _Clock:
    """Handles the signals of one fit."""

    def __init__(self) -> None:
        self.start = self.last = time.process_time()
        self.worst, self.place, self.raised = 0.0, "", 0.0

    def tick(self, number: int, frame: FrameType | None) -> None:
        """Note how long the interpreter was away; interrupt the fit when it has lasted long enough."""
        now = time.process_time()
        if now - self.last > self.worst:
            self.worst, self.place = now - self.last, _name_place(frame)
        self.last = now
        if now - self.start > _LONGEST and not self.raised:
            self.raised = now
            raise KeyboardInterrupt


def _name_place(frame: FrameType | None) -> str:
    """Return the line of mercer that is running, or that called what is running."""
    inside = frame
    while inside is not None and "/mercer/" not in inside.f_code.co_filename:
        inside = inside.f_back
    inside = frame if inside is None else inside
    return "" if inside is None else f"{inside.f_code.co_filename.rpartition('/mercer/')[2]}:{inside.f_lineno}"


def _fit(model: BaseEstimator, X: np.ndarray, y: Any, latency: Latency) -> None:
    """Fit a model under the timer, and note what it shows."""
    clock = _Clock()
    before = signal.signal(signal.SIGPROF, clock.tick)
    try:
        signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)
        model.fit(X, y)
    except KeyboardInterrupt:
        latency.leaving = time.process_time() - clock.raised
    except Exception as error:
        latency.error = f"{type(error).__name__}: {str(error)[:80]}"
    finally:
        clock.raised = clock.raised or 1.0  # from here on no signal raises
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
    latency.seconds = time.process_time() - clock.start
    latency.worst, latency.place = max(clock.worst, _TICK), clock.place


def measure(subject: Subject, most_rows: int) -> Latency:
    """Fit one setting to more and more rows until a fit lasts a second."""
    latency = Latency(repr(subject))
    changes = {"n_jobs": 1} if subject.takes("n_jobs") else {}
    for rows, columns in _SIZES:
        if rows > most_rows:
            continue
        X, y = subject.data(rows, columns)
        # What an earlier fit has left running would count as time of this one.
        join_abandoned()
        following = Latency(repr(subject), rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _fit(subject.make(**changes), X, y, following)
        if following.error:
            # Too many rows for this class: what fewer rows showed stands, or the error if there were none.
            return latency if latency.rows else following
        latency = following
        if latency.seconds >= _ENOUGH:
            break
    return latency


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this measurement."""
    add_choice(parser)
    parser.add_argument("--most-rows", type=int, default=512_000, help="rows of the largest fit")


def _measure_job(most_rows: int, job: tuple[int, int]) -> Latency:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return measure(subjects()[job[0]], most_rows)


def _summarise(found: list[Latency]) -> dict[str, Any]:
    """Return the median and the worst latency, how many are above the promise, and how many fits were long enough."""
    values = [one.latency for one in found]
    slow, long = sum(value > PROMISE for value in values), sum(one.seconds >= _ENOUGH for one in found)
    return {"median": statistics.median(values), "worst": max(values), "above_promise": slow, "long": long}


def _store(options: argparse.Namespace, commit: str, found: list[Latency]) -> None:
    """Write what was measured so far."""
    records = add_earlier(options, commit, "settings", {one.subject: asdict(one) for one in found})
    measured = [Latency(**{key: value for key, value in one.items() if key != "commit"}) for one in records.values()]
    whole = {"commit": commit, **_summarise(measured), "settings": records}
    write_whole(options.store, json.dumps(whole, indent=1) + "\n")


def run(options: argparse.Namespace) -> int:
    """Measure, print the settings from the slowest on, and return 1 if one is above the promise."""
    found: list[Latency] = []
    # Asked before the file is written: a stored file that Git knows is a change too.
    commit = find_commit()
    measure_one = partial(_measure_job, options.most_rows)
    for latency in run_jobs(measure_one, choose_subjects(options, 1), options.jobs, options.seconds):
        found.append(latency)
        if options.store is not None:
            _store(options, commit, found)
        if latency.latency > PROMISE or not options.quiet:
            print(
                f"{latency.latency:7.3f} s ({latency.worst:.3f} + {latency.leaving:.3f}) of {latency.seconds:.1f} s, "
                f"{latency.rows} rows: {latency.subject} at {latency.place} {latency.error}",
                flush=True,
            )
    summary = _summarise(found)
    print(
        f"latency of {len(found)} settings, {summary['long']} of them in fits of {_ENOUGH:.0f} s and more: median "
        f"{summary['median']:.3f} s, worst {summary['worst']:.3f} s, {summary['above_promise']} above {PROMISE} s"
    )
    return 1 if summary["above_promise"] else 0
