"""The report: one HTML page that loads nothing from elsewhere.

It is made from a record alone, so that it can be made again at any time. Figures are SVG that follows the page's light
and dark colours. The script sorts tables, switches the colours, and lets the reader try other values of a row and
another threshold; the page can be read without it.
"""

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment
from markupsafe import Markup, escape

from mercer._written_file import write_whole
from mercer.app.deploy.conformal import find_quantile
from mercer.app.report import figures, row_figures
from mercer.app.report.chart import capitalise, format_percent
from mercer.app.report.section import Figure
from mercer.app.report.sections import make_sections
from mercer.app.study.record import Record

if TYPE_CHECKING:
    from mercer.app.check.finding import ModelCheck

# Share of new rows whose true value lies in the interval that the page shows.
_COVERAGE = 0.9
# Probabilities of each class that the page holds.
_MOST_POINTS = 200


def list_what_if_data(record: Record) -> dict[str, Any] | None:
    """Return the effects of the most important columns on the prediction; None if there are none.

    The page adds the effects: the mean prediction, plus for each column the mean prediction at the chosen value less
    its mean over the values shown. That is exact for a model without interactions.
    """
    effects = [dependence for dependence in record.dependences if len(dependence.values) > 1 and dependence.mean]
    if not effects or record.question.task == "structure":
        return None
    columns = [
        {
            "name": effect.column,
            "values": list(effect.values),
            "effect": [value - sum(effect.mean) / len(effect.mean) for value in effect.mean],
        }
        for effect in effects
    ]
    middles = [sum(effect.mean) / len(effect.mean) for effect in effects]
    half = None
    if record.question.task == "regression" and record.conformal is not None:
        quantile = find_quantile(record.conformal.scores[0], record.conformal.counts[0], _COVERAGE)
        half = quantile if quantile < float("inf") else None
    return {
        "label": effects[0].label.replace("`", "") or "prediction",
        "middle": sum(middles) / len(middles),
        "columns": columns,
        "half": half,
        "least": None if record.conformal is None else record.conformal.least,
        "probability": record.question.task == "classification",
    }


def list_threshold_data(record: Record) -> dict[str, Any] | None:
    """Return the probabilities that unseen rows of both classes got; None if there are not two classes."""
    positive, conformal = record.question.positive, record.conformal
    if any(candidate.status == "chosen" and candidate.family == "baseline" for candidate in record.candidates):
        # The constant guess gives every row the same probability.
        return None
    if positive is None or conformal is None or len(conformal.names) != 2 or record.fit is None:
        return None
    place = conformal.names.index(positive) if positive in conformal.names else 0
    # The score of a row is one less the probability of its own class.
    here = [1 - score for score in conformal.scores[place]]
    other = list(conformal.scores[1 - place])
    total = sum(conformal.counts)
    return {
        "positive": positive,
        "share": conformal.counts[place] / total if total else 0.0,
        "here": _thin(here),
        "other": _thin(other),
        "threshold": 0.5 if record.fit.threshold is None else record.fit.threshold,
    }


def _thin(values: list[float]) -> list[float]:
    """Return evenly spaced ones of sorted values, with few digits; a record has None for what was no number."""
    values = [value for value in values if value is not None]
    step = max(1.0, len(values) / _MOST_POINTS)
    kept = [values[int(place * step)] for place in range(int(len(values) / step))]
    return [float(f"{value:.4g}") for value in kept]


__all__ = ["list_summary_figures", "render_check", "render_report", "render_targets", "write_report"]

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


def render_check(found: "ModelCheck") -> str:
    """Return the page about the tests of a model."""
    return _fill("check.html", found=found)


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
