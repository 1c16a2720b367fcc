"""Pair steps of kernel machines, alone and shared by 2, 4 and 8 threads of one machine. Run by hand, some 20 seconds:

    python -m benchmarks.step_sharing                                 descents on squares that caches hold, and fits
    python -m benchmarks.step_sharing --rows 1280 --shares 1 2 3 --threads 4

The first table has the microseconds of a step on a set of rows, at best of some descents; how many of these went on
beside others to their end, and whether all bits were those of a descent alone. The second has fits of SVC on 20 000 x
30 rows: their seconds, steps beside others and microseconds of each, those of steps alone, and descents in which one
was late.
"""

import argparse
import time

import numpy as np

from benchmarks.cases.kernel_machines import make_classes
from mercer._native.dual import dual_rounds, pair_descent
from mercer._source.threads import run_alongside
from mercer.svm import SVC
from mercer.svm._dual import team_descent
from mercer.svm._dual.team_descent import StepSharing, make_aligned

# Steps of a descent at most, and descents of which the best counts.
STEPS, REPEATS = 4000, 10


def make_problem(n):
    """The square of some rows, and what shared_steps.pxd calls `inner`, before the first step."""
    random = np.random.default_rng(0)
    X, K = random.normal(size=(n, 30)), make_aligned((n, n // 2)).view(np.float32)
    squares, inner = (X**2).sum(axis=1), np.zeros((7, n))
    K[:] = np.exp(-np.maximum(squares[:, None] + squares - 2.0 * X @ X.T, 0.0) / 60.0)
    inner[1] = -np.sign(X[:, 0] + 0.7 * random.normal(size=n))
    inner[4], inner[5], inner[6] = np.where(inner[1] < 0, 0.0, -1.0), np.where(inner[1] < 0, 1.0, 0.0), K.diagonal()
    pair_descent.mark_moves(*inner[[0, 4, 5]], 0.0, inner[2], inner[3])
    return K, inner


def descend_alone(K, inner):
    """Seconds of a descent, and its steps."""
    none = np.empty((0, 0), K.dtype), np.empty((0, 0), K.dtype), np.empty(0, np.uint8)
    rules = np.array([0.0, len(K), 1e-6, STEPS])
    start = time.perf_counter()
    steps = pair_descent.descend(K, *none, inner, rules, np.empty(2))
    return time.perf_counter() - start, steps


def descend_beside(K, start, shares, expected):
    """Nanoseconds and steps beside others of some descents, without those in which one was late; whether bits agree."""
    n, nothing = len(K), [np.empty((1,) * ndim, K.dtype) for ndim in (2, 1, 3, 1, 3, 2, 2)]
    control, counts = np.zeros(32 + 8 * shares, np.int64), np.zeros((shares, 4, 1), np.int32)
    work = dual_rounds.DualTasks(np.ones(4), control, 16, counts)
    work.hold_values(0, nothing)
    work.offer_square(np.arange(n), nothing[1], np.arange(n), np.empty((0, 2), np.intp), K)
    account, rules = make_aligned((shares, 16)), np.array([0.0, n, 1e-6, STEPS, -1.0])
    work.hold_steps(make_aligned((shares, 4, n)), make_aligned((2 + 2 * shares, 16)), account)
    work.call()
    found, agree = [], True
    with run_alongside(work.help, work.dismiss, shares):
        for _ in range(REPEATS):
            inner = start.copy()
            work.descend(inner, rules, shares - 1)
            agree &= np.array_equal(inner, expected)
            found.append(account[0, 5:9].copy())
    return [one for one in found if not one[3]], agree


def compare_descents(sizes, counts):
    print("rows  shares  us/step  descents  same bits")
    for n in sizes:
        K, start = make_problem(n)
        times = []
        for _ in range(REPEATS):
            expected = start.copy()
            times.append(descend_alone(K, expected))
        seconds, steps = min(times)
        print(f"{n:4d}  {1:6d}  {1e6 * seconds / steps:7.2f}  {REPEATS:8d}  {'':9}", flush=True)
        for shares in counts:
            if shares > 1:
                found, agree = descend_beside(K, start, shares, expected)
                best = min((time / steps / 1e3 for time, steps, _, _ in found), default=np.nan)
                print(f"{n:4d}  {shares:6d}  {best:7.2f}  {len(found):8d}  {agree!s:9}", flush=True)


def compare_fits(threads, counts):
    accounts, note, data = [], StepSharing.note, make_classes(1.0)

    def noted(self, rows):
        accounts.append(self.account[0, 3:9].copy())
        return note(self, rows)

    StepSharing.note = noted
    print("threads  shares  seconds  beside   us/step  alone    us/step  late")
    for shares in counts:
        team_descent._MOST, team_descent._COLUMNS, team_descent._WORTH = shares, 1, 0
        results = []
        for _ in range(4):
            accounts.clear()
            start = time.perf_counter()
            SVC(gamma=1.0 / 30.0, n_jobs=threads).fit(data["X"], data["y"])
            results.append((time.perf_counter() - start, np.sum(accounts or np.zeros((1, 6)), axis=0)))
        seconds, (alone, steps, beside, count, _, late) = min(results, key=lambda one: one[0])
        shared = f"{count:7.0f}  {beside / max(1.0, count) / 1e3:7.2f}"
        own = f"{steps:7.0f}  {alone / max(1.0, steps) / 1e3:7.2f}"
        print(f"{threads:7d}  {shares:6d}  {seconds:7.3f}  {shared}  {own}  {late:4.0f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[1280, 4096])
    parser.add_argument("--shares", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--threads", type=int, default=16)
    given = parser.parse_args()
    compare_descents(given.rows, given.shares)
    if given.threads:
        compare_fits(given.threads, given.shares)
