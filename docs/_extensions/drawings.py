"""Draw the figures of ``docs/figures`` before the pages that show them are read."""

import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]


def draw_figures(app: Any) -> None:
    """Write each figure to ``docs/_build/figures`` as SVG."""
    if str(DOCS) not in sys.path:
        sys.path.insert(0, str(DOCS))
    from figures.make import draw_all

    draw_all(DOCS / "_build" / "figures")


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", draw_figures)
    return {"parallel_read_safe": True}
