"""Every loss: values by hand, derivatives by differences, conjugates and proximal maps by their definitions."""

import array_api_strict
import numpy as np
import pytest

from mercer._objective import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Gamma,
    Hinge,
    Huber,
    LogCosh,
    Logistic,
    ModifiedHuber,
    PerceptronLoss,
    Pinball,
    Poisson,
    Smoothed,
    Softmax,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    Tukey,
    ZeroOne,
)
from mercer.errors import DataError

REGRESSION = [
    *(Squared(), Absolute(), Huber(0.8), EpsilonInsensitive(0.3), SquaredEpsilonInsensitive(0.3), Pinball(0.8)),
    *(Poisson(), Gamma(), LogCosh(), Tukey(2.0)),
]
MARGIN = [Hinge(), SquaredHinge(), ModifiedHuber(), PerceptronLoss(), Exponential(), Logistic()]
SEVERAL = [Hinge(3), SquaredHinge(4), Exponential(3), Softmax(3)]
CONVEX = [loss for loss in [*REGRESSION, *MARGIN, *SEVERAL] if loss.is_convex]
WITH_CORNERS = [Absolute(), EpsilonInsensitive(0.3), Pinball(0.8), Hinge(), PerceptronLoss(), Hinge(3)]


def _named(value):
    """The same name in every process: functions have their addresses in theirs."""
    return "formula" if callable(value) and not isinstance(value, type) and not hasattr(value, "value") else repr(value)


def example(loss, n=60):
    random = np.random.default_rng(0)
    scores = random.normal(size=(n, loss.n_scores)) * 2.0
    if loss.target == "numbers":
        y = random.normal(size=n) if loss.least_target < 0 else random.poisson(1.5, size=n) + 0.5 * loss.above_least
    else:
        y = random.integers(0, loss.n_classes, size=n)
        y = y.astype(np.float64) if loss.n_scores == 1 else y
    return scores, y


@pytest.mark.catalogue("LM-18")
@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (Squared(), lambda r: r**2 / 2),
        (Absolute(), np.abs),
        (Huber(1.0), lambda r: np.where(abs(r) <= 1, r**2 / 2, abs(r) - 0.5)),
        (EpsilonInsensitive(0.5), lambda r: np.maximum(0, abs(r) - 0.5)),
        (SquaredEpsilonInsensitive(0.5), lambda r: np.maximum(0, abs(r) - 0.5) ** 2),
        (Pinball(0.9), lambda r: np.where(r > 0, 0.9 * r, -0.1 * r)),
        (Tukey(2.0), lambda r: np.where(abs(r) <= 2, 4 / 6 * (1 - (1 - (r / 2) ** 2) ** 3), 4 / 6)),
    ],
    ids=_named,
)
def test_a_loss_of_numbers_is_its_formula_of_the_residual(loss, expected):
    r = np.linspace(-3, 3, 61)
    assert loss.value(5.0 - r[:, None], np.full(61, 5.0), np) == pytest.approx(expected(r), abs=1e-12)


@pytest.mark.catalogue("LM-18", "LM-13")
@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (ZeroOne(), lambda m: (m <= 0).astype(float)),
        (PerceptronLoss(), lambda m: np.maximum(0, -m)),
        (Hinge(), lambda m: np.maximum(0, 1 - m)),
        (SquaredHinge(), lambda m: np.maximum(0, 1 - m) ** 2),
        (Exponential(), lambda m: np.exp(-m)),
        (Logistic(), lambda m: np.log1p(np.exp(-m))),
    ],
    ids=_named,
)
def test_a_loss_of_labels_is_its_formula_of_the_margin(loss, expected):
    z = np.linspace(-3, 3, 61)
    for y, sign in ((1.0, 1.0), (0.0, -1.0)):
        assert loss.value(z[:, None], np.full(61, y), np) == pytest.approx(expected(sign * z), abs=1e-12)


@pytest.mark.catalogue("LM-18")
def test_surrogates_bound_the_zero_one_loss_from_above():
    z, y = np.linspace(-4, 4, 401)[:, None], np.ones(401)
    mistakes = ZeroOne().value(z, y, np)
    for loss, factor in ((Hinge(), 1.0), (SquaredHinge(), 1.0), (Exponential(), 1.0), (Logistic(), 1.4426951)):
        assert (factor * loss.value(z, y, np) >= mistakes - 1e-7).all()


@pytest.mark.catalogue("LM-18")
def test_beside_its_tube_the_epsilon_insensitive_loss_is_as_steep_as_the_absolute_one():
    z = np.array([[-2.0], [0.0], [2.0]])
    assert EpsilonInsensitive(0.5).residual(z, np.zeros(3), np).ravel().tolist() == [-1.0, 0.0, 1.0]
    assert Absolute().residual(z[[0, 2]], np.zeros(2), np).ravel().tolist() == [-1.0, 1.0]


