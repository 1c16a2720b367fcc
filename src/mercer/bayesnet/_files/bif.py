"""BIF, the interchange format for Bayesian networks, version 0.15: read from text and written to text."""

import re
from math import prod
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.bayesnet._files.network_parts import NetworkParts
from mercer.bayesnet._files.source_text import Token, TokenReader, quote, refuse, split_tokens
from mercer.bayesnet._network.network import BayesianNetwork

_FORM = "BIF"
# Words that need no quotation marks in a file.
_PLAIN = re.compile(r"[A-Za-z0-9_.<>=+\-:/!?%&*^~@#$]+")


def read_bif(text: str) -> BayesianNetwork:
    """Read a network from text in the format BIF.

    Parameters
    ----------
    text : str
        The content of a file.

    Returns
    -------
    BayesianNetwork
        Its states are texts.

    Examples
    --------
    >>> from mercer.bayesnet import read_bif
    >>> network = read_bif('''
    ... network weather {}
    ... variable rain { type discrete [2] { yes, no }; }
    ... probability (rain) { table 0.2, 0.8; }
    ... ''')
    >>> network.tables["rain"].tolist()
    [0.2, 0.8]
    """
    # A comment begins with //; inside of a word it is part of it.
    reader = TokenReader(_FORM, split_tokens(_FORM, text, ("//",)))
    parts = NetworkParts(_FORM)
    blocks: list[int] = []
    while reader.peek() is not None:
        word = reader.take()
        if word.text == "network":
            reader.skip_header()
        elif word.text == "variable":
            _read_variable(reader, parts)
        elif word.text == "probability":
            blocks.append(reader.skip_definition())
        else:
            rule = f"'network', 'variable' or 'probability' must stand here; got {word.text!r}"
            raise refuse(_FORM, word.line, rule, "Check the syntax.")
    for place in blocks:
        reader.place = place
        _read_probability(reader, parts)
    return parts.finish()


def _read_variable(reader: TokenReader, parts: NetworkParts) -> None:
    name = reader.take_word("the name of a variable")
    reader.take("{")
    states: list[str] = []
    while reader.peek() != "}":
        word = reader.take()
        if word.text == "type":
            kind = reader.take_word("the type of a variable")
            if kind.text != "discrete":
                rule = f"variable {name.text!r} must be discrete; got {kind.text!r}"
                raise refuse(_FORM, kind.line, rule, "Cut its values into intervals.")
            states = _read_states(reader, name)
        else:
            reader.skip_to(";")
    reader.take("}")
    parts.add_variable(name.text, states, name.line)


def _read_states(reader: TokenReader, name: Token) -> list[str]:
    reader.take("[")
    declared = reader.take_number()
    reader.take("]")
    reader.take("{")
    states = reader.take_some("}", "a state")
    reader.take(";")
    if len(states) != declared:
        rule = f"variable {name.text!r} declares {declared:g} states and lists {len(states)}"
        raise refuse(_FORM, name.line, rule, "Correct the number or the list.")
    return states


def _read_probability(reader: TokenReader, parts: NetworkParts) -> None:
    name, parents, line = reader.take_family("probability", "variable")
    shape = parts.add_family(name, parents, line)
    # NaN marks entries that are not set yet; lines say where each row of the table stands.
    table, lines = np.full(shape, np.nan), np.full(shape[:-1], line)
    reader.take("{")
    while reader.peek() != "}":
        _read_entry(reader, parts, name, table, lines)
    reader.take("}")
    if np.isnan(table).any():
        place = np.argwhere(np.isnan(table))[0]
        given = ", ".join(parts.states[parent][code] for parent, code in zip(parents, place, strict=False))
        rule = f"the table of {name!r} lacks an entry{f' for ({given})' if given else ''}"
        raise refuse(_FORM, line, rule, "Add it, or a default.")
    parts.add_table(name, table, line, lines)


