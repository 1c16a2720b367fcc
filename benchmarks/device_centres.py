"""K-means, PCA and Ridge on a GPU for many shapes, against bare torch and what flops and bytes allow. Run by hand:

    python -m benchmarks.device_centres                                  d in 8, 32, 96, 256 and k in 8, 64, 512, 2048
    python -m benchmarks.device_centres --device cpu --numbers 100000    a rehearsal without a GPU

Every fit of k-means takes ten iterations from the same centres. The bound of k-means is that of float32 products and
bytes, the bound of sums of squares that of float64 products of one triangle, or bytes, whichever is larger. Rates are
measured first. Writes device.json into the folder that the variable OUT names, if it is set.
"""

import argparse
import warnings

import torch

from benchmarks.device import ITERATIONS, Table, measure_ceilings, timed, torch_components, torch_k_means, torch_ridge

WIDTHS = (8, 32, 96, 256)
COUNTS = (8, 64, 512, 2048)
# The shape of the claim in the documentation: rows, columns and centres.
CLAIM = (6_000_000, 96, 512)


def make_rows(rows, width, device):
    """64 groups of normal rows."""
    torch.manual_seed(0)
    middle = 2.0 * torch.randn((64, width), device=device)
    return torch.randn((rows, width), device=device) + middle[torch.randint(64, (rows,), device=device)]


def measure_k_means(table, X, k, rates):
    """Ten iterations of both, and the bound."""
    from mercer.cluster import KMeans

    (rows, width), first = X.shape, X[:k].clone()
    model = KMeans(k, init=first, n_init=1, tol=0.0, max_iter=ITERATIONS)
    bound = ITERATIONS * (2.0 * rows * k * width / rates["float32"] + 4.0 * rows * width / rates["bytes"])
    seconds = timed(lambda: model.fit(X), X.device, repeats=2)
    bare = timed(lambda: torch_k_means(X, first, ITERATIONS), X.device, repeats=1)
    name = f"k-means {rows} x {width}, k = {k}: mercer"
    table.add(name, seconds, torch_alone=bare, to_torch=seconds / bare, to_bound=seconds / bound)


def measure_squares(table, X, rates):
    """PCA and Ridge, which need one pass of sums of squares, against float32 torch and the bound in float64."""
    from mercer.decomposition import PCA
    from mercer.linear_model import Ridge

    rows, width = X.shape
    y = X @ torch.randn(width, device=X.device)
    # One triangle of the products: rows width (width + 1) multiplications and additions.
    bound = max(rows * width * (width + 1.0) / rates["float64"], 4.0 * rows * width / rates["bytes"])
    for name, ours, bare in (
        ("PCA(8)", lambda: PCA(min(8, width)).fit(X), lambda: torch_components(X, min(8, width))),
        ("Ridge", lambda: Ridge().fit(X, y), lambda: torch_ridge(X, y, 1.0)),
    ):
        seconds, other = timed(ours, X.device), timed(bare, X.device)
        facts = {"torch_float32": other, "to_torch": seconds / other, "to_bound": seconds / bound}
        table.add(f"{name} {rows} x {width}: mercer, sums in float64", seconds, **facts)


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--numbers", type=int, default=2**27, help="numbers of a table: its rows times its columns")
    options = parser.parse_args()
    device = torch.device(options.device)
    table, name = Table(), torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    rates = measure_ceilings(table, device, min(8_000_000, options.numbers // 16))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if device.type == "cuda":
            X = make_rows(*CLAIM[:2], device)
            measure_k_means(table, X, CLAIM[2], rates)
            measure_squares(table, X, rates)
            del X
        for width in WIDTHS:
            X = make_rows(options.numbers // width, width, device)
            for k in COUNTS:
                measure_k_means(table, X, min(k, len(X) // 8), rates)
            measure_squares(table, X, rates)
    table.write({"device": name, "torch": torch.__version__, "rows": options.numbers})


if __name__ == "__main__":
    main()