@pytest.mark.catalogue("LM-18")
@pytest.mark.parametrize("loss", [*REGRESSION, *MARGIN, *SEVERAL], ids=_named)
def test_residuals_are_derivatives_and_curvatures_their_derivatives(loss):
    scores, y = example(loss)
    for column in range(loss.n_scores):
        step = np.zeros_like(scores)
        step[:, column] = 1e-6
        slope = (loss.value(scores + step, y, np) - loss.value(scores - step, y, np)) / 2e-6
        bend = (loss.residual(scores + step, y, np) - loss.residual(scores - step, y, np))[:, column] / 2e-6
        assert loss.residual(scores, y, np)[:, column] == pytest.approx(slope, abs=1e-6)
        assert loss.curvature(scores, y, np)[:, column] == pytest.approx(bend, abs=1e-6)


@pytest.mark.parametrize("loss", CONVEX, ids=_named)
def test_values_at_the_middle_are_below_the_chord_and_the_curvature_below_its_bound(loss):
    scores, y = example(loss)
    other = np.random.default_rng(1).normal(size=scores.shape) * 2.0
    middle = loss.value(0.5 * (scores + other), y, np)
    assert (middle <= 0.5 * (loss.value(scores, y, np) + loss.value(other, y, np)) + 1e-12).all()
    assert (loss.curvature(scores, y, np) <= loss.smoothness + 1e-12).all()


@pytest.mark.catalogue("LM-18")
@pytest.mark.parametrize("loss", CONVEX, ids=_named)
def test_value_and_conjugate_meet_in_fenchel_and_youngs_equality_and_nowhere_fall_below_it(loss):
    scores, y = example(loss)
    dual = loss.residual(scores, y, np)
    conjugate = loss.conjugate(dual, y, np)
    product = np.sum(scores * dual, axis=1)
    assert loss.value(scores, y, np) + conjugate == pytest.approx(product, abs=1e-9)
    other = scores + np.random.default_rng(2).normal(size=scores.shape)
    assert (loss.value(other, y, np) + conjugate >= np.sum(other * dual, axis=1) - 1e-9).all()


@pytest.mark.parametrize("loss", [Absolute(), Huber(0.8), Pinball(0.8), Hinge(), Logistic()], ids=_named)
def test_conjugates_are_infinite_beyond_the_steepest_slopes(loss):
    assert np.isinf(loss.conjugate(np.array([[1.01], [-1.01]]), np.array([0.0, 1.0]), np)).all()


@pytest.mark.parametrize("loss", [one for one in CONVEX if one.is_separable], ids=_named)
def test_the_proximal_map_minimises_its_definition(loss):
    scores, y = example(loss)
    for step in (0.1, 2.0):
        found = loss.prox(scores, y, step, np)

        def cost(u, step=step):
            return np.sum((u - scores) ** 2, axis=1) / (2 * step) + loss.value(u, y, np)

        for move in (1e-4, -1e-4, 0.1, -0.1):
            assert (cost(found) <= cost(found + move) + 1e-12).all()


@pytest.mark.parametrize("loss", WITH_CORNERS, ids=_named)
def test_a_barrier_smooths_a_loss_from_below_with_slopes_that_the_loss_has(loss):
    scores, y = example(loss)
    scores = np.vstack([scores, 0.0 * scores[:3]])
    y = np.concatenate([y, y[:3]])
    for barrier in (1.0, 1e-3, 1e-9):
        smooth = Smoothed(loss, barrier)
        value = smooth.value(scores, y, np)
        assert (value <= loss.value(scores, y, np) + 1e-12).all()
        assert np.isfinite(loss.conjugate(smooth.residual(scores, y, np), y, np)).all()
        assert (smooth.curvature(scores, y, np) <= smooth.smoothness * (1 + 1e-9)).all()
        if barrier == 1.0:
            slope = (smooth.value(scores + 1e-6, y, np) - smooth.value(scores - 1e-6, y, np)) / 2e-6
            assert smooth.residual(scores, y, np).sum(axis=1) == pytest.approx(slope, abs=1e-6)
    assert value == pytest.approx(loss.value(scores, y, np), abs=1e-6)


@pytest.mark.parametrize("loss", [*REGRESSION, *MARGIN, *SEVERAL, ZeroOne(), ZeroOne(3)], ids=_named)
def test_the_definitions_run_on_any_array_library(loss):
    scores, y = example(loss)
    xp = array_api_strict
    there = xp.asarray(scores), xp.asarray(y)
    for name in ("value", "residual", "curvature"):
        assert np.asarray(getattr(loss, name)(*there, xp)) == pytest.approx(getattr(loss, name)(scores, y, np))
    if loss.is_convex:
        dual = loss.residual(scores, y, np)
        expected = loss.conjugate(dual, y, np)
        assert np.asarray(loss.conjugate(xp.asarray(dual), there[1], xp)) == pytest.approx(expected)
    if loss.is_convex and loss.is_separable:
        assert np.asarray(loss.prox(*there, 0.5, xp)) == pytest.approx(loss.prox(scores, y, 0.5, np))


