"""Every penalty: values by hand, gradients by differences, proximal maps and conjugates by their definitions."""

import numpy as np
import pytest

from mercer._objective import (
    L1,
    L2,
    Box,
    ElasticNetPenalty,
    GroupL1,
    Monotonicity,
    NonNegative,
    PenaltySum,
    PowerPenalty,
    Smoothness,
    Symmetry,
)

D = 4
ROWS = np.random.default_rng(3).normal(size=(7, D))
SMOOTH = [L2(2.0), Smoothness(0.7), Symmetry(ROWS, 0.5), Monotonicity(ROWS, 0.5), L2() + Smoothness()]
CORNERED = [
    *(L1(0.4), ElasticNetPenalty(0.3, 0.6), GroupL1([0, 0, 1, 1], 0.3), Box(-0.5, 0.7), NonNegative()),
    *(PowerPenalty(1.5, 0.4), PowerPenalty(1.0, 0.4), PowerPenalty(2.0, 0.4), PowerPenalty(0.5, 0.4)),
]


def points(n=20):
    return np.random.default_rng(0).normal(size=(n, 2, D))


@pytest.mark.catalogue("LM-21")
def test_values_by_hand():
    w = np.array([[3.0, -4.0]])
    assert L1(2.0).value(w) == 14.0
    assert L2(2.0).value(w) == 25.0
    assert PowerPenalty(0.5).value(w) == pytest.approx(2 * (np.sqrt(3) + 2))
    assert GroupL1([7, 7]).value(w) == pytest.approx(np.sqrt(2) * 5)
    assert Smoothness().value(w) == 24.5
    assert Monotonicity(np.eye(2)).value(w) == 4.0
    assert Symmetry([[1.0, 1.0]]).value(w) == 0.5
    assert Box(-3.0, 3.0).value(w) == np.inf
    assert (L1() + Smoothness()).value(w) == 31.5


@pytest.mark.parametrize("penalty", SMOOTH, ids=lambda one: type(one).__name__)
def test_gradients_and_curvatures_of_smooth_penalties_are_derivatives(penalty):
    for w in points(3):
        for index in np.ndindex(w.shape):
            move = np.zeros_like(w)
            move[index] = 1e-6
            slope = (penalty.value(w + move) - penalty.value(w - move)) / 2e-6
            bend = (penalty.gradient(w + move) - penalty.gradient(w - move)) / 2e-6
            assert penalty.gradient(w)[index] == pytest.approx(slope, abs=1e-7)
            assert penalty.curvature(w[index[0]])[index[1]] == pytest.approx(bend[index[0]], abs=1e-6)
        assert np.linalg.eigvalsh(penalty.curvature(w[0])).max() <= penalty.smoothness(D) + 1e-9


@pytest.mark.parametrize("penalty", [*CORNERED, Smoothness(0.7)], ids=repr)
def test_the_proximal_map_minimises_its_definition(penalty):
    random = np.random.default_rng(1)
    for w in points(5):
        for step in (0.3, 2.0):
            found = penalty.prox(w, step)
            best = np.sum((found - w) ** 2) / (2 * step) + penalty.value(found)
            moves = [*random.normal(size=(30, *w.shape)) * 1e-3, -found, w - found]
            for move in moves:
                other = found + move
                assert best <= np.sum((other - w) ** 2) / (2 * step) + penalty.value(other) + 1e-12


def test_separable_maps_take_a_step_for_each_column():
    steps = np.array([0.1, 0.5, 1.0, 3.0])
    for penalty in (one for one in CORNERED if one.is_separable):
        w = points(1)[0]
        whole = penalty.prox(w, steps)
        for column, step in enumerate(steps):
            assert whole[:, column] == pytest.approx(penalty.prox(w, step)[:, column], abs=1e-12)


@pytest.mark.parametrize("penalty", [one for one in [*CORNERED, L2(2.0)] if one.has_gap], ids=repr)
def test_the_conjugate_bounds_products_and_is_reached_where_the_map_leads(penalty):
    for u in points(10):
        u = penalty.dual_scale(u) * u
        bound = penalty.conjugate(u)
        assert np.isfinite(bound)
        for w in points(30):
            w = penalty.prox(w, 0.1)
            assert np.vdot(u, w) - penalty.value(w) <= bound + 1e-9
        # prox(v) = w means that v - w is a subgradient at w, where Fenchel and Young is an equality.
        w = penalty.prox(u, 1.0)
        assert np.vdot(u - w, w) - penalty.value(w) == pytest.approx(penalty.conjugate(u - w), abs=1e-9)


@pytest.mark.parametrize("penalty", [L1(0.3), GroupL1([0, 0, 1, 1], 0.3), PowerPenalty(1.0, 0.3)], ids=repr)
def test_dual_points_outside_a_norm_are_infinite_and_scaled_back_to_its_border(penalty):
    u = np.full((1, D), 5.0)
    scale = penalty.dual_scale(u)
    assert penalty.conjugate(u) == np.inf
    assert 0 < scale < 1
    assert penalty.conjugate(scale * u) == 0.0
    assert penalty.conjugate(1.001 * scale * u) == np.inf


def test_factors_and_sums_of_penalties():
    w = points(1)[0]
    for penalty in [*SMOOTH, *CORNERED]:
        if not isinstance(penalty, Box):
            assert (3.0 * penalty).value(w) == pytest.approx(3.0 * penalty.value(w))
    both = L1(0.2) + 0.5 * Smoothness() + L2(0.1)
    assert isinstance(both, PenaltySum)
    assert both.prox(w, 1.0) == pytest.approx(L1(0.2).prox(w, 1.0))
    assert both.gradient(w) == pytest.approx(Smoothness(0.5).gradient(w) + L2(0.1).gradient(w))
    assert not both.is_smooth


def test_powers_below_one_say_that_they_are_not_convex():
    assert not PowerPenalty(0.5).is_convex
    assert not PowerPenalty(0.5).has_gap
    assert PowerPenalty(1.0).is_convex


@pytest.mark.parametrize(
    ("penalty", "words"),
    [
        (
            ElasticNetPenalty(-1.0, 0.0),
            "ElasticNetPenalty: l1 must be a non-negative number, or one for each of 4 columns; got -1.0",
        ),
        (GroupL1([0, 1]), r"GroupL1: groups must have one number for each of 4 columns; got shape \(2,\)"),
        (PowerPenalty(3.0), r"PowerPenalty: q must be a number in \(0, 2\]; got 3.0"),
        (Box(1.0, 0.0), "Box: lower must not be above upper"),
        (Symmetry(np.ones((3, 2))), "Symmetry: differences must be rows of 4 columns"),
        (Monotonicity(np.ones(4)), "Monotonicity: slopes must be rows of 4 columns"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_penalties_that_do_not_fit_the_columns_are_refused(penalty, words):
    with pytest.raises(ValueError, match=words):
        penalty.check(D)


def test_two_penalties_with_corners_cannot_be_added():
    with pytest.raises(ValueError, match="PenaltySum: one part at most may have corners"):
        L1() + NonNegative()
