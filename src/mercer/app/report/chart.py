"""A chart as SVG text: axes, lines, bands, points, bars and cells, coloured by the page's own style sheet.

Colours are classes (``c0`` to ``c5``, ``soft``, ``ink``), so that one figure serves light, dark and paper. Text stays
text, and every figure says in words what it shows.
"""

from collections.abc import Sequence
from html import escape

from mercer.app.report.scale import Scale, number

__all__ = ["Chart"]

# In units of the picture, which the page stretches to the width it has.
WIDTH, HEIGHT = 420.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 14.0, 12.0, 44.0
# What names that stand aslant below the axis need more.
SLANT = 46.0
# About the width of a letter of the figure's text, as one cannot measure it here.
LETTER = 6.6


class Chart:
    """A picture that grows by calls and ends as SVG text.

    Parameters
    ----------
    alt : str
        What the figure shows, for those who do not see it.
    x, y : tuple of float
        Ends of the axes.
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
        legend: bool = False,
        logarithmic: bool = False,
        slanted: bool = False,
    ) -> None:
        # The first name that stands aslant reaches to the left of the axis.
        left = max(left, 76.0) if slanted else left
        self.slanted = slanted
        self.alt, self.width, self.height, self.left = alt, width, height, left
        self.x_label, self.y_label = x_label, y_label
        self.x = Scale(*x, left, width - RIGHT, logarithmic)
        self.y = Scale(*y, height - BOTTOM - (SLANT if slanted else 0), TOP + (20 if legend else 0))
        self._parts: list[str] = []
        self._legend: list[tuple[str, str, str]] = []

    def line(
        self, x: Sequence[float], y: Sequence[float], kind: str = "c0", name: str = "", dash: bool = False
    ) -> None:
        """A line through the points."""
        path = " ".join(f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(x, y, strict=True))
        dashed = ' stroke-dasharray="5 4"' if dash else ""
        self._parts.append(f'<polyline class="line {kind}" points="{path}"{dashed}/>')
        self._name(name, kind, "line")

    def band(self, x: Sequence[float], low: Sequence[float], high: Sequence[float], kind: str = "c0") -> None:
        """The area between two lines."""
        there = [f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(x, low, strict=True)]
        back = [f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(x, high, strict=True)]
        self._parts.append(f'<polygon class="band {kind}" points="{" ".join(there + back[::-1])}"/>')

    def points(
        self, x: Sequence[float], y: Sequence[float], kind: str = "c0", name: str = "", size: float = 3.0
    ) -> None:
        """One dot per point, in one path: a thousand elements would make the page slow."""
        dots = "".join(f"M{self.x(a):.1f} {self.y(b):.1f}h.01" for a, b in zip(x, y, strict=True))
        self._parts.append(f'<path class="dots {kind}" stroke-width="{2 * size:g}" d="{dots}"/>')
        self._name(name, kind, "dot")

    def bar(self, x: tuple[float, float], y: tuple[float, float], kind: str = "c0", title: str = "") -> None:
        """A rectangle between two values of each axis."""
        left, right = sorted((self.x(x[0]), self.x(x[1])))
        top, bottom = sorted((self.y(y[0]), self.y(y[1])))
        told = f"<title>{_plain(title)}</title>" if title else ""
        self._parts.append(
            f'<rect class="bar {kind}" x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 0.5):.1f}" '
            f'height="{max(bottom - top, 0.5):.1f}">{told}</rect>'
        )

    def cell(self, x: tuple[float, float], y: tuple[float, float], strength: float, kind: str = "c0") -> None:
        """A rectangle whose colour is as strong as `strength`, from 0 to 1."""
        left, right = sorted((self.x(x[0]), self.x(x[1])))
        top, bottom = sorted((self.y(y[0]), self.y(y[1])))
        self._parts.append(
            f'<rect class="bar {kind}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{bottom - top:.1f}" fill-opacity="{strength:.3f}"/>'
        )

    def whisker(self, low: float, high: float, y: float, kind: str = "c0") -> None:
        """An interval along the first axis."""
        a, b, level = self.x(low), self.x(high), self.y(y)
        self._parts.append(
            f'<path class="line {kind}" d="M{a:.1f} {level:.1f}H{b:.1f}M{a:.1f} {level - 4:.1f}v8'
            f'M{b:.1f} {level - 4:.1f}v8"/>'
        )

    def rule(self, x: float | None = None, y: float | None = None, kind: str = "soft") -> None:
        """A dashed line across the whole chart."""
        if x is not None:
            ends = f"M{self.x(x):.1f} {self.y.start:.1f}V{self.y.end:.1f}"
        else:
            ends = f"M{self.x.start:.1f} {self.y(y or 0.0):.1f}H{self.x.end:.1f}"
        self._parts.append(f'<path class="line {kind}" stroke-dasharray="4 4" d="{ends}"/>')

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "middle", shift: float = 4.0) -> None:
        """Words at a point."""
        self._parts.append(
            f'<text class="{kind}" x="{self.x(x):.1f}" y="{self.y(y) + shift:.1f}" text-anchor="{anchor}">'
            f"{_plain(words)}</text>"
        )

    def svg(
        self,
        *,
        x_names: Sequence[str] | None = None,
        y_names: Sequence[str] | None = None,
        x_ticks: bool = True,
        y_ticks: bool = True,
    ) -> str:
        """The picture; names stand at 0, 1, 2 ... in place of numbers."""
        head = (
            f'<svg role="img" viewBox="0 0 {self.width:g} {self.height:g}" xmlns="http://www.w3.org/2000/svg" '
            f'aria-label="{_plain(self.alt)}">'
        )
        axes = self._across(x_names, x_ticks) + self._up(y_names, y_ticks)
        return head + "".join(axes + self._parts + self._labels() + self._names()) + "</svg>"

    def _across(self, names: Sequence[str] | None, drawn: bool) -> list[str]:
        base = self.y.start
        parts = [f'<path class="axis" d="M{self.x.start:.1f} {base:.1f}H{self.x.end:.1f}"/>']
        if not drawn:
            return parts
        marks = list(enumerate(names)) if names is not None else [(value, number(value)) for value in self.x.ticks()]
        if self.slanted:
            return parts + [_slanted(self.x(place), base + 12, _short(words, 14)) for place, words in marks]
        room = (self.x.end - self.x.start) / max(len(marks), 1) / LETTER
        for place, words in marks:
            shown = _short(words, max(int(room), 3))
            parts.append(_tick(self.x(place), base + 16, shown, "middle"))
        return parts

    def _up(self, names: Sequence[str] | None, drawn: bool) -> list[str]:
        if not drawn:
            return []
        marks = list(enumerate(names)) if names is not None else [(value, number(value)) for value in self.y.ticks()]
        parts = []
        for place, words in marks:
            level = self.y(place)
            if names is None:
                parts.append(f'<path class="grid" d="M{self.x.start:.1f} {level:.1f}H{self.x.end:.1f}"/>')
            shown = _short(words, int((self.left - 8) / LETTER))
            parts.append(_tick(self.x.start - 6, level + 4, shown, "end"))
        return parts

    def _labels(self) -> list[str]:
        parts = []
        if self.x_label:
            middle = (self.x.start + self.x.end) / 2
            parts.append(
                f'<text class="label" x="{middle:.1f}" y="{self.height - 8:g}" text-anchor="middle">'
                f"{_plain(self.x_label)}</text>"
            )
        if self.y_label:
            middle = (self.y.start + self.y.end) / 2
            parts.append(
                f'<text class="label" transform="translate(13 {middle:.1f}) rotate(-90)" text-anchor="middle">'
                f"{_plain(self.y_label)}</text>"
            )
        return parts

    def _name(self, name: str, kind: str, shape: str) -> None:
        if name:
            self._legend.append((name, kind, shape))

    def _names(self) -> list[str]:
        """The legend, above the chart: each name beside a mark of its colour."""
        parts, place = [], self.x.start
        for name, kind, shape in self._legend:
            mark = f"M{place:.1f} 10h14" if shape == "line" else f"M{place + 7:.1f} 10h.01"
            width = "" if shape == "line" else ' stroke-width="8"'
            parts.append(f'<path class="{"line" if shape == "line" else "dots"} {kind}"{width} d="{mark}"/>')
            shown = _short(name, 22)
            parts.append(_tick(place + 19, 14, shown, "start"))
            place += 30 + LETTER * len(shown)
        return parts


def _plain(words: str) -> str:
    """Words as a picture holds them: names are not marked here."""
    return escape(words.replace("`", ""))


def _tick(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text class="tick" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_plain(words)}</text>'


def _slanted(x: float, y: float, words: str) -> str:
    turn = f"translate({x:.1f} {y:.1f}) rotate(-35)"
    return f'<text class="tick" transform="{turn}" text-anchor="end">{_plain(words)}</text>'


def _short(words: str, most: int) -> str:
    return words if len(words) <= most else words[: max(most - 1, 1)] + "…"
