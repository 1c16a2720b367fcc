"""The check that a fit's memory is there before it is taken, and the error that says how much is missing.

A process that asks for more than its container has is killed without a word. Code that is about to take more than a
few row blocks calls :func:`require_memory` first.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer.errors import MemoryForecastError

# Files of the limit, the usage and the statistics of a container's memory: cgroup version 2, then version 1.
_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
    ),
)
_collected: ContextVar["list[Request] | None"] = ContextVar("mercer_memory_requests", default=None)
# Requests of fewer bytes are not checked: reading the limits would take longer than it is worth.
_SMALL = 32 * 2**20
# The most bytes of a table with one entry per row, for rows that are not in memory: 16 million float64.
MOST_TABLE_BYTES = 128 * 2**20


@dataclass(frozen=True)
class Request:
    """One call of :func:`require_memory`."""

    subject: str
    n_bytes: float
    purpose: str
    cure: str


@contextmanager
def collect_requests() -> Iterator[list[Request]]:
    """Collect all requests for memory made within a ``with`` block, also small and refused ones."""
    requests: list[Request] = []
    token = _collected.set(requests)
    try:
        yield requests
    finally:
        _collected.reset(token)


def require_memory(subject: str, n_bytes: float, purpose: str, cure: str) -> None:
    """Raise ``MemoryForecastError`` if `subject` would take more memory for `purpose` than it may.

    Parameters
    ----------
    subject : str
        Who asks, for example ``"Ridge"``.
    n_bytes : float
        The bytes it is about to take on top of its input.
    purpose : str
        What for, for example ``"the 50000 x 50000 Gram matrix"``.
    cure : str
        What to do instead, as an imperative: ``"use solver='lsqr'"``.
    """
    collected = _collected.get()
    # A forecast collects the requests of a rehearsal, to extrapolate them to all rows.
    if collected is not None:
        collected.append(Request(subject, n_bytes, purpose, cure))
    limit = get_config()["max_memory"]
    # Asking the system for its free memory takes longer than small requests deserve.
    if limit is None and n_bytes < _SMALL:
        return
    limit = count_allowed_bytes()
    if n_bytes > limit:
        raise MemoryForecastError(
            f"{subject}: {purpose} needs {readable(n_bytes)} ({int(n_bytes)} bytes) and "
            f"{readable(limit)} ({int(limit)} bytes) are allowed; {cure}, "
            f"or raise the limit with mercer.set_config(max_memory=...)."
        )


def small_table(n_rows: int, fill: float, dtype: Any) -> np.ndarray | None:
    """Return an array with one entry per row for a source that is not in memory; None if it would be too large."""
    if n_rows * np.dtype(dtype).itemsize > MOST_TABLE_BYTES:
        return None
    return np.full(n_rows, fill, dtype=dtype)


def count_allowed_bytes() -> int:
    """Return the bytes a fit may take: the setting, or else what the container and the machine have left."""
    setting = get_config()["max_memory"]
    if setting is not None:
        return setting
    return min([left for left in (_container_left(), _machine_left()) if left is not None], default=2**63 - 1)


def is_allowed(n_bytes: float) -> bool:
    """Return whether a fit may take that many bytes; reading the limits takes 100 us, so a few bytes always may."""
    if get_config()["max_memory"] is None and n_bytes < _SMALL:
        return True
    return n_bytes <= count_allowed_bytes()


def readable(n_bytes: float) -> str:
    """Write a number of bytes for people: ``3.2 GiB``."""
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if n_bytes < 1024 or unit == "TiB":
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1024
    return ""


def _container_left() -> int | None:
    """Return the bytes that the container's memory limit leaves; None without a limit."""
    for limit_file, usage_file, stat_file in _CGROUPS:
        try:
            limit = int(Path(limit_file).read_text())
            usage = int(Path(usage_file).read_text())
            stat = dict(line.split() for line in Path(stat_file).read_text().splitlines())
        except (OSError, ValueError):
            continue
        # The kernel frees the file cache on demand, so it does not count as used.
        return max(0, limit - usage + int(stat.get("inactive_file", 0)))
    return None


def _machine_left() -> int | None:
    """Return the bytes of memory that the machine has available; None if it does not say."""
    try:
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        # The kernel counts in KiB. MemAvailable includes the caches that it would give up.
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        # Without /proc the physical memory is an upper bound of what is left.
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
