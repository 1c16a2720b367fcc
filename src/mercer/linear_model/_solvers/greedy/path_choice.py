"""The choice of a place on a path of least angles: by cross-validation, or by an information criterion."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.step import Certificate, Solution, Step
from mercer._types import Array
from mercer.linear_model._solvers.greedy.column_products import ProductPlan, open_products, sum_products
from mercer.linear_model._solvers.greedy.least_angle import LeastAnglePath, PathRecord, PathRules, certify
from mercer.linear_model._solvers.lasso.coordinate_descent import check_sums
from mercer.linear_model._solvers.lasso.cross_validation import FoldMoments, Together, Weights

Asking = Generator[Any, Any, Any]
# Rounds of a cross-validation, between which Ctrl-C finds a model to keep, and the fewest steps of one: a round takes
# some 0.1 ms besides its steps.
_ROUNDS = 4
_FEWEST = 16
# Numbers that a step may touch, over all its products, for which threads would take longer to be told than to do it.
_SHORT = 2**18


@plain
@dataclass(frozen=True, eq=False)
class ChosenPlace:
    """The model at the place chosen so far, the path to it, and what the choice was made by.

    ``alphas`` are the penalties compared and ``values`` their errors, a row for each and a column for each fold, or the
    values of a criterion. ``records`` are those of the folds, and last that of all rows, and ``errors`` those at the
    knots of each fold's path and between them.
    """

    coef: Array
    intercept: Array
    alpha: float
    path_alphas: Array
    path_coefs: Array
    alphas: Array
    values: Array
    noise: float
    method: str
    records: tuple[PathRecord, ...]
    errors: tuple[tuple[Array, Array], ...] = ()


def cut_path(path: LeastAnglePath, alpha: float) -> tuple[Array, Array]:
    """Return the penalties and coefficients of the knots of a path down to a penalty, which is the last knot.

    Where the path has not come to it, the knots so far.
    """
    alphas, coefs = path.alphas, path.coefs
    last = int(np.searchsorted(-alphas, -alpha, side="left"))
    if last == 0:
        return np.array([alpha]), coefs[:1]
    if last == len(alphas):
        return alphas, coefs
    share = (alphas[last - 1] - alpha) / (alphas[last - 1] - alphas[last])
    end = coefs[last] if share == 1.0 else coefs[last - 1] + share * (coefs[last] - coefs[last - 1])
    return np.append(alphas[:last], alpha), np.concatenate([coefs[:last], end[None]])


def list_active(coefs: Array) -> list[int]:
    """Return the columns in use at the last of some knots, in the order in which they joined."""
    active: list[int] = []
    for coef in coefs[1:]:
        active = [column for column in active if coef[column] != 0]
        active += [column for column in np.flatnonzero(coef).tolist() if column not in active]
    return active


def interpolate_errors(knots: Array, errors: Array, middles: Array, alphas: Array) -> Array:
    """Return the errors at some penalties: between two knots an error is a parabola, which three values determine.

    Above the first knot and below the last the error is that of the knot.
    """
    if len(knots) == 1:
        return np.full(len(alphas), errors[0])
    places = np.clip(np.searchsorted(-knots, -alphas, side="right") - 1, 0, len(knots) - 2)
    upper, lower = knots[places], knots[places + 1]
    t = np.clip((upper - alphas) / (upper - lower), 0.0, 1.0)
    first, middle, last = errors[places], middles[places], errors[places + 1]
    return first + t * ((4.0 * middle - 3.0 * first - last) + t * (2.0 * first + 2.0 * last - 4.0 * middle))


def walk_together(walks: list[Asking], steps: int, n_features: int) -> Asking:
    """Run some walks of a number of steps side by side, or one after the other where they are short."""
    if steps * n_features**2 > _SHORT:
        yield Together(walks)
        return
    for walk in walks:
        yield from walk


class _FoldPath:
    """The path of a fold's training rows, and the errors on its test rows at its knots and half-way between them."""

    def __init__(self, path: LeastAnglePath, fold: Any) -> None:
        self.path, self.fold = path, fold
        self.at_knots, self.between = fold.errors(path.coefs), np.empty(0)

    def walk(self, steps: int) -> Asking:
        """Take steps, and find the errors at the knots reached."""
        first = len(self.at_knots)
        yield from self.path.walk(steps)
        coefs = self.path.coefs[first - 1 :]
        errors = self.fold.errors(np.concatenate([coefs[1:], 0.5 * (coefs[:-1] + coefs[1:])]))
        self.at_knots = np.append(self.at_knots, errors[: len(coefs) - 1])
        self.between = np.append(self.between, errors[len(coefs) - 1 :])


