"""The affinities of rows on a device, and what a map there can be asked for."""

import math
from dataclasses import dataclass
from typing import Any

from mercer._solver.neighbours.device_search import DeviceSearch
from mercer._source.placement import Placement
from mercer._types import Array
from mercer.errors import UnsupportedError
from mercer.manifold._tsne._device.cuda_engine import CudaEngine, can_run
from mercer.manifold._tsne._device.edges import EdgeLists, EdgeTables, make_lists, make_tables
from mercer.manifold._tsne._device.engine import DeviceEngine
from mercer.manifold._tsne.affinities import count_neighbours

# Entries of the affinities that the search for widths holds at a time: 2**26 float32 are 256 MiB.
_ENTRIES = 2**26
# Halvings of the bracket of a width: 2**-60 of the first bracket is below any rounding.
_HALVINGS = 60


def find_nearest(X: Array, k: int, placement: Placement) -> tuple[Array, Array]:
    """Return the squared distances of each row to its `k` nearest other rows, rising, and their numbers."""
    squares, columns = DeviceSearch(X, "TSNE").find_there(X, k, leave_out_self=True)
    return placement.xp.astype(squares, X.dtype), columns


def weigh_nearest(squares: Array, perplexities: list[float], placement: Placement) -> tuple[Array, Array, float]:
    """Return weights with the wanted perplexity in each row, the widths, and the largest relative error.

    Of several perplexities the weights are the mean. All rows halve their brackets together.
    """
    xp, weights, widths, error = placement.xp, [], [], 0.0
    height = max(1, _ENTRIES // squares.shape[1])
    for start in range(0, squares.shape[0], height):
        part = squares[start : start + height, :]
        gaps = part - part[:, :1]
        found = [_halve(gaps, math.log(scale), xp) for scale in perplexities]
        weights.append(sum((entry[0] for entry in found[1:]), found[0][0]) / len(perplexities))
        widths.append(xp.stack([xp.sqrt(0.5 / entry[1]) for entry in found], axis=1))
        error = max(error, *(float(xp.max(xp.abs(xp.expm1(entry[2])))) for entry in found))
    return xp.concat(weights), xp.concat(widths), error


def _halve(gaps: Array, entropy: float, xp: Any) -> tuple[Array, Array, Array]:
    """Return weights exp(-beta gaps) of this entropy in each row, beta, and the error of the entropy."""
    scale = xp.mean(gaps, axis=1, keepdims=True)
    beta = 1.0 / xp.where(scale > 0, scale, xp.ones_like(scale))
    low, high = xp.zeros_like(beta), xp.full_like(beta, math.inf)
    weights = total = surplus = beta
    for _ in range(_HALVINGS):
        weights = xp.exp(-beta * gaps)
        total = xp.sum(weights, axis=1, keepdims=True)
        surplus = xp.log(total) + beta * xp.sum(weights * gaps, axis=1, keepdims=True) / total - entropy
        # Entropy falls with beta: too much of it asks for a larger one.
        more = surplus > 0
        low, high = xp.where(more, beta, low), xp.where(more, high, beta)
        middle = xp.where(xp.isinf(high), 2.0 * beta, 0.5 * (low + high))
        # Rows with as many equal neighbours as the perplexity have no such beta; it must stay a number.
        beta = xp.where(xp.isfinite(middle) & (middle > 0), middle, beta)
    return weights / total, beta[:, 0], surplus[:, 0]


@dataclass(frozen=True, eq=False)
class DeviceAffinities:
    """Affinities, the widths of the rows' Gaussians, and the largest relative error of a perplexity."""

    edges: EdgeTables | EdgeLists
    sigma: Array
    error: float


def check_device(model: Any) -> None:
    """Raise if a map of rows on a device cannot do what else is asked for."""
    if (
        model.metric not in ("euclidean", "l2")
        or model.n_components != 2
        or model.kernel != "student"
        or model.dof != 1
    ):
        raise UnsupportedError(
            f"TSNE: rows on a device need metric='euclidean', n_components=2, kernel='student' and dof=1; got "
            f"metric={model.metric!r}, n_components={model.n_components}, kernel={model.kernel!r} and "
            f"dof={model.dof:g}. Use these, or copy the rows to memory as a NumPy array."
        )


def find_affinities_there(rows: Array, perplexities: list[float], placement: Placement) -> DeviceAffinities:
    """Return the affinities of rows and their nearest neighbours, computed where the rows are."""
    k = count_neighbours(rows.shape[0], perplexities)
    squares, columns = find_nearest(rows, k, placement)
    weights, sigma, error = weigh_nearest(squares, perplexities, placement)
    # CUDA programs take lists, array operations tables.
    make_edges = make_lists if can_run(rows) else make_tables
    return DeviceAffinities(make_edges(weights, columns, placement), sigma, error)


def open_engine(edges: EdgeTables | EdgeLists) -> DeviceEngine | CudaEngine:
    """Return CUDA programs for lists of affinities, array operations for tables of them."""
    return CudaEngine(edges) if isinstance(edges, EdgeLists) else DeviceEngine(edges)
