"""Hold-out splits: disjoint, whole, of the sizes asked for, with the shares of the classes."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.errors import DataError, ParameterError
from mercer.model_selection import hold_out_split


@pytest.mark.catalogue("MS-01")
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_parts_are_disjoint_and_whole_and_keep_the_shares_of_the_classes(data):
    n = data.draw(st.integers(2, 80))
    test = data.draw(st.integers(0, n - 1))
    validation = data.draw(st.integers(0, n - 1 - test))
    labels = data.draw(st.none() | st.lists(st.sampled_from([-1, 1, 5]), min_size=n, max_size=n))
    seed = data.draw(st.integers(0, 9))
    parts = hold_out_split(n, test=test, validation=validation, stratify=labels, random_state=seed)
    assert (len(parts.test), len(parts.validation), len(parts.train)) == (test, validation, n - test - validation)
    together = np.concatenate([parts.train, parts.validation, parts.test])
    np.testing.assert_array_equal(np.sort(together), np.arange(n))
    if labels is not None:
        for label in set(labels):
            share = np.mean(np.array(labels) == label)
            # A part differs from the exact share by less than one row.
            assert abs(np.sum(np.array(labels)[parts.test] == label) - share * test) < 1


@pytest.mark.catalogue("MS-01")
def test_a_seed_repeats_a_split_and_every_row_is_held_out_as_often_as_another():
    first, again, other = (hold_out_split(50, test=0.1, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.test, again.test)
    assert first.test.tolist() != other.test.tolist()
    labels = np.repeat(["a", "b"], [5, 15])
    counts = np.zeros(20)
    for seed in range(3000):
        counts[hold_out_split(20, test=4, stratify=labels, random_state=seed).test] += 1
    # Each class gives its share of the four rows, 1 and 3: every row is held out one time in five.
    np.testing.assert_allclose(counts / 3000, 0.2, atol=5 * np.sqrt(0.2 * 0.8 / 3000))
    assert counts[:5].sum() == 3000


@pytest.mark.catalogue("MS-01")
def test_shares_and_numbers_name_sizes():
    assert len(hold_out_split(1000).test) == 100
    parts = hold_out_split(7, test=0.3, validation=0.29, random_state=0)
    assert (len(parts.train), len(parts.validation), len(parts.test)) == (3, 2, 2)
    assert len(hold_out_split(5, test=0, random_state=0).train) == 5


@pytest.mark.parametrize(
    ("settings_", "error", "words"),
    [
        ({"test": 1.0}, ParameterError, "test must be a share in [0, 1) or a number of rows below 10; got 1.0"),
        (
            {"validation": -1},
            ParameterError,
            "or a number of rows below 10; got -1",
        ),
        ({"test": True}, ParameterError, "got True"),
        ({"test": 5, "validation": 5}, DataError, "at least one row must be left for training; got 10 rows, 5 of them"),
        ({"stratify": [1, 2]}, DataError, "stratify must have one class per row, 10; got 2"),
    ],
)
def test_sizes_that_cannot_be_are_refused(settings_, error, words):
    with pytest.raises(error, match=re.escape(words)):
        hold_out_split(10, **settings_)
