"""Definition files that the build makes from annotated Python."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def load_tool():
    spec = importlib.util.spec_from_file_location("make_definitions", ROOT / "tools" / "make_definitions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOURCE = '''"""A module."""

import cython
import numpy

from mercer._native.shared import inline as elementary

__all__ = ["scale"]

real = cython.fused_type(cython.float, cython.double)
FIRST = 3
HALF = 0.5
Place = cython.struct(row=cython.longlong, share=cython.double)


@numpy.errstate(all="ignore")
def scale(x: cython.const[real][:, ::1], row: cython.Py_ssize_t, out: cython.longlong[::1]) -> cython.void:
    """Scale a row."""
    k: cython.Py_ssize_t
    total: cython.double = 0.0
    room = cython.declare(cython.double[8])
    for k in range(x.shape[1]):
        total += HALF * x[row, k]
    out[FIRST] = cython.cast(cython.longlong, total)
'''

DEFINITION = '''# Made from scaling.py by tools/make_definitions.py.
cimport cython
from libc.math cimport INFINITY, NAN
from mercer._native.shared cimport inline as elementary
ctypedef fused real:
    float
    double
cdef enum:
    FIRST = 3
cdef extern from *:
    """
    #define MERCER_SCALING_HALF 0.5
    """
    const double HALF "MERCER_SCALING_HALF"
cdef struct Place:
    long long row
    double share

cdef inline void scale(const real[:, ::1] x, Py_ssize_t row, long long[::1] out) noexcept nogil:
    cdef Py_ssize_t k
    cdef double total = 0.0
    cdef double room[8]
    for k in range(x.shape[1]):
        total += HALF * x[row, k]
    out[FIRST] = cython.cast(cython.longlong, total)
'''


def test_annotations_become_c_types_and_imports_cimports():
    assert load_tool().make_definition(SOURCE, "scaling") == DEFINITION


def test_a_function_without_types_is_refused():
    tool = load_tool()
    with pytest.raises(tool.DefinitionError, match="needs a C type"):
        tool.make_definition("def f(x) -> cython.void:\n    x[0] = 1\n", "bare")


def test_a_file_is_written_again_only_if_it_changes(tmp_path):
    tool, source, target = load_tool(), tmp_path / "scaling.py", tmp_path / "made" / "scaling.pxd"
    source.write_text(SOURCE)
    tool.write_definition(source, target)
    written = target.stat().st_mtime_ns
    tool.write_definition(source, target)
    assert target.stat().st_mtime_ns == written
    assert [file.name for file in target.parent.iterdir()] == ["scaling.pxd"]


RECORDS = '''"""A compiled module."""

import cython

from mercer._native.tree import growth_records as records


class Node:
    """A node."""

    rows: cython.const[cython.int][::1]
    quads: records.Quad[::1]

    def __init__(self, rows, quads):
        self.rows, self.quads = rows, quads


def search(node: Node):
    """Search a node."""
'''


def test_of_a_module_with_classes_their_fields_alone_are_defined():
    text = load_tool().make_definition(RECORDS, "search")
    assert text.endswith(
        "from mercer._native.tree cimport growth_records as records\n"
        "\ncdef class Node:\n    cdef const int[::1] rows\n    cdef records.Quad[::1] quads\n"
    )


def test_types_are_imported_for_the_checker_and_large_integers_are_marked():
    source = (
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
        "    from mercer._native.tree.search import Node\n"
        "def read(node: Node) -> cython.longlong:\n    return node.key & 0xFFFFFFFF\n"
    )
    text = load_tool().make_definition(source, "reading")
    assert "from mercer._native.tree.search cimport Node\n" in text
    assert "cdef inline long long read(Node node) noexcept nogil:\n    return node.key & 4294967295LL\n" in text
