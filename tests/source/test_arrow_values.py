"""Values go between Arrow and NumPy by their buffers as pyarrow's own conversions carry them."""

import numpy as np
import pyarrow
import pytest

from mercer._source.arrow_values import make_arrow, make_arrow_table, read_arrow

ARRAYS = {
    "floats": pyarrow.array([1.5, None, float("nan"), -2.0]),
    "narrow": pyarrow.array([1.5, None, -2.0], pyarrow.float32()),
    "whole": pyarrow.array([1, -2, 3]),
    "times": pyarrow.array([0, None, 86400], pyarrow.timestamp("s")),
    "truth": pyarrow.array([True, False, True] * 5),
    "none": pyarrow.array([], pyarrow.float64()),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("form", ["array", "slice", "chunks"])
def test_values_are_those_of_pyarrow(name, form):
    array = ARRAYS[name]
    if form == "slice":
        array = array.slice(1)
    elif form == "chunks":
        array = pyarrow.chunked_array([array.slice(0, 2), array.slice(2)])
    expected = array.to_numpy() if form == "chunks" else array.to_numpy(zero_copy_only=False)
    found = read_arrow(array)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


def test_gaps_in_whole_numbers_need_a_value():
    gaps = pyarrow.array([3, None, 5])
    assert read_arrow(gaps) is None
    assert read_arrow(gaps, gap=-1).tolist() == [3, -1, 5]
    assert read_arrow(pyarrow.array(["a"])) is None
    assert read_arrow(pyarrow.array([True, None])) is None


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.5, np.nan])[::-1],
        np.array([1, 2], np.float32),
        np.arange(3),
        np.array(["2024-02-29", "NaT"], "datetime64[s]"),
        np.array(["a", "", "größer"]),
        np.array([True, False]),
    ],
    ids=lambda values: str(values.dtype),
)
def test_arrays_are_those_of_pyarrow(values):
    found = make_arrow(values)
    found.validate(full=True)
    assert found.type == pyarrow.array(values).type
    assert str(found) == str(pyarrow.array(values))
    assert make_arrow_table({"a": found}).column_names == ["a"]
