"""Statistics of losses of any kind: sums by hand, the same on dense and sparse rows and on any array library."""

import array_api_strict
import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer._objective import Absolute, EpsilonInsensitive, Hinge, Huber, Pinball, Poisson, Smoothed, SquaredHinge
from mercer._source import ArraySource, SparseSource
from mercer._statistic.loss import CurvatureProduct, LossCurvature, LossGradient, SmoothedGradient
from mercer._statistic.pair import Pair
from mercer.linear_model._solvers.composite.quantile_program import NearCounts, NearRows, SideChanges
from mercer.linear_model._solvers.composite.scaled_huber import ScaledHuber, ScaledHuberCurvature

N, D = 700, 4


def make(loss):
    random = np.random.default_rng(0)
    X = random.normal(size=(N, D)) * (random.uniform(size=(N, D)) < 0.6)
    y = random.normal(size=N) if loss.target == "numbers" else random.integers(0, loss.n_classes, size=N)
    y = np.abs(y) if isinstance(loss, Poisson) else y
    y = y.astype(np.float64) if loss.n_scores == 1 else y
    return X, y, random.uniform(0, 2, size=N), random.normal(size=(loss.n_scores, D + 1))


def numbers(sums):
    return [np.asarray(getattr(sums, name)) for name in vars(sums)] if hasattr(sums, "__dict__") else [np.asarray(sums)]


def everywhere(statistic, X, y, weight):
    """The sums over dense rows, after comparison with sparse rows and another array library."""
    xp = array_api_strict
    dense = ArraySource(X, y, weight).reduce(statistic)
    sparse = SparseSource(csr_array(X), y, weight).reduce(statistic)
    moved = {name: xp.asarray(value) for name, value in vars(statistic).items() if isinstance(value, np.ndarray)}
    there = type(statistic)(**{**vars(statistic), **moved})
    other = ArraySource(xp.asarray(X), xp.asarray(y), xp.asarray(weight), xp=xp).reduce(there)
    for found in (sparse, other):
        for one, expected in zip(numbers(found), numbers(dense), strict=True):
            assert one == pytest.approx(expected, rel=1e-10, abs=1e-10)
    return dense


SMOOTH = [Huber(0.5), Poisson(), SquaredHinge(), SquaredHinge(3), Smoothed(Absolute(), 0.1), Smoothed(Hinge(3), 0.1)]


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_gradients_and_hessians_of_any_loss_are_derivatives(loss):
    X, y, weight, parameters = make(getattr(loss, "loss", loss))
    sums = everywhere(LossGradient(loss, parameters), X, y, weight)
    hessian = everywhere(LossCurvature(loss, parameters), X, y, weight)
    source = ArraySource(X, y, weight)
    direction = np.random.default_rng(1).normal(size=parameters.shape)
    ahead, behind = (source.reduce(LossGradient(loss, parameters + s * 1e-6 * direction)) for s in (1, -1))
    assert np.vdot(sums.gradient, direction) == pytest.approx((ahead.value - behind.value) / 2e-6, rel=1e-4)
    product = hessian @ direction.reshape(-1)
    assert everywhere(CurvatureProduct(loss, parameters, direction), X, y, weight).reshape(-1) == pytest.approx(product)
    if not isinstance(loss, Huber):
        change = (ahead.gradient - behind.gradient).reshape(-1) / 2e-6
        assert product == pytest.approx(change, rel=0.05, abs=0.02 * np.abs(product).max())


@pytest.mark.parametrize("loss", [Absolute(), EpsilonInsensitive(0.3), Pinball(0.8), Hinge(), Hinge(3)], ids=repr)
@pytest.mark.fixed_seed("the slopes of rows that cross a corner of the loss differ, and some tables have such rows")
def test_smoothed_sums_hold_the_loss_itself_and_its_dual_at_the_smoothed_slopes(loss):
    X, y, weight, parameters = make(loss)
    scores = X @ parameters[:, :-1].T + parameters[:, -1]
    smooth = Smoothed(loss, 0.01)
    sums = everywhere(SmoothedGradient(loss, parameters, 0.01), X, y, weight)
    assert sums.value == pytest.approx(weight @ smooth.value(scores, y, np))
    assert sums.loss == pytest.approx(weight @ loss.value(scores, y, np))
    dual = smooth.residual(scores, y, np)
    assert sums.conjugate == pytest.approx(weight @ loss.conjugate(dual, y, np))
    assert sums.gradient == pytest.approx((weight[:, None] * dual).T @ np.column_stack([X, np.ones(N)]))
    envelope = everywhere(SmoothedGradient(loss, parameters, 0.01, envelope=True), X, y, weight)
    assert envelope.value <= envelope.loss <= envelope.value + 0.005 * weight.sum() * loss.n_scores
    stepped = SmoothedGradient(loss, parameters, 0.01, 1e-3 * np.ones_like(parameters))
    ahead = everywhere(stepped, X, y, weight)
    assert np.isfinite(ahead.conjugate)
    moved = ArraySource(X, y, weight).reduce(SmoothedGradient(loss, parameters + 1e-3, 0.01))
    assert ahead.gradient == pytest.approx(moved.gradient, abs=0.05)


