"""What a test of a model has found, all findings together, and their page."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mercer._notebook import render_table
from mercer._written_file import write_whole
from mercer.app.report.section import Table

# What can be said of a test, the worst first.
VERDICTS = ("failed", "warning", "fine", "not tried")


@dataclass(frozen=True)
class Finding:
    """One test of a model.

    Attributes
    ----------
    name : str
        What was tested.
    verdict : str
        "failed", "warning", "fine" or "not tried".
    sentence : str
        What was found, and what to do about it.
    numbers : dict
        The numbers behind it.
    figure : str
        A picture as SVG; empty where there is nothing to see.
    table : Table or None
        A table of the page.
    """

    name: str
    verdict: str
    sentence: str
    numbers: dict[str, Any] = field(default_factory=dict)
    figure: str = field(default="", repr=False)
    table: Table | None = field(default=None, repr=False)


@dataclass(frozen=True)
class ModelCheck:
    """All tests of one model.

    Attributes
    ----------
    model : str
        What was tested.
    n_rows : int
        On how many rows.
    findings : tuple of Finding
        One of each test, in a fixed order.
    """

    model: str
    n_rows: int
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether no test has failed."""
        return not any(one.verdict == "failed" for one in self.findings)

    @property
    def sentence(self) -> str:
        """What follows."""
        counts = {verdict: sum(one.verdict == verdict for one in self.findings) for verdict in VERDICTS}
        parts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
        return f"{self.model} on {self.n_rows} rows: {parts}."

    def __getitem__(self, name: str) -> Finding:
        for one in self.findings:
            if one.name == name:
                return one
        raise KeyError(f"{name}: there is no such test; there are {', '.join(one.name for one in self.findings)}")

    def __str__(self) -> str:
        return "\n".join([self.sentence, *(f"  {one.verdict}: {one.name}. {one.sentence}" for one in self.findings)])

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the pictures as plain values.

        Returns
        -------
        dict
        """
        parts = [
            {"name": one.name, "verdict": one.verdict, "sentence": one.sentence, **one.numbers} for one in self.findings
        ]
        # Through text: numbers of NumPy become plain ones.
        found = {"model": self.model, "n_rows": self.n_rows, "passed": self.passed, "findings": parts}
        return dict(json.loads(json.dumps(found, default=_simplify)))

    def save(self, path: Any) -> None:
        """Write one HTML page with all findings and pictures, which loads nothing from elsewhere.

        Parameters
        ----------
        path : str or path
            The file; its folder is made.
        """
        from mercer.app.report.pages import render_check

        place = Path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, render_check(self))

    def _repr_html_(self) -> str:
        rows = [(one.name, one.verdict, one.sentence) for one in self.findings]
        return render_table(self.sentence, rows, ("verdict", "what was found"))


def _simplify(value: Any) -> Any:
    return value.item() if hasattr(value, "item") and getattr(value, "size", 1) == 1 else str(value)
