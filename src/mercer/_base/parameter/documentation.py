"""Docstring sections that declarations make: the parameters of a class, each with its rule, default and text."""

from collections.abc import Iterable
from typing import Any

# Texts of parameters that most classes have, for lines that state none.
SHARED = {
    "max_time": "Seconds after which the fit ends with what it has.",
    "n_jobs": "Threads; None means all cores. Changes no result.",
    "random_state": "The seed.",
    "verbose": "Whether to print a line for each step.",
}
# Attributes that every fit stores, for docstrings that do not say more about them.
_RECORD = ("history_", "converged_", "n_iter_", "certificate_")
_COLUMNS = ("n_features_in_", "feature_names_in_")
# Columns of a text, without the indentation of its class.
_WIDTH = 116


def describe_parameter(name: str, rule: str, default: str | None, text: str) -> list[str]:
    """Return the lines about a parameter in a docstring: name, rule and default, and under them the folded text."""
    head = f"{name} : {rule}" if default is None else f"{name} : {rule}, default={default}"
    return [head, *("    " + line for part in text.split("\n") if part for line in _fold(part))]


def add_parameters(doc: str, entries: Iterable[list[str]]) -> str:
    """Return a docstring with a section of parameters before its first section; one that has it stays as it is."""
    lines = ["Parameters", "----------", *(line for entry in entries for line in entry)]
    place, indent = _find_first_section(doc)
    if doc.startswith("Parameters\n", place + len(indent)):
        return doc
    section = "".join(f"{indent}{line}\n" for line in lines)
    if place == len(doc):
        return f"{doc.rstrip()}\n\n{section}"
    return f"{doc[:place]}{section}\n{doc[place:]}"


def add_attributes(doc: str) -> str:
    """Return a docstring whose section of attributes, if it has one, names those that every fit stores."""
    heading = doc.find("Attributes\n")
    begin = doc.find("\n", doc.find("---", heading)) + 1
    if heading < 0 or begin <= 0:
        return doc
    indent = doc[doc.rfind("\n", 0, heading) + 1 : heading]
    next_place, _ = _find_first_section(doc[begin - 1 :])
    end = begin - 1 + next_place
    section = doc[begin:end].strip("\n").rstrip()
    for names, text in ((_RECORD, "How the fit went."), (_COLUMNS, "Number and names of the columns.")):
        if missing := [name for name in names if name not in section]:
            section += "\n" * bool(section) + f"{indent}{', '.join(missing)}\n{indent}    {text}"
    rest = doc[end:]
    return f"{doc[:begin]}{section}\n" + (f"\n{rest}" if rest.strip() else indent)


def _find_first_section(doc: str) -> tuple[int, str]:
    """Return where the line of the first heading begins, or the end of the text, and the text's indentation.

    Python 3.13 and later take the common indentation off when they compile a docstring, earlier versions do not.
    """
    place = doc.find("\n")
    while (place := doc.find("---", place + 1)) > 0:
        begin = doc.rfind("\n", 0, place) + 1
        indent = doc[begin:place]
        if not indent.strip() and doc[place : doc.find("\n", place)].strip("-") == "" and begin > 1:
            return doc.rfind("\n", 0, begin - 1) + 1, indent
    last = doc.rpartition("\n")[2]
    return len(doc), last if doc.count("\n") and not last.strip() else ""


def _fold(text: str) -> list[str]:
    """Return a text in lines of the width of a page; the lines of an item in a list stay below its first word."""
    hanging = "  " if text.startswith("- ") else ""
    lines, width = [], _WIDTH
    while len(text) > width:
        end = text.rfind(" ", 0, width + 1)
        if end <= 0:
            break
        lines.append(text[:end])
        text = hanging + text[end + 1 :]
    return [*lines, text]


def describe_default(value: Any, missing: Any) -> str | None:
    """Return a default as a docstring shows it; None for a parameter that must be given."""
    return None if value is missing else repr(value)
