"""``python -m tools.build_times``: measure what a newcomer waits for, each step in a fresh clone or environment.

It takes about ten minutes on an idle machine without the tests; ``--only "make test"`` measures them. ``--record``
writes the outcomes into the table of CONTRIBUTING.md. The compiler's cache is off, since a newcomer has none.
"""

import argparse
import datetime
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.matrix.table import count_cores

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN = "<!-- build times: written by python -m tools.build_times --record -->"
END = "<!-- end of build times -->"
HEAD = "| step | seconds | result | day | machine |\n|---|---|---|---|---|\n"


@dataclass(frozen=True)
class Outcome:
    """How long a step took in seconds, and what came of it."""

    seconds: float
    text: str


Step = Callable[[Path], str]


def measure(step: Step) -> Outcome:
    """Time one step in an empty folder with a fresh clone; raise if a command fails."""
    with tempfile.TemporaryDirectory(prefix="mercer-build-") as folder:
        _call("git", "clone", "--quiet", str(ROOT), f"{folder}/mercer", cwd=Path(folder))
        began = time.monotonic()
        text = step(Path(folder) / "mercer")
        return Outcome(time.monotonic() - began, text)


def _make_run(clone: Path) -> str:
    """Run the main job from nothing."""
    _call("make", "run", cwd=clone)
    report = clone / "report" / "report.html"
    return f"a report of {report.stat().st_size / 2**10:.0f} KiB"


def _make_test(clone: Path) -> str:
    """Lint, build and test from nothing."""
    said = _call("make", "test", cwd=clone)
    counts = re.findall(r"(\d+) passed", said)
    return f"{' and '.join(counts)} tests passed"


def _pip_install(clone: Path) -> str:
    """Install the library into a fresh environment."""
    python = _make_environment(clone)
    _call(python, "-m", "pip", "install", "--quiet", ".", cwd=clone)
    return _call(python, "-c", "import mercer; print('mercer', mercer.__version__)", cwd=clone.parent).strip()


def _build_wheel(clone: Path) -> str:
    """Build a wheel with every CPU level."""
    python = _make_environment(clone)
    options = ["--no-deps", "--config-settings=setup-args=-Dlevels=all", "--wheel-dir", str(clone.parent / "wheels")]
    _call(python, "-m", "pip", "wheel", "--quiet", *options, ".", cwd=clone)
    (wheel,) = (clone.parent / "wheels").glob("mercer-*.whl")
    return f"a wheel of {wheel.stat().st_size / 2**20:.1f} MiB"


STEPS: dict[str, Step] = {
    "make run": _make_run,
    "pip install .": _pip_install,
    "wheel with every CPU level": _build_wheel,
    "make test": _make_test,
}


def _make_environment(clone: Path) -> str:
    """Return the interpreter of a fresh environment beside the clone."""
    _call(sys.executable, "-m", "venv", "venv", cwd=clone.parent)
    return str(clone.parent / "venv" / "bin" / "python")


def _call(*command: str, cwd: Path) -> str:
    """Run a command without the compiler's cache and without a browser; return what it printed."""
    hidden = ("VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS", "MAKELEVEL", "PYTHONDONTWRITEBYTECODE")
    variables = {name: value for name, value in os.environ.items() if name not in hidden}
    variables |= {"CCACHE_DISABLE": "1", "BROWSER": "true"}
    ran = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise RuntimeError(
            f"{' '.join(command[:3])} ended with status {ran.returncode}: {(ran.stdout + ran.stderr)[-2000:]}"
        )
    return ran.stdout


def update_table(text: str, name: str, outcome: Outcome, machine: str) -> str:
    """Return the text of a page with the row of one step replaced, or added at the end of its table."""
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    row = f"| `{name}` | {outcome.seconds:.0f} | {outcome.text} | {day} | {machine} |"
    before, rest = text.split(BEGIN)
    table, after = rest.split(END)
    kept = [line for line in table.splitlines() if line.startswith("| `") and not line.startswith(f"| `{name}` |")]
    return f"{before}{BEGIN}\n\n{HEAD}" + "\n".join([*kept, row]) + f"\n\n{END}{after}"


def _name_machine() -> str:
    """Return the number of cores and the name of the CPU, where the system tells it."""
    facts = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.*)", facts.read_text()) if facts.exists() else None
    return f"{count_cores()} cores{f' of {named[1].strip()}' if named else ''}"


def main() -> int:
    """Measure the chosen steps one after another and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m tools.build_times", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="STEP", choices=list(STEPS), help="leave out all other steps")
    parser.add_argument("--record", action="store_true", help="write the outcomes into the table of CONTRIBUTING.md")
    options = parser.parse_args()
    for name in options.only or [step for step in STEPS if step != "make test"]:
        outcome = measure(STEPS[name])
        sys.stdout.write(f"{name:28} {outcome.seconds:6.0f} s  {outcome.text}\n")
        sys.stdout.flush()
        if options.record:
            text = update_table(PAGE.read_text(encoding="utf-8"), name, outcome, _name_machine())
            PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
