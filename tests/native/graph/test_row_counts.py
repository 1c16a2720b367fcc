"""Counts of families, bins and class scores, against NumPy, at every level."""

import importlib

import numpy
import pytest


@pytest.fixture
def row_counts(level):
    return importlib.import_module(f"mercer._native.{level}.row_counts")


@pytest.fixture
def blanket_scores(level):
    return importlib.import_module(f"mercer._native.{level}.blanket_scores")


def draw(m=300, sizes=(2, 3, 4, 2)):
    random = numpy.random.default_rng(0)
    columns = numpy.array([random.integers(0, size, m) for size in sizes], dtype=numpy.uint8)
    return columns, numpy.array(sizes, dtype=numpy.intp), random.integers(1, 5, m).astype(float)


def test_extensions_count_each_candidate_beside_the_parents(row_counts):
    columns, sizes, weight = draw()
    base = columns[0].astype(numpy.int32)
    candidates = numpy.array([1, 2], dtype=numpy.intp)
    starts = numpy.array([0, 2 * 3 * 2], dtype=numpy.intp)
    out = numpy.zeros(2 * 3 * 2 + 2 * 4 * 2)
    row_counts.count_extensions(columns, sizes, base, 3, candidates, starts, weight, out)
    for candidate, start in zip(candidates, starts, strict=True):
        expected = numpy.zeros((2, sizes[candidate], 2))
        numpy.add.at(expected, (columns[0], columns[candidate], columns[3]), weight)
        numpy.testing.assert_array_equal(out[start : start + expected.size], expected.ravel())


def test_codes_are_extended_and_counted(row_counts):
    columns, sizes, weight = draw()
    base = columns[1].astype(numpy.int32)
    code = numpy.empty_like(base)
    row_counts.extend_codes(base, columns[2], int(sizes[2]), code)
    numpy.testing.assert_array_equal(code, columns[1].astype(int) * 4 + columns[2])
    out = numpy.zeros(12)
    row_counts.count_cells(code, weight, out)
    numpy.testing.assert_array_equal(out, numpy.bincount(code, weight, 12))


@pytest.mark.parametrize("real", [numpy.float32, numpy.float64])
def test_bins_are_the_numbers_of_edges_below(blanket_scores, real):
    X = numpy.array([[0.0, 5.0], [1.0, numpy.nan], [1.5, -9.0], [2.0, 5.5]], dtype=real)
    edges, starts = numpy.array([1.0, 1.75, 5.0]), numpy.array([0, 2, 3], dtype=numpy.intp)
    out = numpy.zeros(X.shape, numpy.uint8)
    blanket_scores.bin_rows(X, edges, starts, out)
    assert out.tolist() == [[0, 0], [0, 2], [1, 0], [2, 1]]


def test_class_scores_add_the_entries_of_each_family(blanket_scores):
    codes = numpy.array([[0, 1], [1, 2]], dtype=numpy.uint8)
    # One family of column 0, one of columns 0 and 1 (2 and 3 states), each with two classes.
    tables = numpy.arange(4.0 + 12.0)
    members, strides = numpy.array([0, 0, 1], dtype=numpy.intp), numpy.array([2, 6, 2], dtype=numpy.intp)
    starts, offsets = numpy.array([0, 1, 3], dtype=numpy.intp), numpy.array([0, 4], dtype=numpy.intp)
    out = numpy.zeros((2, 2))
    blanket_scores.add_family_scores(codes, members, strides, starts, offsets, tables, out)
    assert out.tolist() == [[0 + 6, 1 + 7], [2 + 14, 3 + 15]]
