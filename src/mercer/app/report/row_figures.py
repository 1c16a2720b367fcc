"""Figures of single rows: where the model is right and wrong, what that costs, and a map of the rows."""

from collections.abc import Sequence

from mercer.app.report.chart import Chart, find_span, format_number, format_percent
from mercer.app.study.record import Calibration, Confusion, CostCurve, Map, Rates, Residuals

# Curves and groups with a colour of their own; there are six colours.
_MOST_CURVES = 6


def draw_confusion(confusion: Confusion) -> str:
    """Draw the counts by true and predicted class; the colour shows the share of the true class."""
    n = len(confusion.classes)
    most = max(sum(row) for row in confusion.counts) or 1
    alt = "Confusion matrix of unseen rows: " + "; ".join(
        f"true {name}: "
        + ", ".join(f"{format_number(c)} as {guess}" for guess, c in zip(confusion.classes, row, strict=True))
        for name, row in zip(confusion.classes, confusion.counts, strict=True)
    )
    side = max(254.0, 60 + 34.0 * n)
    shown = _drop_shared_beginning(confusion.classes)
    chart = Chart(
        alt,
        (-0.5, n - 0.5),
        (n - 0.5, -0.5),
        x_label="predicted",
        y_label="true",
        left=110,
        height=side + (46 if n > 6 else 0),
        width=side + 66,
        slanted=n > 6,
    )
    for i, row in enumerate(confusion.counts):
        share = sum(row) or most
        for j, count in enumerate(row):
            chart.cell((j - 0.48, j + 0.48), (i - 0.48, i + 0.48), 0.85 * count / share, "c0" if i == j else "c5")
            if n <= 12 or count:
                chart.text(j, i, format_number(count), "strong" if i == j else "")
    return chart.svg(x_names=shown, y_names=shown)


def _drop_shared_beginning(names: Sequence[str]) -> list[str]:
    """Return many names without the words with which all of them begin, if they would not fit beside a chart."""
    if max(map(len, names)) <= 12 or len(names) < 3:
        return list(names)
    words = [name.split(" ") for name in names]
    shared = 0
    while all(len(word) > shared + 1 for word in words) and len({word[shared] for word in words}) == 1:
        shared += 1
    return ["… " + " ".join(word[shared:]) for word in words] if shared else list(names)


def draw_calibration(calibration: Calibration, positive: str) -> str:
    """Draw the observed share against the predicted probability."""
    error = format_number(calibration.error)
    alt = f"Calibration of the probability of {positive}: expected calibration error {error}. {calibration.text}"
    chart = Chart(alt, (0.0, 1.0), (0.0, 1.0), x_label="predicted probability", y_label="observed share")
    chart.line([0, 1], [0, 1], "soft", dash=True)
    for x, low, high in zip(calibration.predicted, calibration.low, calibration.high, strict=True):
        chart.line([x, x], [low, high], "c0")
    chart.line(calibration.predicted, calibration.observed, "c0")
    chart.points(calibration.predicted, calibration.observed, "c0", size=4)
    return chart.svg()


def name_drawn(rates: Sequence[Rates], n_classes: int) -> str:
    """Return which classes have a curve, if not all have one; of two classes the positive one is enough."""
    drawn = min(len(rates), _MOST_CURVES)
    return "" if n_classes <= 2 or drawn == n_classes else f", for the first {drawn} of {n_classes} classes"


def draw_roc(rates: Sequence[Rates]) -> str:
    """Draw the true positive rate against the false positive rate."""
    alt = "ROC curves: " + ", ".join(f"area {format_number(curve.roc_area)} for {curve.name}" for curve in rates)
    names = [f"{curve.name} {format_number(curve.roc_area)}" for curve in rates[:_MOST_CURVES]]
    chart = Chart(alt, (0, 1), (0, 1), x_label="false positive rate", y_label="true positive rate", legend=names)
    chart.line([0, 1], [0, 1], "soft", dash=True)
    for k, (name, curve) in enumerate(zip(names, rates)):
        chart.line(curve.false_positive, curve.true_positive, f"c{k}", name)
    return chart.svg()


