"""Axes: round ticks, the position of a value on the page, and numbers as text."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


def format_number(value: float | None, digits: int = 3) -> str:
    """Return a number with `digits` significant digits, without an exponent if it is readable without one."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if not -4 <= size < 7:
        shown, power = f"{value:.{digits - 1}e}".split("e")
        return f"{shown}e{int(power)}".replace("-", "\u2212")
    decimals = max(0, digits - 1 - size)
    text = f"{value:,.{decimals}f}" if abs(value) >= 10_000 else f"{value:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "\u2212").replace(",", "\u2009")


def format_percent(share: float | None) -> str:
    """Return a share as a percentage."""
    if share is None or not math.isfinite(share):
        return "–"
    hundred = 100 * share
    return f"{hundred:.0f} %" if abs(hundred) >= 10 else f"{hundred:.1f} %"


def capitalise(words: str) -> str:
    """Return the words with a capital letter at the beginning."""
    return f"{words[:1].upper()}{words[1:]}"


def find_span(values: Iterable[float], margin: float = 0.04) -> tuple[float, float]:
    """Return the least and the greatest finite value with a margin; the span is never zero."""
    finite = [value for value in values if value is not None and math.isfinite(value)]
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    if low == high:
        half = abs(low) / 2 or 0.5
        return low - half, high + half
    room = margin * (high - low)
    return low - room, high + room


def find_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers between `low` and `high`, in steps of 1, 2 or 5 times a power of ten."""
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(count * step, 12) for count in range(first, last + 1)]


@dataclass(frozen=True)
class Scale:
    """Maps values to positions on the page, linearly or by logarithms."""

    low: float
    high: float
    start: float  # the position of `low`
    end: float  # the position of `high`
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log10(low), math.log10(high), math.log10(max(value, 1e-300))
        place = self.start + (value - low) / (high - low) * (self.end - self.start)
        # Without this bound, values far outside would draw lines across the page.
        room = abs(self.end - self.start)
        return min(max(place, min(self.start, self.end) - room), max(self.start, self.end) + room)

    def find_ticks(self, most: int = 5) -> Sequence[float]:
        """Return the values at which numbers are written."""
        if not self.logarithmic:
            return find_ticks(self.low, self.high, most)
        powers = range(math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9) + 1)
        ticks = [10.0**power for power in powers]
        if len(ticks) >= 2:
            every = math.ceil(len(ticks) / most)
            return ticks[::every]
        fine = [digit * 10.0**power for power in range(powers.start - 1, powers.stop + 1) for digit in (1, 2, 5)]
        return [value for value in fine if self.low <= value <= self.high]
