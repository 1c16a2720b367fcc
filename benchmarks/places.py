"""The same fit in several places: seconds against memory, peak memory, thread scaling, and worker scaling.

    python -m benchmarks.places files            # page cache against memory, 64 columns
    python -m benchmarks.places large            # peak memory over a sparse .npy of 20 GB
    python -m benchmarks.places dask             # two local worker processes against memory
    python -m benchmarks.places workers --counts 1,2,4,8,16
    python -m benchmarks.places threads --counts 1,2,4,8,16

Every fit runs in a fresh process; places take turns, and the shortest of a few runs counts. Results go to
``benchmarks/results/places_NAME.json``; ``python -m benchmarks --report`` puts them into the documentation.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe, peak_memory, reset_peak, resident_memory, versions

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MODELS = ("KMeans", "PCA", "LinearRegression", "Ridge", "LogisticRegression")
TARGETS = {"LinearRegression": "number", "Ridge": "number", "LogisticRegression": "label"}
CHUNK = 2**18


def write_rows(folder: Path, rows: int, columns: int, dtype: str = "float64") -> None:
    """Rows about sixteen centres with a number and a label each, written block by block."""
    random = np.random.default_rng(0)
    centres = random.normal(scale=1.5, size=(16, columns))
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", dtype, (rows, columns))
    number = np.lib.format.open_memmap(folder / "number.npy", "w+", "float64", (rows,))
    label = np.lib.format.open_memmap(folder / "label.npy", "w+", "int64", (rows,))
    slope = random.normal(size=columns)
    for start in range(0, rows, CHUNK):
        part = slice(start, min(start + CHUNK, rows))
        count = part.stop - start
        X[part] = centres[random.integers(16, size=count)] + random.standard_normal((count, columns))
        number[part] = X[part] @ slope + random.standard_normal(count)
        label[part] = number[part] + 3.0 * random.standard_normal(count) > 0
    np.save(folder / "start.npy", np.asarray(X[:16]))


def write_holes(folder: Path, rows: int, columns: int) -> None:
    """Files of zeros that take no room on the disk, but all of it when read."""
    for name, shape, kind in (("X", (rows, columns), "<f8"), ("number", (rows,), "<f8"), ("label", (rows,), "<i8")):
        with open(folder / f"{name}.npy", "wb") as file:
            header = {"descr": kind, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_2_0(file, header)
            file.truncate(file.tell() + int(np.prod(shape)) * 8)
    np.save(folder / "start.npy", np.random.default_rng(0).normal(size=(16, columns)))
    # Two rows that are not zero: two classes, and columns that vary.
    for name, values in (("X", np.random.default_rng(1).normal(size=columns)), ("number", 1.0), ("label", 1)):
        array = np.lib.format.open_memmap(folder / f"{name}.npy", "r+")
        array[0] = values


def make_model(name: str, folder: Path, threads: int) -> Any:
    """The estimator of a benchmark; k-means from given centres, so that every place does the same passes."""
    from mercer.cluster import KMeans
    from mercer.decomposition import PCA
    from mercer.linear_model import LinearRegression, LogisticRegression, Ridge

    start = np.load(folder / "start.npy")
    return {
        "KMeans": KMeans(len(start), init=start, n_init=1, max_iter=10, tol=0.0, n_jobs=threads),
        "PCA": PCA(8, n_jobs=threads),
        "LinearRegression": LinearRegression(n_jobs=threads),
        "Ridge": Ridge(n_jobs=threads),
        "LogisticRegression": LogisticRegression(n_jobs=threads),
    }[name]


def fit_here(name: str, place: str, folder: Path, threads: int, repeats: int) -> dict[str, Any]:
    """Fit in this process, and say how long it took and how much memory it needed at most."""
    import warnings

    warnings.simplefilter("ignore")
    target = TARGETS.get(name)
    model = make_model(name, folder, threads)
    with opened(place, folder, target, threads) as (X, y):
        before, times = resident_memory(), []
        reset_peak()
        for _ in range(repeats):
            begun = time.perf_counter()
            model.fit(X, y) if target else model.fit(X)
            times.append(time.perf_counter() - begun)
    return {"seconds": min(times), "extra_megabytes": (peak_memory() - before) / 1e6, "digest": digest(model)}


class opened:  # noqa: N801 - used as a function
    """Rows and targets in a place, for the length of a ``with`` block."""

    def __init__(self, place: str, folder: Path, target: str | None, threads: int) -> None:
        self.place, self.folder, self.target, self.threads = place, folder, target, threads
        self.closing: list[Any] = []

    def __enter__(self) -> tuple[Any, Any]:
        paths = [self.folder / "X.npy", self.target and self.folder / f"{self.target}.npy"]
        if self.place == "file":
            return paths[0], paths[1]
        if self.place in ("memory", "map"):
            return np.load(paths[0], "r" if self.place == "map" else None), paths[1] and np.load(paths[1])
        return self._on_workers([path and np.load(path, mmap_mode="r") for path in paths])

    def _on_workers(self, arrays: list[Any]) -> tuple[Any, Any]:
        import dask.array
        import distributed

        cluster = distributed.LocalCluster(
            n_workers=self.threads, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        )
        client = distributed.Client(cluster)
        self.closing = [client, cluster]
        # Whole blocks in every chunk, and some chunks for each worker.
        rows = max(2**14, 2 ** (len(arrays[0]) // (8 * self.threads)).bit_length() // 2)
        chunked = [None if a is None else dask.array.from_array(a, chunks=(rows, *a.shape[1:])) for a in arrays]
        kept = [None if array is None else array.persist() for array in chunked]
        distributed.wait([array for array in kept if array is not None])
        return kept[0], kept[1]

    def __exit__(self, *_: Any) -> None:
        for thing in self.closing:
            thing.close()


def digest(model: Any) -> str:
    """A checksum of what was fitted."""
    import hashlib

    names = ("cluster_centers_", "components_", "coef_")
    values = next(getattr(model, name) for name in names if hasattr(model, name))
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]


def measure(name: str, place: str, folder: Path, threads: int, repeats: int = 3) -> dict[str, Any]:
    """Run :func:`fit_here` in a process of its own."""
    arguments = [sys.executable, "-m", "benchmarks.places", "--child", name, place, str(folder), str(threads)]
    run = subprocess.run([*arguments, str(repeats)], cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(run.stderr[-2000:])
    return json.loads(run.stdout.splitlines()[-1])


def against_memory(folder: Path, places: tuple[str, ...], threads: int) -> list[tuple[str, ...]]:
    """One line per model: seconds in memory, in each place with its ratio, and whether the bits are the same."""
    lines = []
    for name in MODELS:
        rounds = [[measure(name, place, folder, threads) for place in ("memory", *places)] for _ in range(2)]
        runs = [min(column, key=lambda run: run["seconds"]) for column in zip(*rounds, strict=True)]
        base = runs[0]["seconds"]
        cells = [f"{run['seconds']:.3g} ({run['seconds'] / base:.2f})" for run in runs[1:]]
        same = "yes" if len({run["digest"] for run in runs}) == 1 else "no"
        lines.append((name, f"{base:.3g}", *cells, same))
        print(*lines[-1], flush=True)
    return lines


def compare_places(places: tuple[str, ...], title: str, rows: int, columns: int, threads: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder), rows, columns)
        lines = against_memory(Path(folder), places, threads)
    head = ("model", "memory s", *(f"{place} s (ratio)" for place in places), "same bits")
    return {"title": f"{title}, {rows} x {columns} float64, {threads} threads", "head": head, "lines": lines}


def measure_large(rows: int, columns: int, threads: int) -> dict[str, Any]:
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        write_holes(Path(folder), rows, columns)
        for name in MODELS:
            run = measure(name, "file", Path(folder), threads, repeats=1)
            lines.append((name, f"{run['extra_megabytes']:.0f}", f"{run['seconds']:.3g}"))
            print(*lines[-1], flush=True)
    size = rows * columns * 8 / 1e9
    return {"title": f"a .npy file of {size:.0f} GB (holes), {rows} x {columns} float64, {threads} threads",
            "head": ("model", "peak MB above the interpreter", "seconds"), "lines": lines}  # fmt: skip


def scale(place: str, rows: int, columns: int, counts: list[int], models: tuple[str, ...]) -> dict[str, Any]:
    """Seconds at several numbers of threads, or of workers."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder), rows, columns)
        for name in models:
            runs = [measure(name, place, Path(folder), count) for count in counts]
            gain = f"{runs[0]['seconds'] / runs[-1]['seconds']:.1f}"
            same = "yes" if len({run["digest"] for run in runs}) == 1 else "no"
            lines.append((name, *(f"{run['seconds']:.3g}" for run in runs), gain, same))
            print(*lines[-1], flush=True)
    unit = "worker processes" if place == "dask" else "threads"
    head = ("model", *(f"{count} {unit}" for count in counts), "speed-up", "same bits")
    return {"title": f"{unit}, {rows} x {columns} float64", "head": head, "lines": lines}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("files", "large", "dask", "workers", "threads"))
    parser.add_argument("--rows", type=float, help="rows, if not the usual number")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--counts", default="1,2")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--child", nargs=5, metavar=("MODEL", "PLACE", "FOLDER", "THREADS", "REPEATS"))
    given = parser.parse_args(arguments)
    if given.child:
        name, place, folder, threads, repeats = given.child
        print(json.dumps(fit_here(name, place, Path(folder), int(threads), int(repeats))))
        return
    counts, rows = [int(count) for count in given.counts.split(",")], given.rows and int(given.rows)
    result = {
        "files": lambda: compare_places(
            ("map", "file"), "a .npy file in the page cache", rows or 2_000_000, 64, given.threads
        ),
        "large": lambda: measure_large(rows or 40_000_000, 64, given.threads),
        "dask": lambda: compare_places(
            ("dask",), "a Dask array on two local worker processes", rows or 10_000_000, 32, given.threads
        ),
        "workers": lambda: scale("dask", rows or 16_000_000, 64, counts, ("KMeans",)),
        "threads": lambda: scale("memory", rows or 8_000_000, 64, counts, MODELS),
    }[given.what]()
    record = {"place": given.what, "date": datetime.now(UTC).date().isoformat(), "hardware": describe()}
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / f"places_{given.what}.json"
    path.write_text(json.dumps(record | {"versions": versions()} | result, indent=2) + "\n")


if __name__ == "__main__":
    main()
