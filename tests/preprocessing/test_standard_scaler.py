"""StandardScaler: mean zero and variance one of the training rows, units that no longer matter, gaps that stay."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.preprocessing
from sklearn.datasets import load_iris, load_wine
from sklearn.pipeline import make_pipeline

import mercer
from mercer.decomposition import PCA
from mercer.errors import DataError
from mercer.preprocessing import StandardScaler
from mercer.svm import SVC

UNITS = np.array([1e-3, 1.0, 1e4, 2.54, 1e6])
ROWS = np.random.default_rng(0).normal(size=(700, 5)) * UNITS + [3.0, -1e5, 2e4, 0.0, 1e7]
GAPS = np.where(np.random.default_rng(1).random(ROWS.shape) < 0.1, np.nan, ROWS)


@pytest.mark.catalogue("WF-01")
def test_a_case_by_hand():
    scaler = StandardScaler().fit([[1.0, 2.0], [3.0, 2.0], [5.0, 2.0]])
    # The root of the mean square after centring, (4 + 0 + 4) / 3; a constant column is left in its unit.
    assert scaler.mean_.tolist() == [3.0, 2.0]
    assert scaler.var_.tolist() == [8 / 3, 0.0]
    assert scaler.scale_.tolist() == [np.sqrt(8 / 3), 1.0]
    assert scaler.n_samples_seen_ == 3
    np.testing.assert_allclose(scaler.transform([[3.0 + np.sqrt(8 / 3), 7.0]]), [[1.0, 5.0]])


@pytest.mark.catalogue("WF-01")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_training_rows_get_mean_zero_and_variance_one(dtype):
    rows = ROWS.astype(dtype)
    scaled = StandardScaler().fit_transform(rows)
    assert scaled.dtype == dtype
    digits = 1e-12 if dtype == np.float64 else 1e-6
    wide = scaled.astype(np.float64)
    np.testing.assert_allclose(wide.mean(axis=0), 0.0, atol=digits * 10)
    np.testing.assert_allclose(wide.std(axis=0), 1.0, atol=digits)


@pytest.mark.catalogue("WF-01")
def test_other_rows_are_scaled_by_the_statistics_of_the_training_rows():
    scaler = StandardScaler().fit(ROWS[:300])
    mean, deviation = ROWS[:300].mean(axis=0), ROWS[:300].std(axis=0)
    np.testing.assert_allclose(scaler.transform(ROWS[300:]), (ROWS[300:] - mean) / deviation, atol=1e-9)
    one_by_one = np.concatenate([scaler.transform(row[None]) for row in ROWS[300:320]])
    np.testing.assert_array_equal(one_by_one, scaler.transform(ROWS[300:])[:20])


@pytest.mark.catalogue("WF-01")
def test_support_vectors_and_components_do_not_depend_on_the_units_of_columns():
    X, y = load_iris(return_X_y=True)
    other = X * [100.0, 0.01, 2.54, 1e4] + [5.0, -3.0, 0.0, 1e3]
    first, second = (make_pipeline(StandardScaler(), SVC(tol=1e-8)).fit(rows, y) for rows in (X, other))
    np.testing.assert_allclose(first.decision_function(X), second.decision_function(other), atol=1e-5)
    plain, moved = (make_pipeline(StandardScaler(), PCA(2)).fit(rows) for rows in (X, other))
    np.testing.assert_allclose(plain.transform(X), moved.transform(other), atol=1e-9)
    # Without it they do.
    assert SVC().fit(X, y).score(X, y) - SVC().fit(other, y).score(other, y) > 0.01


@pytest.mark.catalogue("WF-01")
def test_centring_alone_leaves_distances_and_the_inverse_gives_rows_back():
    centred = StandardScaler(with_std=False).fit(ROWS)
    assert centred.scale_ is None
    np.testing.assert_allclose(centred.transform(ROWS), ROWS - ROWS.mean(axis=0), rtol=1e-9, atol=1e-6)
    for options in ({}, {"with_mean": False}, {"with_std": False}):
        scaler = StandardScaler(**options).fit(GAPS)
        np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(GAPS)), GAPS, rtol=1e-12)


@pytest.mark.parametrize("options", [{}, {"with_mean": False}, {"with_std": False}])
@pytest.mark.parametrize("weight", [None, np.random.default_rng(2).random(700)], ids=["plain", "weighted"])
def test_statistics_are_those_of_scikit_learn_with_missing_entries_and_weights(options, weight):
    ours = StandardScaler(**options).fit(GAPS, sample_weight=weight)
    theirs = sklearn.preprocessing.StandardScaler(**options).fit(GAPS, sample_weight=weight)
    for name in ("mean_", "var_", "scale_", "n_samples_seen_"):
        found, expected = getattr(ours, name), getattr(theirs, name)
        assert (found is None) == (expected is None), name
        if found is not None:
            np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=name)
    assert np.isnan(ours.transform(GAPS)).sum() == np.isnan(GAPS).sum()


def test_batches_give_the_statistics_of_one_fit_and_a_saved_model_goes_on(tmp_path):
    weight = np.arange(700.0) % 3
    whole = StandardScaler().fit(GAPS, sample_weight=weight)
    parts = StandardScaler().fit(GAPS[:100], sample_weight=weight[:100])
    parts.partial_fit(GAPS[100:101], sample_weight=weight[100:101])
    mercer.save(parts, tmp_path / "scaler.mercer")
    parts = mercer.load(tmp_path / "scaler.mercer").partial_fit(GAPS[101:], sample_weight=weight[101:])
    for name in ("mean_", "var_", "scale_", "n_samples_seen_"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9, err_msg=name)


def test_weights_are_repetitions():
    weight = np.random.default_rng(2).integers(0, 4, 700)
    weighted = StandardScaler().fit(GAPS, sample_weight=weight)
    repeated = StandardScaler().fit(GAPS.repeat(weight, axis=0))
    np.testing.assert_allclose(weighted.var_, repeated.var_, rtol=1e-9)
    np.testing.assert_array_equal(weighted.n_samples_seen_, repeated.n_samples_seen_)


def test_sparse_rows_stay_sparse_and_give_the_numbers_of_dense_ones():
    dense = np.where(np.random.default_rng(2).random(GAPS.shape) < 0.5, 0.0, GAPS)
    dense, rows = StandardScaler(with_mean=False).fit_transform(dense), scipy.sparse.csr_array(dense)
    before = rows.copy()
    scaler = StandardScaler(with_mean=False).fit(rows)
    found = scaler.transform(rows)
    assert found.format == "csr"
    np.testing.assert_allclose(found.toarray(), dense, rtol=1e-12)
    np.testing.assert_allclose(scaler.inverse_transform(found).toarray(), rows.toarray(), rtol=1e-12)
    np.testing.assert_array_equal(before.data, rows.data)


def test_missing_entries_are_kept_on_a_device_in_a_file_and_in_a_stream(tmp_path):
    torch = pytest.importorskip("torch")
    expected = StandardScaler().fit(GAPS)
    np.save(tmp_path / "rows.npy", GAPS)
    for rows in (torch.asarray(GAPS), str(tmp_path / "rows.npy"), [GAPS[:333], GAPS[333:]]):
        scaler = StandardScaler().fit(rows)
        np.testing.assert_allclose(np.asarray(scaler.var_), expected.var_, rtol=1e-9)
        np.testing.assert_allclose(np.asarray(scaler.transform(rows)), expected.transform(GAPS), rtol=1e-6)
    back = scaler.fit(torch.asarray(GAPS)).inverse_transform(scaler.transform(torch.asarray(GAPS)))
    np.testing.assert_allclose(back, GAPS, rtol=1e-12)


def test_rows_are_overwritten_only_where_that_is_asked_for():
    rows = ROWS.copy()
    assert StandardScaler().fit(rows).transform(rows) is not rows
    np.testing.assert_array_equal(rows, ROWS)
    scaler = StandardScaler(copy=False).fit(rows)
    assert scaler.transform(rows) is rows
    np.testing.assert_array_equal(rows, StandardScaler().fit_transform(ROWS))
    assert scaler.inverse_transform(rows) is rows
    np.testing.assert_allclose(rows, ROWS, rtol=1e-12)
    rows.flags.writeable = False
    assert scaler.transform(rows) is not rows


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_extreme_columns_do_not_overflow_into_their_neighbours(size):
    X = np.column_stack([ROWS[:, 0], ROWS[:, 0] * size, np.full(700, size)])
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(scaled[:, 0], StandardScaler().fit_transform(ROWS[:, :1])[:, 0], rtol=1e-9)
    assert not scaled[:, 2].any()


def test_fractional_weights_do_not_make_a_constant_column_vary():
    weight = np.random.default_rng(2).random(700) * 1e-5
    scaler = StandardScaler().fit(np.full((700, 1), 0.1), sample_weight=weight)
    assert (scaler.var_.tolist(), scaler.scale_.tolist()) == ([0.0], [1.0])


def test_a_column_without_entries_stays_missing():
    X = np.column_stack([ROWS[:, 0], np.full(700, np.nan)])
    scaler = StandardScaler().fit(X)
    assert scaler.n_samples_seen_.tolist() == [700, 0]
    assert np.isnan([scaler.mean_[1], scaler.var_[1]]).all()
    assert np.isnan(scaler.transform(X)[:, 1]).all()


def test_a_pipeline_keeps_the_names_of_columns():
    frame = load_wine(as_frame=True).data
    scaled = StandardScaler().set_output(transform="pandas").fit_transform(frame)
    assert list(scaled.columns) == list(frame.columns)


def test_errors_say_what_to_do():
    infinite = np.where(np.arange(15).reshape(5, 3) == 4, np.inf, 1.0)
    with pytest.raises(DataError) as caught:
        StandardScaler().fit(infinite)
    assert str(caught.value) == (
        "StandardScaler: Input X contains infinity or a value too large for dtype('float64'), 1 in all. Mark missing "
        "entries by NaN, and drop or clip the others."
    )
    with pytest.raises(DataError) as caught:
        StandardScaler().fit(np.ones((5, 3))).transform(infinite)
    assert str(caught.value) == (
        "StandardScaler: Input X contains infinity or a value too large for dtype('float64'). Mark missing entries by "
        "NaN, and drop or clip the others."
    )
    with pytest.raises(DataError) as caught:
        StandardScaler().fit(scipy.sparse.csr_array(np.eye(3)))
    assert str(caught.value) == (
        "StandardScaler: Cannot center sparse matrices: pass `with_mean=False` instead, or make the rows dense; got 3 "
        "sparse columns."
    )
    with pytest.raises(DataError) as caught:
        StandardScaler().fit(np.ones((5, 3))).inverse_transform(np.ones((5, 2)))
    assert str(caught.value) == (
        "X has 2 features, but StandardScaler is expecting 3 features as input of inverse_transform; give what "
        "transform returned."
    )
