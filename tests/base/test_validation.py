"""Input checks: the fast path, the threaded look for NaN, and weights."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import type_of_target

from mercer._base.validation import (
    accept_rows,
    check_finite,
    check_labels,
    check_new_rows,
    check_rows,
    check_weight,
    few_rows,
    flatten_targets,
    name_targets,
)


class Model(BaseEstimator):
    def fit(self, X, y=None):
        return self


def fitted_model(n_features=4):
    model = Model()
    model.n_features_in_ = n_features
    return model


@pytest.mark.parametrize("spoiler", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("threads", [1, 3])
def test_one_bad_value_in_any_block_is_found(spoiler, threads):
    X = np.random.default_rng(0).normal(size=(40_000, 8))
    check_finite(X, threads, Model())
    for row in (0, 17_000, 39_999):
        bad = X.copy()
        bad[row, 3] = spoiler
        with pytest.raises(ValueError, match="Input X contains"):
            check_finite(bad, threads, Model())


def test_sums_that_overflow_are_not_taken_for_infinity():
    check_finite(np.full((1000, 3), 1e308), 1, Model())
    check_finite(np.array([[1e308, 1e308], [-1e308, -1e308]]), 1, Model())


def test_opposite_infinities_are_found():
    with pytest.raises(ValueError, match="infinity"):
        check_finite(np.array([[np.inf, -np.inf]]), 1, Model())


def test_sparse_rows_are_checked_where_values_are_stored():
    X = scipy.sparse.random(1000, 50, 0.1, "csr", random_state=0)
    check_finite(X, 2, Model())
    X.data[7] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        check_finite(X, 2, Model())


def test_a_few_numpy_rows_pass_untouched():
    X = np.ones((1, 4))
    assert check_new_rows(fitted_model(), X) is X
    assert check_new_rows(fitted_model(), np.asfortranarray(np.ones((3, 4)))).flags.c_contiguous


@pytest.mark.parametrize("order", ["C", "F"])
def test_many_numpy_rows_are_not_inspected_by_scikit_learn(order, monkeypatch):
    monkeypatch.setattr("mercer._base.validation.validate_data", None)
    X = np.ones((50_000, 4), order=order)
    assert few_rows(fitted_model(), X) is None
    assert check_new_rows(fitted_model(), X).flags.c_contiguous
    assert accept_rows(fitted_model(), X, ordered=False) is X
    zeros = np.zeros((50_000, 4))
    assert accept_rows(fitted_model(), zeros, threads=2) is zeros


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
def test_whole_numbers_become_float64_without_scikit_learns_inspection(dtype, monkeypatch):
    monkeypatch.setattr("mercer._base.validation.validate_data", None)
    X = np.asfortranarray(np.arange(12).reshape(3, 4)).astype(dtype, order="K")
    rows = check_new_rows(fitted_model(), X)
    assert rows.dtype == np.float64
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, X)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("place", [0, 200_000, 399_999])
def test_one_wrong_value_among_many_rows_is_found(threads, value, place):
    X = np.ones((400_000, 4))
    X[place, 3] = value
    assert accept_rows(fitted_model(), X, threads=threads) is None
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        check_new_rows(fitted_model(), X)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.full((1, 4), np.nan), "NaN"),
        (np.ones((1, 3)), "3 features, but Model is expecting 4"),
        (np.ones(4), "Expected 2D"),
        (np.ones((0, 4)), "0 sample"),
        (scipy.sparse.eye_array(4), "[Ss]parse"),
    ],
)
def test_what_the_fast_path_will_not_take_gets_scikit_learns_words(X, words):
    with pytest.raises((ValueError, TypeError), match=words):
        check_new_rows(fitted_model(), X)


def test_integers_become_float64_and_floats_keep_their_precision():
    assert check_rows(Model(), np.arange(6).reshape(2, 3)).dtype == np.float64
    assert check_rows(Model(), np.ones((2, 3), np.float32)).dtype == np.float32


def test_weights_become_one_float64_per_row():
    assert check_weight(Model(), None, 3) is None
    assert check_weight(Model(), 2, 3).tolist() == [2.0, 2.0, 2.0]
    assert check_weight(Model(), [1, 0, 3], 3).dtype == np.float64
    with pytest.raises(ValueError, match="Sample weights must be 1D array or scalar"):
        check_weight(Model(), np.ones((3, 1)), 3)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int8])
def test_labels_within_a_short_range_are_labels(dtype):
    check_labels(np.arange(100, dtype=dtype) % 40)


def test_labels_get_scikit_learns_words_where_they_may_be_none():
    with pytest.raises(ValueError, match="Unknown label type"):
        check_labels(np.array([0.5, 1.5, 2.5, 3.5]))
    with pytest.warns(UserWarning, match="number of unique classes"):
        check_labels(np.arange(100))


@pytest.mark.parametrize(
    "y",
    [
        np.array([0, 1] * 5),
        np.array([3, 3, 3, 3, 3]),
        np.arange(12) % 3,
        np.array([0, 1000] * 5),
        np.array(["a", "b"] * 5),
        np.array([0.5, 1.5] * 5),
        np.array([True, False] * 5),
    ],
    ids=["two", "one", "three", "far apart", "texts", "numbers", "booleans"],
)
def test_targets_have_the_name_that_scikit_learn_gives_them(y):
    assert name_targets(y) == type_of_target(y)


def test_targets_are_flattened_as_scikit_learn_does():
    y = np.arange(4.0)
    assert flatten_targets(y) is y
    assert flatten_targets(["a", "b"]).tolist() == ["a", "b"]
    with pytest.warns(DataConversionWarning):
        assert flatten_targets(y[:, None]).shape == (4,)


def test_ordinary_weights_are_taken_as_they_are_and_others_are_looked_at():
    weight = np.array([1.0, 2.0, 0.0])
    assert check_weight(Model(), weight, 3) is weight
    with pytest.raises(ValueError, match="NaN"):
        check_weight(Model(), np.array([1.0, np.nan, 0.0]), 3)
    with pytest.raises(ValueError, match="non-negative"):
        check_weight(Model(), np.array([1.0, -1.0, 0.0]), 3)
