"""The child process: load the data, warm up, fit one contestant once, and write what was measured.

``python -m benchmarks.contestant CASE CONTESTANT DATA_FOLDER THREADS RESULT_FILE``
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.case import AbsentError, Case, Contestant, Data, digest
from benchmarks.cases import CASES
from benchmarks.machine import busy_seconds, peak_memory, reset_peak, resident_memory

WARM_UP_SCALE = 0.002
ONE_ROW_CALLS = 1000
ONE_ROW_SECONDS = 2.0
PREDICT_CALLS = 5


def measure(case: Case, contestant: Contestant, data: Data, threads: int) -> dict[str, Any]:
    """Return the measurements of one fit: time, cores, memory, prediction times, quality and digest.

    The warm-up fits a small copy of the problem and predicts, so that imports, dispatch tables, thread pools and BLAS
    buffers are paid for before the clock starts, by everyone alike.
    """
    tool = contestant.load()
    small = case.make(WARM_UP_SCALE)
    contestant.predict(contestant.fit(tool, small, threads), small["X_test"][:10])
    del small

    reset_peak()
    memory = resident_memory()
    busy, cpu, wall = busy_seconds(), time.process_time(), time.perf_counter()
    model = contestant.fit(tool, data, threads)
    seconds = time.perf_counter() - wall
    cores = (time.process_time() - cpu) / seconds
    others = (busy_seconds() - busy) / seconds - cores
    peak = peak_memory()

    solution = contestant.solution(model)
    return {
        "fit_seconds": seconds,
        "cores": cores,
        # The counter ticks a hundred times a second, so a fit of a few ticks tells nothing about its neighbours.
        "others_cores": max(others, 0.0) if seconds > 0.1 else 0.0,
        "peak_megabytes": peak / 1e6,
        "extra_megabytes": max(peak - memory, 0) / 1e6,
        "predict_seconds": median(_times(lambda: contestant.predict(model, data["X_test"]), PREDICT_CALLS)),
        "predict_rows": len(data["X_test"]),
        "one_row_microseconds": one_row_latency(contestant, model, data["X_test"]),
        "quality": case.quality(solution, data),
        "digest": digest(solution),
    }


def one_row_latency(contestant: Contestant, model: Any, rows: np.ndarray) -> float:
    """Return the median time of a prediction of one row, in microseconds, over a different row each call."""
    singles = [rows[i : i + 1] for i in range(min(len(rows), ONE_ROW_CALLS))]
    feed = iter(singles * (1 + ONE_ROW_CALLS // len(singles)))
    return 1e6 * median(_times(lambda: contestant.predict(model, next(feed)), ONE_ROW_CALLS, ONE_ROW_SECONDS))


def main(arguments: list[str]) -> None:
    """Run as the child of the runner; the result file says ``absent`` or ``failed`` where there is no measurement."""
    case_name, contestant_name, folder, threads, result_file = arguments
    warnings.simplefilter("ignore")
    _pin(int(threads))
    case = CASES[case_name]
    contestant = case.contestant(contestant_name)
    try:
        contestant.load()
        data = {path.stem: np.load(path) for path in sorted(Path(folder).glob("*.npy"))}
        result = {"status": "ran"} | measure(case, contestant, data, int(threads))
    except AbsentError as reason:
        result = {"status": "absent", "reason": str(reason)}
    except Exception as error:
        # The other contestants of the run must not be lost with this one; the table shows the reason.
        result = {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
    Path(result_file).write_text(json.dumps(result))


def _times(action: Callable[[], object], calls: int, limit: float = float("inf")) -> list[float]:
    action()
    taken: list[float] = []
    started = time.perf_counter()
    while len(taken) < calls and time.perf_counter() - started < limit:
        before = time.perf_counter()
        action()
        taken.append(time.perf_counter() - before)
    return taken


def _pin(threads: int) -> None:
    """Keep to as many cores as threads, so that a pool which heeds neither environment nor n_jobs gains nothing."""
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[: max(threads, 1)])


if __name__ == "__main__":
    main(sys.argv[1:])
