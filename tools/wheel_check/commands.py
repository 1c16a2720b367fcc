"""Try the installed command line: the help of every command, and a study with all that follows from one.

Runs in an environment that has the extra `app`; what fails is listed, and the status is then 1.
"""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PROGRAM = Path(sys.prefix) / ("Scripts" if sys.platform == "win32" else "bin") / "mercer"
# A study of a bundled table, and the commands that read its report or its model. A word ending in a suffix of
# `OUTPUTS` after `-o` or `--python` is a file that the command must write.
STEPS = (
    "run --example classification --quick --no-open -o report",
    "run --example regression --quick --no-open -o numbers",
    "run --example clusters --quick --no-open -o groups",
    "example classification -o rows.csv",
    "predict report rows.csv -o predicted.csv",
    "predict report rows.csv -o predicted.parquet --coverage 0.9",
    "explain report rows.csv --row 3",
    "export report --python model.py",
    "export report --sklearn model.pickle",
    "watch report rows.csv",
    "verify report/model.mercer",
    "report report",
    "compare report numbers",
    "versions",
    "completion bash",
)
OUTPUTS = (".csv", ".parquet", ".py", ".pickle")


def main() -> int:
    """Return 0 if every command ends well, after a line for each that does not."""
    failures = [*check_modules(), *check_help(), *check_steps()]
    for subject, reason in failures:
        print(f"{subject}: {reason}")
    print(f"{len(failures)} failures")
    return int(bool(failures))


def check_modules() -> Iterator[tuple[str, str]]:
    """Yield the modules of the command line that cannot be imported; those of ONNX need another extra."""
    import mercer

    package = Path(mercer.__file__).parent
    for path in sorted((package / "app").rglob("*.py")):
        name = ".".join(("mercer", *path.relative_to(package).with_suffix("").parts)).removesuffix(".__init__")
        try:
            importlib.import_module(name)
        except Exception as error:
            yield name, f"{type(error).__name__}: {error}"


def check_help() -> Iterator[tuple[str, str]]:
    """Yield the commands whose help cannot be printed."""
    from mercer.app.command import COMMANDS

    for words in ([], *([command] for command in COMMANDS)):
        yield from _try_command([*words, "--help"])


def check_steps() -> Iterator[tuple[str, str]]:
    """Yield the commands that fail or do not write their file."""
    for step in STEPS:
        words = step.split()
        yield from _try_command(words)
        for written in (word for word in words if word.endswith(OUTPUTS)):
            if not Path(written).is_file():
                yield step, f"{written} was not written"
    if not Path("report/report.html").is_file():
        yield "run", "report/report.html was not written"


def _try_command(words: list[str]) -> Iterator[tuple[str, str]]:
    """Run one command, and yield what it said if it fails or says nothing."""
    ran = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    said = (ran.stdout + ran.stderr).strip()
    if ran.returncode != 0:
        yield f"mercer {' '.join(words)}", f"status {ran.returncode}: {said[-800:]}"


if __name__ == "__main__":
    raise SystemExit(main())
