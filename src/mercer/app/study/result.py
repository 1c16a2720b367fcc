"""The result of a study: its record and the fitted model, saved and loaded together."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mercer._source.table.table import Notice
from mercer.app.deploy.conformal import widen
from mercer.app.study.record import Record, write_record
from mercer.errors import DataError, MercerError


@dataclass(frozen=True, repr=False)
class Study:
    """The results of a study, and the fitted model.

    Attributes
    ----------
    record : Record
        Everything that the report says, as data.
    model : Pipeline
        Fitted to all rows; takes a frame with the columns of the table. None if no model can be fitted: the answer
        says why.
    """

    record: Record
    model: Any

    def save(self, folder: str | Path) -> Path:
        """Write ``report.html``, ``run.json`` and ``model.mercer`` into a folder, and return it."""
        import mercer
        from mercer.app.report.pages import write_report

        place, record = Path(folder), self.record
        place.mkdir(parents=True, exist_ok=True)
        if self.model is None:
            # A model of an earlier study in this folder would not belong to this report.
            (place / "model.mercer").unlink(missing_ok=True)
        else:
            try:
                mercer.save(self.model, place / "model.mercer")
            except MercerError as wrong:
                notice = Notice("danger", "the model", f"The model could not be written to a file ({wrong}).")
                record = replace(record, data=replace(record.data, notices=[*record.data.notices, notice]))
        write_record(record, place)
        write_report(record, place / "report.html")
        return place

    @classmethod
    def load(cls, folder: str | Path) -> "Study":
        """Return the study that :meth:`save` wrote into a folder; ``model`` is None if there was none."""
        import mercer
        from mercer.app.study.record import read_record

        place = Path(folder)
        file = place / "model.mercer"
        return cls(read_record(place), mercer.load(file) if file.exists() else None)

    def predict(self, table: Any, coverage: float | None = None) -> Any:
        """Return a frame with the prediction of each row of a table: a frame in memory, or a file.

        With `coverage`, numbers come with an interval (``low``, ``high``) and classes with a set that holds the truth
        of this share of new rows.
        """
        import pandas

        from mercer.app.schema import Schema, open_rows, predict_columns

        if self.model is None:
            raise DataError("predict: the study has no model; its report says why.")
        stream = open_rows(table, Schema.of(self.model, "the study"), [])
        frames = []
        for frame in stream:
            if len(frame):
                columns = predict_columns(self.model, frame)
                frames.append(columns if coverage is None else widen(columns, self.record, coverage, frame))
        return pandas.concat([pandas.DataFrame(columns) for columns in frames], ignore_index=True)

    def to_sklearn(self) -> Any:
        """Return the model as a pipeline of scikit-learn's own classes, compared with the model on random rows.

        It takes a frame of the same columns: numbers, dates as days since the start of 1970, and categories as texts.
        """
        from mercer.app.deploy.formula import NamedGroups, list_groups
        from mercer.app.deploy.scikit_pipeline import make_scikit_pipeline

        if self.model is None:
            raise DataError("to_sklearn: the study has no model; its report says why.")
        grouped = bool(list_groups(self.model.steps[-1][1]))
        return make_scikit_pipeline(NamedGroups(self.model) if grouped else self.model)[0]

    def __repr__(self) -> str:
        """Return the answer: the whole record would fill pages."""
        return f"<Study of {self.record.question.table}: {self.record.answer}>"

    def _repr_html_(self) -> str:
        from html import escape

        from mercer.app.report.pages import render_report

        page = escape(render_report(self.record), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:80vh;border:0" title="mercer study"></iframe>'
