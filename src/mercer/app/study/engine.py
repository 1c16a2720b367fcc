"""The study: from a table with roles to a record and a fitted model."""

import datetime
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer._config import config_context
from mercer._source.threads import n_threads
from mercer.app.options import Options
from mercer.app.study import comparison, diagnosis
from mercer.app.study.answer import answer, findings
from mercer.app.study.calibrating import calibrate
from mercer.app.study.clock import Clock, ProgressEvent
from mercer.app.study.curves import bias_and_variance, learning
from mercer.app.study.decisions import Stakes, decide, read_stakes
from mercer.app.study.drivers import dependences, drivers
from mercer.app.study.final import fit_final, own_words
from mercer.app.study.floor import contradictions, floor
from mercer.app.study.material import Material, draw, gather, without_rare
from mercer.app.study.measures import other_metrics
from mercer.app.study.plane import map_rows
from mercer.app.study.recipe import balanced_costs, encoder_for, model_of
from mercer.app.study.record import Candidate, Data, Fit, Notice, Origin, Question, Record
from mercer.app.study.record_file import write_record
from mercer.app.study.selection import Selection, keep_winner, select
from mercer.app.study.structure import find_structure
from mercer.app.table.roles import Roles
from mercer.app.table.table import Table

__all__ = ["Study", "study"]

# Under a budget: the share of it for the first candidate, numbers of rows whose encoding is timed, and the fewest rows
# to compare on.
_FIRST_SHARE = 0.05
_PROBES = (500, 1000, 8000)
_FEWEST_ROWS = 2000
# Rows up to which repeated ones are counted.
_MOST_COUNTED = 200_000


