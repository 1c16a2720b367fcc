"""``python -m tools.wheel_check``: build a wheel, install it in new environments, and try all of it there."""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from tools.wheel_check.building import ROOT, build_source_distribution, build_wheel, copy_checkout
from tools.wheel_check.contents import check_source_distribution, check_wheel
from tools.wheel_check.environment import CheckError, NewEnvironment

T = TypeVar("T")


def main() -> int:
    """Return 0 if all checks pass, and 1 with what was said if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tools.wheel_check", description=__doc__)
    parser.add_argument("--sdist", action="store_true", help="build the wheel of the source distribution")
    parser.add_argument("--levels", default="host,v2", help="CPU levels to compile, with commas between them")
    parser.add_argument("--build", type=Path, help="build folder to keep and use again, such as build/cp311")
    parser.add_argument("--wheel", type=Path, help="check this wheel instead of building one")
    arguments = parser.parse_args()
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="mercer-wheel-") as folder:
            check(arguments, Path(folder))
    except CheckError as error:
        sys.stderr.write(f"wheel check: {error}\n")
        return 1
    times = os.times()
    used = times.children_user + times.children_system
    sys.stdout.write(f"wheel check: passed in {time.monotonic() - began:.0f} s, {used:.0f} s of CPU time\n")
    return 0


def check(arguments: argparse.Namespace, folder: Path) -> None:
    """Build the wheel inside `folder`, and raise where something is missing in it or does not work."""
    wheel = arguments.wheel or _report("build", lambda: _build(arguments, folder))
    sys.stdout.write(f"wheel check: {wheel.name}, {wheel.stat().st_size / 2**20:.1f} MiB\n")
    check_wheel(wheel)
    bare, full = NewEnvironment(folder / "bare"), NewEnvironment(folder / "with-app")
    with ThreadPoolExecutor(2) as workers:
        library = workers.submit(_report, "library", lambda: _check_library(bare, wheel))
        commands = workers.submit(_report, "commands", lambda: _check_commands(full, wheel))
        failures = [str(error) for one in (library, commands) if (error := one.exception())]
    if failures:
        raise CheckError("\n".join(failures))


def _build(arguments: argparse.Namespace, folder: Path) -> Path:
    """Return the wheel of the working tree, or that of its source distribution."""
    if not arguments.sdist:
        return build_wheel(ROOT, folder / "wheels", arguments.levels, arguments.build)
    archive = build_source_distribution(copy_checkout(folder / "checkout"))
    check_source_distribution(archive)
    return build_wheel(archive, folder / "wheels", arguments.levels, arguments.build)


def _check_library(environment: NewEnvironment, wheel: Path) -> None:
    """Try the library with its requirements alone."""
    environment.install(str(wheel))
    environment.run_program("tools.wheel_check.library")


def _check_commands(environment: NewEnvironment, wheel: Path) -> None:
    """Try the command line with what the extra `app` adds."""
    environment.install(f"{wheel}[app]")
    environment.run_program("tools.wheel_check.commands")


def _report(step: str, call: Callable[[], T]) -> T:
    """Call a step and print its seconds."""
    began = time.monotonic()
    result = call()
    sys.stdout.write(f"wheel check: {step} took {time.monotonic() - began:.0f} s\n")
    sys.stdout.flush()
    return result


if __name__ == "__main__":
    raise SystemExit(main())
