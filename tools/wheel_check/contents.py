"""Compare the files of a wheel, and of a source distribution, with those that the working tree says they hold."""

import ast
import re
import tarfile
import zipfile
from pathlib import Path

from tools.wheel_check.environment import CheckError

ROOT = Path(__file__).resolve().parents[2]
LEVELS = ("v2", "v3", "v4", "plain")
RECIPE = frozenset({"meson.build", "meson.options", "pyproject.toml", "LICENSE", "README.md", "tools/translate.py"})
# The compiled modules end by the interpreter and the system: "elementary.cpython-311-x86_64-linux-gnu.so".
COMPILED = re.compile(r"(mercer/_native/)(?:(\w+)/)?(\w+)\.(?:cpython-|cp3|abi3)?[\w.-]*(?:so|pyd)")


def list_package_files() -> set[str]:
    """Return the files of the package in the working tree that a wheel installs: all but bytecode and build recipes."""
    found = {path.relative_to(ROOT / "src") for path in (ROOT / "src" / "mercer").rglob("*") if path.is_file()}
    return {
        path.as_posix()
        for path in found
        if "__pycache__" not in path.parts and path.name != "meson.build" and path.suffix not in (".so", ".pyd")
    }


def list_native_modules() -> set[str]:
    """Return the names of the native modules in the table at the top of their build recipe."""
    text = (ROOT / "src" / "mercer" / "_native" / "meson.build").read_text(encoding="utf-8")
    table = text.split("native_rooms = ", 1)[1].split("\n}\n", 1)[0] + "\n}"
    rooms: dict[str, list[str]] = ast.literal_eval(table)
    return {name for names in rooms.values() for name in names}


def check_wheel(wheel: Path) -> None:
    """Raise unless a wheel holds every file of the package, every native module of each level, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    compiled = {match[0]: match.groups()[1:] for match in map(COMPILED.fullmatch, names) if match}
    metadata = {name for name in names if ".dist-info/" in name}
    _compare("the wheel", names - set(compiled) - metadata, list_package_files())
    if not any(name.endswith("/LICENSE") for name in metadata):
        raise CheckError("The wheel holds no LICENSE.")
    built = {level for level, _ in compiled.values() if level}
    expected = {(level, name) for level in built for name in list_native_modules()} | {(None, "cython_utility")}
    _compare("the wheel's native code", set(map(str, compiled.values())), set(map(str, expected)))
    if not built or not built <= set(LEVELS):
        raise CheckError(f"The wheel has native code for the levels {sorted(built)}; expected some of {LEVELS}.")


def check_source_distribution(archive: Path) -> None:
    """Raise unless a source distribution holds the build recipe, every file of the package, and no other one there."""
    with tarfile.open(archive) as opened:
        names = {member.name.split("/", 1)[-1] for member in opened.getmembers() if member.isfile()}
    if missing := RECIPE - names:
        raise CheckError(f"The source distribution lacks {_name_some(missing)}.")
    package = {name.removeprefix("src/") for name in names if name.startswith("src/mercer/")}
    found = {name for name in package if not name.endswith("/meson.build")}
    _compare("the source distribution", found, list_package_files())


def _compare(place: str, found: set[str], expected: set[str]) -> None:
    """Raise with the names that a place lacks, and those that it has besides."""
    lacks, has = expected - found, found - expected
    if lacks or has:
        raise CheckError(
            f"In {place}, {len(lacks)} files are missing ({_name_some(lacks)}), and {len(has)} are not "
            f"in the working tree ({_name_some(has)})."
        )


def _name_some(names: set[str]) -> str:
    """Return the first ten names."""
    return ", ".join(sorted(names)[:10]) + (", ..." if len(names) > 10 else "")
