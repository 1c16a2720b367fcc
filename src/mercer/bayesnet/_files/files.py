"""Read and write networks in files, by the ending of their names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mercer._written_file import write_whole
from mercer.bayesnet._files.bif import format_bif, read_bif
from mercer.bayesnet._files.net import format_net, read_net
from mercer.bayesnet._files.xmlbif import format_xmlbif, read_xmlbif
from mercer.bayesnet._network.network import BayesianNetwork
from mercer.errors import DataError

_READERS: dict[str, Callable[[str], BayesianNetwork]] = {
    "bif": read_bif,
    "xmlbif": read_xmlbif,
    "net": read_net,
}
_WRITERS: dict[str, Callable[[BayesianNetwork], str]] = {
    "bif": format_bif,
    "xmlbif": format_xmlbif,
    "net": format_net,
}
_ENDINGS = {".bif": "bif", ".xmlbif": "xmlbif", ".xml": "xmlbif", ".bifxml": "xmlbif", ".net": "net", ".hugin": "net"}


def _find_format(function: str, path: Path, given: str | None) -> str:
    """Return the format that is given, or that the ending of a name means."""
    form = given if given is not None else _ENDINGS.get(path.suffix.lower())
    if form not in _READERS:
        got = f"the ending {path.suffix!r}" if given is None else repr(given)
        raise DataError(
            f"{function}: the format must be one of 'bif', 'xmlbif', 'net', named by `format` or by the ending "
            f"{', '.join(_ENDINGS)}; got {got}. Pass format='bif', or rename the file."
        )
    return str(form)


def read_network(path: Any, format: str | None = None) -> BayesianNetwork:
    """Read a network from a file in the format BIF, XMLBIF or NET.

    Parameters
    ----------
    path : str or path
        The file.
    format : {"bif", "xmlbif", "net"} or None, default=None
        Its format; None means by the ending of its name.

    Returns
    -------
    BayesianNetwork
        Its states are texts.
    """
    path = Path(path)
    form = _find_format("read_network", path, format)
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise DataError(
            f"read_network: the file {str(path)!r} cannot be read: {error.strerror}. Check its name."
        ) from error
    return _READERS[form](text.removeprefix("\ufeff"))


def write_network(network: BayesianNetwork, path: Any, format: str | None = None) -> None:
    """Write a network to a file in the format BIF, XMLBIF or NET; numbers have all their digits.

    Parameters
    ----------
    network : BayesianNetwork
        Its names and states are written as texts.
    path : str or path
        The file.
    format : {"bif", "xmlbif", "net"} or None, default=None
        Its format; None means by the ending of its name.
    """
    path = Path(path)
    write_whole(path, _WRITERS[_find_format("write_network", path, format)](network))
