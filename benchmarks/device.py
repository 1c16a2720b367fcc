#!/usr/bin/env python3
"""Measure mercer on a GPU against what the machine can do and against bare torch and CuPy. Run by hand:

    python benchmarks/device.py             ceilings, k-means, components, ridge and mixtures (about two minutes)
    python benchmarks/device.py --check     every estimator on the GPU against its NumPy fit
    python benchmarks/device.py --tune      where a pass of k-means spends its time, and what tiles do to it
    python benchmarks/device.py --device torch:cpu --rows 20000    a rehearsal without a GPU

Prints a table; writes device.json into the folder that the variable OUT names, if it is set.
"""

import argparse
import json
import os
import sys
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch

sys.path[:0] = [str(Path(__file__).parents[1])]

WIDTH, CENTRES, ITERATIONS = 128, 1024, 10


class Table:
    """Rows of results: printed as they come, written at the end."""

    def __init__(self):
        self.rows = []

    def add(self, what, seconds, **facts):
        """Print and keep one measurement."""
        self.rows.append({"what": what, "seconds": seconds, **facts})
        told = "  ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in facts.items()
        )
        print(f"{what:<58} {1e3 * seconds:>10.2f} ms  {told}", flush=True)

    def write(self, facts):
        """Write all rows, the version of torch and the date to $OUT/device.json, where there is such a folder."""
        if folder := os.environ.get("OUT"):
            machine = {"torch": torch.__version__} | facts
            record = {"machine": machine, "rows": self.rows, "date": datetime.now(UTC).date().isoformat()}
            Path(folder, "device.json").write_text(json.dumps(record, indent=1))


def wait(device):
    """Wait until the device has done all it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(function, device, repeats=3):
    """Seconds of the fastest of some runs, the first one not counted."""
    best = float("inf")
    for number in range(repeats + 1):
        wait(device)
        start = time.perf_counter()
        function()
        wait(device)
        if number:
            best = min(best, time.perf_counter() - start)
    return best


def measure_ceilings(table, device, rows):
    """Rates of the machine: float32 and float64 products of the shapes that matter, and a copy."""
    size = min(8192, max(512, rows // 16))
    rates = {}
    for kind, name in ((torch.float32, "float32"), (torch.float64, "float64")):
        left, right = (torch.randn((size, size), dtype=kind, device=device) for _ in range(2))
        seconds = timed(lambda left=left, right=right: left @ right, device)
        rates[name] = 2 * size**3 / seconds
        table.add(f"product {size} x {size} x {size}, {name}", seconds, tflops=rates[name] / 1e12)
    X, centres = torch.randn((rows, WIDTH), device=device), torch.randn((CENTRES, WIDTH), device=device)
    part = X[: min(rows, 2**19)]
    seconds = timed(lambda: part @ centres.T, device)
    rates["tall"] = 2 * part.shape[0] * WIDTH * CENTRES / seconds
    table.add(f"product {part.shape[0]} x {WIDTH} x {CENTRES}, float32", seconds, tflops=rates["tall"] / 1e12)
    out = torch.empty_like(X)
    seconds = timed(lambda: out.copy_(X), device)
    rates["bytes"] = 2 * X.numel() * 4 / seconds
    table.add(f"copy of {X.numel() * 4 / 2**30:.2f} GiB", seconds, terabytes_per_second=rates["bytes"] / 1e12)
    return rates


def torch_k_means(X, centres, iterations, rows=2**16):
    """Lloyd's algorithm in torch alone, as one would write it: tiles of distances, and index_add."""
    centres = centres.clone()
    for _ in range(iterations):
        sums, counts = torch.zeros_like(centres), torch.zeros(len(centres), device=X.device)
        norms = 0.5 * (centres * centres).sum(1)
        for start in range(0, len(X), rows):
            part = X[start : start + rows]
            labels = torch.argmin(torch.addmm(norms, part, centres.T, alpha=-1.0), dim=1)
            sums.index_add_(0, labels, part)
            counts += torch.bincount(labels, minlength=len(centres))
        centres = torch.where(counts[:, None] > 0, sums / counts.clamp(min=1)[:, None], centres)
    return centres


