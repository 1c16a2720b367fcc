"""Mark experimental names in the reference: a line below the summary, with a link to the page Stability.

Which names are experimental stands in ``tools/stable_names.py`` alone.
"""

from typing import Any

from proof_tables import list_experimental

MARK = "**Experimental:** this may change in any minor version; see :doc:`/stability`."


def mark_lines(lines: list[str]) -> list[str]:
    """Return a docstring with the mark below its first paragraph, the summary."""
    end = next((number for number, line in enumerate(lines) if number and not line.strip()), len(lines))
    return [*lines[:end], "", MARK, "", *lines[end:]]


def process_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if name in list_experimental():
        lines[:] = mark_lines(lines)


def setup(app: Any) -> dict[str, bool]:
    # After numpydoc (500) and plain_docstrings (600), so that the mark is left as it is.
    app.connect("autodoc-process-docstring", process_docstring, priority=700)
    return {"parallel_read_safe": True}
