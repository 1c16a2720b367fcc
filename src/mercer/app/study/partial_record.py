"""What a study has found so far. It can be made into a record at any time, also after an error."""

from dataclasses import dataclass, field, replace
from typing import Any

from mercer._source.table.table import Notice, Table
from mercer.app.options import Options
from mercer.app.study.answer import write_answer, write_findings
from mercer.app.study.choice.comparison import describe_unscored
from mercer.app.study.choice.questions import Other
from mercer.app.study.choice.selection import Selection
from mercer.app.study.clock import Clock
from mercer.app.study.dataset import Dataset
from mercer.app.study.description import (
    count_duplicates,
    describe_origin,
    describe_question,
    list_left_out,
)
from mercer.app.study.metrics import find_metric
from mercer.app.study.record import Candidate, Data, Question, Record
from mercer.app.table.roles import Roles


@dataclass
class PartialRecord:
    """The parts of a study that are finished, and what is needed to describe them."""

    table: Table
    roles: Roles
    options: Options
    clock: Clock
    notices: list[Notice]
    dataset: Dataset | None = None
    selection: Selection | None = None
    listed: list[Candidate] = field(default_factory=list)
    model: Any = None
    answer: str = ""
    parts: dict[str, Any] = field(default_factory=dict)
    asked: Other | None = None  # the question that the splits do not ask
    apart: tuple[Dataset, Any] | None = None  # rows that were kept apart, and the model's predictions of them

    def note_error(self, wrong: Exception) -> None:
        """Add a notice that an error ended the study early."""
        reason = str(wrong).splitlines()[0] if str(wrong) else "no further words"
        text = f"The study ended early because of an error ({type(wrong).__name__}: {reason[:200]})."
        cure = "Please report it with the output of the same command and --debug"
        self.notices.append(Notice("danger", "the study", f"{text} What was found before it is below.", cure))

    def make_record(self) -> Record:
        """Return the record of everything that was found."""
        # Parts that were left out are known only when the record is made.
        notices = [*self.notices, *list_left_out(self.clock), *self.clock.notices]
        data = Data(self.roles.columns, notices, count_duplicates(self.table.frame))
        origin = describe_origin(self.table, self.options, self.clock)
        if self.roles.task == "structure":
            n_rows, n_columns = self.table.frame.shape
            metric = "silhouette of the grouped rows"
            question = Question("structure", self.table.name, n_rows, n_columns, metric=metric)
            answer = self.answer or "The study ended before groups of rows were found."
            return Record(question, answer, data, origin, **self.parts)
        if self.dataset is None:
            return Record(self._describe_bare_question(), self.answer, data, origin)
        question = describe_question(self.table, self.roles, self.dataset, self.options)
        parts = {"candidates": self.listed or self._list_untried(), **self.parts}
        record = Record(question, self._write_answer(), data, origin, **parts)
        return replace(record, findings=write_findings(record))

    def _describe_bare_question(self) -> Question:
        """Return what was asked of a table to which no model can be fitted."""
        n_rows, n_columns = self.table.frame.shape
        metric = find_metric(self.options.metric, self.roles.task)
        return Question(
            self.roles.task,
            self.table.name,
            n_rows,
            n_columns,
            self.roles.target,
            metric=metric.words,
            greater_is_better=metric.greater_is_better,
        )

    def _list_untried(self) -> list[Candidate]:
        """Return the candidates with the reason why they have no score; empty before the comparison began."""
        selection = self.selection
        return [] if selection is None else [describe_unscored(offer, selection) for offer in selection.offers]

    def _write_answer(self) -> str:
        """Return the answer in one sentence, as far as the study came."""
        assert self.roles.target is not None
        if self.answer:
            return self.answer
        sureness = self.parts.get("sureness")
        chosen = next((candidate for candidate in self.listed if candidate.status == "chosen"), None)
        if self.selection is not None and chosen is not None and sureness is not None:
            tried = [candidate for candidate in self.listed if candidate.score is not None]
            metric, late = self.selection.metric, bool(self.selection.lacking)
            other = self.parts.get("other")
            return write_answer(
                self.roles.target, chosen, sureness, metric, self.roles.columns, len(tried), late, other
            )
        return f"No model could be fitted to predict `{self.roles.target}`. The table of candidates says why."
