"""Library-wide settings: how much memory a fit may take, and what Ctrl-C does.

Settings live in a context variable, so a change made in one thread or asyncio task stays there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mercer.errors import ParameterError

_DEFAULTS: dict[str, Any] = {"max_memory": None, "max_unpacked": None, "on_interrupt": "raise"}
_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_settings: ContextVar[dict[str, Any]] = ContextVar("mercer_settings", default=_DEFAULTS)


def get_config() -> dict[str, Any]:
    """Return the settings in force, as a new dictionary."""
    return dict(_settings.get())


def set_config(**changes: Any) -> None:
    """Change library-wide settings.

    Parameters
    ----------
    max_memory : int, str or None
        The most memory that one fit may take on top of its input: bytes, or text such as ``"2 GiB"``. ``None`` (the
        default) means what the container or machine has left.
    max_unpacked : int, str or None
        The most bytes that an archive with rows (.npz, .gz, .xlsx) may unpack to. ``None`` (the default) means 1 GiB,
        or a hundred times the size of the archive where that is more.
    on_interrupt : {"raise", "keep"}
        What Ctrl-C does once the last complete state has been stored: raise ``KeyboardInterrupt`` again (the default),
        or return from ``fit`` with that state.

    Examples
    --------
    >>> import mercer
    >>> mercer.set_config(max_memory="2 GiB")
    >>> mercer.get_config()["max_memory"]
    2147483648
    >>> mercer.set_config(max_memory=None)
    """
    _settings.set(_settings.get() | _check(changes))


@contextmanager
def config_context(**changes: Any) -> Iterator[None]:
    """Change settings for the length of a ``with`` block; takes what :func:`set_config` takes."""
    token = _settings.set(_settings.get() | _check(changes))
    try:
        yield
    finally:
        _settings.reset(token)


def _check(changes: dict[str, Any]) -> dict[str, Any]:
    for name in changes:
        if name not in _DEFAULTS:
            raise ParameterError(f"set_config: the settings are {', '.join(sorted(_DEFAULTS))}; got {name!r}.")
    for name in ("max_memory", "max_unpacked"):
        if name in changes:
            changes = changes | {name: read_bytes("set_config", name, changes[name])}
    if changes.get("on_interrupt", "raise") not in ("raise", "keep"):
        raise ParameterError(f"set_config: on_interrupt must be 'raise' or 'keep'; got {changes['on_interrupt']!r}.")
    return changes


def read_bytes(subject: str, name: str, value: Any) -> int | None:
    """Read a number of bytes such as 5e8, 1024 or "2 GiB"."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            number = value.rstrip("KMGTiB ")
            return int(float(number) * _UNITS[value[len(number) :].strip() or "B"])
        if value > 0:
            return int(value)
    except (ValueError, KeyError, TypeError):
        pass
    raise ParameterError(
        f"{subject}: {name} must be a positive number of bytes or text like '2 GiB', or None; got {value!r}."
    )
