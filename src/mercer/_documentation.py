"""Docstrings made of parts that several classes share."""

from collections.abc import Mapping
from inspect import cleandoc


def compose_docstring(text: str | None, parts: Mapping[str, str]) -> str:
    """Return a class's docstring with each ``%(name)s`` replaced by the part of that name.

    Parts are written as they would stand in the docstring of a class: every line but the first is indented by four
    spaces. Python 3.13 and later take the common indentation off a docstring when they compile it and earlier versions
    do not; here both the text and the parts lose it, so that the lines meet in one column in every version.

    Parameters
    ----------
    text : str or None
        The docstring; None where Python was started with ``-OO``, which drops docstrings.
    parts : mapping of str to str
        The texts by name.

    Returns
    -------
    str
        The whole docstring.
    """
    if text is None:
        return ""
    return cleandoc(text) % {name: part.replace("\n    ", "\n") for name, part in parts.items()}
