"""The report: one HTML page that loads nothing from elsewhere.

It is made from a record alone, so that it can be made again at any time. Figures are SVG that follows the page's light
and dark colours. The script sorts tables, switches the colours, and lets the reader try other values of a row and
another threshold; the page can be read without it.
"""

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

from mercer._written_file import write_whole
from mercer.app.report.interactive import list_threshold_data, list_what_if_data
from mercer.app.report.leads import make_leads
from mercer.app.report.section import Figure
from mercer.app.report.sections import make_sections
from mercer.app.study.record import Record

__all__ = ["render_report", "render_targets", "write_report"]


def render_report(record: Record) -> str:
    """Return the page as text."""
    return _fill(
        "page.html",
        record=record,
        sections=make_sections(record),
        leads=_make_leads(record),
        what_if=list_what_if_data(record),
        threshold=list_threshold_data(record),
        script=Markup(_read("script.js")),
    )


def render_targets(records: Mapping[str, Record], links: Mapping[str, str]) -> str:
    """Return a page about several targets: the answer for each, its picture, and a link to the whole report."""
    targets = [
        {"name": name, "record": record, "leads": _make_leads(record), "link": links[name]}
        for name, record in records.items()
    ]
    return _fill("targets.html", targets=targets)


def _fill(name: str, **values: Any) -> str:
    """Return a page with the values in their places."""
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["drawn"] = Markup
    environment.filters["words"] = _words
    return environment.from_string(_read(name)).render(style=Markup(_read("style.css")), **values)


def _read(name: str) -> str:
    """Return the text of a file of this room."""
    return (files("mercer.app.report") / name).read_text(encoding="utf-8")


def _make_leads(record: Record) -> list[Figure]:
    """Return the pictures at the top; none if they cannot be made, since the rest of the page does not need them."""
    try:
        return make_leads(record)
    except Exception:
        return []


def write_report(record: Record, path: Path) -> None:
    """Write the page to `path`, whole or not at all; create its folder if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, render_report(record))


def _words(text: str) -> Markup:
    """Return the text as HTML: names between backticks are marked as code, and no line ends between 5 and %."""
    # Only what `escape` has made harmless is marked up.
    marked = re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    return Markup(re.sub(r"(\d) %", r"\1&nbsp;%", marked))
