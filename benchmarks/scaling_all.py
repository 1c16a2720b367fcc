"""Every family on 1, 4 and all threads of one machine: seconds, efficiency, and whether the bits are equal.

    python -m benchmarks.scaling_all                            all cases; takes about four minutes on 16 cores
    python -m benchmarks.scaling_all --only SVC,DBSCAN          cases whose names contain a word
    python -m benchmarks.scaling_all --scale 0.05 --threads 1,2 a rehearsal

The ceiling is what the machine gives to independent work: as many processes as threads do the same products and sums,
and their rate is divided by that of one process. Cores share memory, caches and a clock, so it is below the number of
cores. Efficiency is the speed-up over one thread, divided by the ceiling. Writes scaling_all.json into the folder that
the variable OUT names; ``--store`` writes it into the stored results.
"""

import argparse
import json
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl

from benchmarks.machine import describe
from tests.laws.subjects import digest, fitted

RESULT = Path(__file__).parent / "results" / "scaling_all.json"
# Seconds of independent work that one process does for the ceiling.
CEILING_SECONDS = 1.0
# Fits of a case with one number of threads; the shortest counts.
REPEATS = 2


@dataclass(frozen=True)
class Case:
    """One workload: `prepare` gets a share of its rows and returns the function that is timed for a number of threads.

    That function returns what is compared over threads.
    """

    name: str
    prepare: Callable[[float], Callable[[int], Any]]


