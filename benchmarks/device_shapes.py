"""Twelve shapes of each family on a GPU, beside plain torch and beside what the machine can do. Run by hand:

    python -m benchmarks.device_shapes                               every shape (about three minutes)
    python -m benchmarks.device_shapes --device cpu --scale 0.001    a rehearsal without a GPU
    python -m benchmarks.device_shapes --only Ridge --profile        where the host's time goes, by function

Settings are chosen on the shapes marked "chosen" and reported on the others. The limit is the larger of the time of
the products at the rate of a large float32 product and the time of one read of the rows at the rate of a copy, both
measured here. `digits` is how many decimal digits of the answer agree with one that torch computes in float64, for us
and for plain torch. Writes device_shapes.json into the folder that the variable OUT names.
"""

import argparse
import cProfile
import json
import os
import pstats
import warnings
from datetime import UTC, datetime
from pathlib import Path

import torch

from benchmarks.device import measure_ceilings, timed, torch_components, torch_k_means, torch_ridge

# Rows, columns, and for k-means the centres; half of the shapes are those on which settings are chosen.
SHAPES = (
    (10_000, 2, 8, "chosen"),
    (10_000, 100, 10, "reported"),
    (200_000, 17, 33, "chosen"),
    (500_000, 784, 10, "reported"),
    (1_000_000, 500, 64, "chosen"),
    (6_000_000, 96, 512, "reported"),
    (20_000_000, 16, 64, "chosen"),
    (20_000_000, 8, 8, "reported"),
    (50_000, 4_000, 100, "chosen"),
    (100_000, 2_000, 100, "reported"),
    (100_000_000, 4, 16, "reported"),
    (2_000_000, 256, 256, "chosen"),
)
ITERATIONS = 10
COMPONENTS = 8
# Numbers in the rows of one shape that are also summed in float64, to count correct digits: 8 GiB.
MOST_EXACT = 2**30


def make_rows(rows, width, device):
    """Return columns of different spreads around a mean of one, and a linear target with noise."""
    torch.manual_seed(0)
    X = torch.randn((rows, width), device=device)
    X *= torch.linspace(1, 3, width, device=device)
    X += 1.0
    y = X @ torch.randn(width, device=device) + torch.randn(rows, device=device)
    return X, y


def count_digits(found, exact):
    """Return the correct decimal digits of an answer, by the largest error relative to the largest entry."""
    exact = torch.as_tensor(exact).double().cpu()
    error = (torch.as_tensor(found).double().cpu() - exact).abs().max() / exact.abs().max()
    return round(float(-torch.log10(error.clamp(min=1e-16))), 1)


def compare_ridge(X, y, k):
    """Return plain torch's fit, ours, the operations of the products, and functions that read the coefficients."""
    from mercer.linear_model import Ridge

    flops = 2.0 * X.shape[0] * X.shape[1] ** 2
    return (
        lambda: torch_ridge(X, y, 1.0),
        lambda: Ridge(alpha=1.0).fit(X, y),
        flops,
        (lambda answer: answer[0], lambda model: torch.as_tensor(model.coef_)),
        lambda: torch_ridge(X.double(), y.double(), 1.0),
    )


def compare_components(X, y, k):
    """Return the same for principal components; what is compared are the variances."""
    from mercer.decomposition import PCA

    count = min(COMPONENTS, X.shape[1])
    return (
        lambda: torch_components(X, count),
        lambda: PCA(count).fit(X),
        2.0 * X.shape[0] * X.shape[1] ** 2,
        (lambda answer: answer[1].flip(0), lambda model: torch.as_tensor(model.explained_variance_)),
        lambda: torch_components(X.double(), count),
    )


def compare_centres(X, y, k):
    """Return the same for ten iterations of k-means from the first rows; digits are not counted."""
    from mercer.cluster import KMeans

    first = X[:k].clone()
    model = KMeans(k, init=first, n_init=1, tol=0.0, max_iter=ITERATIONS)
    flops = 2.0 * ITERATIONS * X.shape[0] * X.shape[1] * k
    return lambda: torch_k_means(X, first, ITERATIONS), lambda: model.fit(X), flops, None, None


FAMILIES = {"Ridge": (compare_ridge, 1), "PCA": (compare_components, 1), "KMeans": (compare_centres, ITERATIONS)}


def measure(family, shape, scale, device, rates, profile):
    """Return a row: the seconds of ours, of torch and of the limit, how often they go into each other, and digits."""
    rows, width, k, use = max(1000, int(shape[0] * scale)), shape[1], shape[2], shape[3]
    compare, passes = FAMILIES[family]
    X, y = make_rows(rows, width, device)
    bare, ours, flops, read, exact = compare(X, y, k)
    limit = max(flops / rates["float32"], passes * 4.0 * rows * width / rates["bytes"])
    centres = f", {k} centres" if family == "KMeans" else ""
    row = {"what": f"{family} {rows:,} x {width:,}{centres} ({use})", "seconds": timed(ours, device)}
    row["torch_seconds"], row["limit_seconds"] = timed(bare, device), limit
    row["times_as_fast_as_torch"] = row["torch_seconds"] / row["seconds"]
    row["times_the_limit"] = row["seconds"] / limit
    if read is not None and rows * width <= MOST_EXACT:
        truth = read[0](exact())
        row["digits"] = count_digits(read[1](ours()), truth)
        row["torch_digits"] = count_digits(read[0](bare()), truth)
    if profile:
        watch = cProfile.Profile()
        watch.runcall(ours)
        pstats.Stats(watch).sort_stats("tottime").print_stats(14)
    return row


def main():
    """Measure what the command line asks for, print it and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", default="", help="families, with commas between them")
    parser.add_argument("--shapes", default="", help="numbers of shapes, with commas between them")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    device = torch.device(options.device)
    warnings.simplefilter("ignore")

    class Quiet:
        def add(self, *_, **__):
            pass

    rates = measure_ceilings(Quiet(), device, max(1000, int(8_000_000 * options.scale)))
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    print(name, {key: f"{value:.3g}" for key, value in rates.items()}, flush=True)
    chosen = [int(number) for number in options.shapes.split(",") if number] or range(len(SHAPES))
    table = []
    for family in [one for one in options.only.split(",") if one] or FAMILIES:
        for number in chosen:
            row = measure(family, SHAPES[number], options.scale, device, rates, options.profile)
            table.append(row)
            print(
                f"{row['what']:<48} mercer {1e3 * row['seconds']:9.2f} ms  torch {1e3 * row['torch_seconds']:9.2f} ms  "
                f"{row['times_as_fast_as_torch']:5.2f}x torch  {row['times_the_limit']:5.2f}x the limit  "
                f"digits {row.get('digits', '')} / {row.get('torch_digits', '')}",
                flush=True,
            )
    if folder := os.environ.get("OUT"):
        machine = {"device": name, "torch": torch.__version__, "rates": rates}
        title = "Twelve shapes of three families on a GPU, beside plain torch in float32"
        record = {"title": title, "machine": machine, "date": datetime.now(UTC).date().isoformat(), "rows": table}
        Path(folder, "device_shapes.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
