"""Remarks about a table, or about a study of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Notice:
    """A remark about the data or the study, and what to do about it."""

    level: str  # "note", "warning" or "danger"
    subject: str  # a column, a candidate, or "the table"
    text: str
    cure: str = ""
    told: bool = False  # whether the command line prints it although it is a note; it prints all others

    @property
    def advice(self) -> str:
        """The cure as a sentence; empty if there is none."""
        return f"{self.cure[:1].upper()}{self.cure[1:].rstrip('.')}." if self.cure else ""
