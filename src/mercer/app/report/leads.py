"""The pictures at the top of the page, which tell the answer."""

from mercer.app.report import figures, row_figures
from mercer.app.report.scale import capitalise, format_percent
from mercer.app.report.section import Figure
from mercer.app.study.record import Record

# Columns in the picture of those that matter.
_MOST_COLUMNS = 4


def make_leads(record: Record) -> list[Figure]:
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
