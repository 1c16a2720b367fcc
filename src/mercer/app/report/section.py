"""One part of the page: a title, sentences, figures, tables and facts."""

from dataclasses import dataclass, field

from mercer._source.table.notice import Notice
from mercer.app.report.tables import Table


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
    short: str  # the title in the list of sections
    title: str
    text: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)

    @property
    def beside(self) -> bool:
        """Whether a wide screen shows the figures beside the tables, which must be narrow."""
        return bool(self.figures and self.tables) and self._narrow

    @property
    def halved(self) -> bool:
        """Whether a wide screen shows the text on the left, and a wide figure or narrow tables on the right."""
        if not self.text:
            return False
        return self.figures[0].wide if self.figures else bool(self.tables) and self._narrow

    @property
    def _narrow(self) -> bool:
        return max(len(table.columns) for table in self.tables) <= 4