def _draw_blobs(n_rows: int, n_columns: int, n_blobs: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows around random centres, and the numbers of their centres."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_blobs, size=n_rows)
    return rng.normal(size=(n_rows, n_columns)) + 3 * rng.normal(size=(n_blobs, n_columns))[labels], labels


def _draw_classes(n_rows: int, n_columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and the side of a curved boundary, with noise, that each lies on."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    score = X[:, : n_columns // 2].sum(axis=1) + X[:, 0] * X[:, 1] + rng.normal(size=n_rows)
    return X, (score > 0).astype(int)


def _draw_numbers(n_rows: int, n_columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and a number that depends on them smoothly, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, X @ rng.normal(size=n_columns) + np.sin(X[:, 0]) + 0.1 * rng.normal(size=n_rows)


def fit_case(address: str, draw: Callable[..., Any], shape: tuple[int, int], **parameters: Any) -> Case:
    """Return the case that fits a class to drawn rows; `address` is ``family.Class``."""
    family, name = address.rsplit(".", 1)

    def prepare(scale: float) -> Callable[[int], Any]:
        module = __import__(f"mercer.{family}", fromlist=[name])
        X, y = draw(max(200, int(shape[0] * scale)), shape[1])
        targets = () if draw is _draw_blobs else (y,)
        return lambda threads: fitted(getattr(module, name)(**parameters, n_jobs=threads).fit(X, *targets))

    return Case(f"{name} {shape[0]} x {shape[1]}", prepare)


def _prepare_predictions(scale: float) -> Callable[[int], Any]:
    from mercer.neighbors import KNeighborsClassifier

    X, y = _draw_classes(int(50_000 * scale), 40)
    asked = _draw_classes(int(10_000 * scale), 40, seed=1)[0]
    return lambda threads: KNeighborsClassifier(10, n_jobs=threads).fit(X, y).predict_proba(asked)


def _prepare_chain(scale: float) -> Callable[[int], Any]:
    from mercer.hmm import GaussianHMM

    X = _draw_blobs(int(400_000 * scale), 4, 6)[0]
    lengths = [1_000] * (len(X) // 1_000)
    X = X[: sum(lengths)]
    options = {"n_components": 6, "n_iter": 5, "tol": 0.0, "random_state": 0}
    return lambda threads: fitted(GaussianHMM(**options, n_jobs=threads).fit(X, lengths=lengths))


def _prepare_search(scale: float) -> Callable[[int], Any]:
    from mercer.model_selection import nested_cv
    from mercer.svm import SVC

    X, y = _draw_classes(int(2_000 * scale), 20)
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1]}
    return lambda threads: nested_cv(SVC(), X, y, space=grid, random_state=0, n_jobs=threads).scores


CASES = (
    fit_case(
        "mixture.GaussianMixture", _draw_blobs, (200_000, 20), n_components=12, max_iter=10, tol=0, random_state=0
    ),
    fit_case("decomposition.PCA", _draw_blobs, (400_000, 100), n_components=10),
    fit_case(
        "ensemble.HistGradientBoostingClassifier", _draw_classes, (400_000, 30), max_iter=50, early_stopping=False
    ),
    fit_case("cluster.KMeans", _draw_blobs, (400_000, 20), n_clusters=50, max_iter=20, tol=0, n_init=1, random_state=0),
    fit_case("linear_model.Ridge", _draw_numbers, (400_000, 100)),
    fit_case("ensemble.RandomForestClassifier", _draw_classes, (50_000, 30), n_estimators=64, random_state=0),
    fit_case("linear_model.LogisticRegression", _draw_classes, (400_000, 50)),
    fit_case("svm.SVC", _draw_classes, (20_000, 48)),
    fit_case("gaussian_process.GaussianProcessRegressor", _draw_numbers, (2_000, 6), random_state=0),
    fit_case("cluster.DBSCAN", _draw_blobs, (400_000, 3), eps=0.1),
    Case("KNeighborsClassifier 50 000 x 40, 10 000 asked", _prepare_predictions),
    fit_case("manifold.TSNE", _draw_blobs, (10_000, 50), max_iter=300, random_state=0),
    fit_case("cluster.HDBSCAN", _draw_blobs, (50_000, 5)),
    fit_case("cluster.AgglomerativeClustering", _draw_blobs, (10_000, 10), n_clusters=12),
    fit_case("cluster.KMedoids", _draw_blobs, (8_000, 10), n_clusters=12, random_state=0),
    fit_case("ensemble.IsolationForest", _draw_blobs, (200_000, 20), random_state=0),
    fit_case("linear_model.LassoCV", _draw_numbers, (50_000, 200)),
    Case("GaussianHMM 400 sequences of 1 000 x 4", _prepare_chain),
    fit_case("neural_network.MLPClassifier", _draw_classes, (40_000, 50), max_iter=5, random_state=0),
    fit_case("decomposition.FastICA", _draw_blobs, (200_000, 20), random_state=0),
    fit_case("linear_model.SGDClassifier", _draw_classes, (200_000, 50), random_state=0),
    fit_case("kernel_ridge.KernelRidge", _draw_numbers, (8_000, 20), kernel="rbf"),
    fit_case("cluster.SelfOrganizingMap", _draw_blobs, (50_000, 20), random_state=0),
    fit_case("neighbors.LocalOutlierFactor", _draw_blobs, (50_000, 10)),
    Case("nested_cv of SVC, 2 000 x 20, 6 settings", _prepare_search),
)


def _work_alone(seconds: float) -> float:
    """Return the rounds a second of products and sums that fit one core's caches, for some seconds."""
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(96, 96)), rng.normal(size=100_000)
    with threadpoolctl.threadpool_limits(1):
        begin, rounds = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            A = A @ A / 96
            x = np.sqrt(x * x + 1e-3)
            rounds += 1
        return rounds / (time.perf_counter() - begin)


def measure_ceiling(n_processes: int) -> float:
    """Return how many times the rate of one process that many independent processes reach together."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(n_processes) as pool:
        alone = pool.apply(_work_alone, (CEILING_SECONDS,))
        together = pool.map(_work_alone, [CEILING_SECONDS] * n_processes, chunksize=1)
    return sum(together) / alone


def measure_case(case: Case, threads: list[int], scale: float, ceilings: dict[int, float]) -> dict[str, Any]:
    """Return the seconds of a case for each number of threads, its efficiencies, and whether the bits are equal."""
    work = case.prepare(scale)
    seconds, digests = {}, set()
    for count in threads:
        best = np.inf
        for _ in range(REPEATS):
            begin = time.perf_counter()
            answer = work(count)
            best = min(best, time.perf_counter() - begin)
        seconds[count] = best
        digests.add(digest(answer))
    gains = {count: seconds[threads[0]] / seconds[count] for count in threads}
    return {
        "case": case.name,
        "seconds": seconds,
        "gain": gains,
        "efficiency": {count: gains[count] / ceilings[count] for count in threads},
        "same_bits": len(digests) == 1,
    }


def describe_row(row: dict[str, Any]) -> str:
    """Return a line of the table."""
    told = "  ".join(
        f"{count:>2}: {row['seconds'][count]:7.3f} s {row['gain'][count]:5.1f}x {100 * row['efficiency'][count]:4.0f} %"
        for count in row["seconds"]
    )
    return f"{row['case']:<48} {told}  {'same bits' if row['same_bits'] else 'BITS DIFFER'}"


def main() -> None:
    """Measure what the command line asks for, print it and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="words, with commas between them")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--threads", default="", help="numbers of threads; by default 1, 4 and all cores")
    parser.add_argument("--store", action="store_true", help="write the table into the stored results")
    options = parser.parse_args()
    machine = describe()
    threads = [int(count) for count in options.threads.split(",") if count] or sorted({1, 4, int(machine["cores"])})
    ceilings = {count: 1.0 if count == 1 else measure_ceiling(count) for count in threads}
    print("ceiling", {count: round(value, 2) for count, value in ceilings.items()}, flush=True)
    words = [word for word in options.only.split(",") if word]
    rows = []
    for case in CASES:
        if words and not any(word in case.name for word in words):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows.append(measure_case(case, threads, options.scale, ceilings))
        print(describe_row(rows[-1]), flush=True)
    record = {"machine": machine, "scale": options.scale, "ceiling": ceilings, "rows": rows}
    text = json.dumps(record, indent=1) + "\n"
    if options.store:
        RESULT.write_text(text, encoding="utf-8")
    if folder := os.environ.get("OUT"):
        Path(folder, RESULT.name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