@dataclass(frozen=True)
class Study:
    """What a study found, and the model it leaves behind.

    Attributes
    ----------
    record : Record
        Everything the report says, as data.
    model : Pipeline
        Fitted to all rows; takes a frame with the columns of the table.
    """

    record: Record
    model: Any

    def save(self, folder: str | Path) -> Path:
        """Write ``report.html``, ``run.json`` and ``model.mercer`` into a folder, and return it."""
        import mercer
        from mercer.app.report import write_report

        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        write_record(self.record, place)
        if self.model is not None:
            mercer.save(self.model, place / "model.mercer")
        write_report(self.record, place / "report.html")
        return place

    def _repr_html_(self) -> str:
        from html import escape

        from mercer.app.report import render_report

        page = escape(render_report(self.record), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:80vh;border:0" title="mercer study"></iframe>'


def study(
    table: Table,
    roles: Roles,
    options: Options | None = None,
    watch: Callable[[ProgressEvent], None] | None = None,
    notices: list[Notice] | None = None,
) -> Study:
    """Find what can be predicted from a table, how well, and by what.

    `watch` is called with a :class:`ProgressEvent` as the study goes on; `notices` are those of whoever read the table
    and gave the roles. Ctrl-C ends the study with the best so far, once there is one.
    """
    options = options or Options()
    clock = Clock(options.budget, watch, options.debug)
    clock.tell("reading the table", 0.01)
    with warnings.catch_warnings(), config_context(on_interrupt="raise"):
        # What a fit has to say of its convergence is in the record of the final one.
        warnings.simplefilter("ignore")
        material = gather(table, roles, options.positive)
        if roles.task == "structure":
            return _without_target(table, roles, options, clock, material, [*table.notices, *(notices or [])])
        return _supervised(table, roles, options, clock, material, [*table.notices, *(notices or [])])


def _supervised(
    table: Table, roles: Roles, options: Options, clock: Clock, material: Material, notices: list[Notice]
) -> Study:
    material, few = without_rare(material, options.inner + 2)
    if few:
        names = " and ".join(f"`{name}`" for name in few)
        text = f"Classes with too few rows to learn from and be judged on are left out: {names}."
        notices = [*notices, Notice("warning", "the target", text, "Add rows of them, or join them with others.")]
    stakes = read_stakes(material, options)
    sample = draw(material, _enough_rows(material, options), options.seed)
    selection = select(sample, options, clock)
    if sample.classes:
        said = clock.attempt("calibrating", lambda: _calibrated(selection, sample, options), 0.6, "", _needs(selection))
        if said:
            clock.notices.append(Notice("note", "the model", said))
    listed = comparison.compare(selection, options)
    keep_winner(selection)
    chosen = next(one for one in listed if one.status == "chosen")
    clock.tell("fitting the chosen model to all rows", 0.62)
    model, fit = _settle(selection, material, sample, options, clock, stakes)
    parts = _parts(selection, sample, options, clock, listed, model, roles)
    parts |= {"candidates": listed, "fit": fit}
    notices = [*notices, *_own_notices(material, sample, selection, clock), *clock.notices]
    record = Record(
        _question(table, roles, material, selection, options),
        answer(roles.target, chosen, parts["sureness"], selection.metric, material, roles.columns),
        Data(roles.columns, notices, _repeated(table.frame)),
        _origin(table, options, clock),
        **parts,
    )
    return Study(replace(record, findings=findings(record)), model)


def _enough_rows(material: Material, options: Options) -> int:
    """Rows on which candidates are compared: fewer where time is short.

    Of a budget the first candidate, which does little more than encode rows again and again, may take a small share.
    """
    if options.budget is None or len(material) <= _FEWEST_ROWS:
        return options.max_rows
    seconds = []
    for size in _PROBES:
        head = material.take(np.linspace(0, len(material) - 1, min(len(material), size)).astype(int))
        began = time.perf_counter()
        encoder_for(head).fit_transform(head.X)
        seconds.append(time.perf_counter() - began)
    # The first look pays for what is done once; of the others, what the larger one takes longer is for its rows.
    a_row = max(seconds[2] - seconds[1], 0.1 * seconds[2]) / (_PROBES[2] - _PROBES[1])
    n_fits = options.folds * options.repeats * (options.inner + 1)
    n_rows = int(_FIRST_SHARE * options.budget / (a_row * n_fits))
    return min(options.max_rows, max(_FEWEST_ROWS, n_rows))


def _needs(selection: Selection) -> float:
    """Seconds of calibrating: four fits for each outer one."""
    return 4 * len(selection.plan.outer) * selection.seconds[selection.result.winner]


def _calibrated(selection: Selection, material: Material, options: Options) -> str:
    return calibrate(selection, material, options, diagnosis.seen(selection.winner.predictions))


def _settle(
    selection: Selection, material: Material, sample: Material, options: Options, clock: Clock, stakes: Stakes | None
) -> tuple[Any, Fit]:
    """The final fit: to all rows where there is time, else to those that candidates were compared on."""
    if not clock.interrupted:
        growth = len(material) / max(len(selection.plan.outer[0][0]), 1)
        needs = 1.5 * selection.seconds[selection.result.winner] * n_threads(options.n_jobs) * growth
        rows = material if needs < max(clock.left(), 1.0) or len(sample) == len(material) else sample
        if len(rows) < len(material):
            text = f"There was no time to fit the chosen model to all rows: it is fitted to {len(sample)}."
            clock.notices.append(Notice("warning", "the model", text, "Give more time."))
        try:
            return fit_final(selection, rows, options, stakes)
        except KeyboardInterrupt:
            clock.interrupted = True
    text = "The study was interrupted: the model is the one of the first fold, fitted to its part of the rows."
    clock.notices.append(Notice("warning", "the model", text, "Run it again to fit all rows."))
    model = selection.winner.models[0]
    return model, own_words(model_of(model), selection.winner.chosen_settings[0], None)


def _without_target(
    table: Table, roles: Roles, options: Options, clock: Clock, material: Material, notices: list[Notice]
) -> Study:
    parts, model, text = find_structure(material, options, clock)
    question = Question(
        "structure", table.name, len(table.frame), table.frame.shape[1], metric="silhouette of the grouped rows"
    )
    notices = [*notices, *_left_out(clock), *clock.notices]
    data = Data(roles.columns, notices, _repeated(table.frame))
    return Study(Record(question, text, data, _origin(table, options, clock), **parts), model)


def _parts(
    selection: Selection,
    sample: Material,
    options: Options,
    clock: Clock,
    listed: list[Candidate],
    model: Any,
    roles: Roles,
) -> dict[str, Any]:
    """Everything a record holds beside the comparison, the cheap and important first."""
    told, seed, metric = selection.winner.predictions, options.seed, selection.metric
    kept = diagnosis.seen(told)
    # Seconds of one fit of the chosen candidate, and of ten of each on a small part of the rows.
    once = selection.seconds[selection.result.winner]
    every = 10 * sum(selection.seconds.values()) * min(1.0, 3000 / len(sample))
    costs = balanced_costs(sample.y, sample.classes) if metric.scorer == "balanced_accuracy" else None
    sure = comparison.sureness(selection, sample, options)
    parts: dict[str, Any] = {"complexity": comparison.complexity_curve(listed, metric)}
    other = clock.attempt("other measures", lambda: other_metrics(selection, sample, options, costs), 0.66, {})
    parts |= clock.attempt("errors", lambda: _errors(sample.take(kept), told[kept], options, costs), 0.68, {})
    stakes = read_stakes(sample, options)
    if stakes is not None:
        parts["decision"] = clock.attempt("decisions", lambda: decide(selection, sample, options, stakes, kept), 0.7)
    strength = {one.name: one.association or 0.0 for one in roles.columns}
    parts["drivers"] = clock.attempt(
        "what drives predictions", lambda: drivers(selection, sample, options, strength, 0.4 * clock.left()), 0.72, []
    )
    top = [one.column for one in parts["drivers"][:6] if one.mean > 0]
    shown = top or list(sample.kinds)[:6]
    parts["hardest"] = clock.attempt("hard rows", lambda: _hardest(sample.take(kept), told[kept], shown), 0.76, [])
    parts["map"] = clock.attempt("a map of the rows", lambda: map_rows(sample.take(kept), told[kept], seed), 0.78)
    parts["dependences"] = clock.attempt("dependence", lambda: dependences(model, sample, top[:4], options), 0.8, [])
    parts["learning"] = clock.attempt(
        "the learning curve", lambda: learning(selection, sample, options), 0.83, None, 12 * once
    )
    low = clock.attempt("the irreducible part", lambda: floor(sample, metric, sure.score, seed), 0.92, (None, ""))
    parts["sureness"] = replace(sure, floor=low[0], floor_text=low[1], other_metrics=other)
    if not options.quick:
        parts["bias_variance"] = clock.attempt(
            "bias and variance", lambda: bias_and_variance(selection, sample, listed, options), 0.94, None, every
        )
    return parts


def _true(material: Material) -> np.ndarray:
    return np.searchsorted(material.classes, material.y) if material.classes else material.y


def _hardest(material: Material, told: np.ndarray, shown: list[str]) -> list[Any]:
    return diagnosis.hard_rows(material, _true(material), told, shown)


def _errors(material: Material, told: np.ndarray, options: Options, costs: np.ndarray | None) -> dict[str, Any]:
    true = _true(material)
    if material.task == "regression":
        return {"residuals": diagnosis.residuals(true, told, options.seed)}
    if material.positive is not None:
        number = material.classes.index(material.positive)
        here, chance = true == number, told[:, number]
    else:
        # Of many classes: how often the most probable one is right, against how sure the model was of it.
        here, chance = true == told.argmax(axis=1), told.max(axis=1)
    return {
        "confusion": diagnosis.confusion(true, diagnosis.decided(told, material, costs), material),
        "calibration": diagnosis.calibration(here, chance, options.level),
        "rates": diagnosis.rates(true, told, material),
    }


def _own_notices(material: Material, sample: Material, selection: Selection, clock: Clock) -> list[Notice]:
    found = []
    if len(sample) < len(material):
        text = f"Candidates were compared on {len(sample)} of {len(material)} rows, drawn at random."
        found.append(Notice("note", "the table", text, "Give more time, or a larger max_rows, to compare on more."))
    opposed = clock.attempt("contradictions", lambda: contradictions(sample), 0.99, 0)
    if opposed:
        text = f"{opposed} rows have the same columns as another row and another target: nobody can get them all right."
        found.append(Notice("note", "the table", text, "A column that tells them apart would help."))
    if material.classes:
        names, counts = np.unique(material.y, return_counts=True)
        rare = counts.min() / len(material)
        if rare < 0.1:
            name = names[counts.argmin()]
            text = f"Class `{name}` has {100 * rare:.2g} % of the rows ({counts.min()})."
            cure = "Folds keep its share, and balanced accuracy counts each class the same."
            found.append(Notice("note", "the target", text, cure))
    return found + _left_out(clock)


def _repeated(frame: Any) -> int:
    return int(frame.duplicated().sum()) if len(frame) <= _MOST_COUNTED else 0


def _left_out(clock: Clock) -> list[Notice]:
    if not clock.left_out:
        return []
    why = "The study was interrupted" if clock.interrupted else "The time was over"
    return [Notice("warning", "the study", f"{why} before: {', '.join(clock.left_out)}.", "Give more time.")]


def _question(table: Table, roles: Roles, material: Material, selection: Selection, options: Options) -> Question:
    metric = selection.metric
    return Question(
        material.task,
        table.name,
        len(table.frame),
        table.frame.shape[1],
        roles.target,
        material.classes,
        material.positive,
        metric.words,
        metric.greater_is_better,
        _splits(roles, material, options),
    )


def _splits(roles: Roles, material: Material, options: Options) -> str:
    folds = f"{options.folds} folds" + (f", {options.repeats} times" if options.repeats > 1 else "")
    if material.time is not None:
        return f"{folds}, forward in `{roles.time}`"
    if material.groups is not None:
        return f"{folds}, whole groups of `{roles.group}`"
    return f"{folds}, stratified" if material.classes else folds


def _origin(table: Table, options: Options, clock: Clock) -> Origin:
    import pandas
    import scipy
    import sklearn

    import mercer

    versions = {
        "mercer": mercer.__version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        **{one.__name__: one.__version__ for one in (np, scipy, sklearn, pandas)},
    }
    return Origin(
        options.command or f"mercer.run({table.name!r})",
        options.seed,
        table.digest,
        clock.spent(),
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        versions,
        options.shown,
        clock.interrupted,
        options.budget,
    )
