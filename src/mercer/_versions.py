"""What a bug report needs to know about the machine."""

import importlib.metadata
import platform
import sys

from threadpoolctl import threadpool_info

from mercer import _native
from mercer._source.memory import count_allowed_bytes, readable
from mercer._source.threads import available_threads
from mercer._version import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "narwhals", "pandas", "polars", "pyarrow")


def show_versions() -> None:
    """Print mercer's version, the CPU level in use, threads, BLAS and the versions around it.

    Examples
    --------
    >>> import mercer
    >>> mercer.show_versions()  # doctest: +ELLIPSIS
    mercer...
    """
    lines = {
        "mercer": __version__,
        "native code": _native.level(),
        "threads": str(available_threads()),
        "memory": readable(count_allowed_bytes()),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
    }
    for library in threadpool_info():
        lines[f"{library['user_api']} ({library['prefix']})"] = (
            f"{library['version']}, {library['num_threads']} threads"
        )
    for package in _PACKAGES:
        try:
            lines[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            lines[package] = "not installed"
    width = max(map(len, lines))
    sys.stdout.write("".join(f"{name:<{width}}  {value}\n" for name, value in lines.items()))
