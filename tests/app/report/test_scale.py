"""Numbers as people write them, and round ticks."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.app.report.chart import Scale, find_span, find_ticks, format_number, format_percent


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.0, "1"), (0.81234, "0.812"), (-0.5, "\u22120.5"), (1234.5, "1234"), (123456.0, "123\u2009456"),
     (1e-7, "1.00e\u22127"), (2.5e12, "2.50e12"), (math.nan, "–"), (math.inf, "–"), (None, "–")],
)  # fmt: skip
def test_numbers_are_written_to_three_digits(value, text):
    assert format_number(value) == text


@pytest.mark.parametrize(("share", "text"), [(0.5, "50 %"), (0.012, "1.2 %"), (1.0, "100 %"), (None, "–")])
def test_shares_are_written_as_percentages(share, text):
    assert format_percent(share) == text


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_ticks_are_few_round_and_inside(low, length):
    high = low + length
    if high == low:
        return
    found = find_ticks(low, high)
    assert len(found) <= 7
    slack = 1e-6 * max(abs(low), abs(high), length)
    assert all(low - slack <= tick <= high + slack for tick in found)


@given(st.lists(st.floats(-1e6, 1e6)))
def test_a_span_is_never_empty(values):
    low, high = find_span(values)
    assert low < high
    assert all(low <= value <= high for value in values)


def test_a_scale_puts_ends_at_ends_and_holds_what_is_far_outside():
    scale = Scale(0.0, 10.0, 100.0, 200.0)
    assert (scale(0.0), scale(10.0), scale(5.0)) == (100.0, 200.0, 150.0)
    assert scale(1e9) == 300.0
    by_powers = Scale(1.0, 100.0, 0.0, 100.0, logarithmic=True)
    assert by_powers(10.0) == pytest.approx(50.0)
    assert list(by_powers.find_ticks()) == [1.0, 10.0, 100.0]
    assert list(Scale(20.0, 80.0, 0.0, 1.0, logarithmic=True).find_ticks()) == [20.0, 50.0]