def draw_precision_recall(rates: Sequence[Rates]) -> str:
    """Draw precision against recall; a dashed line shows the share of each class, which guessing reaches."""
    alt = "Precision-recall curves: " + ", ".join(
        f"average precision {format_number(curve.average_precision)} for {curve.name}" for curve in rates
    )
    names = [f"{curve.name} {format_number(curve.average_precision)}" for curve in rates[:_MOST_CURVES]]
    chart = Chart(alt, (0, 1), (0, 1.02), x_label="recall", y_label="precision", legend=names)
    for k, (name, curve) in enumerate(zip(names, rates)):
        chart.line(curve.recall, curve.precision, f"c{k}", name)
        chart.line([0, 1], [curve.share, curve.share], f"c{k}", dash=True)
    return chart.svg()


def draw_predictions(residuals: Residuals, target: str) -> str:
    """Draw the predictions against the true values."""
    ends = find_span([*residuals.true, *residuals.predicted])
    chart = Chart(
        f"Predicted against true {target} on unseen rows.", ends, ends, x_label=f"true {target}", y_label="predicted"
    )
    chart.line(ends, ends, "soft", dash=True)
    chart.points(residuals.true, residuals.predicted, "c0 faint", size=2.2)
    return chart.svg()


def draw_residuals(residuals: Residuals, target: str) -> str:
    """Draw the residuals against the predictions."""
    left = [true - guess for true, guess in zip(residuals.true, residuals.predicted, strict=True)]
    alt = f"Residual of {target} against its prediction. {residuals.text}"
    chart = Chart(
        alt, find_span(residuals.predicted), find_span(left), x_label=f"predicted {target}", y_label="true − predicted"
    )
    chart.rule(y=0.0)
    chart.points(residuals.predicted, left, "c0 faint", size=2.2)
    for level in (residuals.quantiles[0], residuals.quantiles[-1]):
        chart.rule(y=level, kind="c1")
    return chart.svg()


def draw_cost_curve(curve: CostCurve, positive: str) -> str:
    """Draw the cost per row against the threshold."""
    chart = Chart(
        f"Cost per row by threshold on the probability of {positive}; lowest at {format_number(curve.best)}.",
        (0.0, 1.0),
        find_span([*curve.low, *curve.high]),
        x_label=f"threshold on the probability of {positive}",
        y_label="cost per row",
    )
    chart.band(curve.threshold, curve.low, curve.high, "c0")
    chart.line(curve.threshold, curve.cost, "c0")
    chart.rule(x=curve.best, kind="c5")
    return chart.svg()


def draw_map_by_group(plane: Map) -> str:
    """Draw the rows in a plane, coloured by group, or shaded by value."""
    largest = sorted(sorted(set(plane.groups)), key=plane.groups.count, reverse=True)[:_MOST_CURVES]
    chart = _make_plane(plane, largest)
    if plane.groups:
        for k, group in enumerate(largest):
            inside = [i for i, name in enumerate(plane.groups) if name == group]
            chart.points([plane.x[i] for i in inside], [plane.y[i] for i in inside], f"c{k} faint", group, 2.6)
    elif plane.values:
        order = sorted(range(len(plane.values)), key=plane.values.__getitem__)
        for k, kind in enumerate(("q0", "q1", "q2", "q3", "q4")):
            inside = order[k * len(order) // 5 : (k + 1) * len(order) // 5]
            chart.points([plane.x[i] for i in inside], [plane.y[i] for i in inside], kind, size=2.6)
    return chart.svg()


def draw_map_by_loss(plane: Map) -> str:
    """Draw the rows in a plane, coloured by the loss of each row while it was unseen."""
    names = ("small error", "medium error", "large error")
    chart = _make_plane(plane, names)
    bounds = (0.2, 0.5, 1.01)
    for low, high, kind, name in zip((0.0, *bounds), bounds, ("q0", "q2", "c5"), names, strict=False):
        inside = [i for i, loss in enumerate(plane.wrong) if low <= loss < high]
        chart.points([plane.x[i] for i in inside], [plane.y[i] for i in inside], kind, name, 2.6)
    return chart.svg()


def _make_plane(plane: Map, legend: Sequence[str]) -> Chart:
    """Return an empty chart with the axes of a map."""
    labels = ["first axis", "second axis"]
    if len(plane.explained) == 2:
        labels = [f"{label} ({format_percent(share)})" for label, share in zip(labels, plane.explained, strict=True)]
    alt = f"{len(plane.x)} rows in a plane by {plane.method}. {plane.text}"
    return Chart(
        alt, find_span(plane.x), find_span(plane.y), x_label=labels[0], y_label=labels[1], height=270, legend=legend
    )
