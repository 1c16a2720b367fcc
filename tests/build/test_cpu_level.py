"""Which build of the native modules is used, and what is said when the wish cannot be met."""

import importlib
import os
import subprocess
import sys

import pytest

import mercer._native.tree  # noqa: F401 - binds the attribute `tree` of the package
from mercer import _native
from mercer._native.level import LEVELS, choose_level, list_built_levels, list_levels
from mercer.errors import CpuLevelError

# The package has a function of the same name as this module.
level_module = importlib.import_module("mercer._native.level")
REPORT = (
    "from mercer import _native; from mercer._native.shared import elementary; "
    "print(_native.level(), elementary.__name__)"
)


def run_python(code, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MERCER_")}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment | variables, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", list_built_levels())
def test_every_built_level_of_this_cpu_can_be_forced(name):
    assert run_python(REPORT, MERCER_CPU=name).stdout.split() == [name, f"mercer._native.{name}.elementary"]


def test_the_highest_built_level_is_the_default():
    assert run_python(REPORT).stdout.split()[0] == list_built_levels()[-1]
    assert choose_level("") == list_built_levels()[-1]


def test_a_level_that_was_left_out_of_the_build_is_passed_over_or_named(monkeypatch):
    monkeypatch.setattr(level_module, "list_levels", lambda: ["v2", "v3", "v4"])
    monkeypatch.setattr(level_module, "_is_built", lambda name: name == "v3")
    assert choose_level("") == "v3"
    with pytest.raises(CpuLevelError, match=r"this build has the levels v3; got 'v2'. Unset MERCER_CPU, or build"):
        choose_level("v2")
    monkeypatch.setattr(level_module, "_is_built", lambda name: False)
    with pytest.raises(CpuLevelError, match=r"this build has the levels none; got 'no choice'"):
        choose_level("")


def test_native_modules_can_run_uncompiled():
    code = REPORT + "; import cython; print(cython.compiled, elementary.__file__.endswith('elementary.py'))"
    expected = ["interpreted", "mercer._native.interpreted.elementary", "False", "True"]
    assert run_python(code, MERCER_INTERPRET="1").stdout.split() == expected


def test_an_unknown_level_is_an_error_that_lists_the_levels():
    message = "MERCER_CPU: the level must be one of v2, v3, v4, plain; got 'fast'. Correct or unset it."
    with pytest.raises(CpuLevelError) as caught:
        choose_level("fast")
    assert str(caught.value) == message
    finished = run_python(REPORT, MERCER_CPU="fast")
    assert finished.returncode == 1
    assert finished.stderr.strip().endswith(message)


def test_a_level_beyond_the_cpu_is_an_error_that_names_what_it_runs(monkeypatch):
    monkeypatch.setattr(level_module, "list_levels", lambda: ["v2", "v3"])
    with pytest.raises(CpuLevelError) as caught:
        choose_level("v4")
    assert str(caught.value) == (
        "MERCER_CPU: this CPU runs the levels v2, v3; got 'v4'. "
        "Unset MERCER_CPU, or build mercer from source on this machine."
    )


def test_a_cpu_below_every_level_is_told_so(monkeypatch):
    monkeypatch.setattr(level_module, "list_levels", list)
    with pytest.raises(CpuLevelError, match="this CPU runs the levels none"):
        choose_level("")


def test_levels_are_a_prefix_of_what_exists():
    assert set(list_levels()) <= set(LEVELS)
    assert list_levels() in (["plain"], ["v2"], ["v2", "v3"], ["v2", "v3", "v4"])


def test_an_absent_native_module_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no native module 'absent'"):
        _native.tree.absent  # noqa: B018


def test_reading_a_private_name_imports_nothing():
    with pytest.raises(AttributeError, match="has no attribute '_absent'"):
        _native.tree._absent  # noqa: B018
