"""The number of columns of orthogonal matching pursuit, chosen by cross-validation."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.step import Certificate, Solution, Step
from mercer._types import Array
from mercer.linear_model._solvers.greedy.column_products import ProductPlan, open_products
from mercer.linear_model._solvers.greedy.matching_pursuit import ORTHOGONAL, MatchingPursuit, PursuitRecord
from mercer.linear_model._solvers.greedy.path_choice import walk_together
from mercer.linear_model._solvers.lasso.coordinate_descent import check_sums
from mercer.linear_model._solvers.lasso.cross_validation import FoldMoments, Weights

# Rounds between which Ctrl-C finds a model to keep, and the fewest columns of one.
_ROUNDS = 4
_FEWEST = 16


@plain
@dataclass(frozen=True, eq=False)
class ChosenSize:
    """The model of the number of columns that is best so far, the errors of each number, and where all pursuits are."""

    coef: Array
    intercept: Array
    chosen: int
    errors: Array
    method: str
    records: tuple[PursuitRecord, ...]


def cross_validate_pursuits(
    plan: ProductPlan, splits: list[tuple[Array, Array]], most: int, start: ChosenSize | None
) -> Solver[ChosenSize]:
    """Choose the number of columns, up to `most`, with the least mean squared error over the folds."""
    folds, everything = yield FoldMoments(splits, plan.centre, plan.on_gram, plan.subject)
    own, paths = (yield Weights()), []
    for moments, weight in [*((fold.moments, fold.weight) for fold in folds), (everything, own)]:
        check_sums(plan.subject, moments)
        products = yield from open_products(plan, moments, weight)
        paths.append(MatchingPursuit(plan.subject, most, -np.inf, moments, 0, products))
    method = "gram" if plan.on_gram else "columns"
    if start is not None:
        for path, record in zip(paths, start.records, strict=True):
            yield from path.restore(record)
    pace = max(_FEWEST, -(-most // _ROUNDS))
    if start is None:
        yield from _advance(paths, pace, len(everything.mean))
    size = _choose(folds, paths, everything, method)
    if start is None:
        yield _report(paths[-1], size)
    while not all(path.is_over for path in paths):
        yield from _advance(paths, pace, len(everything.mean))
        size = _choose(folds, paths, everything, method)
        yield _report(paths[-1], size)
    return Solution(size, True, _certify(paths[-1], size))


def _report(path: MatchingPursuit, size: ChosenSize) -> Step[ChosenSize]:
    return Step(float(size.errors.mean(axis=1).min()), size, _certify(path, size))


def _advance(paths: list[MatchingPursuit], steps: int, n_features: int) -> Generator[Any, Any, None]:
    yield from walk_together([path.walk(steps) for path in paths], steps, n_features)


def _choose(folds: list[Any], paths: list[MatchingPursuit], moments: Any, method: str) -> ChosenSize:
    """Return the number of columns with the least mean error over the folds, as far as all have come."""
    reached = max(1, min(path.n_steps for path in paths[:-1]))
    errors = np.stack(
        [_errors(fold, path.coefs[1 : reached + 1]) for fold, path in zip(folds, paths, strict=False)], axis=1
    )
    chosen = 1 + int(np.argmin(errors.mean(axis=1)))
    coef = paths[-1].coefs[min(chosen, paths[-1].n_steps)][:, None].copy()
    intercept = moments.y_mean - moments.mean @ coef
    return ChosenSize(coef, intercept, chosen, errors, method, tuple(path.record() for path in paths))


def _errors(fold: Any, coefs: Array) -> Array:
    # Targets that no column says anything of leave a fold without a column.
    return fold.errors(coefs if len(coefs) else np.zeros((1, len(fold.moments.mean))))


def _certify(path: MatchingPursuit, size: ChosenSize) -> Certificate:
    return Certificate.of("residual", path.measure_at(size.coef[:, 0]), path.exact, ORTHOGONAL)
