"""Exact nearest neighbours on a GPU, rows already in place, against tiles of products and topk in bare torch. By hand:

    python -m benchmarks.device_neighbours                        100 000 x 30, k = 10 and 1 000 000 x 50, k = 90
    python -m benchmarks.device_neighbours --device cpu --scale 0.01      a rehearsal without a GPU

Answers are compared with those of all distances in float64, for some of the queries. Writes device.json into the folder
that the variable OUT names, if it is set.
"""

import argparse

import torch

from benchmarks.device import Table, timed
from benchmarks.device_tsne import make_rows

# Queries whose answers are compared with all distances.
CHECKED = 256
# Queries that bare torch answers: a million would take it longer than all else here.
BARE = 2**16


def torch_neighbours(X, k, count, rows=2**12):
    """Neighbours of the first rows in torch alone, as one would write it: tiles of float32 scores, and topk."""
    norms, found = 0.5 * (X * X).sum(1), []
    for start in range(0, count, rows):
        part = X[start : min(start + rows, count)]
        scores = torch.addmm(norms, part, X.T, alpha=-1.0)
        places = torch.arange(len(part), device=X.device)
        scores[places, start + places] = torch.inf
        found.append(torch.topk(scores, k, dim=1, largest=False).indices)
    return torch.cat(found)


def true_neighbours(X, count, k):
    """Neighbours of the first rows by all distances in float64, column by column; ties by index."""
    squares = torch.zeros((count, len(X)), dtype=torch.float64, device=X.device)
    for column in X.double().T:
        squares += (column[:count, None] - column[None, :]) ** 2
    squares.fill_diagonal_(torch.inf)
    return torch.sort(squares, dim=1, stable=True).indices[:, :k]


def measure(table, name, X, k):
    """Seconds of the estimator, which returns distances too, and of bare torch; shares of equal answers."""
    from mercer.neighbors import NearestNeighbors

    model, found = NearestNeighbors(n_neighbors=k).fit(X), []
    seconds = timed(lambda: found.append(model.kneighbors()[1]), X.device, repeats=1)
    count = min(CHECKED, len(X))
    expected = true_neighbours(X, count, k)
    same = float(torch.equal(found[0], found[-1]))
    exact = float((found[-1][:count] == expected).double().mean())
    table.add(f"{name}, k = {k}: mercer", seconds, equal=exact, same_bits=same)
    asked = min(BARE, len(X))
    bare = timed(lambda: found.append(torch_neighbours(X, k, asked)), X.device, repeats=1)
    exact = float((found[-1][:count] == expected).double().mean())
    ratio = bare / asked * len(X) / seconds
    table.add(f"{name}, k = {k}: torch alone, {asked} queries", bare, equal=exact, to_mercer_per_query=ratio)


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    device = torch.device(options.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    table = Table()
    torch.manual_seed(0)
    small, large = int(100_000 * options.scale), int(1_000_000 * options.scale)
    measure(table, f"neighbours of {small} x 30 normal rows", torch.randn((small, 30), device=device), 10)
    measure(table, f"neighbours of {large} x 50 rows in groups", make_rows(large, device), 90)
    table.write({"device": name, "torch": torch.__version__, "rows": large})


if __name__ == "__main__":
    main()
