"""Write a file whole or not at all: aside first, then moved into place."""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, which refuses to remove a file that a process has open
    fcntl = None  # type: ignore[assignment]


@contextmanager
def open_aside(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that becomes `path` in one step, if the block ends well.

    Its name is random, and it must not exist yet: a link that somebody put there is not followed. Files that killed
    processes left beside `path` are removed.
    """
    target = Path(os.path.realpath(path))  # behind a symbolic link, replace the file and not the link
    _remove_left(target)
    aside: list[Path] = []
    try:
        with _create(target, aside) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside[-1], target)
    except BaseException:
        for left in aside:
            left.unlink(missing_ok=True)
        raise


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write `content`, a text in UTF-8, to `path`; a kill at any moment leaves the old file or the new one."""
    with open_aside(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def _create(target: Path, aside: list[Path]) -> BinaryIO:
    """Create a file beside `target` and lock it, which says that its process lives; note its path in `aside`.

    The path is noted before there is a file, so that Ctrl-C at any moment leaves none.
    """
    while True:
        aside.append(target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp"))
        file = open(aside[-1], "xb")  # noqa: SIM115 - the caller closes it
        # Another process may have taken it for a left one before it was locked: then it is gone, and another is made.
        if not _lock(file) or os.fstat(file.fileno()).st_nlink > 0:
            return file
        file.close()


def _remove_left(target: Path) -> None:
    """Remove files beside `target` whose processes have ended: nobody holds their locks."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.tmp")
    with suppress(OSError):
        for name in os.listdir(target.parent):
            if pattern.fullmatch(name) is None:
                continue
            left = target.parent / name
            with suppress(OSError):
                # A link or a device is none of ours, and is not opened.
                descriptor = os.open(left, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
                with os.fdopen(descriptor, "rb+") as file:
                    if fcntl is None or _lock(file):
                        left.unlink()


def _lock(file: BinaryIO) -> bool:
    """Lock a file until it is closed; return False if another process holds it, or if the system has no locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
