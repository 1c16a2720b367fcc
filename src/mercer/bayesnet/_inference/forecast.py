"""The cost of a propagation, computed from the plan before any message is allocated."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mercer._plain import plain
from mercer.bayesnet._inference.plan import Plan


@plain
@dataclass(frozen=True)
class Forecast:
    """What one propagation costs without evidence; evidence makes it cheaper.

    Attributes
    ----------
    n_cliques : int
    largest_clique : tuple of names
        The clique with the largest table.
    largest_cells : int
        The cells of that table. It is visited, but never stored.
    largest_operations : int
        The multiplications and additions of that clique.
    total_cells : int
        The cells of the tables of all cliques.
    message_cells : int
        The entries of the messages in one direction.
    n_operations : int
        The multiplications and additions of all cliques.
    n_bytes : int
        The memory for tables, messages and index maps.
    """

    n_cliques: int
    largest_clique: tuple[Any, ...]
    largest_cells: int
    largest_operations: int
    total_cells: int
    message_cells: int
    n_operations: int
    n_bytes: int


def forecast_plan(plan: Plan, names: Sequence[Any]) -> Forecast:
    """Return the cost of a plan, with the largest clique by name."""
    largest = max(range(len(plan.cells)), key=plan.cells.__getitem__) if plan.cells else None
    return Forecast(
        n_cliques=sum(not is_group for is_group in plan.is_group),
        largest_clique=() if largest is None else tuple(names[v] for v in plan.cliques[largest]),
        largest_cells=max(plan.cells, default=0),
        largest_operations=0 if largest is None else plan.clique_operations[largest],
        total_cells=sum(plan.cells),
        message_cells=plan.n_messages,
        n_operations=plan.operations,
        n_bytes=plan.n_bytes,
    )
