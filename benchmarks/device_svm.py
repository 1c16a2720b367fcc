"""Kernel machines on a GPU against two cores, and on one to sixteen threads. Run by hand:

    python -m benchmarks.device_svm                                          100 000 x 50 there, 20 000 x 30 on threads
    python -m benchmarks.device_svm --only threads                           the latter alone, some 20 seconds
    python -m benchmarks.device_svm --profile                                where a fit on the device spends its time
    python -m benchmarks.device_svm --large                                  100 000 x 50 on one thread and on sixteen
    python -m benchmarks.device_svm --device cpu --rows 4000 --threaded 4000    a rehearsal without a GPU

The fit on two threads may take a minute. If it has not ended by then, what is printed is a lower bound of the ratio:
the seconds that it was given. Writes device.json into the folder that the variable OUT names, if it is set.
"""

import argparse
import cProfile
import os
import pstats
import time
import warnings

import numpy as np
import torch
from sklearn.datasets import make_classification

from benchmarks.cases.kernel_machines import make_classes
from benchmarks.device import Table, timed

WIDTH = 50
# Seconds that two threads are given.
LIMIT = 60.0


def make_rows(rows, device):
    """Two classes of three clusters each in 12 of 50 columns, like those of the benchmark with 30."""
    given = {"n_informative": 12, "n_redundant": 6, "n_clusters_per_class": 3, "class_sep": 0.9, "flip_y": 0.03}
    X, y = make_classification(rows, WIDTH, random_state=0, **given)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    return torch.asarray(X, device=device), torch.asarray(y, device=device)


def quiet_fit(model, *arrays):
    """Fit without warnings that a limit was met."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*arrays)


def say(table, what, seconds, model, **facts):
    """Add a row about a fitted machine."""
    facts |= {
        "objective": float(model.history_["objective"][-1]),
        "violation": float(model.history_["violation"][-1]),
        "rounds": len(model.history_["objective"]),
        "support": int(model.support_.shape[0]),
    }
    table.add(what, seconds, **facts)


def measure_device(table, device, rows):
    """SVC with an RBF kernel on the device and on two threads, and predictions of all rows."""
    from mercer.svm import SVC

    X, y = make_rows(rows, device)
    settings = {"C": 1.0, "gamma": 1.0 / WIDTH}
    model = SVC(**settings)
    quiet_fit(model, X[: rows // 20], y[: rows // 20])
    seconds = timed(lambda: quiet_fit(model, X, y), device, repeats=1)
    say(table, f"SVC {rows} x {WIDTH}: on the device", seconds, model)
    table.add("  predictions of all rows", timed(lambda: model.predict(X), device, repeats=1))
    host = SVC(**settings, n_jobs=2, max_time=LIMIT)
    there, labels = X.cpu().numpy(), y.cpu().numpy()
    start = time.perf_counter()
    quiet_fit(host, there, labels)
    taken = time.perf_counter() - start
    ended = "to the end" if host.converged_ else "not ended, a lower bound"
    say(table, f"SVC {rows} x {WIDTH}: two threads, {ended}", taken, host, ratio=taken / seconds)


def profile_device(device, rows):
    """Print what the parts of a fit on the device take; those that fetch from it wait for it."""
    from mercer.svm import SVC

    X, y = make_rows(rows, device)
    model = SVC(C=1.0, gamma=1.0 / WIDTH)
    quiet_fit(model, X[: rows // 20], y[: rows // 20])
    profile = cProfile.Profile()
    profile.runcall(quiet_fit, model, X, y)
    parts = "device_gram|block_descent|dual_machines|dual_program|to_numpy|numpy.*method|torch.*method"
    pstats.Stats(profile).sort_stats("tottime").print_stats(parts, 30)


def measure_threads(table, rows):
    """The benchmark's two classes on one thread and more; all give the same bits."""
    from mercer.svm import SVC

    data = make_classes(rows / 20_000)
    X, y = data["X"], data["y"]
    alone, first = None, None
    for threads in (1, 2, 4, 8, 16):
        model = SVC(C=1.0, gamma=1.0 / 30.0, n_jobs=threads)
        seconds = min(_seconds(model, X, y) for _ in range(3))
        alone, first = alone or seconds, model.dual_coef_ if first is None else first
        same = bool(np.array_equal(first, model.dual_coef_))
        say(table, f"SVC {len(X)} x 30: {threads} threads", seconds, model, speed_up=alone / seconds, same_bits=same)


def measure_pieces(table, rows):
    """What of a fit on one thread a team would share, what it would not, and the time on 16 threads by that."""
    from mercer.svm import SVC
    from mercer.svm._dual.gram_rows import Gram
    from mercer.svm._dual.team_descent import TeamDescent

    data, shared = make_classes(rows / 20_000), []

    def timed_call(function):
        def call(*given):
            start = time.perf_counter()
            found = function(*given)
            shared.append(time.perf_counter() - start)
            return found

        return call

    kept = {(kind, name): getattr(kind, name) for kind, name in ((TeamDescent, "_advance"), (Gram, "sum_products"))}
    for (kind, name), function in kept.items():
        setattr(kind, name, timed_call(function))
    pieces = []
    for _ in range(3):
        shared.clear()
        seconds = _seconds(SVC(C=1.0, gamma=1.0 / 30.0, n_jobs=1), data["X"], data["y"])
        pieces.append((seconds - sum(shared), sum(shared)))
    for (kind, name), function in kept.items():
        setattr(kind, name, function)
    alone, together = min(pieces)
    at_sixteen = alone + together / 16
    table.add(f"SVC {rows} x 30: by one thread alone", alone, shared=together, predicted_at_16=at_sixteen)


def measure_large(table, rows):
    """The rows of the device on one thread and on sixteen."""
    from mercer.svm import SVC

    X, y = (one.numpy() for one in make_rows(rows, "cpu"))
    alone = None
    for threads in (16, 1):
        model = SVC(C=1.0, gamma=1.0 / WIDTH, n_jobs=threads, max_time=120.0)
        seconds = _seconds(model, X, y)
        alone = alone or seconds
        ended = "" if model.converged_ else ", not ended"
        say(table, f"SVC {rows} x {WIDTH}: {threads} threads{ended}", seconds, model, times_sixteen=seconds / alone)


def _seconds(model, X, y):
    start = time.perf_counter()
    quiet_fit(model, X, y)
    return time.perf_counter() - start


def main():
    """Run both measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--threaded", type=int, default=20_000)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only", choices=("threads", "device"))
    options = parser.parse_args()
    if options.only == "threads":
        options.device = "cpu"
    device = torch.device(options.device)
    table = Table()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    facts = {"device": name, "torch": torch.__version__, "rows": options.rows, "cores": os.cpu_count()}
    print(facts)
    if options.profile:
        profile_device(device, options.rows)
        return
    if options.large:
        measure_large(table, options.rows)
        table.write(facts)
        return
    if options.only != "device":
        measure_threads(table, options.threaded)
        measure_pieces(table, options.threaded)
    if options.only != "threads":
        measure_device(table, device, options.rows)
    table.write(facts)


if __name__ == "__main__":
    main()
