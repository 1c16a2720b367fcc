"""Measure what the checks of loaded models cost: ``python -m tools.fuzzing cost --classes KMeans SVC``.

Each class is fitted in its settings and saved. The file is loaded by turns with all checks, with the checks of names,
parameters, attributes and structures replaced by nothing, and by the loader of the commit before such checks existed,
which is read from Git. Then one row is predicted by the fitted model and by the loaded one, by turns: the second one
passes the checks before its first prediction and is explained if it fails. The least processor time of many rounds is
taken, because anything else on the machine can only add to it.
"""

import argparse
import importlib
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import mercer
from mercer._base.model_file import estimator as reading
from mercer._solver.tree import soundness
from tests.laws.subjects import Subject, subjects
from tools.fuzzing.choice import add_choice, choose_subjects
from tools.fuzzing.files.outcome import METHODS
from tools.fuzzing.ledger import run_jobs
from tools.fuzzing.results import add_earlier, find_commit

# The share by which loading and predicting may be slower with the checks.
PROMISE = 0.05
# Seconds of processor time for each comparison; at least so many rounds are timed.
_SECONDS = 0.25
_FEWEST = 20
# The commit before files were checked against declarations, and the name that its loader gets.
_COMMIT = "eb9a3649~1"
_BEFORE = "model_file_before"
_ROOT = Path(__file__).parents[2]
# Functions that only check, where reading a model calls them.
_CHECKS = ("check_estimator", "check_record", "_check_name", "_check_memory")


@dataclass
class Cost:
    """The least milliseconds of processor time to load a model, and to predict one row, with and without checks.

    ``load_before`` is that of the loader before there were checks.
    """

    subject: str
    load: float
    load_unchecked: float
    load_before: float
    predict: float = 0.0
    predict_unchecked: float = 0.0
    method: str = ""

    @property
    def load_share(self) -> float:
        """How much longer loading takes than before there were checks, as a share."""
        return self.load / self.load_before - 1.0

    @property
    def checks_share(self) -> float:
        """How much longer loading takes with the checks than with the same loader without them, as a share."""
        return self.load / self.load_unchecked - 1.0

    @property
    def predict_share(self) -> float:
        """How much longer a loaded model takes for one row than the fitted one, as a share."""
        return self.predict / self.predict_unchecked - 1.0 if self.predict_unchecked else 0.0


def _skip_checks() -> AbstractContextManager[Any]:
    """Replace everything that only checks by functions that do nothing, while the ``with`` block runs."""
    stack = ExitStack()
    for name in _CHECKS:
        stack.enter_context(patch.object(reading, name, lambda *_: None))
    stack.enter_context(patch.object(soundness, "check_stored", lambda *_: None))
    return stack


@cache
def _open_loader(commit: str) -> Callable[[Path], Any]:
    """Return ``load`` of the model files of a commit, which reads today's files with today's classes."""
    folder = Path(tempfile.mkdtemp()) / _BEFORE
    folder.mkdir()
    names = _ask_git("ls-tree", "--name-only", f"{commit}:src/mercer/_base/model_file").splitlines()
    for name in names:
        text = _ask_git("show", f"{commit}:src/mercer/_base/model_file/{name}")
        # Under another name it has tables of its own, and takes everything else from the mercer of today.
        (folder / name).write_text(text.replace("mercer._base.model_file", _BEFORE), encoding="utf-8")
    sys.path.insert(0, str(folder.parent))
    load: Callable[[Path], Any] = importlib.import_module(_BEFORE).load
    return load


def _ask_git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True, cwd=_ROOT).stdout


def compare(
    *functions: Callable[[], Any],
    around: dict[int, Callable[[], AbstractContextManager[Any]]] | None = None,
    seconds: float = _SECONDS,
) -> list[float]:
    """Return the least milliseconds of processor time of functions that are called by turns.

    `around` has a context for some of them, by number; entering and leaving it is not part of what is measured.
    """
    best = [math.inf] * len(functions)
    end = time.process_time() + seconds
    count = 0
    while count < _FEWEST or time.process_time() < end:
        # The order changes in every round, so that no function always finds the caches of the same other one.
        for place in range(len(functions)) if count % 2 else reversed(range(len(functions))):
            with (around or {}).get(place, nullcontext)():
                start = time.process_time()
                functions[place]()
                best[place] = min(best[place], time.process_time() - start)
        count += 1
    return [1e3 * least for least in best]


def measure_cost(subject: Subject, rows: int, commit: str = _COMMIT) -> Cost:
    """Fit, save and load one setting, and predict one row."""
    X, y = subject.data(rows, 5)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        fitted, path = subject.make().fit(X, y), Path(folder, "model.mercer")
        mercer.save(fitted, path)
        load = partial(mercer.load, path)
        loaded = load()
        times = compare(load, load, partial(_open_loader(commit), path), around={1: _skip_checks})
        cost = Cost(repr(subject), *times)
        cost.method = next((name for name in METHODS if hasattr(fitted, name)), "")
        if cost.method:
            ask, ask_fitted = (partial(getattr(model, cost.method), X[:1]) for model in (loaded, fitted))
            cost.predict, cost.predict_unchecked = compare(ask, ask_fitted)
    return cost


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this measurement."""
    add_choice(parser)
    parser.add_argument("--rows", type=int, default=60, help="rows of the fits")


def _measure_job(rows: int, job: tuple[int, int]) -> Cost:
    return measure_cost(subjects()[job[0]], rows)


def _describe(shares: list[float]) -> dict[str, float]:
    """Return the median and the largest of some shares, and how many are above the promise."""
    above = sum(share > PROMISE for share in shares)
    return {"median": statistics.median(shares), "worst": max(shares), "above_promise": above, "count": len(shares)}


def run(options: argparse.Namespace) -> int:
    """Measure, print the settings, and return 1 if one is above the promise."""
    found: list[Cost] = []
    for cost in run_jobs(
        partial(_measure_job, options.rows), choose_subjects(options, 1), options.jobs, options.seconds
    ):
        found.append(cost)
        if max(cost.load_share, cost.predict_share) > PROMISE or not options.quiet:
            print(
                f"load {cost.load:.3f} ms ({cost.load_share:+.1%}, checks {cost.checks_share:+.1%}), {cost.method} "
                f"{cost.predict:.3f} ms ({cost.predict_share:+.1%}): {cost.subject}",
                flush=True,
            )
    summary = _summarise(found)
    print(json.dumps(summary))
    if options.store is not None:
        _store(options, found)
    return 1 if any(max(cost.load_share, cost.predict_share) > PROMISE for cost in found) else 0


def _summarise(found: list[Cost]) -> dict[str, Any]:
    """Return what the settings cost: the median, the worst, and the sums over all."""
    return {
        "load": _describe([cost.load_share for cost in found]),
        "checks": _describe([cost.checks_share for cost in found]),
        "predict": _describe([cost.predict_share for cost in found if cost.method]),
        # Sums over all settings: what a program that loads one model of each kind would notice.
        "load_all": sum(cost.load for cost in found) / sum(cost.load_before for cost in found) - 1.0,
        "predict_all": sum(cost.predict for cost in found) / sum(cost.predict_unchecked for cost in found) - 1.0,
    }


def _store(options: argparse.Namespace, found: list[Cost]) -> None:
    """Write what was measured."""
    commit = find_commit()
    records = add_earlier(options, commit, "settings", {cost.subject: asdict(cost) for cost in found})
    measured = [Cost(**{key: value for key, value in one.items() if key != "commit"}) for one in records.values()]
    whole = {"commit": commit, **_summarise(measured), "rows": options.rows, "settings": records}
    options.store.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
