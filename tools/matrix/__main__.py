"""``python -m tools.matrix``: run the tests in every environment that this machine offers; exit with 1 if one fails."""

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from tools.matrix.environments import Environment, list_environments
from tools.matrix.running import run_environment
from tools.matrix.table import WORDS, record_outcome


def main() -> int:
    """Run the chosen environments one after another and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m tools.matrix", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="names of environments; all others are left out")
    parser.add_argument("--python", nargs="+", default=[], metavar="PATH", help="further interpreters")
    parser.add_argument(
        "--tests", nargs="+", metavar="PATH", help="run these tests instead of those of each environment"
    )
    parser.add_argument("--offline", action="store_true", help="use what each interpreter has installed, as it is")
    parser.add_argument("--wheels", type=Path, metavar="FOLDER", help="keep wheels here, and use those that are here")
    parser.add_argument("--workers", type=int, default=0, help="processes that run the tests (default: one)")
    parser.add_argument("--list", action="store_true", help="print the names of the environments and stop")
    parser.add_argument("--record", action="store_true", help="write the outcomes into the table of docs/releasing.md")
    arguments = parser.parse_args()
    environments = list_environments(arguments.python)
    if arguments.list:
        sys.stdout.write("".join(f"{environment.name}: {environment.python}\n" for environment in environments))
        return 0
    chosen = [environment for environment in environments if environment.name in (arguments.only or [environment.name])]
    if arguments.tests:
        chosen = [replace(environment, tests=tuple(arguments.tests)) for environment in chosen]
    chosen = [replace(environment, offline=arguments.offline) for environment in chosen]
    with tempfile.TemporaryDirectory(prefix="mercer-matrix-wheels-") as temporary:
        store = arguments.wheels or Path(temporary)
        failures = [_run(environment, store, arguments) for environment in chosen]
    return int(any(failures))


def _run(environment: Environment, store: Path, arguments: argparse.Namespace) -> bool:
    """Run one environment, print a line, write it into the table if asked to, and return whether it failed."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mercer-matrix-") as folder:
        # A user without root must be able to enter the folder.
        Path(folder).chmod(0o755)
        outcome = run_environment(environment, Path(folder), store, arguments.workers)
    sys.stdout.write(f"{outcome.name:22} {WORDS[outcome.passed]:8} {time.monotonic() - began:6.0f} s  {outcome.text}\n")
    sys.stdout.flush()
    if arguments.record:
        record_outcome(outcome)
    return outcome.passed is False


if __name__ == "__main__":
    raise SystemExit(main())
