"""NET, the format of the program Hugin: read from text and written to text."""

from math import prod

import numpy as np

from mercer.bayesnet._files.network_parts import NetworkParts
from mercer.bayesnet._files.source_text import TokenReader, quote, refuse, split_tokens
from mercer.bayesnet._network.network import BayesianNetwork

_FORM = "NET"
_OTHER_NODES = ("continuous", "decision", "utility", "function")


def read_net(text: str) -> BayesianNetwork:
    """Read a network from text in Hugin's format NET.

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
    >>> from mercer.bayesnet import read_net
    >>> network = read_net('net {} node rain { states = ("yes" "no"); } potential (rain) { data = (0.2 0.8); }')
    >>> network.variables["rain"]
    ('yes', 'no')
    """
    reader = TokenReader(_FORM, split_tokens(_FORM, text, ("%",), "="))
    parts = NetworkParts(_FORM)
    potentials: list[int] = []
    while reader.peek() is not None:
        word = reader.take()
        if word.text in ("net", "class"):
            reader.skip_header()
        elif word.text == "discrete":
            continue
        elif word.text == "node":
            _read_node(reader, parts)
        elif word.text == "potential":
            potentials.append(reader.skip_definition())
        elif word.text in _OTHER_NODES:
            rule = f"nodes must be discrete; got a {word.text} node"
            raise refuse(_FORM, word.line, rule, "Remove it, or cut its values into intervals.")
        else:
            rule = f"'net', 'node' or 'potential' must stand here; got {word.text!r}"
            raise refuse(_FORM, word.line, rule, "Check the syntax.")
    for place in potentials:
        reader.place = place
        _read_potential(reader, parts)
    return parts.finish()


def _read_node(reader: TokenReader, parts: NetworkParts) -> None:
    name = reader.take_word("the name of a node")
    reader.take("{")
    states: list[str] = []
    while reader.peek() != "}":
        word = reader.take()
        if word.text == "states":
            reader.take("=")
            reader.take("(")
            states += reader.take_some(")", "a state")
            reader.take(";")
        else:
            reader.skip_to(";")
    reader.take("}")
    parts.add_variable(name.text, states, name.line)


def _read_potential(reader: TokenReader, parts: NetworkParts) -> None:
    name, parents, line = reader.take_family("potential", "node")
    shape = parts.add_family(name, parents, line)
    # A potential without data has equal probabilities, as the format says.
    table = np.full(shape, 1.0 / shape[-1])
    reader.take("{")
    while reader.peek() != "}":
        word = reader.take()
        if word.text == "data":
            table = _read_data(reader, name, shape)
        else:
            reader.skip_to(";")
    reader.take("}")
    parts.add_table(name, table, line)


def _read_data(reader: TokenReader, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Read the numbers of a table; parentheses only group them, the node's own state changes fastest."""
    line, numbers = reader.take("=").line, []
    while reader.peek() != ";":
        if reader.peek() in ("(", ")"):
            reader.take()
        else:
            numbers.append(reader.take_number())
    reader.take(";")
    if len(numbers) != (n := prod(shape)):
        raise reader.refuse_count(line, n, name, len(numbers), "Give one for each combination of states.")
    return np.array(numbers).reshape(shape)


def _name(text: object) -> str:
    """Return a node's name: a plain word as it is, anything else in quotation marks."""
    return str(text) if str(text).isidentifier() and str(text).isascii() else quote(text)


def format_net(network: BayesianNetwork) -> str:
    """Return a network as text in Hugin's format NET; numbers have all their digits.

    Parameters
    ----------
    network : BayesianNetwork
        Its names and states are written as texts.

    Returns
    -------
    str
        The content of a file, which :func:`read_net` turns into an equal network.
    """
    parts = ["net\n{\n}\n"]
    for variable, states in network.variables.items():
        listed = " ".join(map(quote, states))
        parts.append(f"node {_name(variable)}\n{{\n  states = ({listed});\n}}\n")
    for variable in network.variables:
        parents = network.parents[variable]
        given = f" | {' '.join(map(_name, parents))}" if parents else ""
        data = _group(network.tables[variable].tolist())
        parts.append(f"potential ({_name(variable)}{given})\n{{\n  data = {data};\n}}\n")
    return "".join(parts)


def _group(values: object) -> str:
    """Return nested lists of numbers in nested parentheses."""
    if not isinstance(values, list):
        return repr(values)
    if values and not isinstance(values[0], list):
        return "(" + " ".join(map(repr, values)) + ")"
    return "(" + "\n    ".join(map(_group, values)) + ")"
