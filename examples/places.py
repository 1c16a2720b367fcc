"""One estimator, any place: fit the same four estimators over every place that rows can be in, and compare the answers.

    python examples/places.py                 # every place on this machine
    python examples/places.py --rows 1000000  # more rows

The places are an array, a memory map, a .npy file, a Parquet folder, a CSV file, an Arrow dataset, blocks from a
function, a Dask array (on two worker processes), and torch tensors on the CPU and, where there is one, on a GPU. A fit
made of sums over fixed blocks of rows has the same bits in all of them; on a device, and where CSV rounds what it
writes, it agrees to rounding. A place whose library is not installed is passed over, and says so.
"""

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cluster import KMeans
from mercer.decomposition import PCA
from mercer.linear_model import LogisticRegression, Ridge

MODELS: dict[str, tuple[Callable[[], Any], str | None, str]] = {
    "KMeans": (lambda: KMeans(8, random_state=0, max_iter=20), None, "cluster_centers_"),
    "PCA": (lambda: PCA(4), None, "components_"),
    "Ridge": (lambda: Ridge(alpha=1.0), "number", "coef_"),
    "LogisticRegression": (lambda: LogisticRegression(), "label", "coef_"),
}


def make_rows(n_rows: int, n_columns: int = 16) -> dict[str, np.ndarray]:
    """Rows about a few centres, a number and a label for each."""
    random = np.random.default_rng(0)
    centres = random.normal(scale=3.0, size=(8, n_columns))
    X = centres[random.integers(8, size=n_rows)] + random.normal(size=(n_rows, n_columns))
    number = X @ random.normal(size=n_columns) + random.normal(size=n_rows)
    return {"X": X, "number": number, "label": (number > 0).astype(np.int64)}


def in_memory(data: dict[str, np.ndarray], folder: Path) -> Iterator[tuple[str, Callable[[Any, str | None], Any]]]:
    """Arrays and memory maps: a name, and how to fit a model there to a target."""
    yield "array", lambda model, target: model.fit(data["X"], target and data[target])
    np.save(folder / "X.npy", data["X"])
    mapped = np.load(folder / "X.npy", mmap_mode="r")
    yield "memory map", lambda model, target: model.fit(mapped, target and data[target])


def in_files(data: dict[str, np.ndarray], folder: Path) -> Iterator[tuple[str, Callable[[Any, str | None], Any]]]:
    """A .npy file, a Parquet folder, a CSV file, an Arrow dataset, and blocks from a function."""
    for name, values in data.items():
        np.save(folder / f"{name}.npy", values)
    path = folder / "X.npy"
    yield ".npy file", lambda model, target: model.fit(path, target and folder / f"{target}.npy")

    def blocks(target: str | None) -> Iterator[Any]:
        for start in range(0, len(data["X"]), 10_000):
            rows = slice(start, start + 10_000)
            yield data["X"][rows] if target is None else (data["X"][rows], data[target][rows])

    yield "blocks", lambda model, target: model.fit(lambda: blocks(target))

    import pyarrow
    import pyarrow.csv
    import pyarrow.dataset
    import pyarrow.parquet

    columns = {f"x{number}": column for number, column in enumerate(data["X"].T)}
    for target in (None, "number", "label"):
        table = pyarrow.table(columns | ({target: data[target]} if target else {}))
        home = folder / f"parquet-{target}"
        home.mkdir()
        third = len(data["X"]) // 3
        for part, start in enumerate(range(0, len(data["X"]), third)):
            pyarrow.parquet.write_table(table.slice(start, third), home / f"part-{part}.parquet")
        pyarrow.csv.write_csv(table, folder / f"{target}.csv")
    yield "Parquet folder", lambda model, target: model.fit(folder / f"parquet-{target}", target)
    yield "CSV file", lambda model, target: model.fit(folder / f"{target}.csv", target)
    yield (
        "Arrow dataset",
        lambda model, target: model.fit(pyarrow.dataset.dataset(folder / f"parquet-{target}"), target),
    )


@contextmanager
def two_workers() -> Iterator[None]:
    """A Dask cluster of two processes on this machine."""
    import distributed

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        yield


def on_a_cluster(data: dict[str, np.ndarray]) -> Iterator[tuple[str, Callable[[Any, str | None], Any]]]:
    """Dask arrays, in chunks of whole blocks."""
    import dask.array

    X = dask.array.from_array(data["X"], chunks=(2**14, -1))
    targets = {name: dask.array.from_array(data[name], chunks=2**14) for name in ("number", "label")}
    with two_workers():
        yield "Dask array", lambda model, target: model.fit(X, target and targets[target])


def on_devices(data: dict[str, np.ndarray]) -> Iterator[tuple[str, Callable[[Any, str | None], Any]]]:
    """torch tensors on the CPU and on a GPU."""
    import torch

    for device in ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        tensors = {name: torch.as_tensor(values).to(device) for name, values in data.items()}
        yield f"torch on {device}", lambda model, target, t=tensors: model.fit(t["X"], target and t[target])


def to_numpy(array: Any) -> np.ndarray:
    return array.cpu().numpy() if hasattr(array, "cpu") else np.asarray(array)


def compare(places: Iterator[tuple[str, Callable[[Any, str | None], Any]]], expected: dict[str, np.ndarray]) -> float:
    """Fit every model in each place; print how far its answer is from the first one's; return the largest distance."""
    worst = 0.0
    try:
        for place, fit in places:
            verdicts = []
            for name, (make, target, attribute) in MODELS.items():
                found = to_numpy(getattr(fit(make(), target), attribute))
                reference = expected.setdefault(name, found)
                gap = float(np.abs(found - reference).max() / np.abs(reference).max())
                worst = max(worst, gap)
                verdicts.append("same bits" if np.array_equal(found, reference) else f"{gap:.0e}")
            print(f"{place:15}" + "".join(f"{verdict:>20}" for verdict in verdicts), flush=True)
    except ModuleNotFoundError as missing:
        print(f"(passed over: {missing.name} is not installed)")
    return worst


def main(n_rows: int) -> float:
    """Compare all places; return the largest relative difference seen."""
    data = make_rows(n_rows)
    print(f"{n_rows} rows: how far each answer is from that of the array\n")
    print(f"{'place':15}" + "".join(f"{name:>20}" for name in MODELS))
    expected: dict[str, np.ndarray] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        groups = (
            in_memory(data, Path(folder)),
            in_files(data, Path(folder)),
            on_a_cluster(data),
            on_devices(data),
        )
        worst = max(compare(group, expected) for group in groups)
    print(f"\nthe answers agree to {worst:.0e}" if worst < 1e-6 else f"\nNOT EQUAL: they differ by {worst:.0e}")
    return worst


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    raise SystemExit(main(parser.parse_args().rows) > 1e-6)
