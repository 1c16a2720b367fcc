"""The affinities of rows on a device, and what a map there can be asked for."""

from dataclasses import dataclass
from typing import Any

from mercer._source.device.source import full_precision
from mercer._source.placement import Placement
from mercer._types import Array
from mercer.errors import UnsupportedError
from mercer.manifold._tsne._device.cuda_engine import can_run
from mercer.manifold._tsne._device.edges import EdgeLists, EdgeTables, make_lists, make_tables
from mercer.manifold._tsne._device.neighbours import find_nearest, weigh_nearest
from mercer.manifold._tsne.affinities import count_neighbours


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
    with full_precision(placement):
        squares, columns = find_nearest(rows, k, placement)
    weights, sigma, error = weigh_nearest(squares, perplexities, placement)
    # CUDA programs take lists, array operations tables.
    make_edges = make_lists if can_run(rows) else make_tables
    return DeviceAffinities(make_edges(weights, columns, placement), sigma, error)
