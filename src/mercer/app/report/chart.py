"""Charts as SVG: their axes, round ticks, numbers as text, and what is drawn in them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape


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


# Size and margins in units of the picture, which the page scales to its width. On a phone 360 pixels wide a figure has
# 307 pixels, so that letters of 11.5 units have 11 pixels there.
WIDTH = 320.0
HEIGHT = 240.0
LEFT = 54.0
RIGHT = 14.0
TOP = 12.0
BOTTOM = 44.0
# Width of the label beside the vertical axis.
LABEL = 20.0
# Additional height for slanted names below the axis.
SLANT = 46.0
# Approximate width of a letter: the true one is known only to the browser.
LETTER = 6.6
# The most letters of a name in the legend.
MOST_LETTERS = 26
# Height of a line of the legend, and of a line of a name beside the axis.
LINE = 16.0


class Chart:
    """A picture to which shapes are added, and which is written as SVG text.

    Parameters
    ----------
    alt : str
        What the figure shows, for readers who cannot see it.
    x, y : tuple of float
        Ends of the axes.
    legend : sequence of str
        The names in the legend above the chart, as `line` and `points` will give them.
    """

    def __init__(
        self,
        alt: str,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        x_label: str = "",
        y_label: str = "",
        width: float = WIDTH,
        height: float = HEIGHT,
        left: float = LEFT,
        legend: Sequence[str] = (),
        logarithmic: bool = False,
        slanted: bool = False,
    ) -> None:
        # Long numbers beside the axis, such as 200 000, must not meet its label.
        if y_label:
            ticks = Scale(min(y), max(y), 0.0, 1.0).find_ticks()
            left = max(left, LABEL + LETTER * max((len(format_number(value)) for value in ticks), default=0) + 6)
        # The first slanted name reaches to the left of the axis.
        left = max(left, 76.0) if slanted else left
        self.slanted = slanted
        self.alt, self.width, self.height, self.left = alt, width, height, left
        self.x_label, self.y_label = x_label, y_label
        self.x = Scale(*x, left, width - RIGHT, logarithmic)
        places = _place_names(legend, left, width)
        room = LINE * (places[-1][1] + 1) + 4 if places else 0.0
        self.y = Scale(*y, height + room - BOTTOM - (SLANT if slanted else 0), TOP + room)
        self.height = height + room
        self._parts: list[str] = []
        self._legend: list[tuple[str, str, str]] = []

    def line(
        self, x: Sequence[float], y: Sequence[float], kind: str = "c0", name: str = "", dash: bool = False
    ) -> None:
        """Add a line through the points."""
        path = " ".join(f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(x, y, strict=True))
        dashed = ' stroke-dasharray="5 4"' if dash else ""
        self._parts.append(f'<polyline class="line {kind}" points="{path}"{dashed}/>')
        self._add_to_legend(name, kind, "line")

    def band(self, x: Sequence[float], low: Sequence[float], high: Sequence[float], kind: str = "c0") -> None:
        """Add the area between two lines."""
        there = [f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(x, low, strict=True)]
        back = [f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(x, high, strict=True)]
        self._parts.append(f'<polygon class="band {kind}" points="{" ".join(there + back[::-1])}"/>')

    def points(
        self, x: Sequence[float], y: Sequence[float], kind: str = "c0", name: str = "", size: float = 3.0
    ) -> None:
        """Add one dot per point, as one path: a thousand elements would make the page slow."""
        dots = "".join(f"M{self.x(a):.1f} {self.y(b):.1f}h.01" for a, b in zip(x, y, strict=True))
        self._parts.append(f'<path class="dots {kind}" stroke-width="{2 * size:g}" d="{dots}"/>')
        self._add_to_legend(name, kind, "dot")

    def bar(self, x: tuple[float, float], y: tuple[float, float], kind: str = "c0", title: str = "") -> None:
        """Add a rectangle between two values of each axis."""
        left, right = sorted((self.x(x[0]), self.x(x[1])))
        top, bottom = sorted((self.y(y[0]), self.y(y[1])))
        tooltip = f"<title>{_escape(title)}</title>" if title else ""
        self._parts.append(
            f'<rect class="bar {kind}" x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 0.5):.1f}" '
            f'height="{max(bottom - top, 0.5):.1f}">{tooltip}</rect>'
        )

    def cell(self, x: tuple[float, float], y: tuple[float, float], strength: float, kind: str = "c0") -> None:
        """Add a rectangle with the opacity `strength`, from 0 to 1."""
        left, right = sorted((self.x(x[0]), self.x(x[1])))
        top, bottom = sorted((self.y(y[0]), self.y(y[1])))
        self._parts.append(
            f'<rect class="bar {kind}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{bottom - top:.1f}" fill-opacity="{strength:.3f}"/>'
        )

    def whisker(self, low: float, high: float, y: float, kind: str = "c0") -> None:
        """Add an interval along the first axis."""
        a, b, level = self.x(low), self.x(high), self.y(y)
        self._parts.append(
            f'<path class="line {kind}" d="M{a:.1f} {level:.1f}H{b:.1f}M{a:.1f} {level - 4:.1f}v8'
            f'M{b:.1f} {level - 4:.1f}v8"/>'
        )

    def rule(self, x: float | None = None, y: float | None = None, kind: str = "soft") -> None:
        """Add a dashed line across the whole chart."""
        if x is not None:
            ends = f"M{self.x(x):.1f} {self.y.start:.1f}V{self.y.end:.1f}"
        else:
            ends = f"M{self.x.start:.1f} {self.y(y or 0.0):.1f}H{self.x.end:.1f}"
        self._parts.append(f'<path class="line {kind}" stroke-dasharray="4 4" d="{ends}"/>')

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "middle", shift: float = 4.0) -> None:
        """Add words at a point."""
        self._parts.append(
            f'<text class="{kind}" x="{self.x(x):.1f}" y="{self.y(y) + shift:.1f}" text-anchor="{anchor}">'
            f"{_escape(words)}</text>"
        )

    def svg(
        self,
        *,
        x_names: Sequence[str] | None = None,
        y_names: Sequence[str] | None = None,
        x_ticks: bool = True,
        y_ticks: bool = True,
    ) -> str:
        """Return the picture; names stand at 0, 1, 2 ... instead of numbers."""
        head = (
            f'<svg role="img" viewBox="0 0 {self.width:g} {self.height:g}" xmlns="http://www.w3.org/2000/svg" '
            f'style="--units:{self.width:g}" aria-label="{_escape(self.alt)}">'
        )
        axes = self._draw_x_axis(x_names, x_ticks) + self._draw_y_axis(y_names, y_ticks)
        return head + "".join(axes + self._parts + self._draw_labels() + self._draw_legend()) + "</svg>"

    def _draw_x_axis(self, names: Sequence[str] | None, drawn: bool) -> list[str]:
        base = self.y.start
        parts = [f'<path class="axis" d="M{self.x.start:.1f} {base:.1f}H{self.x.end:.1f}"/>']
        if not drawn:
            return parts
        marks = (
            list(enumerate(names))
            if names is not None
            else [(value, format_number(value)) for value in self.x.find_ticks()]
        )
        if self.slanted:
            return parts + [_make_slanted_tick(self.x(place), base + 12, _shorten(words, 14)) for place, words in marks]
        room = (self.x.end - self.x.start) / max(len(marks), 1) / LETTER
        if names is None:
            # Of numbers that would meet, every second or third is written.
            longest = max((len(words) for _, words in marks), default=0)
            marks = marks[:: max(1, math.ceil((longest + 1) / max(room, 1.0)))]
        for place, words in marks:
            shown = words if names is None else _shorten(words, max(int(room), 3))
            parts.append(_make_tick(self.x(place), base + 16, shown, "middle"))
        return parts

    def _draw_y_axis(self, names: Sequence[str] | None, drawn: bool) -> list[str]:
        """Return the ticks and grid lines of the vertical axis."""
        if not drawn:
            return []
        marks = (
            list(enumerate(names))
            if names is not None
            else [(value, format_number(value)) for value in self.y.find_ticks()]
        )
        parts = []
        for place, words in marks:
            level = self.y(place)
            if names is None:
                parts.append(f'<path class="grid" d="M{self.x.start:.1f} {level:.1f}H{self.x.end:.1f}"/>')
            # A number without its last digits would be another number.
            lines = [words] if names is None else _break_name(words, int((self.left - 8) / LETTER))
            for row, shown in enumerate(lines):
                below = 0.8 * LINE * (row - (len(lines) - 1) / 2)
                parts.append(_make_tick(self.x.start - 6, level + 4 + below, shown, "end"))
        return parts

    def _draw_labels(self) -> list[str]:
        parts = []
        if self.x_label:
            # A long label moves to where the edges of the picture do not cut it.
            half = LETTER * len(self.x_label) / 2
            middle = max(min((self.x.start + self.x.end) / 2, self.width - half), min(half, self.width / 2))
            parts.append(
                f'<text class="label" x="{middle:.1f}" y="{self.height - 8:g}" text-anchor="middle">'
                f"{_escape(self.x_label)}</text>"
            )
        if self.y_label:
            middle = (self.y.start + self.y.end) / 2
            parts.append(
                f'<text class="label" transform="translate(13 {middle:.1f}) rotate(-90)" text-anchor="middle">'
                f"{_escape(self.y_label)}</text>"
            )
        return parts

    def _add_to_legend(self, name: str, kind: str, shape: str) -> None:
        """Add a name to the legend, if there is one."""
        if name:
            self._legend.append((name, kind, shape))

    def _draw_legend(self) -> list[str]:
        """Return the legend above the chart: each name beside a mark of its colour."""
        parts = []
        places = _place_names([name for name, _, _ in self._legend], self.left, self.width)
        for (name, kind, shape), (place, row) in zip(self._legend, places, strict=True):
            level = 10 + LINE * row
            mark = f"M{place:.1f} {level:g}h14" if shape == "line" else f"M{place + 7:.1f} {level:g}h.01"
            width = "" if shape == "line" else ' stroke-width="8"'
            parts.append(f'<path class="{"line" if shape == "line" else "dots"} {kind}"{width} d="{mark}"/>')
            parts.append(_make_tick(place + 19, level + 4, _shorten(name, MOST_LETTERS), "start"))
        return parts


def _place_names(names: Sequence[str], left: float, width: float) -> list[tuple[float, int]]:
    """Return where each name of a legend begins, and in which line; a line that is full begins another."""
    places: list[tuple[float, int]] = []
    place, row = left, 0
    for name in names:
        size = 30 + LETTER * min(len(name), MOST_LETTERS)
        if place > left and place + size > width:
            place, row = left, row + 1
        places.append((place, row))
        place += size
    return places


def _break_name(words: str, most: int) -> list[str]:
    """Return a name in one line of at most `most` letters, or in two if it has a space to break it at."""
    if len(words) <= most or " " not in words:
        return [_shorten(words, most)]
    spaces = [place for place, letter in enumerate(words) if letter == " "]
    # The break that leaves the shorter longest line.
    middle = min(spaces, key=lambda place: max(place, len(words) - place - 1))
    return [_shorten(words[:middle], most), _shorten(words[middle + 1 :], most)]


def _escape(words: str) -> str:
    """Return words as SVG text, without the backticks around names."""
    return escape(words.replace("`", ""))


def _make_tick(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text class="tick" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_escape(words)}</text>'


def _make_slanted_tick(x: float, y: float, words: str) -> str:
    turn = f"translate({x:.1f} {y:.1f}) rotate(-35)"
    return f'<text class="tick" transform="{turn}" text-anchor="end">{_escape(words)}</text>'


def _shorten(words: str, most: int) -> str:
    """Return the words with at most `most` letters."""
    return words if len(words) <= most else words[: max(most - 1, 1)] + "…"
