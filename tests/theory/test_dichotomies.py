"""Dichotomies: known sets are shattered, counts are Cover's and Sauer's, one sine labels everything."""

from itertools import combinations, permutations, product
from math import comb, log

import numpy as np
import pytest
from scipy.stats import binom, norm

from mercer.errors import DataError, ParameterError
from mercer.theory import (
    ambiguous_fraction,
    count_separable,
    find_sine_frequency,
    fit_sine,
    growth_function,
    is_shattered,
    list_dichotomies,
    sauer_bound,
    separable_fraction,
    vc_dimension,
)


def in_general_position(n, d):
    return np.random.default_rng(10 * n + d).normal(size=(n, d))


@pytest.mark.catalogue("LT-03")
def test_half_planes_shatter_a_triangle_and_neither_a_line_nor_four_points():
    assert is_shattered([[0, 0], [0, 1], [1, 0]], "hyperplanes")
    assert not is_shattered([[0, 0], [1, 1], [2, 2]], "hyperplanes")
    square, inside = [[0, 0], [0, 1], [1, 0], [1, 1]], [[0, 0], [3, 0], [0, 3], [1, 1]]
    for points in (square, inside):
        assert len(list_dichotomies(points, "hyperplanes")) == 14
    # The labels of opposite corners, and those of the point inside, are the two that no line has.
    assert [1, -1, -1, 1] not in list_dichotomies(square, "hyperplanes").tolist()
    assert [-1, -1, -1, 1] not in list_dichotomies(inside, "hyperplanes").tolist()


@pytest.mark.catalogue("LT-03")
@pytest.mark.parametrize("name", ["thresholds", "intervals"])
def test_labellings_on_a_line_are_those_of_all_parameters(name):
    x = np.array([0.3, -1.0, 2.0, 0.9])
    ends = np.linspace(-2, 3, 101)
    if name == "thresholds":
        expected = {tuple(np.where(x > t, 1, -1)) for t in ends}
    else:
        expected = {tuple(np.where((x > a) & (x < b), 1, -1)) for a in ends for b in ends}
    assert {tuple(labels) for labels in list_dichotomies(x[:, None], name).tolist()} == expected


@pytest.mark.catalogue("LT-03", "LT-05")
def test_boxes_shatter_four_points_of_a_plane_and_no_five():
    diamond = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    assert is_shattered(diamond, "boxes")
    assert not is_shattered(np.vstack([diamond, [0.1, 0.2]]), "boxes")
    # With one column boxes are intervals.
    x = in_general_position(5, 1)
    np.testing.assert_array_equal(list_dichotomies(x, "boxes"), list_dichotomies(x, "intervals"))


@pytest.mark.catalogue("LT-04")
def test_growth_functions_are_the_tables_and_are_reached_by_points_in_general_position():
    assert [growth_function("hyperplanes", n, 2) for n in range(1, 8)] == [2, 4, 8, 14, 22, 32, 44]
    assert [sauer_bound(n, 3) for n in range(1, 8)] == [2, 4, 8, 15, 26, 42, 64]
    for n in range(1, 6):
        assert len(list_dichotomies(in_general_position(n, 2), "hyperplanes")) == growth_function("hyperplanes", n, 2)
        for name in ("thresholds", "intervals"):
            assert len(list_dichotomies(in_general_position(n, 1), name)) == growth_function(name, n)


@pytest.mark.catalogue("LT-04")
@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_logarithm_of_the_growth_function_is_linear_and_then_below_a_logarithm(d):
    dimension = vc_dimension("hyperplanes", d)
    for n in range(1, 30):
        found = growth_function("hyperplanes", n, d)
        assert found <= sauer_bound(n, dimension) <= 2**n
        if n <= dimension:
            assert found == 2**n
        else:
            assert log(found) <= dimension * (1 + log(n / dimension)) + 1e-12
            assert sauer_bound(n, dimension) <= sauer_bound(n, dimension, closed_form=True)
    assert growth_function("sine", 70) == sauer_bound(70, np.inf) == 2**70


