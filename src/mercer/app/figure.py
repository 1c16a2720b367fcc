"""The page's figures, as SVG text with one style."""

import io
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

__all__ = ["against", "bars", "confusion", "history", "scatter", "scree"]

# Okabe and Ito's colours, which people with any colour vision can tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
STYLE = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": "#444444",
    "xtick.color": "#666666",
    "ytick.color": "#666666",
    "svg.fonttype": "none",
    # Without a fixed salt the ids in the file would differ from run to run.
    "svg.hashsalt": "mercer",
}


class _Canvas:
    """A figure of the page's size that turns into SVG text."""

    def __init__(self, width: float = 4.6, height: float = 3.3) -> None:
        self.figure = Figure(figsize=(width, height), layout="constrained")
        self.axes = self.figure.add_subplot()
        self.figure.patch.set_alpha(0.0)
        self.axes.patch.set_alpha(0.0)

    def svg(self) -> str:
        buffer = io.StringIO()
        self.figure.savefig(buffer, format="svg", metadata={"Date": None})
        text = buffer.getvalue()
        return text[text.index("<svg") :]


def _drawn(draw: Any, x_label: str = "", y_label: str = "") -> str:
    with mpl.rc_context(STYLE):
        canvas = _Canvas()
        draw(canvas.axes)
        canvas.axes.set(xlabel=x_label, ylabel=y_label)
        return canvas.svg()


def scatter(x: Any, y: Any, labels: Any, x_label: str, y_label: str) -> str:
    """Points, one colour per label."""

    def draw(axes: Any) -> None:
        for colour, kind in zip(COLOURS, np.unique(labels), strict=False):
            chosen = np.asarray(labels) == kind
            axes.scatter(x[chosen], y[chosen], s=14, alpha=0.75, color=colour, label=kind, linewidths=0)
        axes.legend(frameon=False, fontsize=9)

    return _drawn(draw, x_label, y_label)


def history(columns: dict[str, np.ndarray], name: str) -> str:
    """The objective, step by step."""

    def draw(axes: Any) -> None:
        axes.plot(columns["step"], columns["objective"], marker="o", markersize=4, color=COLOURS[0])
        axes.xaxis.get_major_locator().set_params(integer=True)

    return _drawn(draw, "step", name)


def scree(shares: np.ndarray) -> str:
    """Share of the variance of each component, and of all up to it."""

    def draw(axes: Any) -> None:
        number = np.arange(1, len(shares) + 1)
        axes.bar(number, shares, color=COLOURS[4], label="each")
        axes.plot(number, np.cumsum(shares), marker="o", color=COLOURS[0], label="together")
        axes.set_xticks(number)
        axes.set_ylim(0, 1.05)
        axes.legend(frameon=False, fontsize=9)

    return _drawn(draw, "component", "share of variance")


def against(true: np.ndarray, predicted: np.ndarray, x_label: str, y_label: str) -> str:
    """Predictions against the truth, with the diagonal on which they should lie."""

    def draw(axes: Any) -> None:
        ends = [min(true.min(), predicted.min()), max(true.max(), predicted.max())]
        axes.plot(ends, ends, color="#999999", linewidth=1)
        axes.scatter(true, predicted, s=14, alpha=0.7, color=COLOURS[0], linewidths=0)

    return _drawn(draw, x_label, y_label)


def bars(names: list[str], values: np.ndarray, label: str) -> str:
    """One bar per name."""
    return _drawn(lambda axes: axes.barh(names[::-1], np.ravel(values)[::-1], color=COLOURS[2]), label, "")


def confusion(counts: np.ndarray, kinds: Any) -> str:
    """A confusion matrix with its numbers."""

    def draw(axes: Any) -> None:
        axes.imshow(counts, cmap="Blues", vmax=counts.max() * 1.6)
        for i, j in np.ndindex(*counts.shape):
            axes.text(j, i, str(counts[i, j]), ha="center", va="center", fontsize=12)
        axes.set_xticks(range(len(kinds)), kinds)
        axes.set_yticks(range(len(kinds)), kinds)

    return _drawn(draw, "predicted", "true")
