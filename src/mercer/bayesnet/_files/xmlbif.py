"""XMLBIF, the XML form of the interchange format: read from text and written to text."""

from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from mercer.bayesnet._files.network_parts import NetworkParts
from mercer.bayesnet._files.source_text import MOST_CHARACTERS, refuse
from mercer.bayesnet._network.network import BayesianNetwork
from mercer.errors import DataError

_FORM = "XMLBIF"
# Elements inside one another at most; the format needs four.
_DEEPEST = 32


class _Reader:
    """Collects variables and definitions while the parser goes through the text."""

    def __init__(self) -> None:
        self.parts = NetworkParts(_FORM)
        self.definitions: list[tuple[dict[str, list[str]], int]] = []
        self.path: list[str] = []
        self.texts: list[str] = []
        self.fields: dict[str, list[str]] = {}
        self.line = 1
        # The text comes as UTF-8, whatever encoding its first line names.
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.open_element
        self.parser.EndElementHandler = self.close_element
        self.parser.CharacterDataHandler = self.texts.append
        # Entities can make a short file expand to any size, or read other files: none is accepted.
        self.parser.EntityDeclHandler = self.refuse_entity
        self.parser.ExternalEntityRefHandler = self.refuse_entity

    def refuse_entity(self, *details: Any) -> int:
        """Raise: entities are never expanded."""
        raise refuse(_FORM, self.parser.CurrentLineNumber, "entities must not be declared", "Write out the text.")

    def open_element(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        self.path.append(tag.upper())
        self.texts.clear()
        if len(self.path) > _DEEPEST:
            rule = f"elements may be nested {_DEEPEST} deep"
            raise refuse(_FORM, self.parser.CurrentLineNumber, rule, "Is it a file of this format?")
        if self.path[-1] in ("VARIABLE", "DEFINITION", "PROBABILITY"):
            self.fields = {}
            self.line = self.parser.CurrentLineNumber
            kind = attributes.get("TYPE", "nature")
            if self.path[-1] == "VARIABLE" and kind != "nature":
                rule = f"variables must be of the type 'nature'; got {kind!r}"
                raise refuse(_FORM, self.line, rule, "Remove decisions and utilities.")

    def close_element(self, tag: str) -> None:
        """End an element: keep its text, and a variable or a definition when it is complete."""
        closed = self.path.pop()
        if closed == "VARIABLE":
            names = self.fields.get("NAME", [])
            if len(names) != 1:
                raise refuse(_FORM, self.line, f"a variable must have one NAME; got {len(names)}", "Name it.")
            # Older files say VALUE for OUTCOME.
            states = self.fields.get("OUTCOME", self.fields.get("VALUE", []))
            self.parts.add_variable(names[0], states, self.line)
        elif closed in ("DEFINITION", "PROBABILITY"):
            self.definitions.append((self.fields, self.line))
            self.fields = {}
        elif self.path and self.path[-1] in ("VARIABLE", "DEFINITION", "PROBABILITY"):
            self.fields.setdefault(closed, []).append("".join(self.texts).strip())
        self.texts.clear()


def read_xmlbif(text: str) -> BayesianNetwork:
    """Read a network from text in the format XMLBIF; entities are never expanded.

    Parameters
    ----------
    text : str
        The content of a file.

    Returns
    -------
    BayesianNetwork
        Its states are texts.
    """
    if len(text) > MOST_CHARACTERS:
        raise DataError(
            f"{_FORM} file: at most {MOST_CHARACTERS} characters are read; got {len(text)}. Split the network."
        )
    reader = _Reader()
    try:
        reader.parser.Parse(text.encode("utf-8", errors="replace"), True)
    except expat.ExpatError as error:
        rule = f"the XML must be well-formed; {expat.errors.messages[error.code]}"
        raise refuse(_FORM, error.lineno, rule, "Check the tags around this line.") from None
    for fields, line in reader.definitions:
        _add_definition(reader.parts, fields, line)
    return reader.parts.finish()


def _add_definition(parts: NetworkParts, fields: dict[str, list[str]], line: int) -> None:
    names = fields.get("FOR", [])
    if len(names) != 1:
        rule = f"a definition must be FOR one variable; got {len(names)}"
        raise refuse(_FORM, line, rule, "Name the variable in <FOR>.")
    shape = parts.add_family(names[0], fields.get("GIVEN", []), line)
    words = " ".join(fields.get("TABLE", [])).split()
    if len(words) != np.prod(shape, dtype=int):
        rule = f"the table of {names[0]!r} must have {np.prod(shape, dtype=int)} numbers; got {len(words)}"
        raise refuse(_FORM, line, rule, "Give one for each combination of states.")
    try:
        numbers = np.array([float(word) for word in words])
    except ValueError as error:
        raise refuse(_FORM, line, f"the table of {names[0]!r} must hold numbers; {error}", "Correct it.") from None
    # The variable's own state changes fastest, then that of the last GIVEN.
    parts.add_table(names[0], numbers.reshape(shape), line)


def format_xmlbif(network: BayesianNetwork, name: str = "unnamed") -> str:
    """Return a network as text in the format XMLBIF; numbers have all their digits.

    Parameters
    ----------
    network : BayesianNetwork
        Its names and states are written as texts.
    name : str, default="unnamed"
        The name of the network in the file.

    Returns
    -------
    str
        The content of a file, which :func:`read_xmlbif` turns into an equal network.
    """
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n']
    parts.append(f"<NAME>{escape(name)}</NAME>\n")
    for variable, states in network.variables.items():
        listed = "".join(f"  <OUTCOME>{escape(str(state))}</OUTCOME>\n" for state in states)
        parts.append(f'<VARIABLE TYPE="nature">\n  <NAME>{escape(str(variable))}</NAME>\n{listed}</VARIABLE>\n')
    for variable in network.variables:
        given = "".join(f"  <GIVEN>{escape(str(parent))}</GIVEN>\n" for parent in network.parents[variable])
        numbers = " ".join(map(repr, network.tables[variable].ravel().tolist()))
        parts.append(
            f"<DEFINITION>\n  <FOR>{escape(str(variable))}</FOR>\n{given}  <TABLE>{numbers}</TABLE>\n</DEFINITION>\n"
        )
    parts.append("</NETWORK>\n</BIF>\n")
    return "".join(parts)
