"""A change of a definition file rebuilds every native module that reads it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
NATIVE = SOURCE / "mercer" / "_native"
MODULES = sorted(path for path in NATIVE.glob("*/*.py") if "cython.cimports.mercer" in path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def list_definitions():
    sys.path.insert(0, str(ROOT / "tools"))  # translate.py imports its neighbour by its plain name
    try:
        from tools.translate import list_definitions
    finally:
        sys.path.pop(0)
    return list_definitions


def read_cimports(path):
    """Return the definition files that the syntax tree of a module names; those that the build makes are not stored."""
    files = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cython.cimports.mercer"):
            folder = SOURCE / Path(*node.module.split(".")[2:])
            files |= {folder / f"{alias.name}.pxd" for alias in node.names} | {folder.with_suffix(".pxd")}
    return {file for file in files if file.exists()}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_definition_that_a_module_names_is_listed(path, list_definitions):
    assert read_cimports(path) <= list_definitions(path, SOURCE, {})


def test_definitions_are_followed_through_parentheses_and_other_definitions(list_definitions):
    tree = NATIVE / "tree"
    made = {
        path.relative_to(SOURCE).with_suffix(".pxd"): path for path in tree.glob("*.py") if path.stem != "node_lanes"
    }
    listed = {file.name for file in list_definitions(tree / "node_search.py", SOURCE, made)}
    # The scans are named in parentheses, and what these name are made from Python or are definition files.
    assert {"split_scan.py", "impurity.py", "node_lanes.pxd", "inline.pxd"} <= listed


def test_a_definition_that_is_made_counts_as_its_source(list_definitions, tmp_path):
    place = Path("mercer/_native/boosting/leaves.pxd")
    source = NATIVE / "boosting" / "leaves.py"
    listed = list_definitions(NATIVE / "boosting" / "boosting_growth.py", SOURCE, {place: source})
    assert source in listed


def test_a_changed_module_is_translated_again(tmp_path):
    pytest.importorskip("Cython")
    module, out = tmp_path / "doubled.py", tmp_path / "out"
    out.mkdir()
    command = [sys.executable, str(ROOT / "tools" / "translate.py"), "--source-root", str(tmp_path)]
    command += ["--definitions", str(tmp_path / "made"), "--shared", "mercer._native.cython_utility"]
    command += ["--output-folder", str(out), "--depfile", str(tmp_path / "doubled.dep"), str(module)]
    texts = []
    for factor in (2, 3):
        module.write_text(f"def double(x):\n    return {factor} * x\n", encoding="utf-8")
        subprocess.run(command, check=True)
        texts.append((out / "doubled.c").read_text(encoding="utf-8"))
    assert texts[0] != texts[1]
