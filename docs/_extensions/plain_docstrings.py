r"""Let docstrings be written for the terminal: ``|X|`` and ``coef_`` mean themselves.

reStructuredText would take the first for a substitution and the second for a link. Both are escaped after numpydoc has
laid the docstring out, except in literals, directives and examples, where nothing needs it.
"""

import re
from typing import Any

# Literals and roles (between backquotes) are matched first, and so left alone.
_TOKENS = re.compile(
    r"(?P<literal>``.*?``|:\w+:`[^`]*`|`[^`]*`_?|\*\*.*?\*\*)|(?P<name>\b\w*[^\W_]_)(?!\w)|(?P<bar>\|)"
)


def escape_line(line: str) -> str:
    """Escape bars and trailing underscores outside literals."""

    def replaced(match: re.Match[str]) -> str:
        if match["name"]:
            return match["name"][:-1] + r"\_"
        return r"\|" if match["bar"] else match[0]

    return _TOKENS.sub(replaced, line)


def escape_lines(lines: list[str]) -> list[str]:
    """Escape running text; directives with their contents and examples stay as they are."""
    escaped, verbatim_indent = [], None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if verbatim_indent is not None and line.strip() and indent <= verbatim_indent:
            verbatim_indent = None
        if verbatim_indent is None and line.lstrip().startswith(".. "):
            verbatim_indent = indent
        in_example = line.lstrip().startswith(">>>") or bool(escaped and _continues_example(lines, len(escaped)))
        escaped.append(line if verbatim_indent is not None or in_example else escape_line(line))
    return escaped


def _continues_example(lines: list[str], number: int) -> bool:
    """Whether a line belongs to an example: a prompt stands above it with no empty line between."""
    while number >= 0 and lines[number].strip():
        if lines[number].lstrip().startswith(">>>"):
            return True
        number -= 1
    return False


def process_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = escape_lines(lines)


def setup(app: Any) -> dict[str, bool]:
    # numpydoc listens at the default priority, 500; what it writes is what is escaped.
    app.connect("autodoc-process-docstring", process_docstring, priority=600)
    return {"parallel_read_safe": True}
