"""The environments: which interpreter, which versions of the dependencies, and what is unusual about the run."""

import re
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Minor versions of Python 3 that are looked for.
MINORS = (11, 12, 13, 14)
# Native code, the checks of every input, and one family each of linear models, kernels, trees and groups.
WIDE = ("tests/native", "tests/base", "tests/kernels", "tests/tree", "tests/svm", "tests/cluster", "tests/decision")
# Compilers that are looked for; the one that `cc` names is not listed again, since every other environment uses it.
COMPILERS = (*(f"gcc-{major}" for major in range(11, 16)), *(f"clang-{major}" for major in range(14, 22)), "clang")
# What a compiler can change: native code at every level and uncompiled, and trees, which are equal to the last bit.
COMPILED = ("tests/native", "tests/kernels", "tests/tree")
# Interruption, files, threads and model files: what depends on the user, the folder and the terminal.
NARROW = ("tests/watch", "tests/source", "tests/base", "tests/laws/test_control.py")


@dataclass(frozen=True)
class Environment:
    """One run: the interpreter, pinned versions, the tests, the conditions, and the C compiler (empty: `cc`)."""

    name: str
    python: str
    pins: tuple[str, ...] = ()
    tests: tuple[str, ...] = WIDE
    conditions: frozenset[str] = field(default_factory=frozenset)
    compiler: str = ""


def list_environments(pythons: Sequence[str] = ()) -> list[Environment]:
    """Return one environment for each interpreter, compiler and condition, and one with the oldest dependencies.

    `pythons` are paths of interpreters besides those that are found on the path.
    """
    found = {f"python3.{minor}": _find_python(f"python3.{minor}") for minor in MINORS}
    known = {name: path for name, path in found.items() if path} | {Path(path).name: path for path in pythons}
    if not known:
        known = {"python3": shutil.which("python3") or "python3"}
    first = next(iter(known.values()))
    conditions = ("sigint ignored", "no home", "space in path", "user without root", "read-only checkout")
    return [
        *(Environment(name, path) for name, path in known.items()),
        Environment("oldest dependencies", first, read_lower_bounds((ROOT / "pyproject.toml").read_text())),
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


def read_lower_bounds(text: str) -> tuple[str, ...]:
    """Return a requirement of the oldest version of each dependency: ``numpy>=2.1`` gives ``numpy==2.1.*``."""
    pins = []
    for requirement in tomllib.loads(text)["project"]["dependencies"]:
        name, bound = re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement).groups()
        pins.append(f"{name}=={bound}.*")
    return tuple(pins)