class _Folds:
    """The paths of the folds, and that of all rows, on their way down."""

    def __init__(self, paths: list[_FoldPath], whole: LeastAnglePath, moments: Any, limit: int, method: str) -> None:
        self.paths, self.whole, self.moments, self.limit, self.method = paths, whole, moments, limit, method

    @property
    def every(self) -> list[LeastAnglePath]:
        """The paths of the folds, and last that of all rows."""
        return [*(fold.path for fold in self.paths), self.whole]

    def restore(self, place: ChosenPlace) -> Asking:
        """Go to an earlier state."""
        for path, record in zip(self.every, place.records, strict=True):
            yield from path.restore(record)
        for fold, (at_knots, between) in zip(self.paths, place.errors, strict=True):
            fold.at_knots, fold.between = at_knots, between

    def advance(self, steps: int) -> Asking:
        """Take steps on every path, side by side."""
        walks = [*(fold.walk(steps) for fold in self.paths), self.whole.walk(steps)]
        yield from walk_together(walks, steps, len(self.moments.mean))

    def choose(self) -> ChosenPlace:
        """Return the place of the least mean error over the folds, as far as their paths have come."""
        alphas = np.unique(np.concatenate([fold.path.alphas for fold in self.paths]))
        alphas = alphas[:: max(1, len(alphas) // self.limit)]
        tables = [(fold.path.alphas, fold.at_knots, fold.between) for fold in self.paths]
        errors = np.stack([interpolate_errors(*table, alphas) for table in tables], axis=1)
        alpha = float(alphas[np.argmin(errors.mean(axis=1))])
        path_alphas, path_coefs = cut_path(self.whole, alpha)
        coef = path_coefs[-1][:, None]
        intercept = self.moments.y_mean - self.moments.mean @ coef
        return ChosenPlace(
            coef, intercept, alpha, path_alphas, path_coefs.copy(), alphas, errors, np.nan, self.method,
            tuple(path.record() for path in self.every), tuple(table[1:] for table in tables),
        )  # fmt: skip

    def covers(self, place: ChosenPlace) -> bool:
        """Return whether every path has come below the chosen penalty, or to its end."""
        return all(path.has_arrived or path.alphas[-1] < place.alpha for path in self.every)


def cross_validate_paths(
    plan: ProductPlan, rules: PathRules, splits: list[tuple[Array, Array]], limit: int, start: ChosenPlace | None
) -> Solver[ChosenPlace]:
    """Choose the penalty with the least mean squared error over the folds, among all knots of their paths.

    Parameters
    ----------
    plan : ProductPlan
    rules : PathRules
    splits : list of pairs of ndarray
        The rows of each fold to train and to test on.
    limit : int
        Of how many knots every one is compared; of more, every second, third...
    start : ChosenPlace or None
        A state of an earlier run.
    """
    folds, everything = yield FoldMoments(splits, plan.centre, plan.on_gram, plan.subject)
    own, paths = (yield Weights()), []
    for moments, weight in [*((fold.moments, fold.weight) for fold in folds), (everything, own)]:
        check_sums(plan.subject, moments)
        products = yield from open_products(plan, moments, weight)
        paths.append(LeastAnglePath(rules, moments, 0, products, len(moments.mean)))
    tested = [_FoldPath(path, fold) for path, fold in zip(paths, folds, strict=False)]
    walk = _Folds(tested, paths[-1], everything, limit, "gram" if plan.on_gram else "columns")
    if start is not None:
        yield from walk.restore(start)
    place = walk.choose() if start is None else start
    if start is None:
        yield _report(walk.whole, place)
    pace = max(_FEWEST, -(-int(min(rules.most, len(everything.mean))) // _ROUNDS))
    while not all(path.is_over for path in paths):
        yield from walk.advance(pace)
        place = walk.choose()
        yield _report(walk.whole, place)
    return Solution(place, walk.covers(place), _certify(walk.whole, place))


def choose_by_criterion(
    plan: ProductPlan,
    rules: PathRules,
    n_rows: int,
    pace: int,
    estimate_noise: Callable[[], Asking],
    price: Callable[[float], float],
    start: ChosenPlace | None,
) -> Solver[ChosenPlace]:
    """Choose the knot of the path with the least S log(2 pi v) + |r|^2 / v + price(S) (coefficients that are not zero).

    `estimate_noise` asks for the variance v of the noise, and S is the sum of the weights.
    """
    moments = yield from sum_products(plan)
    noise = (yield from estimate_noise()) if start is None else start.noise
    products = yield from open_products(plan, moments)
    path = LeastAnglePath(rules, moments, 0, products, n_rows)
    if start is not None:
        yield from path.restore(start.records[0])
    place, before = start, path.n_steps
    while place is None or not path.is_over:
        yield from path.walk(pace)
        place = _choose_knot(path, moments, noise, price(path.total), "gram" if plan.on_gram else "columns")
        if path.n_steps > before or path.n_steps == 0:
            yield _report_knots(path, place, min(before + 1, path.n_steps))
        before = path.n_steps
    return Solution(place, path.has_arrived, _certify(path, place))


def _choose_knot(path: LeastAnglePath, moments: Any, noise: float, price: float, method: str) -> ChosenPlace:
    """Return the knot with the least criterion; a coefficient costs `price`."""
    coefs = path.coefs
    freedom = np.count_nonzero(np.abs(coefs) > np.finfo(np.float64).eps, axis=1)
    squares = np.maximum(path.heights[: len(coefs), 1], 0.0)
    values = path.total * np.log(2.0 * np.pi * noise) + squares / noise + price * freedom
    best = int(np.argmin(values))
    coef = coefs[best][:, None].copy()
    return ChosenPlace(
        coef, moments.y_mean - moments.mean @ coef, float(path.alphas[best]), path.alphas[: best + 1],
        coefs[: best + 1].copy(), path.alphas, values, noise, method, (path.record(),),
    )  # fmt: skip


def _report_knots(path: LeastAnglePath, place: ChosenPlace, first: int) -> Step[ChosenPlace]:
    """Return the step to the last knot; those between it and the knot `first` go to the history alone."""
    least = np.minimum.accumulate(place.values)
    best = np.array([int(np.argmin(place.values[: knot + 1])) for knot in range(first, len(least))])
    objectives, alphas = least[first:].tolist(), path.alphas[best].tolist()
    earlier = {"objective": objectives[:-1], "alpha": alphas[:-1]} if len(objectives) > 1 else None
    return Step(objectives[-1], place, _certify(path, place), {"alpha": alphas[-1]}, earlier)


def _report(path: LeastAnglePath, place: ChosenPlace) -> Step[ChosenPlace]:
    objective = float(np.min(np.atleast_2d(place.values.T).mean(axis=0)))
    return Step(objective, place, _certify(path, place), {"alpha": place.alpha})


def _certify(path: LeastAnglePath, place: ChosenPlace) -> Certificate:
    height = path.total * place.alpha
    return certify(path.rules.lasso and height > 0, [path.measure_at(place.coef[:, 0], height)])
