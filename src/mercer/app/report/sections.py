"""The sections of the report: titles, sentences, figures and tables, made from a record."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from mercer.app.report import figures, row_figures
from mercer.app.report.chart import capitalise, format_number, format_percent
from mercer.app.report.section import (
    Figure,
    Section,
    Table,
    make_candidate_table,
    make_column_table,
    make_metric_table,
    make_row_table,
    make_setting_table,
    make_strange_table,
)
from mercer.app.study.record import Record

# From this number of classes on, the confusion matrix needs the width of the page.
_MANY_CLASSES = 7
# Share of the variance from which on further principal components add little.
_MOST_VARIANCE = 0.9


def make_sections(record: Record) -> list[Section]:
    """Return the sections for which the record has content."""
    makers: tuple[Callable[[Record], Iterator[Section]], ...] = (
        _show_score,
        _show_data,
        _show_candidates,
        _show_curves,
        _show_errors,
        _show_decision,
        _show_drivers,
        _show_structure,
        _show_map,
        _show_hardest,
        _show_strange,
        _show_fit,
        _show_origin,
    )
    sections = []
    for make in makers:
        try:
            sections += list(make(record))
        except Exception as wrong:  # a part that cannot be shown must not hide the others
            name = make.__name__.removeprefix("_show_")
            text = f"This part of the report could not be made ({type(wrong).__name__}: {wrong})."
            sections.append(Section(name, name.capitalize(), name.capitalize(), [text]))
    return sections


def _show_score(record: Record) -> Iterator[Section]:
    sureness = record.sureness
    if sureness is None:
        return
    metric = record.question.metric
    text = [sureness.method]
    if sureness.selection_bias is not None:
        flattered = sureness.selection_bias if record.question.greater_is_better else -sureness.selection_bias
        text.append(
            "The best of several models looks better than it is on the rows by which it was chosen: in the divisions "
            f"its score was {format_number(round(flattered, 4))} better there. The scores above come from other rows."
            if flattered > 0
            else "On rows that took no part in the choice, the model scored as well as on those by which it was chosen."
        )
    if record.other is not None:
        other = record.other
        score, low, high = (format_number(value) for value in (other.score, other.low, other.high))
        text.append(
            f"This holds for {other.assumed}. The same model, fitted anew for each division, has a score of {score} on "
            f"{other.rows} ({low} to {high}). Give {other.option} for a study of these."
        )
    if record.holdout is not None:
        found = record.holdout
        score, low, high = (format_number(value) for value in (found.score, found.low, found.high))
        text.append(
            f"On {found.n_rows} rows of {found.table}, which the study has not seen: {score} ({low} to {high})."
        )
    if sureness.floor_text:
        text.append(sureness.floor_text)
    tables = [make_metric_table(record)]
    if record.splits:
        text.append(
            "Rows may depend on each other. A quick model was therefore scored under two kinds of split, on parts of "
            "equal size."
        )
        rows = [[part.splits, format_number(part.score), "yes" if part.used else "no"] for part in record.splits]
        head = ["split", metric, "used for this study"]
        tables.append(Table("Score by kind of split", head, rows, [False, True, False]))
    yield Section("score", "Score", "How certain is the score?", text, tables=tables)


def _show_data(record: Record) -> Iterator[Section]:
    question, data = record.question, record.data
    text = [f"{question.table}: {question.n_rows:,} rows and {question.n_columns} columns.".replace(",", "\u2009")]
    if data.duplicate_rows:
        text.append(f"{data.duplicate_rows} rows are exact copies of another row.")
    yield Section(
        "data",
        "Data",
        "The data",
        text,
        notices=data.notices,
        tables=[make_column_table(record)] if data.columns else [],
    )


def _show_candidates(record: Record) -> Iterator[Section]:
    if not record.candidates:
        return
    judged = [candidate for candidate in record.candidates if candidate.score is not None]
    structure = record.question.task == "structure"
    text = [
        "Each method groups all rows. The silhouette compares how near a row is to its own group and to the next one: "
        "1 means separate groups, 0 means groups that touch."
        if structure
        else "The candidates are listed from simple to complex. Each is scored on rows that were used neither to fit "
        "it nor to choose its settings, and all are scored on the same folds. The simplest candidate is chosen whose "
        "score is as good as the best one, or so little worse that it may be chance: by at most one standard error of "
        "the difference between the two. A candidate is passed over if a simpler one has a better score. The column "
        "“behind the best” shows the difference and its standard error. A candidate is called worse if chance hardly "
        "explains the difference, or for the reason in the remark."
    ]
    if record.question.splits:
        text.append(f"Rows were split into {record.question.splits}.")
    metric = record.question.metric
    pictures = (
        [
            Figure(
                figures.draw_candidates(judged, metric),
                f"{capitalise(metric)}." if structure else f"{capitalise(metric)} on unseen rows, with intervals.",
                wide=True,
            )
        ]
        if judged
        else []
    )
    noun = "Methods" if structure else "Candidates"
    tables = [make_candidate_table(record)]
    yield Section("candidates", noun, f"The {noun.lower()}", text, figures=pictures, tables=tables)


def _show_curves(record: Record) -> Iterator[Section]:
    """Yield the learning curve, the complexity curve, and bias and variance."""
    metric, pictures = record.question.metric, []
    for curve in (record.learning, record.complexity):
        if curve is not None:
            pictures.append(Figure(figures.draw_curve(curve, metric), curve.text))
    if record.bias_variance is not None:
        pictures.append(Figure(figures.draw_bias_variance(record.bias_variance), record.bias_variance.text))
    if pictures:
        yield Section("curves", "Curves", "Would more rows or another model help?", figures=pictures)


def _show_errors(record: Record) -> Iterator[Section]:
    question, pictures = record.question, []
    positive = question.positive or "the class"
    if record.confusion is not None:
        pictures.append(
            Figure(
                row_figures.draw_confusion(record.confusion),
                "Unseen rows by true and predicted class.",
                wide=len(record.confusion.classes) >= _MANY_CLASSES,
            )
        )
    if record.calibration is not None:
        pictures.append(Figure(row_figures.draw_calibration(record.calibration, positive), record.calibration.text))
    if record.rates:
        some = row_figures.name_drawn(record.rates, len(question.classes))
        pictures.append(Figure(row_figures.draw_roc(record.rates), f"ROC curve, with the area under it{some}."))
        caption = f"Precision and recall{some}, with the average precision; the dashed line is guessing."
        pictures.append(Figure(row_figures.draw_precision_recall(record.rates), caption))
    if record.residuals is not None:
        target = question.target or "target"
        pictures.append(
            Figure(
                row_figures.draw_predictions(record.residuals, target), "Predicted against true values, on unseen rows."
            )
        )
        pictures.append(Figure(row_figures.draw_residuals(record.residuals, target), record.residuals.text))
    if pictures:
        yield Section("errors", "Errors", "Where the model is right and wrong", figures=pictures)


def _show_decision(record: Record) -> Iterator[Section]:
    decision = record.decision
    if decision is None:
        return
    others = [
        [name, format_number(cost)] for name, cost in sorted(decision.alternatives.items(), key=lambda item: item[1])
    ]
    rows = [
        [
            "by expected cost",
            f"{format_number(decision.cost)} ({format_number(decision.low)} to {format_number(decision.high)})",
        ],
        *others,
    ]
    tables = [Table("Cost per row on unseen rows", ["decision rule", "cost per row"], rows, [False, True])]
    if decision.costs:
        names = record.question.classes
        grid = [
            [action, *map(format_number, row)] for action, row in zip(decision.actions, decision.costs, strict=True)
        ]
        tables.append(Table("The costs", ["action", *names], grid, [False, *([True] * len(names))]))
    taken = [
        f"{action} for {format_percent(share)} of rows"
        for action, share in zip(decision.actions, decision.shares, strict=True)
    ]
    pictures = []
    if decision.curve is not None:
        positive = record.question.positive or "the class"
        caption = f"The cost is lowest at a threshold of {format_number(decision.curve.best)}."
        pictures.append(Figure(row_figures.draw_cost_curve(decision.curve, positive), caption))
    text = [line for line in (decision.text, f"The model chooses {', '.join(taken)}." if taken else "") if line]
    yield Section("decision", "Decisions", "What to do", text, figures=pictures, tables=tables)


def _show_drivers(record: Record) -> Iterator[Section]:
    if not record.drivers:
        return
    text = [
        "The values of each column were shuffled on unseen rows. The more the score falls, the more the model depends "
        "on the column. Columns that carry the same information share their importance. This does not show what causes "
        "the target."
    ]
    metric = record.question.metric
    pictures = [
        Figure(
            figures.draw_drivers(record.drivers, metric),
            "Loss of score when a column is shuffled, with intervals.",
            wide=True,
        )
    ]
    pictures += [
        Figure(
            figures.draw_dependence(dependence),
            f"Mean {dependence.label} as {dependence.column} varies and the other columns keep their values. Half of "
            f"the rows lie in the {'lines' if isinstance(dependence.values[0], str) else 'band'}.",
        )
        for dependence in record.dependences
        if dependence.values
    ]
    yield Section("drivers", "Columns", "Which columns matter", text, figures=pictures)


def _show_structure(record: Record) -> Iterator[Section]:
    """Yield the groups and the unusual rows of a table without a target."""
    structure = record.structure
    if structure is None:
        return
    text = [structure.text] if structure.text else []
    if structure.stability is not None and structure.text != record.answer:
        # The answer says this already where it is the text of this section.
        agreement = format_percent(structure.stability)
        text.append(f"The groups of random halves of the rows agree to {agreement}, where 0 % is chance.")
    rows = [[cluster.name, str(cluster.size), "; ".join(cluster.traits)] for cluster in structure.clusters]
    tables = [
        Table(f"Groups by {structure.method}", ["group", "rows", "what distinguishes it"], rows, [False, True, False])
    ]
    pictures = []
    if structure.number is not None:
        pictures.append(
            Figure(
                figures.draw_curve(structure.number, "criterion (lower is better)"),
                f"How many groups? {structure.number.text}",
            )
        )
    if structure.shares:
        pictures.append(Figure(figures.draw_shares(structure.shares), _describe_dimensions(structure.shares)))
    yield Section("structure", "Groups", "Groups", text, figures=pictures, tables=tables if rows else [])
    if structure.odd_rows:
        table = make_row_table(structure.odd_rows, "Unusual rows", structure=True)
        yield Section(
            "odd",
            "Unusual rows",
            "Unusual rows",
            ["The mixture of bell curves gives these rows the least density: few rows are near them."],
            tables=[table],
        )


def _describe_dimensions(shares: Sequence[float]) -> str:
    """Return how many principal components hold nine tenths of the variance, or how much the listed ones hold."""
    sums = list(accumulate(shares))
    # Rounding may leave a sum 1e-16 below a round share.
    enough = next((place for place, held in enumerate(sums) if held >= _MOST_VARIANCE - 1e-9), len(sums) - 1)
    first = "The first component holds" if enough == 0 else f"The first {enough + 1} components hold"
    return f"How many dimensions? {first} {format_percent(sums[enough])} of the variance."


def _show_map(record: Record) -> Iterator[Section]:
    plane = record.map
    # Without a target the map is at the top of the page.
    if plane is None or (record.question.task == "structure" and plane.groups):
        return
    coloured = "class" if record.question.task == "classification" else record.question.target or "group"
    pictures = [Figure(row_figures.draw_map_by_group(plane), f"Coloured by {coloured}.")]
    if plane.wrong:
        pictures.append(
            Figure(
                row_figures.draw_map_by_loss(plane), "Coloured by the error of the prediction while the row was unseen."
            )
        )
    text = [plane.text] if plane.text else []
    yield Section("map", "Map", f"A map of the rows ({plane.method})", text, figures=pictures)


def _show_hardest(record: Record) -> Iterator[Section]:
    if record.hardest:
        text = ["The predictions of these rows were the worst. Mistakes in the table often show up here."]
        yield Section(
            "hardest",
            "Hardest rows",
            "The rows with the worst predictions",
            text,
            tables=[make_row_table(record.hardest, "Hardest rows")],
        )


def _show_strange(record: Record) -> Iterator[Section]:
    if record.strange:
        text = [
            "Each of these rows has a number far outside the range of nine rows in ten, or needs few random splits of "
            "the numeric columns to be separated from all others (isolation forest; an average row has a strangeness "
            "of about 0.5). Check whether these values are mistakes: mistakes can mislead a model."
        ]
        yield Section(
            "strange",
            "Strange rows",
            "Rows that are unlike the others, and why",
            text,
            tables=[make_strange_table(record.strange)],
        )


def _show_fit(record: Record) -> Iterator[Section]:
    fit = record.fit
    if fit is None:
        return
    facts = [("model", fit.model)]
    if fit.threshold is not None:
        facts.append(("threshold", f"{record.question.positive} if its probability is at least {fit.threshold:.3g}"))
    if fit.converged is not None:
        facts.append(("converged", "yes" if fit.converged else "no"))
    if fit.steps is not None:
        facts.append(("steps", str(fit.steps)))
    if fit.solver:
        facts.append(("solver", fit.solver))
    if fit.certificate:
        facts.append(("certificate", fit.certificate))
    if fit.seconds is not None:
        facts.append(("seconds", format_number(fit.seconds)))
    pictures = [Figure(figures.draw_history(fit), "The objective, step by step.")] if len(fit.objective) > 1 else []
    tables = [make_setting_table(fit.settings)] if fit.settings else []
    text = ["The chosen candidate was fitted to all rows. This is the model in model.mercer."]
    yield Section("fit", "Fit", "The final fit", text, figures=pictures, tables=tables, facts=facts)


def _show_origin(record: Record) -> Iterator[Section]:
    """Yield what is needed to repeat the study."""
    origin = record.origin
    facts = [
        ("command", origin.command),
        ("seed", str(origin.seed)),
        ("SHA-256 of the table", origin.digest),
        ("date", origin.date),
    ]
    facts.append(
        (
            "time",
            f"{format_number(origin.seconds)} s" + (f" of {format_number(origin.budget)} s" if origin.budget else ""),
        )
    )
    facts += list(origin.versions.items())
    text = ["The same command on the same table with the same versions gives the same results."]
    if origin.interrupted:
        text.insert(0, "The study was interrupted. Candidates that had not been tried by then have no score.")
    yield Section("repeat", "Repeat", "How to repeat this study", text, facts=facts)
