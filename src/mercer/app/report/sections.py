"""The report's sections: from a record to titles, sentences, figures and tables."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mercer.app.report import figures, row_figures
from mercer.app.report.scale import number, percent
from mercer.app.report.tables import Table, candidate_table, column_table, hard_table, metric_table, setting_table
from mercer.app.study.record import Notice, Record

__all__ = ["Figure", "Section", "sections"]


@dataclass(frozen=True)
class Figure:
    """A picture with a line below it."""

    svg: str
    caption: str
    wide: bool = False


@dataclass(frozen=True)
class Section:
    """One part of the page."""

    name: str  # the anchor
    short: str  # its name in the list of sections
    title: str
    text: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)


def sections(record: Record) -> list[Section]:
    """The sections that this record has something to say in."""
    makers: tuple[Callable[[Record], Iterator[Section]], ...] = (
        _sureness,
        _data,
        _candidates,
        _curves,
        _errors,
        _decision,
        _drivers,
        _structure,
        _map,
        _hardest,
        _fit,
        _origin,
    )
    return [section for make in makers for section in make(record)]


def _sureness(record: Record) -> Iterator[Section]:
    found = record.sureness
    if found is None:
        return
    metric = record.question.metric
    text = [found.method]
    if found.selection_bias is not None:
        flattered = found.selection_bias if record.question.greater_is_better else -found.selection_bias
        text.append(
            f"Choosing flattered the winner by {number(flattered)}: so much better it looked on the rows it was chosen "
            "by than on rows that had no part in the choice. The score above is of the latter."
            if flattered > 0
            else "Choosing did not flatter the winner: on rows that had no part in the choice it was as good as on "
            "those it was chosen by."
        )
    if found.floor_text:
        text.append(found.floor_text)
    picture = Figure(figures.strip(found, metric), f"{metric}, with its {percent(found.level)} interval.", wide=True)
    yield Section("sure", "Sureness", "How sure is that?", text, figures=[picture], tables=[metric_table(record)])


def _data(record: Record) -> Iterator[Section]:
    question, data = record.question, record.data
    text = [f"{question.table}: {question.n_rows:,} rows and {question.n_columns} columns.".replace(",", "\u2009")]
    if data.duplicate_rows:
        text.append(f"{data.duplicate_rows} rows repeat another row in full.")
    yield Section(
        "data", "Data", "The data", text, notices=data.notices, tables=[column_table(record)] if data.columns else []
    )


def _candidates(record: Record) -> Iterator[Section]:
    if not record.candidates:
        return
    judged = [one for one in record.candidates if one.score is not None]
    text = [
        "From simple to complex, each judged on rows that neither fitted it nor chose its settings. The simplest "
        "candidate within one standard error of the best is chosen: what is more complex has to earn it."
    ]
    if record.question.splits:
        text.append(f"Rows were split by {record.question.splits}.")
    metric = record.question.metric
    pictures = [Figure(figures.candidates(judged, metric), f"{metric} with intervals.", wide=True)] if judged else []
    yield Section(
        "candidates", "Candidates", "The candidates", text, figures=pictures, tables=[candidate_table(record)]
    )


def _curves(record: Record) -> Iterator[Section]:
    metric, pictures = record.question.metric, []
    for found in (record.learning, record.complexity):
        if found is not None:
            pictures.append(Figure(figures.curve(found, metric), found.text))
    if record.bias_variance is not None:
        pictures.append(Figure(figures.bias_variance(record.bias_variance), record.bias_variance.text))
    if pictures:
        yield Section("curves", "Curves", "More rows, or another model?", figures=pictures)


def _errors(record: Record) -> Iterator[Section]:
    question, pictures = record.question, []
    positive = question.positive or "the class"
    if record.confusion is not None:
        pictures.append(Figure(row_figures.confusion(record.confusion), "Unseen rows by true and predicted class."))
    if record.calibration is not None:
        pictures.append(Figure(row_figures.calibration(record.calibration, positive), record.calibration.text))
    if record.rates:
        pictures.append(Figure(row_figures.roc(record.rates), "ROC curve, with the area below it."))
        pictures.append(Figure(row_figures.precision_recall(record.rates), "Precision and recall; dashed is guessing."))
    if record.residuals is not None:
        target = question.target or "target"
        pictures.append(
            Figure(row_figures.predictions(record.residuals, target), "Predicted against true, on unseen rows.")
        )
        pictures.append(Figure(row_figures.residuals(record.residuals, target), record.residuals.text))
    if pictures:
        yield Section("errors", "Errors", "Where it is right and wrong", figures=pictures)


def _decision(record: Record) -> Iterator[Section]:
    found = record.decision
    if found is None:
        return
    others = [[name, number(cost)] for name, cost in sorted(found.alternatives.items(), key=lambda one: one[1])]
    rows = [["by expected cost", f"{number(found.cost)} ({number(found.low)} to {number(found.high)})"], *others]
    tables = [Table("Cost a row on unseen rows", ["deciding", "cost a row"], rows, [False, True])]
    if found.costs:
        names = record.question.classes
        grid = [[action, *map(number, row)] for action, row in zip(found.actions, found.costs, strict=True)]
        tables.append(Table("The costs", ["action", *names], grid, [False, *([True] * len(names))]))
    taken = [
        f"{action} for {percent(share)} of rows" for action, share in zip(found.actions, found.shares, strict=True)
    ]
    pictures = []
    if found.curve is not None:
        positive = record.question.positive or "the class"
        caption = f"Least at a threshold of {number(found.curve.best)}."
        pictures.append(Figure(row_figures.cost_curve(found.curve, positive), caption))
    text = [line for line in (found.text, f"The rule takes: {', '.join(taken)}." if taken else "") if line]
    yield Section("decision", "Decision", "What to do", text, figures=pictures, tables=tables)


def _drivers(record: Record) -> Iterator[Section]:
    if not record.drivers:
        return
    text = [
        "Each column was shuffled on rows that the model had not seen: the more the score falls, the more the model "
        "leans on it. Columns that say the same share their importance. None of this says what causes what."
    ]
    metric = record.question.metric
    pictures = [Figure(figures.drivers(record.drivers, metric), "Loss of score by column, with intervals.", wide=True)]
    pictures += [
        Figure(figures.dependence(one), f"{one.label} as {one.column} varies; others as they are.")
        for one in record.dependences
        if one.values
    ]
    yield Section("drivers", "Drivers", "What drives the prediction", text, figures=pictures)


def _structure(record: Record) -> Iterator[Section]:
    found = record.structure
    if found is None:
        return
    text = [found.text] if found.text else []
    if found.stability is not None:
        text.append(f"On resampled halves the groups agree to {percent(found.stability)} beyond chance.")
    rows = [[one.name, str(one.size), "; ".join(one.traits)] for one in found.clusters]
    tables = [Table(f"Groups by {found.method}", ["group", "rows", "what sets it apart"], rows, [False, True, False])]
    pictures = []
    if found.number is not None:
        pictures.append(Figure(figures.curve(found.number, found.number.text or "measure"), "How many groups?"))
    if found.shares:
        pictures.append(Figure(figures.shares(found.shares), "How many dimensions?"))
    yield Section("structure", "Groups", "Groups", text, figures=pictures, tables=tables if rows else [])
    if found.odd_rows:
        table = hard_table(found.odd_rows, "Rows unlike any other", structure=True)
        yield Section("odd", "Odd rows", "Odd rows", ["Where the density of the table is lowest."], tables=[table])


def _map(record: Record) -> Iterator[Section]:
    found = record.map
    if found is None:
        return
    coloured = "class" if record.question.task == "classification" else record.question.target or "group"
    pictures = [Figure(row_figures.map_by_group(found), f"Coloured by {coloured}.")]
    if found.wrong:
        pictures.append(Figure(row_figures.map_by_loss(found), "Coloured by error on unseen rows."))
    text = [found.text] if found.text else []
    yield Section("map", "Map", f"A map of the rows ({found.method})", text, figures=pictures)


def _hardest(record: Record) -> Iterator[Section]:
    if record.hardest:
        text = ["The model was most wrong here. A mistake in the table often shows first in these rows."]
        yield Section(
            "hardest", "Hardest rows", "The hardest rows", text, tables=[hard_table(record.hardest, "Hardest rows")]
        )


def _fit(record: Record) -> Iterator[Section]:
    found = record.fit
    if found is None:
        return
    facts = [("model", found.model)]
    if found.converged is not None:
        facts.append(("converged", "yes" if found.converged else "no"))
    if found.steps is not None:
        facts.append(("steps", str(found.steps)))
    if found.solver:
        facts.append(("solver", found.solver))
    if found.certificate:
        facts.append(("certificate", found.certificate))
    if found.seconds is not None:
        facts.append(("seconds", number(found.seconds)))
    pictures = [Figure(figures.history(found), "Step by step.")] if len(found.objective) > 1 else []
    tables = [setting_table(found.settings)] if found.settings else []
    text = ["The chosen candidate was fitted once more to all rows; this is the model in model.mercer."]
    yield Section("fit", "Fit", "The final fit", text, figures=pictures, tables=tables, facts=facts)


def _origin(record: Record) -> Iterator[Section]:
    found = record.origin
    facts = [("command", found.command), ("seed", str(found.seed)), ("data digest", found.digest), ("made", found.date)]
    facts.append(("took", f"{number(found.seconds)} s" + (f" of {number(found.budget)} s" if found.budget else "")))
    facts += list(found.versions.items())
    text = ["The same command on the same table with the same versions gives the same numbers."]
    if found.interrupted:
        text.insert(0, "The study was interrupted: candidates that had not been judged are missing.")
    yield Section("origin", "Origin", "How to do it again", text, facts=facts)
