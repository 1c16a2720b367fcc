"""Figures of scores, candidates, columns and fits; each shows one part of a record."""

from collections.abc import Sequence

from mercer.app.report.chart import Chart, find_span, format_number, format_percent
from mercer.app.study.record import BiasVariance, Candidate, Column, Curve, Dependence, Driver, Fit, Sureness

# The most names that fit below an axis.
_MOST_NAMES = 9
# Share of the axis that the words below two points need beside each other.
_ROOM = 0.65


def draw_score(sureness: Sureness, metric: str) -> str:
    """Draw the score with its interval, between guessing and an estimate of the best possible score."""
    marks = [sureness.score, sureness.low, sureness.high, sureness.baseline]
    if sureness.floor is not None:
        marks.append(sureness.floor)
    alt = (
        f"{metric} {format_number(sureness.score)}, interval {format_number(sureness.low)} to "
        f"{format_number(sureness.high)}; {sureness.baseline_name} {format_number(sureness.baseline)}."
    )
    low, high = find_span(marks, 0.12)
    # Words of two points that are near to each other stand on two lines.
    near = sureness.floor is not None and abs(sureness.floor - sureness.baseline) < _ROOM * (high - low)
    y = (-1.7, 1.0) if near else (-1.0, 1.0)
    chart = Chart(alt, (low, high), y, x_label=metric, height=136 if near else 118, left=14)
    chart.line([sureness.baseline, sureness.score], [0.0, 0.0], "soft")
    chart.bar((sureness.low, sureness.high), (-0.35, 0.35), "c0 pale")
    chart.points([sureness.score], [0.0], "c0", size=7)

    def write(value: float, level: float, words: str, kind: str, shift: float) -> None:
        # Words near an end of the axis begin or end there, so that the edge does not cut them.
        place = (value - low) / (high - low)
        chart.text(value, level, words, kind, "start" if place < 0.25 else "end" if place > 0.75 else "middle", shift)

    write(sureness.score, 0.45, f"this model: {format_number(sureness.score)}", "strong", -4)
    chart.points([sureness.baseline], [0.0], "soft", size=5)
    write(sureness.baseline, -0.45, sureness.baseline_name, "tick", 10)
    if sureness.floor is not None:
        chart.points([sureness.floor], [0.0], "c2", size=5)
        write(sureness.floor, -0.45, "best possible", "tick", 23 if near else 10)
    return chart.svg(y_ticks=False)


def draw_candidates(offered: Sequence[Candidate], metric: str) -> str:
    """Draw the score of each candidate on unseen rows, with its interval."""
    judged = [candidate for candidate in offered if candidate.score is not None]
    values = [
        value for candidate in judged for value in (candidate.score, candidate.low, candidate.high) if value is not None
    ]
    alt = f"{metric}: " + ", ".join(f"{candidate.name} {format_number(candidate.score)}" for candidate in judged)
    chart = Chart(
        alt,
        find_span(values, 0.06),
        (len(judged) - 0.4, -0.6),
        x_label=metric,
        height=60 + 30.0 * len(judged),
        left=122,
    )
    chosen = next((candidate for candidate in judged if candidate.status == "chosen"), None)
    if chosen is not None and chosen.score is not None:
        chart.rule(x=chosen.score)
    for row, candidate in enumerate(judged):
        kind = "c5" if candidate.status == "chosen" else "c0"
        if candidate.low is not None and candidate.high is not None:
            chart.whisker(candidate.low, candidate.high, row, kind)
        if candidate.score is not None:
            chart.points([candidate.score], [row], kind, size=4.5)
    return chart.svg(y_names=[candidate.name for candidate in judged])


def draw_curve(curve: Curve, metric: str) -> str:
    """Draw the scores on training rows and on unseen rows, with one standard deviation to each side."""
    sides = [
        ("training rows", curve.train, curve.train_spread, "c1"),
        # A curve without training rows is about the number of groups: it has one line and needs no name.
        ("unseen rows" if curve.train else "", curve.test, curve.test_spread, "c0"),
    ]
    values = [*curve.train, *curve.test]
    for _, middle, spread, _ in sides:
        values += [m + s for m, s in zip(middle, spread, strict=False)]
        values += [m - s for m, s in zip(middle, spread, strict=False)]
    named, names = bool(curve.names), curve.names
    if len(names) > _MOST_NAMES:
        # Slanted names would overlap; the list of candidates has the same order, without those that have no score.
        # Numbers of two digits would touch each other: every second one is left out.
        names = [str(place + 1) if place % 2 == 0 else "" for place in range(len(names))]
    wide = not named and len(curve.x) > 2 and min(curve.x) > 0 and max(curve.x) / min(curve.x) > 20
    chart = Chart(
        f"{metric} against {curve.label}: {curve.text}",
        find_span(curve.x, 0.08 if named else 0.0) if not wide else (min(curve.x), max(curve.x)),
        find_span(values),
        x_label=curve.label,
        y_label=metric,
        legend=[name for name, middle, _, _ in sides if name and middle],
        logarithmic=wide,
        slanted=names is curve.names and sum(len(name) + 2 for name in names) > 50,
        height=270 if named else 240,
    )
    if curve.marked is not None:
        chart.rule(x=curve.x[curve.marked])
    for name, middle, spread, kind in sides:
        if not middle:
            continue
        if spread:
            low = [m - s for m, s in zip(middle, spread, strict=True)]
            chart.band(curve.x, low, [m + s for m, s in zip(middle, spread, strict=True)], kind)
        chart.line(curve.x, middle, kind, name)
        chart.points(curve.x, middle, kind)
    return chart.svg(x_names=names or None)


