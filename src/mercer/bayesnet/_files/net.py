"""NET, the format of the program Hugin: read from text and written to text."""

import numpy as np

from mercer.bayesnet._files.draft import NetworkDraft
from mercer.bayesnet._files.source_text import TokenReader, refuse, split_tokens
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
    draft = NetworkDraft(_FORM)
    potentials: list[int] = []
    while reader.peek() is not None:
        word = reader.take()
        if word.text in ("net", "class"):
            while reader.peek() not in ("{", None):
                reader.take()
            reader.skip_block()
        elif word.text == "discrete":
            continue
        elif word.text == "node":
            _read_node(reader, draft)
        elif word.text == "potential":
            # Potentials are read after all nodes: files may declare these in any order.
            potentials.append(reader.place)
            reader.skip_to("{")
            reader.place -= 1
            reader.skip_block()
        elif word.text in _OTHER_NODES:
            rule = f"nodes must be discrete; got a {word.text} node"
            raise refuse(_FORM, word.line, rule, "Remove it, or cut its values into intervals.")
        else:
            rule = f"'net', 'node' or 'potential' must stand here; got {word.text!r}"
            raise refuse(_FORM, word.line, rule, "Check the syntax.")
    for place in potentials:
        reader.place = place
        _read_potential(reader, draft)
    return draft.finish()


def _read_node(reader: TokenReader, draft: NetworkDraft) -> None:
    name = reader.take_word("the name of a node")
    reader.take("{")
    states: list[str] = []
    while reader.peek() != "}":
        word = reader.take()
        if word.text == "states":
            reader.take("=")
            reader.take("(")
            while reader.peek() != ")":
                states.append(reader.take_word("a state").text)
            reader.take(")")
            reader.take(";")
        else:
            reader.skip_to(";")
    reader.take("}")
    draft.add_variable(name.text, states, name.line)


def _read_potential(reader: TokenReader, draft: NetworkDraft) -> None:
    opening = reader.take("(")
    members: list[str] = []
    while reader.peek() != ")":
        token = reader.take()
        if token.quoted or token.text != "|":
            members.append(token.text)
    reader.take(")")
    if not members:
        raise refuse(_FORM, opening.line, "a potential must name its node", "Name it in the parentheses.")
    name = members[0]
    shape = draft.add_family(name, members[1:], opening.line)
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
    draft.add_table(name, table, opening.line)


def _read_data(reader: TokenReader, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Read the numbers of a table; parentheses only group them, the node's own state changes fastest."""
    line, numbers = reader.take("=").line, []
    while reader.peek() != ";":
        if reader.peek() in ("(", ")"):
            reader.take()
        else:
            numbers.append(reader.take_number())
    reader.take(";")
    if len(numbers) != np.prod(shape, dtype=int):
        rule = f"{np.prod(shape, dtype=int)} probabilities of {name!r} must stand here; got {len(numbers)}"
        raise refuse(_FORM, line, rule, "Give one for each combination of states.")
    return np.array(numbers).reshape(shape)


def _quote(text: object) -> str:
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _name(text: object) -> str:
    """Return a node's name: a plain word as it is, anything else in quotation marks."""
    return str(text) if str(text).isidentifier() and str(text).isascii() else _quote(text)


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
        listed = " ".join(map(_quote, states))
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