@pytest.mark.catalogue("LT-09")
def test_covers_table_its_recursion_and_its_ends():
    table = [
        (2, 2, 2, 2, 2, 2),
        (2, 4, 4, 4, 4, 4),
        (2, 6, 8, 8, 8, 8),
        (2, 8, 14, 16, 16, 16),
        (2, 10, 22, 30, 32, 32),
        (2, 12, 32, 52, 62, 64),
    ]
    assert [tuple(count_separable(n, k) for k in range(1, 7)) for n in range(1, 7)] == table
    for n, k in product(range(2, 20), range(2, 20)):
        assert count_separable(n, k) == count_separable(n - 1, k) + count_separable(n - 1, k - 1)
        assert (count_separable(n, k) == 2**n) == (k >= n)


@pytest.mark.catalogue("LT-09")
@pytest.mark.parametrize(("n", "k"), [(4, 1), (4, 2), (5, 3), (3, 4)])
def test_linear_programs_find_as_many_labellings_as_cover_counts(n, k):
    assert len(list_dichotomies(in_general_position(n, k), "origin hyperplanes")) == count_separable(n, k)


@pytest.mark.catalogue("LT-10")
def test_half_of_all_labellings_is_separable_at_two_points_per_input_and_the_fall_steepens():
    for k in (1, 2, 7, 50, 600):
        assert count_separable(2 * k, k) == 2 ** (2 * k - 1)
        assert separable_fraction(2 * k, k) == 0.5
    falls = [separable_fraction(int(1.5 * k), k) - separable_fraction(int(2.5 * k), k) for k in (4, 20, 100)]
    assert falls == sorted(falls)
    assert falls[-1] > 0.999


@pytest.mark.catalogue("LT-11")
def test_the_ambiguous_share_tends_to_one_over_the_ratio_less_one():
    assert round(ambiguous_fraction(1200, 400), 4) == 0.4963
    assert round(ambiguous_fraction(1600, 400), 4) == 0.3317
    assert ambiguous_fraction(400, 400) == pytest.approx(1.0)
    for ratio in (3, 5):
        gaps = [abs(ambiguous_fraction(ratio * n, n) - 1 / (ratio - 1)) for n in (50, 200, 800)]
        assert gaps == sorted(gaps, reverse=True)


@pytest.mark.catalogue("LT-11")
def test_the_ambiguous_share_counts_labellings_that_both_labels_of_a_further_point_continue():
    points = in_general_position(6, 3)
    before = {tuple(labels) for labels in list_dichotomies(points[:5], "origin hyperplanes").tolist()}
    after = {tuple(labels) for labels in list_dichotomies(points, "origin hyperplanes").tolist()}
    both = [labels for labels in before if (*labels, 1) in after and (*labels, -1) in after]
    assert len(both) / len(before) == ambiguous_fraction(5, 3)


@pytest.mark.catalogue("LT-06", "LT-03", "MS-08")
@pytest.mark.parametrize("n", [1, 3, 8])
def test_one_frequency_gives_any_labels_to_powers_of_a_tenth(n):
    x = 10.0 ** -np.arange(1, n + 1)
    for labels in product((-1, 1), repeat=n):
        assert tuple(np.where(np.sin(find_sine_frequency(labels) * x) > 0, 1, -1)) == labels


@pytest.mark.catalogue("LT-03")
def test_sines_of_bounded_frequency_shatter_three_points():
    assert is_shattered(0.1 ** np.arange(1, 4)[:, None], "sine", max_frequency=np.pi * 1120)
    assert not is_shattered(0.1 ** np.arange(1, 4)[:, None], "sine", max_frequency=np.pi)


