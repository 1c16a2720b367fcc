"""The environments: which interpreter, which versions of the dependencies, and what is unusual about the run."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Minor versions of Python 3 that are looked for.
MINORS = (11, 12, 13, 14)
# Native code, the checks of every input, and one family each of linear models, kernels, trees and groups.
WIDE = ("tests/native", "tests/base", "tests/kernels", "tests/tree", "tests/svm", "tests/cluster", "tests/decision")
# Laws that a version of Python, NumPy, SciPy or scikit-learn can break: scikit-learn's checks of every estimator, model
# files and pickles, names and declarations that other libraries read, and results on any number of threads. The other
# laws are about mercer's own code, and are run by `make test` with one version of each.
LAWS = tuple(
    f"tests/laws/test_{name}.py" for name in ("fits_in", "models_survive", "scikit_names", "declarations", "same_bits")
)
# Compilers that are looked for; the one that `cc` names is not listed again, since every other environment uses it.
COMPILERS = (*(f"gcc-{major}" for major in range(11, 16)), *(f"clang-{major}" for major in range(14, 22)), "clang")
# What a compiler can change: native code at every level and uncompiled, and trees, which are equal to the last bit.
COMPILED = ("tests/native", "tests/kernels", "tests/tree")
# Interruption, files, threads and model files: what depends on the user, the folder and the terminal.
NARROW = ("tests/watch", "tests/source", "tests/base", "tests/laws/test_control.py")
# A requirement with its lower bound, and the minor version of Python 3 from which on it holds.
BOUND = re.compile(r"([\w.-]+)>=([\d.]+)(?:; python_version >= '3\.(\d+)')?")


@dataclass(frozen=True)
class Environment:
    """One run: the interpreter, pinned versions, the tests, the conditions, and the C compiler (empty: `cc`).

    Where `offline`, nothing is downloaded: what the interpreter has installed is used as it is.
    """

    name: str
    python: str
    pins: tuple[str, ...] = ()
    tests: tuple[str, ...] = WIDE
    conditions: frozenset[str] = field(default_factory=frozenset)
    compiler: str = ""
    offline: bool = False


def list_environments(pythons: Sequence[str] = ()) -> list[Environment]:
    """Return the environments of each interpreter, one for each compiler and condition, and one with old dependencies.

    Each interpreter runs a wide selection of the tests, and the laws with the newest and the oldest dependencies that
    `pyproject.toml` allows. `pythons` are paths of interpreters besides those that are found on the path, or instead of
    those that have the same version.
    """
    found = {f"python3.{minor}": _find_python(f"python3.{minor}") for minor in MINORS}
    known = {name: path for name, path in found.items() if path} | {name_python(path): path for path in pythons}
    if not known:
        known = {"python3": shutil.which("python3") or "python3"}
    first = next(iter(known.values()))
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    conditions = ("sigint ignored", "no home", "space in path", "user without root", "read-only checkout")
    return [
        *(Environment(name, path) for name, path in known.items()),
        *(Environment(f"{name}, newest", path, tests=LAWS) for name, path in known.items()),
        *(Environment(f"{name}, oldest", path, read_lower_bounds(text, name), LAWS) for name, path in known.items()),
        Environment("oldest dependencies", first, read_lower_bounds(text, next(iter(known)))),
        *(Environment(name, first, tests=NARROW, conditions=frozenset({name})) for name in conditions),
        *(Environment(name, first, tests=COMPILED, compiler=path) for name, path in find_compilers().items()),
    ]


def find_compilers() -> dict[str, str]:
    """Return the C compilers on the path by their names, each program once, without the one that `cc` names."""
    default = shutil.which("cc")
    seen = {Path(default).resolve()} if default else set()
    found = {}
    for name in COMPILERS:
        path = shutil.which(name)
        if path is not None and Path(path).resolve() not in seen:
            seen.add(Path(path).resolve())
            found[name] = path
    return found


def _find_python(name: str) -> str | None:
    """Return the path of an interpreter, or None if there is none that starts: version managers leave dead links."""
    path = shutil.which(name)
    if path is None:
        return None
    ran = subprocess.run([path, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=False)
    return ran.stdout.strip() or None


def name_python(path: str) -> str:
    """Return the name of an interpreter with its version, such as ``python3.12``."""
    code = "import sys; print(f'python{sys.version_info[0]}.{sys.version_info[1]}')"
    try:
        return subprocess.run([path, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    except OSError:
        return Path(path).name  # it is not there, and the run will say so


def read_lower_bounds(text: str, python: str) -> tuple[str, ...]:
    """Return a requirement of the oldest version of each dependency: ``numpy>=2.1`` gives ``numpy==2.1.*``.

    A bound may be for newer interpreters alone, by the marker ``python_version >= '3.13'``; the last that is for
    `python`, such as ``python3.13``, counts.
    """
    version = re.search(r"3\.(\d+)", python)
    minor = int(version[1]) if version else sys.version_info.minor
    pins = {}
    for requirement in tomllib.loads(text)["project"]["dependencies"]:
        name, bound, since = BOUND.fullmatch(requirement).groups()
        if since is None or int(since) <= minor:
            pins[name] = f"{name}=={bound}.*"
    return tuple(pins.values())