def cupy_k_means(X, centres, iterations, rows=2**16):
    """The same in CuPy alone; sums by a product with the matrix of members."""
    import cupy

    centres = centres.copy()
    for _ in range(iterations):
        sums, counts = cupy.zeros_like(centres), cupy.zeros(len(centres), dtype=cupy.float32)
        norms = 0.5 * (centres * centres).sum(1)
        for start in range(0, len(X), rows):
            part = X[start : start + rows]
            labels = cupy.argmin(norms - part @ centres.T, axis=1)
            members = (labels[:, None] == cupy.arange(len(centres))[None, :]).astype(cupy.float32)
            sums += members.T @ part
            counts += members.sum(0)
        centres = cupy.where(counts[:, None] > 0, sums / cupy.maximum(counts, 1)[:, None], centres)
    return centres


def cost_of(X, centres):
    """The inertia, in float64."""
    total = 0.0
    for start in range(0, len(X), 2**16):
        part = X[start : start + 2**16]
        total += float((torch.cdist(part, centres).min(1).values.double() ** 2).sum())
    return total


def measure_k_means(table, device, rows, rates):
    """KMeans from given centres, ten iterations, data on the device, against flops and bytes, torch and CuPy."""
    from mercer.cluster import KMeans

    torch.manual_seed(0)
    k = min(CENTRES, rows // 8)
    X = (
        torch.randn((rows, WIDTH), device=device)
        + 2 * torch.randn((64, WIDTH), device=device)[torch.randint(64, (rows,), device=device)]
    )
    first = X[:k].clone()
    model = KMeans(k, init=first, n_init=1, tol=0.0, max_iter=ITERATIONS)

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X)

    bound = ITERATIONS * (2.0 * rows * k * WIDTH / rates["float32"] + 4.0 * rows * WIDTH / rates["bytes"])
    table.add("k-means: what flops and bytes allow", bound)
    seconds = timed(fit, device, repeats=1)
    table.add("k-means: mercer", seconds, to_bound=seconds / bound, inertia=float(model.inertia_))
    seconds = timed(lambda: torch_k_means(X, first, ITERATIONS), device, repeats=1)
    table.add(
        "k-means: torch alone",
        seconds,
        to_bound=seconds / bound,
        inertia=cost_of(X, torch_k_means(X, first, ITERATIONS)),
    )
    if device.type == "cuda":
        measure_cupy(table, X, first, bound)
    model = KMeans(min(64, k), n_init=1, tol=0.0, max_iter=1, random_state=0)
    seconds = timed(fit, device, repeats=1)
    table.add(f"k-means++ of {model.n_clusters} centres and one iteration: mercer", seconds)


def measure_cupy(table, X, first, bound):
    """CuPy's k-means on the memory of the torch tensors; nothing where CuPy is not installed."""
    try:
        import cupy
    except ImportError:
        print("k-means: CuPy is not installed")
        return
    rows, centres = cupy.from_dlpack(X), cupy.from_dlpack(first)
    seconds = timed(lambda: cupy_k_means(rows, centres, 2), X.device, repeats=1) * ITERATIONS / 2
    found = torch.from_dlpack(cupy_k_means(rows, centres, ITERATIONS))
    table.add("k-means: CuPy alone (from 2 iterations)", seconds, to_bound=seconds / bound, inertia=cost_of(X, found))


def torch_components(X, count):
    """Principal components as bare torch gives them."""
    mean = X.mean(0)
    centred = X - mean
    values, vectors = torch.linalg.eigh(centred.T @ centred / (len(X) - 1))
    return vectors[:, -count:].cpu(), values[-count:].cpu(), mean.cpu()


def torch_ridge(X, y, alpha):
    """Ridge as bare torch gives it."""
    mean, y_mean = X.mean(0), y.mean()
    centred = X - mean
    gram = centred.T @ centred
    gram.diagonal().add_(alpha)
    coef = torch.linalg.solve(gram, centred.T @ (y - y_mean))
    return coef.cpu(), float(y_mean - mean @ coef)