def test_two_statistics_in_one_pass_are_each_what_they_are_alone():
    X, y, weight, parameters = make(Huber())
    first, second = LossGradient(Huber(), parameters), LossGradient(Huber(), 2 * parameters)
    source = ArraySource(X, y, weight)
    both = source.reduce(Pair(first, second))
    assert (both.first.gradient == source.reduce(first).gradient).all()
    assert (both.second.gradient == source.reduce(second).gradient).all()


def test_the_gradient_by_coefficients_intercept_and_scale_is_that_of_the_scaled_huber_loss():
    X, y, weight, parameters = make(Huber())
    w = parameters[0]

    def value(w, scale):
        t = np.abs(y - X @ w[:-1] - w[-1]) / scale
        return weight @ (scale * (1 + np.where(t <= 1.2, t**2, 2.4 * t - 1.44)))

    sums = everywhere(ScaledHuber(w, 0.7, 1.2), X, y, weight)
    assert sums.value == pytest.approx(value(w, 0.7))
    by_scale = (value(w, 0.7 + 1e-6) - value(w, 0.7 - 1e-6)) / 2e-6
    assert weight.sum() - sums.squares == pytest.approx(by_scale, rel=1e-6)
    direction = np.random.default_rng(1).normal(size=D + 1)
    slope = (value(w + 1e-6 * direction, 0.7) - value(w - 1e-6 * direction, 0.7)) / 2e-6
    assert sums.gradient @ direction == pytest.approx(slope, rel=1e-6)
    hessian = everywhere(ScaledHuberCurvature(w, 0.7, 1.2), X, y, weight)
    above = everywhere(ScaledHuberCurvature(w, 0.7, 1.2, True), X, y, weight)
    assert hessian.shape == (D + 2, D + 2)
    assert np.linalg.eigvalsh(above - hessian).min() > -1e-9


def test_near_rows_far_sums_and_changes_of_side():
    X, y, weight, parameters = make(Pinball(0.8))
    loss, weight = Pinball(0.8), np.where(np.arange(N) % 7 == 0, 0.0, weight)
    residual = y - X @ parameters[0, :-1] - parameters[0, -1]
    sizes = np.array([0.1, 1.0, 100.0])
    counts = everywhere(NearCounts(parameters, sizes), X, y, weight)
    assert counts.tolist() == [int(((np.abs(residual) <= size) & (weight > 0)).sum()) for size in sizes]
    named = np.array([1, 2, 600])
    rows = everywhere(NearRows(loss, parameters, 0.1, named), X, y, weight)
    free = ((np.abs(residual) <= 0.1) | np.isin(np.arange(N), named)) & (weight > 0)
    assert rows.numbers.tolist() == np.flatnonzero(free).tolist()
    assert pytest.approx(X[free]) == rows.X
    slope = np.where(free, 0.0, weight * np.where(residual > 0, -0.8, 0.2))
    assert rows.gradient == pytest.approx(np.append(X.T @ slope, slope.sum()))
    assert float(rows.products) == pytest.approx(slope @ y)
    other = parameters + 0.2
    sides = everywhere(SideChanges(loss, parameters, 0.1, named, other), X, y, weight)
    after = y - X @ other[0, :-1] - other[0, -1]
    changed = ((residual > 0) != (after > 0)) & ~free & (weight > 0)
    assert sides.numbers.tolist() == np.flatnonzero(changed).tolist()
    assert sides.loss == pytest.approx(weight @ loss.value((y - after)[:, None], y, np))
