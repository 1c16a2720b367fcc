"""Displays of capacity draw the counts, regions and bounds that the theory has."""

import numpy as np
import pytest

from mercer.errors import DataError
from mercer.inspection import (
    AmbiguousPointDisplay,
    RiskBoundDisplay,
    SeparableFractionDisplay,
    WeightSpaceDisplay,
)
from mercer.theory import StructuralRisk, ambiguous_fraction, count_separable, list_dichotomies

matplotlib = pytest.importorskip("matplotlib", reason="the displays draw with matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close():
    yield
    matplotlib.pyplot.close("all")


@pytest.mark.catalogue("PL-23")
def test_the_separable_share_passes_one_half_at_two_points_per_input():
    display = SeparableFractionDisplay((3, 30)).plot()
    for line in display.lines_:
        x, y = line.get_data()
        assert y[x == 2.0] == 0.5
        assert (np.diff(y) <= 0).all()
    open_points = SeparableFractionDisplay([4], ambiguous=True).plot()
    x, y = open_points.lines_[0].get_data()
    np.testing.assert_allclose(y, [ambiguous_fraction(round(4 * ratio), 4) for ratio in x])


@pytest.mark.catalogue("PL-23")
def test_regions_of_weight_space_are_the_separable_labellings():
    X = np.random.default_rng(0).normal(size=(5, 2))
    wanted = list_dichotomies(X, "origin hyperplanes")
    display = WeightSpaceDisplay(X, wanted[3]).plot()
    assert len(display.labels_) == count_separable(5, 2)
    np.testing.assert_array_equal(np.unique(display.labels_, axis=0), wanted)
    np.testing.assert_array_equal(display.labels_[display.region_], wanted[3])
    assert len(display.lines_) == 5
    # Every line passes through the origin at a right angle to its point.
    for line, point in zip(display.lines_, X, strict=True):
        np.testing.assert_allclose(np.array(line.get_data()).T @ point, 0, atol=1e-12)
    assert WeightSpaceDisplay(X, -wanted[3]).region_ is not None


@pytest.mark.catalogue("PL-23")
def test_two_separators_without_error_disagree_on_a_point_between_the_classes_only():
    X, y = [[0.0, 0.0], [1.0, 0.0], [4.0, 0.0], [5.0, 1.0]], [-1, -1, 1, 1]
    display = AmbiguousPointDisplay(X, y, [2.5, 0.0]).plot()
    assert display.is_ambiguous_
    for separator in display.separators_:
        np.testing.assert_array_equal(np.sign(np.column_stack([X, np.ones(4)]) @ separator), y)
    # A point of the hull of one class has the label of that class.
    assert not AmbiguousPointDisplay(X, y, [0.5, 0.0]).is_ambiguous_


@pytest.mark.catalogue("PL-24")
def test_the_bound_is_the_sum_of_two_curves_and_its_least_is_marked():
    result = StructuralRisk(("a", "b", "c"), np.array([0.4, 0.1, 0.05]), np.array([0.1, 0.2, 0.5]), 1, ())
    display = RiskBoundDisplay.from_result(result)
    first, second, both = (line.get_ydata() for line in display.lines_)
    np.testing.assert_allclose(first + second, both)
    assert display.ax_.lines[-1].get_xdata()[0] == 1
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: WeightSpaceDisplay([[0.0, 0.0]]), "X must be points of two columns, none of them zero"),
        (lambda: AmbiguousPointDisplay([[0.0, 0.0]], [1], [1.0]), "new_point two numbers"),
        (lambda: AmbiguousPointDisplay([[0.0, 0.0]] * 2, [1, -1], [1.0, 1.0]), "no line separates the labels"),
        (lambda: SeparableFractionDisplay([1]), "dimensions must be in"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()