def measure_linear(table, device, rows, width=256):
    """PCA(8) and Ridge against the bare torch expression, in float32 and in the float64 that mercer sums in."""
    from mercer.decomposition import PCA
    from mercer.linear_model import Ridge

    torch.manual_seed(0)
    X = torch.randn((rows, width), device=device) * torch.linspace(1, 3, width, device=device) + 1.0
    y = X @ torch.randn(width, device=device) + torch.randn(rows, device=device)
    for name, bare, ours in (
        ("PCA(8)", lambda: torch_components(X, 8), lambda: PCA(8).fit(X)),
        ("Ridge", lambda: torch_ridge(X, y, 1.0), lambda: Ridge().fit(X, y)),
    ):
        base = timed(bare, device)
        table.add(f"{name}: torch alone, float32", base)
        seconds = timed(ours, device)
        table.add(f"{name}: mercer, sums in float64", seconds, to_torch=seconds / base)
    wide = X.double()
    seconds = timed(lambda: torch_components(wide, 8), device)
    table.add("PCA(8): torch alone, float64 rows", seconds)


def measure_mixture(table, device, rows, width=32, components=64, iterations=5):
    """GaussianMixture with full covariances from given components, against the floating-point rate of the products."""
    from mercer.mixture import GaussianMixture

    torch.manual_seed(0)
    labels = torch.randint(components, (rows,), device=device)
    X = torch.randn((rows, width), device=device) + torch.randn((components, width), device=device)[labels]
    start = {"weights_init": np.full(components, 1 / components), "means_init": X[:components].cpu().numpy()}
    start["precisions_init"] = np.tile(np.eye(width), (components, 1, 1))
    model = GaussianMixture(components, max_iter=iterations, tol=0.0, **start)

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X)

    seconds = timed(fit, device, repeats=1)
    n_features = 1 + width + width * (width + 1) // 2
    rate = 4.0 * rows * components * n_features * (iterations + 1) / seconds
    table.add(f"mixture {rows} x {width}, k={components}, {iterations} iterations: mercer", seconds, tflops=rate / 1e12)


def check(device):
    """Fit every estimator on the device and in memory; compare what both say, and where the model's arrays are."""
    from mercer._source.namespace import to_numpy
    from mercer._source.placement import Placement, is_on_device
    from tests.laws.subjects import subjects

    failures = 0
    for subject in subjects():
        if not subject.make().__sklearn_tags__().array_api_support:
            continue
        for dtype in (np.float32, np.float64):
            X, y = subject.data(2000, 5, dtype)
            y = np.unique(y, return_inverse=True)[1] if y is not None and y.dtype.kind == "U" else y
            rows = torch.asarray(X, device=device)
            targets = () if y is None else (torch.asarray(y, device=device),)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = subject.make().fit(X, *(() if y is None else (y,)))
                found = subject.make().fit(rows, *targets)
                again = subject.make().fit(rows, *targets)
            worst = 0.0
            for name in ("predict", "transform", "predict_proba", "decision_function", "score_samples"):
                if hasattr(model, name):
                    expected, got = getattr(model, name)(X).astype(float), getattr(found, name)(rows)
                    assert Placement.of(got) == Placement.of(rows), name
                    worst = max(
                        worst, float(np.abs(to_numpy(got).astype(float) - expected).max() / np.abs(expected).max())
                    )
            arrays = [(name, value) for name, value in vars(found).items() if is_on_device(value)]
            same = all(torch.equal(value, getattr(again, name)) for name, value in arrays)
            good = worst < (2e-3 if dtype == np.float32 else 1e-6) and same and len(arrays) > 0
            failures += not good
            print(
                f"{'ok  ' if good else 'FAIL'} {np.dtype(dtype).name} {subject!r}: off by {worst:.1e}, "
                f"same bits {same}",
                flush=True,
            )
    print(f"{failures} failures")
    return failures


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tune", action="store_true")
    options = parser.parse_args()
    device = torch.device(options.device.removeprefix("torch:"))
    if options.check:
        sys.exit(min(1, check(device)))
    table = Table()
    facts = {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "torch": torch.__version__,
        "rows": options.rows,
    }
    print(facts)
    if options.tune:
        from benchmarks.device_tuning import tune

        tune(table, timed, device, options.rows)
    else:
        rates = measure_ceilings(table, device, options.rows)
        measure_k_means(table, device, options.rows, rates)
        measure_linear(table, device, options.rows // 2)
        measure_mixture(table, device, options.rows)
    table.write(facts)


if __name__ == "__main__":
    main()
