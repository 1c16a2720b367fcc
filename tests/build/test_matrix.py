"""The environments of `make matrix`."""

import os
import sys

from tools.matrix import running
from tools.matrix.environments import LAWS, ROOT, Environment, find_compilers, list_environments, read_lower_bounds
from tools.matrix.running import Outcome, _summarise
from tools.matrix.table import BEGIN, END, record_outcome


def test_lower_bounds_become_pins_of_the_oldest_versions():
    text = '[project]\ndependencies = ["numpy>=2.1", "scikit-learn>=1.9"]'
    assert read_lower_bounds(text, "python3.11") == ("numpy==2.1.*", "scikit-learn==1.9.*")


def test_a_bound_for_newer_interpreters_holds_for_these_alone():
    text = """[project]\ndependencies = ["numpy>=2.1", "numpy>=2.3.2; python_version >= '3.14'"]"""
    assert read_lower_bounds(text, "python3.13") == ("numpy==2.1.*",)
    assert read_lower_bounds(text, "/opt/bin/python3.14") == ("numpy==2.3.2.*",)


def test_every_requirement_of_this_project_has_a_pin():
    pins = read_lower_bounds((ROOT / "pyproject.toml").read_text(encoding="utf-8"), "python3.14")
    names = {pin.split("==")[0] for pin in pins}
    assert {"numpy", "scipy", "scikit-learn"} <= names
    assert len(names) == len(pins)


def test_every_interpreter_and_every_condition_has_one_environment():
    environments = list_environments(["/opt/python3.99"])
    names = [environment.name for environment in environments]
    assert len(set(names)) == len(names)
    assert {"python3.99", "oldest dependencies", "sigint ignored", "read-only checkout"} <= set(names)
    for name in ("oldest dependencies", "python3.99, oldest"):
        (oldest,) = (environment for environment in environments if environment.name == name)
        assert any(pin.startswith("numpy==") for pin in oldest.pins)
    laws = [environment for environment in environments if environment.tests == LAWS]
    assert {"python3.99, newest", "python3.99, oldest"} <= {environment.name for environment in laws}


def test_the_laws_of_the_matrix_exist():
    assert all((ROOT / test).is_file() for test in LAWS)


def test_each_compiler_has_an_environment_and_no_program_has_two(tmp_path, monkeypatch):
    for name in ("gcc-12", "clang-19"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    # `cc` is gcc-12, which all environments use anyway, and `clang` is clang-19 under another name.
    (tmp_path / "cc").symlink_to(tmp_path / "gcc-12")
    (tmp_path / "clang").symlink_to(tmp_path / "clang-19")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_compilers() == {"clang-19": str(tmp_path / "clang-19")}
    (listed,) = (environment for environment in list_environments(["/opt/python3.99"]) if environment.compiler)
    assert (listed.name, listed.compiler) == ("clang-19", str(tmp_path / "clang-19"))


def test_an_outcome_names_the_tests_that_failed():
    said = "....\nFAILED tests/a.py::test_b[1] - assert 1 == 2\n1 failed, 8 passed in 2.10s\n"
    assert _summarise(said) == "1 failed, 8 passed in 2.10s: tests/a.py::test_b[1]"
    assert _summarise("9 passed in 1.00s\n") == "9 passed in 1.00s"


def test_outcomes_replace_older_ones_and_new_environments_get_a_row(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{BEGIN}\n{END}\nEnd.\n")
    record_outcome(Outcome("no home", False, "3 failed, 8 passed in 2.10s"), page)
    record_outcome(Outcome("python3.12", None, "needs root"), page)
    record_outcome(Outcome("no home", True, "11 passed in 1.23s", "Python 3.99.1 NumPy 9.1", LAWS), page)
    rows = [line for line in page.read_text().splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[:2] for row in rows] == [["| no home", "passed"], ["| python3.12", "not run"]]
    assert " | Python 3.99.1 NumPy 9.1 | laws | 11 passed | " in rows[0]
    assert page.read_text().endswith("End.\n")


def test_a_stored_wheel_older_than_the_package_is_built_anew(tmp_path, monkeypatch):
    def build(*command, variables=None):
        (tmp_path / "mercer-2.whl").touch()
        return ""

    monkeypatch.setattr(running, "_call", build)
    (tmp_path / "mercer-1.whl").touch()
    environment = Environment("python3", sys.executable)
    assert running._find_wheel(environment, sys.executable, tmp_path, []).endswith("mercer-1.whl")
    os.utime(tmp_path / "mercer-1.whl", (1, 1))
    assert running._find_wheel(environment, sys.executable, tmp_path, []).endswith("mercer-2.whl")