def draw_bias_variance(parts: BiasVariance) -> str:
    """Draw bias and variance of each candidate as two stacked bars."""
    total = [b + v for b, v in zip(parts.bias, parts.variance, strict=True)]
    chart = Chart(
        f"Error split into bias with noise, and variance. {parts.text}",
        (0.0, find_span(total, 0.05)[1]),
        (len(total) - 0.4, -0.6),
        x_label="error on unseen rows",
        height=60 + 32.0 * len(total),
        left=122,
        legend=["bias and noise", "variance"],
    )
    for row, (bias, variance) in enumerate(zip(parts.bias, parts.variance, strict=True)):
        chart.bar((0.0, bias), (row - 0.32, row + 0.32), "c0", f"bias and noise {format_number(bias)}")
        chart.bar((bias, bias + variance), (row - 0.32, row + 0.32), "c1", f"variance {format_number(variance)}")
    chart.points([], [], "c0", "bias and noise")
    chart.points([], [], "c1", "variance")
    return chart.svg(y_names=parts.names)


def draw_drivers(drivers: Sequence[Driver], metric: str) -> str:
    """Draw how much the score falls when each column is shuffled."""
    values = [0.0, *(value for driver in drivers for value in (driver.low, driver.high))]
    alt = "Importance by shuffling: " + ", ".join(f"{driver.column} {format_number(driver.mean)}" for driver in drivers)
    chart = Chart(
        alt,
        find_span(values),
        (len(drivers) - 0.4, -0.6),
        x_label=f"loss of {metric}",
        height=60 + 26.0 * len(drivers),
        left=122,
    )
    chart.rule(x=0.0)
    for row, driver in enumerate(drivers):
        chart.bar((0.0, driver.mean), (row - 0.3, row + 0.3), "c2")
        chart.whisker(driver.low, driver.high, row, "ink")
    return chart.svg(y_names=[driver.column for driver in drivers])


def draw_dependence(dependence: Dependence) -> str:
    """Draw the mean prediction as one column varies."""
    names = [str(value) for value in dependence.values] if isinstance(dependence.values[0], str) else None
    x = list(range(len(dependence.values))) if names else [float(value) for value in dependence.values]
    y = find_span([*dependence.mean, *dependence.low, *dependence.high])
    ends = f"from {format_number(min(dependence.mean))} to {format_number(max(dependence.mean))}"
    chart = Chart(
        f"{dependence.label} as {dependence.column} varies, {ends}.",
        (-0.5, len(x) - 0.5) if names else find_span(x, 0.0),
        y,
        x_label=dependence.column,
        y_label=dependence.label,
    )
    if names:
        # Dots, not bars: the axis need not begin at zero, and a bar that begins elsewhere misleads.
        for place, low, high in zip(x, dependence.low, dependence.high):
            chart.line([place, place], [low, high], "c0")
        chart.points(x, dependence.mean, "c0", size=5)
    else:
        if dependence.low:
            chart.band(x, dependence.low, dependence.high, "c0")
        chart.line(x, dependence.mean, "c0")
    return chart.svg(x_names=names)


def draw_history(fit: Fit) -> str:
    """Draw the objective, step by step."""
    steps = list(range(1, len(fit.objective) + 1))
    first, last = format_number(fit.objective[0]), format_number(fit.objective[-1])
    alt = f"{fit.objective_name} from {first} to {last} in {len(steps)} steps."
    chart = Chart(alt, find_span(steps, 0.02), find_span(fit.objective), x_label="step", y_label=fit.objective_name)
    chart.line(steps, fit.objective, "c0")
    chart.points(steps[:200], fit.objective[:200], "c0")
    return chart.svg()


def draw_shares(shares: Sequence[float]) -> str:
    """Draw the share of variance of each component, and their cumulative sum."""
    together = [sum(shares[: k + 1]) for k in range(len(shares))]
    alt = f"The first of {len(shares)} components holds {format_percent(shares[0])} of the variance."
    chart = Chart(alt, (0.4, len(shares) + 0.6), (0.0, 1.05), x_label="component", y_label="share of variance")
    for k, share in enumerate(shares):
        chart.bar((k + 0.7, k + 1.3), (0.0, share), "c0")
    chart.line(range(1, len(shares) + 1), together, "c1")
    chart.points(range(1, len(shares) + 1), together, "c1")
    return chart.svg()


def draw_histogram(column: Column) -> str:
    """Draw the histogram of a column, small enough for a table."""
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
