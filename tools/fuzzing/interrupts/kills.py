"""Kill processes that write files, and read what is there: the old file or the new one, never half of one."""

import os
import random as seeds
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer._written_file import write_whole
from mercer.cluster import KMeans
from mercer.ensemble import RandomForestClassifier
from mercer.watch import Checkpoint
from tests.laws.subjects import digest, fitted

# Seconds until a kill: at least a few writes, which take 1 to 20 ms each.
_LATEST = 0.08
# The two texts that are written by turns: long enough for many system calls. Reports and records are written so.
_TEXTS = ("ash\n" * 500_000, "birch\n" * 500_000)

_RANDOM = np.random.default_rng(0)
_X = _RANDOM.normal(size=(2000, 10))
_Y = (_X[:, 0] > 0).astype(int)


def name_kill(number: int) -> str:
    """Return what a case does, in words."""
    return f"SIGKILL while files are written, moment {number}"


def _kill_later(work: Callable[[], Any], number: int) -> None:
    """Run `work` in a child process again and again, and kill it at a random moment after it has begun."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, b"!")
            while True:
                work()
        finally:
            os._exit(1)
    os.read(reading, 1)
    time.sleep(seeds.Random(number).uniform(0.0, _LATEST))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)


def _kill_save(number: int, folder: Path) -> str:
    """Kill a process that saves two models by turns; the file must be one of them."""
    path = folder / "model.mercer"
    models = [RandomForestClassifier(20, random_state=seed, n_jobs=1).fit(_X[:300], _Y[:300]) for seed in (0, 1)]
    mercer.save(models[0], path)
    _kill_later(lambda: [mercer.save(model, path) for model in models], number)
    found = digest(fitted(mercer.load(path)))
    return "kept" if found in [digest(fitted(model)) for model in models] else "raw"


def _kill_checkpoint(number: int, folder: Path) -> str:
    """Kill a fit that writes checkpoints; the fit that resumes must give the bits of an undisturbed one."""
    path = folder / "fit.checkpoint"
    model = KMeans(20, n_init=2, tol=0, max_iter=60, random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        undisturbed = digest(fitted(model.fit(_X)))
        _kill_later(lambda: model.set_callbacks(Checkpoint(path, every=0)).fit(_X), number)
        resumed = KMeans(20, n_init=2, tol=0, max_iter=60, random_state=0, n_jobs=1)
        resumed.set_callbacks(Checkpoint(path, every=0)).fit(_X)
    return "kept" if digest(fitted(resumed)) == undisturbed else "raw"


def _kill_text(number: int, folder: Path) -> str:
    """Kill a process that writes two texts by turns; the file must hold one of them."""
    path = folder / "report.html"
    write_whole(path, _TEXTS[0])
    _kill_later(lambda: [write_whole(path, text) for text in _TEXTS], number)
    return "kept" if path.read_text(encoding="utf-8") in _TEXTS else "raw"


# The kinds of file, and what is tried with each.
KILLS: dict[str, Callable[[int, Path], str]] = {
    "save": _kill_save,
    "checkpoint": _kill_checkpoint,
    "text": _kill_text,
}


def try_kills(kind: str, first: int, last: int) -> Iterator[tuple[str, str]]:
    """Yield the outcome of each kill."""
    for number in range(first, last):
        with tempfile.TemporaryDirectory() as folder:
            try:
                yield KILLS[kind](number, Path(folder)), "the file is neither the old one nor the new one []"
            except Exception as error:
                yield "raw", f"{type(error).__name__}: {str(error)[:150]} []"
