"""The report: one HTML page that needs nothing beside it, written for a person.

It is made from a record alone, so that it can be made again at any time. Figures are SVG that follows the page's light
and dark colours; the only script sorts tables and switches the colours, and the page is whole without it.
"""

import re
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup, escape

from mercer.app.report.sections import sections
from mercer.app.study.record import Record

__all__ = ["render_report", "write_report"]


def render_report(record: Record) -> str:
    """The page as text."""
    room = files("mercer.app.report")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["drawn"] = Markup
    environment.filters["words"] = _words
    page = environment.from_string((room / "page.html").read_text(encoding="utf-8"))
    return page.render(
        record=record,
        sections=sections(record),
        style=Markup((room / "style.css").read_text(encoding="utf-8")),
        script=Markup((room / "script.js").read_text(encoding="utf-8")),
    )


def write_report(record: Record, path: Path) -> None:
    """Write the page to `path`, whole or not at all, making its folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".part")
    half.write_text(render_report(record), encoding="utf-8")
    half.replace(path)


def _words(text: str) -> Markup:
    """Text in which what stands between backticks is a name."""
    # Only what `escape` has made harmless is marked up.
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))
