"""The study: from a table with roles to a record and a fitted model."""

import datetime
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.app.study import comparison, diagnosis
from mercer.app.study.answer import answer
from mercer.app.study.clock import Clock
from mercer.app.study.material import Material, draw, gather
from mercer.app.study.options import Options, ProgressEvent
from mercer.app.study.recipe import balanced_costs, model_of
from mercer.app.study.record import Data, Fit, Notice, Origin, Question, Record
from mercer.app.study.record_file import write_record
from mercer.app.study.selection import Selection, select
from mercer.app.table.roles import Roles
from mercer.app.table.table import Table
from mercer.model_selection._trial import fit_weights

__all__ = ["Study", "study"]


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
    with warnings.catch_warnings():
        # What a fit has to say of its convergence is in the record of the final one.
        warnings.simplefilter("ignore")
        material = gather(table, roles, options.positive)
        return _supervised(table, roles, options, clock, material, [*table.notices, *(notices or [])])


def _supervised(
    table: Table, roles: Roles, options: Options, clock: Clock, material: Material, notices: list[Notice]
) -> Study:
    sample = draw(material, options.max_rows, options.seed)
    selection = select(sample, options, clock)
    listed = comparison.compare(selection, options)
    chosen = next(one for one in listed if one.status == "chosen")
    sure = comparison.sureness(selection, sample, options)
    clock.tell("fitting the chosen model to all rows", 0.65)
    model, fit = _final_fit(selection, material)
    parts: dict[str, Any] = {"sureness": sure, "candidates": listed, "fit": fit}
    parts["complexity"] = comparison.complexity_curve(listed, selection.metric)
    parts |= clock.attempt("errors on unseen rows", lambda: _errors(selection, sample, options), 0.7, {})
    if len(sample) < len(material):
        text = f"Candidates were compared on {len(sample)} of {len(material)} rows; the model is fitted to all."
        notices = [*notices, Notice("note", "the table", text)]
    record = Record(
        _question(table, roles, material, selection, options),
        answer(roles.target, chosen, sure, selection.metric, material, roles.columns),
        Data(roles.columns, [*notices, *clock.notices], int(table.frame.duplicated().sum())),
        _origin(table, options, clock),
        **parts,
    )
    return Study(record, model)


def _errors(selection: Selection, material: Material, options: Options) -> dict[str, Any]:
    told = selection.winner.predictions
    kept = diagnosis.seen(told)
    told, material = told[kept], material.take(kept)
    if material.task == "regression":
        return {
            "residuals": diagnosis.residuals(material.y, told, options.seed),
            "hardest": diagnosis.hard_rows(material, material.y, told, list(material.kinds)[:6]),
        }
    true = np.searchsorted(material.classes, material.y)
    costs = balanced_costs(material.y, material.classes) if selection.metric.scorer == "balanced_accuracy" else None
    shown = None if material.positive is None else material.classes.index(material.positive)
    certain = told.argmax(axis=1) if shown is None else None
    return {
        "confusion": diagnosis.confusion(true, diagnosis.decided(told, material, costs), material),
        "calibration": diagnosis.calibration(true == shown, told[:, shown], options.level)
        if certain is None
        else diagnosis.calibration(true == certain, told.max(axis=1), options.level),
        "rates": diagnosis.rates(true, told, material),
        "hardest": diagnosis.hard_rows(material, true, told, list(material.kinds)[:6]),
    }


def _final_fit(selection: Selection, material: Material) -> tuple[Any, Fit]:
    contender = selection.contenders[selection.result.winner]
    setting = selection.result.setting
    began = datetime.datetime.now()
    model = clone(contender.estimator).set_params(**setting)
    model.fit(material.X, material.y, **fit_weights(model, material.weight))
    seconds = (datetime.datetime.now() - began).total_seconds()
    inside = model_of(model)
    certificate = getattr(inside, "certificate_", None)
    objective = np.atleast_1d(getattr(inside, "history_", {}).get("objective", []))
    return model, Fit(
        type(inside).__name__,
        bool(inside.converged_) if hasattr(inside, "converged_") else None,
        int(np.max(inside.n_iter_)) if hasattr(inside, "n_iter_") else None,
        str(getattr(inside, "solver", "") or ""),
        "" if certificate is None else f"{certificate.kind} {certificate.value:.3g}: {certificate.statement}",
        [float(one) for one in objective[:500] if np.isfinite(one)],
        seconds=seconds,
        settings={name.split("__")[-1]: value for name, value in setting.items()},
    )


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
        datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        versions,
        options.shown,
        clock.interrupted,
        options.budget,
    )