@pytest.mark.catalogue("LM-17")
def test_the_zero_one_loss_has_no_slope_to_follow():
    scores, y = example(ZeroOne(3))
    assert not ZeroOne(3).residual(scores, y, np).any()
    assert ZeroOne(3).value(scores, y, np) == pytest.approx((scores.argmax(axis=1) != y).astype(float))


def test_balancing_makes_dual_points_sum_to_zero_at_a_price_that_convexity_covers():
    for loss in CONVEX:
        scores, y = example(loss)
        targets = loss.targets(y, np)
        dual = loss.residual(scores, y, np)
        mix, constant, by_target, conjugate = loss.balance(dual.mean(axis=0), targets.mean(axis=0), 3.0)
        other = constant + by_target * targets
        assert 0 <= mix <= 1
        assert (1 - mix) * dual.mean(axis=0) + mix * other.mean(axis=0) == pytest.approx(0.0, abs=1e-12)
        # A hair inside the slopes: at their ends rounding decides between finite and infinite.
        assert loss.conjugate((1 - 1e-9) * other, y, np).mean() <= conjugate + 1e-6, loss


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), PerceptronLoss(), Exponential(), Logistic(), ZeroOne()])
def test_labels_minus_one_and_one_are_zero_and_one(loss):
    scores, y = example(loss)
    signs = 2 * y - 1
    assert len(np.unique(y)) == 2
    for name in ("value", "residual", "curvature"):
        try:
            wanted = getattr(loss, name)(scores, y, np, checked=True)
        except NotImplementedError:
            continue
        for given in (y, signs, y.astype(bool), signs.astype(int), y.tolist()):
            np.testing.assert_array_equal(getattr(loss, name)(scores, given), wanted)
    np.testing.assert_array_equal(loss.value(scores, signs), loss.value(scores, y))
    # One score and one label: the margin of -1 at 2 is -2.
    by_hand = {
        Hinge: 3,
        SquaredHinge: 9,
        PerceptronLoss: 2,
        Exponential: np.e**2,
        Logistic: np.log1p(np.e**2),
        ZeroOne: 1,
    }
    assert loss.value([[2.0]], [-1.0])[0] == pytest.approx(by_hand[type(loss)])
    assert loss.value([[2.0]], [0])[0] == pytest.approx(by_hand[type(loss)])


@pytest.mark.parametrize("loss", [*REGRESSION, *MARGIN], ids=_named)
def test_scores_of_one_dimension_are_one_column(loss):
    scores, y = example(loss)
    np.testing.assert_array_equal(loss.value(scores[:, 0], y), loss.value(scores, y, np))
    for name in ("residual", "curvature"):
        flat = getattr(loss, name)(scores[:, 0], y)
        assert flat.shape == (60,)
        np.testing.assert_array_equal(flat, getattr(loss, name)(scores, y)[:, 0])
    assert loss.prox(scores[:, 0], y, 0.5).shape == (60,)
    if loss.is_convex:
        dual = loss.residual(scores, y)
        np.testing.assert_array_equal(loss.conjugate(dual[:, 0], y), loss.conjugate(dual, y))


@pytest.mark.parametrize(("loss", "scores", "y", "words"), [
    (Hinge(), [[1.0]], [2.0], "labels of 2 classes must be 0 and 1, or -1 and 1; got [2.0]"),
    (Logistic(), [1.0, 2.0, 3.0], [-1, 0, 1], "labels of 2 classes must be 0 and 1, or -1 and 1; got [-1.0, 0.0, 1.0]"),
    (Hinge(3), np.zeros((1, 3)), [3], "labels of 3 classes must be whole numbers in [0, 2]; got [3]"),
    (Softmax(3), np.zeros((1, 3)), [-1], "must be whole numbers in [0, 2]; got [-1]"),
    (Softmax(3), np.zeros((1, 3)), [0.5], "must be whole numbers in [0, 2]; got [0.5]"),
    (Logistic(), [1.0], ["yes"], "targets must be numbers; got str96. Encode labels"),
    (Squared(), [1.0, 2.0], [1.0], "targets must be one for each of 2 rows of scores; got shape (1,)"),
    (Squared(), np.zeros((2, 2)), [1.0, 2.0], "scores must have shape (n, 1), one column for each score; got shape"),
    (Softmax(3), [1.0, 2.0], [1, 2], "scores must have shape (n, 3)"),
    (Poisson(), [1.0], [-1.0], "targets must be numbers in [0, inf); got -1."),
    (Absolute(), [["a"]], [1.0], "scores must be numbers"),
])  # fmt: skip
def test_what_a_loss_is_not_defined_for_is_refused(loss, scores, y, words):
    with pytest.raises(DataError) as caught:
        loss.value(scores, y)
    assert words in str(caught.value)
    assert str(caught.value).startswith(type(loss).__name__)
