"""The report"s figures of scores, candidates, columns and fits: from one part of a record to one picture each."""

from collections.abc import Sequence

from mercer.app.report.chart import Chart
from mercer.app.report.scale import number, percent, span
from mercer.app.study.record import BiasVariance, Candidate, Column, Curve, Dependence, Driver, Fit, Sureness

__all__ = ["bias_variance", "candidates", "curve", "dependence", "drivers", "history", "shares", "spark", "strip"]


def strip(sureness: Sureness, metric: str) -> str:
    """The score with its interval, between guessing and the best that may be possible."""
    marks = [sureness.score, sureness.low, sureness.high, sureness.baseline]
    if sureness.floor is not None:
        marks.append(sureness.floor)
    alt = (
        f"{metric} {number(sureness.score)}, interval {number(sureness.low)} to {number(sureness.high)}; "
        f"{sureness.baseline_name} {number(sureness.baseline)}."
    )
    chart = Chart(alt, span(marks, 0.12), (-1.0, 1.0), x_label=metric, width=490, height=110, left=14)
    chart.bar((sureness.low, sureness.high), (-0.35, 0.35), "c0 pale")
    chart.points([sureness.score], [0.0], "c0", size=7)
    chart.text(sureness.score, 0.45, number(sureness.score), "strong", shift=-4)
    chart.points([sureness.baseline], [0.0], "soft", size=5)
    chart.text(sureness.baseline, -0.45, sureness.baseline_name, "tick", shift=10)
    if sureness.floor is not None:
        chart.points([sureness.floor], [0.0], "c2", size=5)
        chart.text(sureness.floor, -0.45, "best possible?", "tick", shift=10)
    return chart.svg(y_ticks=False)


def candidates(found: Sequence[Candidate], metric: str) -> str:
    """One row per candidate: its score on unseen rows with its interval, and on training rows."""
    judged = [one for one in found if one.score is not None]
    values = [value for one in judged for value in (one.score, one.low, one.high) if value is not None]
    alt = f"{metric} of {len(judged)} candidates with intervals; the table beside it has the numbers."
    chart = Chart(
        alt,
        span(values, 0.06),
        (len(judged) - 0.4, -0.6),
        x_label=metric,
        width=490,
        height=60 + 26.0 * len(judged),
        left=170,
    )
    chosen = next((one for one in judged if one.status == "chosen"), None)
    if chosen is not None and chosen.score is not None:
        chart.rule(x=chosen.score)
    for row, one in enumerate(judged):
        kind = "c5" if one.status == "chosen" else "c0"
        if one.low is not None and one.high is not None:
            chart.whisker(one.low, one.high, row, kind)
        if one.score is not None:
            chart.points([one.score], [row], kind, size=4.5)
    return chart.svg(y_names=[one.name for one in judged])


def curve(found: Curve, metric: str) -> str:
    """Training and unseen scores, with a standard deviation to each side."""
    sides = [("train", found.train, found.train_spread, "c1"), ("unseen rows", found.test, found.test_spread, "c0")]
    values = [*found.train, *found.test]
    for _, middle, spread, _ in sides:
        values += [m + s for m, s in zip(middle, spread, strict=False)]
        values += [m - s for m, s in zip(middle, spread, strict=False)]
    named = bool(found.names)
    wide = not named and len(found.x) > 2 and min(found.x) > 0 and max(found.x) / min(found.x) > 20
    chart = Chart(
        f"{metric} against {found.label}: {found.text}",
        span(found.x, 0.08 if named else 0.0) if not wide else (min(found.x), max(found.x)),
        span(values),
        x_label=found.label,
        y_label=metric,
        legend=True,
        logarithmic=wide,
        slanted=sum(len(name) + 2 for name in found.names) > 50,
        height=310 if named else 280,
    )
    if found.marked is not None:
        chart.rule(x=found.x[found.marked])
    for name, middle, spread, kind in sides:
        if not middle:
            continue
        if spread:
            low = [m - s for m, s in zip(middle, spread, strict=True)]
            chart.band(found.x, low, [m + s for m, s in zip(middle, spread, strict=True)], kind)
        chart.line(found.x, middle, kind, name)
        chart.points(found.x, middle, kind)
    return chart.svg(x_names=found.names or None)