def _read_entry(reader: TokenReader, parts: NetworkParts, name: str, table: Array, lines: Array) -> None:
    """Read one entry of a table: for some states of the parents, for all, or the default."""
    word = reader.take()
    if word.text == "(" and not word.quoted:
        place = []
        for parent in parts.parents[name]:
            state = reader.take_word(f"a state of {parent!r}")
            place.append(parts.find_state(parent, state.text, state.line))
            if reader.peek() == ",":
                reader.take()
        reader.take(")")
        table[tuple(place)] = _read_numbers(reader, name, table.shape[-1])
        lines[tuple(place)] = word.line
    elif word.text == "default":
        row = _read_numbers(reader, name, table.shape[-1])
        # Rows that no entry has set.
        table[np.isnan(table[..., 0])] = row
    elif word.text == "table":
        numbers = np.array(_read_numbers(reader, name, table.size))
        table[...] = _order_table(numbers, table.shape)
        lines[...] = word.line
    elif word.text == "property":
        reader.skip_to(";")
    else:
        rule = f"'table', 'default' or the parents' states in parentheses must stand here; got {word.text!r}"
        raise refuse(_FORM, word.line, rule, "Check the syntax.")


def _order_table(numbers: Array, shape: tuple[int, ...]) -> Array:
    """Return the numbers of a ``table`` with the variable's own states last.

    The format lists the variable first, so that its state changes slowest. Some programs write it fastest instead: that
    order is taken if only in it the probabilities sum to one.
    """
    if len(shape) == 1:
        return numbers
    first = np.moveaxis(numbers.reshape(shape[-1], *shape[:-1]), 0, -1)
    last = numbers.reshape(shape)
    wrong = not np.allclose(first.sum(axis=-1), 1.0, atol=1e-3)
    return last if wrong and np.allclose(last.sum(axis=-1), 1.0, atol=1e-3) else first


def _read_numbers(reader: TokenReader, name: str, n: int) -> list[float]:
    """Read numbers up to a semicolon; raise unless there are n."""
    line = reader.line
    numbers = reader.take_numbers(";")
    if len(numbers) != n:
        raise reader.refuse_count(line, n, name, len(numbers), "Give one for each state.")
    return numbers


def quote_word(word: Any) -> str:
    """Return a name or a state as a file writes it: in quotation marks where it is no plain word."""
    text = str(word)
    if _PLAIN.fullmatch(text) and "//" not in text and "/*" not in text:
        return text
    return quote(text)


def format_bif(network: BayesianNetwork, name: str = "unnamed") -> str:
    """Return a network as text in the format BIF; numbers have all their digits.

    Parameters
    ----------
    network : BayesianNetwork
        Its names and states are written as texts.
    name : str, default="unnamed"
        The name of the network in the file.

    Returns
    -------
    str
        The content of a file, which :func:`read_bif` turns into an equal network.
    """
    parts = [f"network {quote_word(name)} {{\n}}\n"]
    for variable, states in network.variables.items():
        listed = ", ".join(map(quote_word, states))
        parts.append(f"variable {quote_word(variable)} {{\n  type discrete [ {len(states)} ] {{ {listed} }};\n}}\n")
    for variable in network.variables:
        parents, table = network.parents[variable], network.tables[variable]
        if not parents:
            numbers = ", ".join(map(repr, table.tolist()))
            parts.append(f"probability ( {quote_word(variable)} ) {{\n  table {numbers};\n}}\n")
            continue
        parts.append(f"probability ( {quote_word(variable)} | {', '.join(map(quote_word, parents))} ) {{\n")
        rows = table.reshape(prod(table.shape[:-1]), -1).tolist()
        for place, row in zip(np.ndindex(table.shape[:-1]), rows, strict=True):
            given = ", ".join(
                quote_word(network.variables[parent][code]) for parent, code in zip(parents, place, strict=True)
            )
            parts.append(f"  ({given}) {', '.join(map(repr, row))};\n")
        parts.append("}\n")
    return "".join(parts)
