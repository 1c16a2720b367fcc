"""What the metadata promise was run, and what the recipe of a release builds is promised."""

import re
import tomllib
from pathlib import Path

from tools.matrix.table import BEGIN, END, PAGE

ROOT = Path(__file__).parents[2]
CONTENT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MINOR = re.compile(r"Programming Language :: Python :: (3\.\d+)")
CLASSIFIED = {match[1] for match in map(MINOR.fullmatch, CONTENT["project"]["classifiers"]) if match}


def read_outcomes():
    """Return the outcome of each environment in the table of the page about releases."""
    table = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {row[0]: row[1] for row in rows}


def test_a_python_has_a_classifier_if_the_laws_passed_there_with_old_and_new_dependencies():
    outcomes = read_outcomes()
    run = {name[6:].split(",")[0] for name in outcomes if re.fullmatch(r"python3\.\d+, \w+", name)}
    proven = {
        one for one in run if all(outcomes.get(f"python{one}, {end}") == "passed" for end in ("oldest", "newest"))
    }
    assert proven == CLASSIFIED


def test_wheels_are_built_for_every_python_that_may_install_them():
    built = [f"{name[2]}.{name[3:-2]}" for name in CONTENT["tool"]["cibuildwheel"]["build"]]
    assert set(built) >= CLASSIFIED
    assert CONTENT["project"]["requires-python"] == f">={built[0]}"


def test_the_workflows_call_targets_and_tools_that_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")]
    called = {name for text in texts for name in re.findall(r"\bmake ([\w-]+)", text)}
    tools = {name for text in texts for name in re.findall(r"-m tools\.(\w+)", text)}
    assert called <= targets
    assert tools
    assert all((ROOT / "tools" / name / "__main__.py").is_file() for name in tools)


def test_the_build_runs_its_programs_by_the_interpreter_that_builds():
    # A file that is executable is run by the `python3` of the path, which a system with `python3.14` alone has not.
    text = (ROOT / "meson.build").read_text(encoding="utf-8")
    programs = re.findall(r"run_command\((py, )?'([\w/.]+)'", text)
    assert len(programs) == text.count("run_command(")
    assert all(by_name or not (ROOT / path).stat().st_mode & 0o111 for by_name, path in programs)
