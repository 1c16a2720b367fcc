#!/usr/bin/env python3
"""Measure kernel methods at real sizes: Gaussian processes and Falkon on a GPU, threads on the CPU. By hand:

    python benchmarks/device_kernels.py                    everything
    python benchmarks/device_kernels.py --only threads     one part: process, classes, falkon, threads
    python benchmarks/device_kernels.py --device cpu --scale 0.01 --only process    a rehearsal without a GPU

Prints a table; writes device.json into the folder that the variable OUT names, if it is set.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch

sys.path[:0] = [str(Path(__file__).parents[1])]

from benchmarks.device import Table, wait  # noqa: E402


def steps_of(model):
    """Seconds of each step of a fit."""
    return np.diff(model.history_["seconds"], prepend=0.0)


def fitted(model, *given, device=None):
    """The fitted model, and the seconds that it took."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*given)
    if device is not None:
        wait(device)
    return model, time.perf_counter() - start


def process_rows(rows, width, device):
    """Rows, and a smooth function of three columns with noise of deviation 0.1."""
    X = torch.randn((rows, width), dtype=torch.float64, device=device)
    return X, torch.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.1 * torch.randn(rows, dtype=X.dtype, device=device)


def measure_process(table, device, scale):
    """Exact processes with a width for each column and noise: few evaluations of many rows, and a whole fit."""
    from mercer.gaussian_process import GaussianProcessRegressor
    from mercer.kernels import RBF, White

    torch.manual_seed(0)
    kernel = 1.0 * RBF(2.0 * np.ones(8)) + White(0.1)
    for rows, evaluations in ((2_000, 2), (int(50_000 * scale), 3), (int(20_000 * scale), 60)):
        X, y = process_rows(rows, 8, device)
        model, seconds = fitted(GaussianProcessRegressor(kernel, max_iter=evaluations), X, y, device=device)
        peak = torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else float("nan")
        table.add(
            f"exact process {rows} x 8, {model.n_iter_} evaluations",
            seconds,
            each=float(np.median(steps_of(model))),
            tflops=rows**3 / float(np.median(steps_of(model))) / 1e12,
            evidence=float(model.log_marginal_likelihood_value_),
            converged=model.converged_,
            peak_gib=peak,
        )
        start = time.perf_counter()
        model.predict(X[:10_000], return_std=True)
        wait(device)
        table.add(
            f"exact process {rows} x 8: means and deviations of {min(rows, 10_000)} rows", time.perf_counter() - start
        )
        del model, X, y


def measure_classes(table, device, scale):
    """Laplace's approximation of a process of two classes and of three, and probabilities of new rows."""
    from mercer.gaussian_process import GaussianProcessClassifier
    from mercer.kernels import RBF

    torch.manual_seed(0)
    kernel = 1.0 * RBF(2.0 * np.ones(8))
    for rows, evaluations, classes in ((2_000, 2, 2), (int(30_000 * scale), 3, 2), (int(10_000 * scale), 60, 3)):
        X, f = process_rows(rows, 8, device)
        # Classes of about equal size.
        cuts = torch.linspace(0, 1, classes + 1, dtype=f.dtype, device=device)[1:-1]
        y = torch.bucketize(f, torch.quantile(f[:10_000], cuts))
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        model, seconds = fitted(GaussianProcessClassifier(kernel, max_iter=evaluations), X, y, device=device)
        peak = torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else float("nan")
        name = f"process of {classes} classes, {rows} x 8"
        table.add(
            f"{name}, {model.n_iter_} evaluations",
            seconds,
            each=float(np.median(steps_of(model))),
            evidence=float(model.log_marginal_likelihood_value_),
            converged=model.converged_,
            peak_gib=peak,
        )
        start = time.perf_counter()
        model.predict_proba(X[:10_000])
        wait(device)
        table.add(f"{name}: probabilities of {min(rows, 10_000)} rows", time.perf_counter() - start)
        del model, X, y


def measure_falkon(table, device, scale):
    """Falkon-style ridge of rows that are made on the device; the test rows are new ones."""
    from mercer.kernel_ridge import KernelRidge

    rows = int(10_000_000 * scale)
    torch.manual_seed(0)
    X = torch.randn((rows + min(rows, 100_000), 28), device=device)
    y = torch.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.1 * torch.randn(len(X), device=device)
    for centres, steps in ((5_000, 10), (10_000, 5)):
        model = KernelRidge(
            1e-4, kernel="rbf", gamma=0.01, solver="falkon", n_centres=centres, max_iter=steps, tol=1e-6, random_state=0
        )
        model, seconds = fitted(model, X[:rows], y[:rows], device=device)
        each = float(np.median(steps_of(model)[1:]))
        table.add(
            f"Falkon {rows} x 28 float32, {centres} centres, {model.n_iter_} iterations",
            seconds,
            each=each,
            before_the_first=seconds - each * model.n_iter_,
            billion_kernels_per_second=rows * centres / each / 1e9,
            residual=float(model.certificate_.value),
            score=model.score(X[rows:], y[rows:]),
        )


def measure_threads(table, scale):
    """A process of 3000 rows and a kernel ridge of 8000 in memory, on more and more threads; the bits must agree."""
    from mercer.gaussian_process import GaussianProcessRegressor
    from mercer.kernel_ridge import KernelRidge
    from mercer.kernels import RBF, White

    X, y = (one.numpy() for one in process_rows(int(8000 * scale), 5, torch.device("cpu")))
    few = int(3000 * scale)
    kernel, first, bits = 1.0 * RBF(np.ones(5)) + White(0.1), {}, set()
    for threads in (1, 2, 4, 8, 16):
        model, seconds = fitted(GaussianProcessRegressor(kernel, max_iter=10, n_jobs=threads), X[:few], y[:few])
        bits.add(model.log_marginal_likelihood_value_)
        first.setdefault("process", seconds)
        table.add(
            f"process {few} x 5 in memory, 10 evaluations, {threads} threads",
            seconds,
            speedup=first["process"] / seconds,
        )
        model, seconds = fitted(KernelRidge(0.1, kernel="rbf", gamma=0.1, n_jobs=threads), X, y)
        bits.add(float(model.dual_coef_[0]))
        first.setdefault("ridge", seconds)
        table.add(f"kernel ridge {len(X)} x 5 in memory, {threads} threads", seconds, speedup=first["ridge"] / seconds)
    print("same bits on any number of threads:", len(bits) == 2)


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", choices=("process", "classes", "falkon", "threads"))
    options = parser.parse_args()
    device = torch.device(options.device)
    table = Table()
    facts = {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "torch": torch.__version__,
    }
    print(facts)
    if options.only in (None, "process"):
        measure_process(table, device, options.scale)
    if options.only in (None, "classes"):
        measure_classes(table, device, options.scale)
    if options.only in (None, "falkon"):
        measure_falkon(table, device, options.scale)
    if options.only in (None, "threads"):
        measure_threads(table, options.scale)
    table.write(facts)


if __name__ == "__main__":
    main()
