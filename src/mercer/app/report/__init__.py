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
from mercer.app.report import figures, row_figures
from mercer.app.report.chart import capitalise, format_percent
from mercer.app.report.interactive import list_threshold_data, list_what_if_data
from mercer.app.report.section import Figure
from mercer.app.report.sections import make_sections
from mercer.app.study.record import Record

__all__ = ["list_summary_figures", "render_report", "render_targets", "write_report"]

# Columns in the picture of those that matter, at the top of the page.
_MOST_COLUMNS = 4


def render_report(record: Record) -> str:
    """Return the page as text."""
    return _fill(
        "page.html",
        record=record,
        sections=make_sections(record),
        summary=_draw_summary(record),
        what_if=list_what_if_data(record),
        threshold=list_threshold_data(record),
        script=Markup(_read("script.js")),
    )


def render_targets(records: Mapping[str, Record], links: Mapping[str, str]) -> str:
    """Return a page about several targets: the answer for each, its picture, and a link to the whole report."""
    targets = [
        {"name": name, "record": record, "summary": _draw_summary(record), "link": links[name]}
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


def _draw_summary(record: Record) -> list[Figure]:
    """Return the pictures at the top; none if they cannot be made, since the rest of the page does not need them."""
    try:
        return list_summary_figures(record)
    except Exception:
        return []


def list_summary_figures(record: Record) -> list[Figure]:
    """Return the pictures at the top: the score between guessing and the best possible one and the columns that
    matter, or the groups of rows."""
    if record.sureness is not None:
        metric = record.question.metric
        caption = f"{capitalise(metric)} on new rows with its {format_percent(record.sureness.level)} interval."
        leads = [Figure(figures.draw_score(record.sureness, metric), caption, wide=True)]
        # Only columns whose interval lies above zero: the others are not shown to matter.
        top = [driver for driver in record.drivers if driver.low > 0][:_MOST_COLUMNS]
        if top:
            caption = f"The columns that matter most: how much the {metric} gets worse without their values."
            leads.append(Figure(figures.draw_drivers(top, metric), caption, wide=True))
        return leads
    if record.map is not None and record.map.groups:
        caption = f"The rows in a plane ({record.map.method}), coloured by group. {record.map.text}"
        return [Figure(row_figures.draw_map_by_group(record.map), caption.strip())]
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
