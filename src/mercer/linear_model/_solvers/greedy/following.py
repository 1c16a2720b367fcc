"""Follows the paths of several targets, one after the other, step by step."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.step import Solution, Step
from mercer._statistic import MomentSums
from mercer._types import Array
from mercer.linear_model._solvers.greedy.column_products import (
    ColumnProducts,
    ProductPlan,
    open_products,
    sum_products,
)


@plain
@dataclass(frozen=True, eq=False)
class PathsState:
    """The model (``coef`` is features x targets), and where the path of each target is."""

    coef: Array
    intercept: Array
    records: tuple[Any, ...]
    total: float
    method: str


def follow_paths(
    plan: ProductPlan,
    begin: Callable[[MomentSums, int, ColumnProducts], Any],
    pace: int,
    start: PathsState | None,
    check: Callable[[MomentSums], None] = lambda moments: None,
) -> Solver[PathsState]:
    """Walk the path of each target to its end.

    Parameters
    ----------
    plan : ProductPlan
    begin : callable
        From moments, the number of a target and products to a path.
    pace : int
        Knots between two steps that watches see.
    start : PathsState or None
        A state of an earlier run.
    check : callable
        Checks the moments.
    """
    moments = yield from sum_products(plan)
    check(moments)
    paths = yield from _open(plan, begin, moments)
    if start is not None:
        for path, record in zip(paths, start.records, strict=True):
            yield from path.restore(record)
    state = _read(paths, moments, plan)
    for number, path in enumerate(paths):
        while not path.is_over:
            before = path.n_steps
            yield from path.walk(pace)
            state = _read(paths, moments, plan)
            if path.n_steps > before:
                yield _report(paths, number, state, before + 1)
    if not any(path.n_steps for path in paths):
        yield _report(paths, 0, state, 0)
    return Solution(state, all(path.has_arrived for path in paths), paths[0].certify(paths[1:]))


def _open(plan: ProductPlan, begin: Callable[..., Any], moments: MomentSums) -> Generator[Any, Any, list[Any]]:
    """Open the paths of all targets, which share the products of columns."""
    products = yield from open_products(plan, moments)
    return [begin(moments, target, products) for target in range(len(moments.y_scatter))]


def _read(paths: list[Any], moments: Any, plan: ProductPlan) -> PathsState:
    coef = np.stack([path.coef for path in paths], axis=1)
    intercept = moments.y_mean - moments.mean @ coef
    method = "gram" if plan.on_gram else "columns"
    return PathsState(coef, intercept, tuple(path.record() for path in paths), float(moments.weight), method)


def _report(paths: list[Any], moving: int, state: PathsState, first: int) -> Step[PathsState]:
    """Return the step to the last knot of a path; those from the knot `first` on go to the history alone."""
    others = sum(float(path.objectives()[-1]) for number, path in enumerate(paths) if number != moving)
    path = paths[moving]
    columns = {"objective": (path.objectives()[first:] + others).tolist()}
    columns |= {name: values[first:].tolist() for name, values in path.measures().items()}
    last = {name: values.pop() for name, values in columns.items()}
    earlier = columns if columns["objective"] else None
    return Step(last.pop("objective"), state, paths[0].certify(paths[1:]), last, earlier)