@pytest.mark.catalogue("LT-06")
def test_a_sine_through_all_points_predicts_new_ones_at_chance_level():
    random = np.random.default_rng(0)
    right = []
    for _ in range(40):
        labels = random.choice([-1, 1], size=8)
        new = random.uniform(1e-8, 1e-1, size=50)
        right.append(
            np.mean(np.where(np.sin(find_sine_frequency(labels) * new) > 0, 1, -1) == random.choice([-1, 1], 50))
        )
    assert abs(np.mean(right) - 0.5) < 4 * 0.5 / np.sqrt(40 * 50)
    # Two parameters go nearly through four arbitrary targets, and say nothing of a fifth.
    x, y = random.uniform(size=4), random.uniform(-1, 1, size=4)
    curve = fit_sine(x, y, n_frequencies=300_000)
    assert curve.error < 0.1
    assert np.abs(curve.amplitude * np.sin(curve.frequency * x) - y).max() == pytest.approx(curve.error)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: list_dichotomies([[1.0]], "balls"), "model_class must be one of hyperplanes"),
        (lambda: list_dichotomies([[1.0, 2.0]], "intervals"), "intervals need points of one column; got 2"),
        (lambda: list_dichotomies([[1.0]], "sine", max_frequency=0), "max_frequency must be a number"),
        (lambda: growth_function("balls", 3), "model_class must be one of hyperplanes"),
        (lambda: ambiguous_fraction(3, 1), "n_dimensions must be an integer in"),
        (lambda: find_sine_frequency([0, 1]), "labels must be a list of -1 and 1"),
        (lambda: find_sine_frequency([1] * 15), "float64 can tell 14 labels apart; got 15"),
        (lambda: fit_sine([1.0], [1.0, 2.0]), "x and y must have the same length"),
    ],
)
def test_arguments_out_of_range_are_refused(call, words):
    with pytest.raises((DataError, ParameterError), match=words):
        call()


def test_shares_of_many_points_are_those_of_the_binomial_distribution_without_long_sums():
    assert separable_fraction(20_000, 10_000) == 0.5
    for n, k in ((30_000, 14_900), (200_000, 100_300)):
        assert separable_fraction(n, k) == pytest.approx(binom.cdf(k - 1, n - 1, 0.5), rel=1e-9)
    # The normal law with the same mean and variance, half a throw apart.
    n, k = 10**9, 499_990_000
    assert separable_fraction(n, k) == pytest.approx(norm.cdf((k - 0.5 - (n - 1) / 2) / (0.5 * n**0.5)), rel=1e-5)
    assert count_separable(3000, 1000) == 2 * sum(comb(2999, j) for j in range(1000))


@pytest.mark.catalogue("LT-04")
@pytest.mark.parametrize("d", [1, 2, 3])
def test_boxes_label_the_ends_of_the_axes_in_every_way_and_no_more_points(d):
    ends = np.concatenate([np.eye(d), -np.eye(d)])
    assert growth_function("boxes", 2 * d, d) == len(list_dichotomies(ends, "boxes")) == 4**d
    random = np.random.default_rng(d)
    # One point more: of all tables tried none is shattered, and none has more labellings than Sauer's bound.
    counts = [len(list_dichotomies(random.normal(size=(2 * d + 1, d)), "boxes")) for _ in range(20)]
    assert max(counts) <= sauer_bound(2 * d + 1, vc_dimension("boxes", d)) < 2 ** (2 * d + 1)
    if d == 1:
        assert growth_function("boxes", 3) == max(counts) == 7
    else:
        with pytest.raises(ParameterError, match=f"at most {2 * d}, their VC dimension; got {2 * d + 1}"):
            growth_function("boxes", 2 * d + 1, d)


@pytest.mark.catalogue("LT-04")
def test_boxes_of_the_plane_have_no_more_labellings_than_sauers_bound_on_any_order_of_points():
    """Labels by boxes depend on the order of the points along each axis alone: all orders are few permutations."""
    most = {}
    for n in (2, 3, 4, 5):
        counts = set()
        for order in permutations(range(n)):
            points = np.column_stack([np.arange(n), order])
            # Every subset by its own bounding box: the points inside it are those of a box.
            sets = {frozenset()}
            for size in range(1, n + 1):
                for chosen in combinations(range(n), size):
                    low, high = points[list(chosen)].min(axis=0), points[list(chosen)].max(axis=0)
                    sets.add(frozenset(np.flatnonzero(((points >= low) & (points <= high)).all(axis=1)).tolist()))
            counts.add(len(sets))
            listed = {
                frozenset(np.flatnonzero(one > 0).tolist()) for one in list_dichotomies(points * [1e-6, 1e6], "boxes")
            }
            assert listed == sets
        most[n] = max(counts)
    assert [growth_function("boxes", n, 2) for n in (2, 3, 4)] == [most[2], most[3], most[4]] == [4, 8, 16]
    # One labelling of five points at least is missing in every order, as the dimension of four says.
    assert most[5] <= sauer_bound(5, 4) == 31