def bias_variance(found: BiasVariance) -> str:
    """Two stacked bars per candidate."""
    total = [b + v for b, v in zip(found.bias, found.variance, strict=True)]
    chart = Chart(
        f"Error split into bias with noise, and variance. {found.text}",
        (0.0, span(total, 0.05)[1]),
        (len(total) - 0.4, -0.6),
        x_label="error on unseen rows",
        height=90 + 26.0 * len(total),
        left=170,
        legend=True,
    )
    for row, (bias, variance) in enumerate(zip(found.bias, found.variance, strict=True)):
        chart.bar((0.0, bias), (row - 0.32, row + 0.32), "c0", f"bias and noise {number(bias)}")
        chart.bar((bias, bias + variance), (row - 0.32, row + 0.32), "c1", f"variance {number(variance)}")
    chart.points([], [], "c0", "bias and noise")
    chart.points([], [], "c1", "variance")
    return chart.svg(y_names=found.names)


def drivers(found: Sequence[Driver], metric: str) -> str:
    """How much the score falls without each column."""
    values = [0.0, *(value for one in found for value in (one.low, one.high))]
    alt = "Importance by shuffling: " + ", ".join(f"{one.column} {number(one.mean)}" for one in found)
    chart = Chart(
        alt,
        span(values),
        (len(found) - 0.4, -0.6),
        x_label=f"loss of {metric} when shuffled",
        width=490,
        height=60 + 24.0 * len(found),
        left=170,
    )
    chart.rule(x=0.0)
    for row, one in enumerate(found):
        chart.bar((0.0, one.mean), (row - 0.3, row + 0.3), "c2")
        chart.whisker(one.low, one.high, row, "ink")
    return chart.svg(y_names=[one.column for one in found])


def dependence(found: Dependence) -> str:
    """The mean prediction as one column varies."""
    names = [str(value) for value in found.values] if isinstance(found.values[0], str) else None
    x = list(range(len(found.values))) if names else [float(value) for value in found.values]
    y = span([*found.mean, *found.low, *found.high])
    chart = Chart(
        f"{found.label} as {found.column} varies, from {number(min(found.mean))} to {number(max(found.mean))}.",
        (-0.5, len(x) - 0.5) if names else span(x, 0.0),
        y,
        x_label=found.column,
        y_label=found.label,
    )
    if names:
        for place, mean in zip(x, found.mean, strict=True):
            chart.bar((place - 0.3, place + 0.3), (y[0], mean), "c0")
    else:
        if found.low:
            chart.band(x, found.low, found.high, "c0")
        chart.line(x, found.mean, "c0")
    return chart.svg(x_names=names)


def history(found: Fit) -> str:
    """The objective, step by step."""
    steps = list(range(1, len(found.objective) + 1))
    first, last = number(found.objective[0]), number(found.objective[-1])
    alt = f"{found.objective_name} from {first} to {last} in {len(steps)} steps."
    chart = Chart(alt, span(steps, 0.02), span(found.objective), x_label="step", y_label=found.objective_name)
    chart.line(steps, found.objective, "c0")
    chart.points(steps[:200], found.objective[:200], "c0")
    return chart.svg()


def shares(found: Sequence[float]) -> str:
    """Share of the variance by component, and together."""
    together = [sum(found[: k + 1]) for k in range(len(found))]
    alt = f"The first of {len(found)} components holds {percent(found[0])} of the variance."
    chart = Chart(alt, (0.4, len(found) + 0.6), (0.0, 1.05), x_label="component", y_label="share of variance")
    for k, share in enumerate(found):
        chart.bar((k + 0.7, k + 1.3), (0.0, share), "c0")
    chart.line(range(1, len(found) + 1), together, "c1")
    chart.points(range(1, len(found) + 1), together, "c1")
    return chart.svg()


def spark(column: Column) -> str:
    """A column's histogram, small enough for a table."""
    if not column.counts or not max(column.counts):
        return ""
    n, most = len(column.counts), max(column.counts)
    width = 100 / n
    bars = "".join(
        f'<rect class="bar c0" x="{k * width:.1f}" y="{24 - 24 * count / most:.1f}" width="{width * 0.86:.1f}" '
        f'height="{24 * count / most:.1f}"/>'
        for k, count in enumerate(column.counts)
    )
    return f'<svg class="spark" role="img" aria-label="histogram" viewBox="0 0 100 24">{bars}</svg>'
