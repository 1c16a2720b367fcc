"""Scalers by the range, the magnitude and the quantiles of columns; rows of length one; values above a threshold."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.preprocessing

import mercer
from mercer._source import ArraySource
from mercer._source.block import DenseBlock
from mercer._statistic import column_values
from mercer._statistic.column_values import ColumnValues, NumberSummary
from mercer._statistic.extent import Extent
from mercer.errors import DataError, ParameterError
from mercer.preprocessing import Binarizer, MaxAbsScaler, MinMaxScaler, Normalizer, QuantileTransformer, RobustScaler

ROWS = np.random.default_rng(0).normal(size=(701, 4)) * [1e-6, 1.0, 1e6, 3.0] + [0.0, 1e8, 0.0, -2.0]
GAPS = np.where(np.random.default_rng(1).random(ROWS.shape) < 0.1, np.nan, ROWS)
SCALERS = [
    (MinMaxScaler, {}),
    (MinMaxScaler, {"feature_range": (-2.0, 3.0), "clip": True}),
    (MaxAbsScaler, {"clip": True}),
    (RobustScaler, {}),
    (RobustScaler, {"quantile_range": (5.0, 90.0), "unit_variance": True, "with_centering": False}),
]


# Truth


def test_the_training_rows_fill_the_range_to_the_last_bit():
    for scale in (1e-200, 1e-6, 1.0, 1e6, 1e200):
        found = MinMaxScaler().fit_transform(scale * np.array([[3.0], [5.0], [4.0]]))
        assert found[:2].ravel().tolist() == [0.0, 1.0]
        assert found[2, 0] == pytest.approx(0.5, rel=1e-15)
    # A million beside 1e8: the difference is taken first, so that no digits are lost.
    moved = MinMaxScaler((1, 3)).fit_transform(np.array([[1e8], [1e8 + 2.0], [1e8 + 0.5]]))
    np.testing.assert_allclose(moved.ravel(), [1.0, 3.0, 1.5], rtol=1e-15)


def test_median_and_quartiles_decide_and_an_outlier_does_not():
    column = np.array([[1.0], [2.0], [3.0], [4.0], [1e300]])
    scaler = RobustScaler().fit(column)
    assert (scaler.center_.tolist(), scaler.scale_.tolist()) == ([3.0], [2.0])
    assert scaler.transform([[5.0]]).tolist() == [[1.0]]


def test_rows_have_norm_one_whatever_their_size():
    rows = np.array([[3.0, -4.0], [0.0, 0.0], [1.0, 1.0]])
    expected = {
        "l1": [[3 / 7, -4 / 7], [0, 0], [0.5, 0.5]],
        "l2": [[0.6, -0.8], [0, 0], [0.5**0.5] * 2],
        "max": [[0.75, -1], [0, 0], [1, 1]],
    }
    for norm, values in expected.items():
        for size in (1e-300, 1e-6, 1.0, 1e300):
            found = Normalizer(norm).transform(rows * size)
            np.testing.assert_allclose(found, values, rtol=1e-14)
            sparse = Normalizer(norm).transform(scipy.sparse.csr_array(rows * size))
            np.testing.assert_allclose(sparse.toarray(), values, rtol=1e-14)


def test_a_threshold_parts_values_and_leaves_zeros_unstored():
    rows = np.array([[0.5, 0.0, -1.0], [1.5, 1.0, 2.0]])
    assert Binarizer(threshold=1.0).transform(rows).tolist() == [[0, 0, 0], [1, 0, 1]]
    sparse = Binarizer().transform(scipy.sparse.csr_array(rows))
    assert sparse.nnz == 4
    assert sparse.toarray().tolist() == [[1, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize(("kind", "options"), SCALERS)
def test_attributes_and_results_are_those_of_scikit_learn_with_missing_entries(kind, options):
    ours, theirs = kind(**options).fit(GAPS), getattr(sklearn.preprocessing, kind.__name__)(**options).fit(GAPS)
    names = [name for name in vars(theirs) if name.endswith("_") and name not in ("n_features_in_", "n_samples_seen_")]
    for name in names:
        found, expected = getattr(ours, name), getattr(theirs, name)
        assert (found is None) == (expected is None), name
        if found is not None:
            np.testing.assert_allclose(found, expected, rtol=1e-7, err_msg=name)
    other = np.random.default_rng(2).normal(size=(50, 4)) * [1e-6, 1.0, 1e6, 3.0] + [0.0, 1e8, 0.0, -2.0]
    np.testing.assert_allclose(ours.transform(other), theirs.transform(other), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(GAPS)), GAPS, rtol=1e-9)


@pytest.mark.parametrize("distribution", ["uniform", "normal"])
def test_ranks_are_those_of_scikit_learn_and_lead_back(distribution):
    options = {"n_quantiles": 50, "output_distribution": distribution, "subsample": None}
    rows = np.where(np.random.default_rng(3).random(GAPS.shape) < 0.3, np.round(GAPS, 7), GAPS)
    ours, theirs = (
        kind(**options).fit(rows) for kind in (QuantileTransformer, sklearn.preprocessing.QuantileTransformer)
    )
    np.testing.assert_allclose(ours.quantiles_, theirs.quantiles_, rtol=1e-12)
    # A value within 1e-7 of an end is inside of it, whatever the unit of its column: not so in scikit-learn.
    np.testing.assert_allclose(ours.transform(rows)[:, 1:], theirs.transform(rows)[:, 1:], atol=1e-9)
    np.testing.assert_allclose(ours.transform(1e-6 * rows * 1e6), ours.transform(rows), atol=1e-7)
    inner = np.quantile(ROWS, [0.1, 0.4, 0.8], axis=0)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(inner)), inner, rtol=1e-6)


def test_a_repeated_value_is_in_the_middle_of_its_ranks():
    column = np.array([[0.0], [1.0], [1.0], [1.0], [2.0]])
    found = QuantileTransformer(n_quantiles=5).fit(column).transform([[0.5], [1.0], [3.0]])
    assert found.ravel().tolist() == [0.125, 0.5, 1.0]


def test_quantiles_of_a_sample_are_near_those_of_all_rows_and_follow_the_seed():
    rows = np.random.default_rng(7).normal(size=(40_000, 2))
    options = {"n_quantiles": 11, "subsample": 4_000}
    first, again, other = (QuantileTransformer(random_state=seed, **options).fit(rows).quantiles_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    # A decile of 4000 normal values has a deviation of 0.03 at most.
    np.testing.assert_allclose(first[1:-1], np.quantile(rows, np.linspace(0.1, 0.9, 9), axis=0), atol=0.15)


# Sums


@pytest.mark.parametrize("threads", [1, 3])
def test_many_blocks_and_threads_give_the_bits_of_one_block(threads):
    rows = np.random.default_rng(3).normal(size=(40_000, 4))
    rows[::7, 1] = np.nan
    whole, parts = Extent().of(DenseBlock(rows, 0)), ArraySource(rows, threads=threads).reduce(Extent())
    assert parts.n_rows == 40_000
    np.testing.assert_array_equal(parts.low, whole.low)
    np.testing.assert_array_equal(parts.high, whole.high)
    shares = np.array([0.0, 0.1, 0.5, 0.87, 1.0])
    sums = ArraySource(rows, threads=threads).reduce(ColumnValues())
    for index, summary in enumerate(sums.summaries):
        known = rows[~np.isnan(rows[:, index]), index]
        np.testing.assert_allclose(summary.quantiles(shares), np.quantile(known, shares), rtol=1e-14)
        once = NumberSummary()
        once.add(rows[:, index])
        np.testing.assert_array_equal(summary.quantiles(shares), once.quantiles(shares))


def test_the_extent_leaves_out_missing_entries_and_rows_of_weight_zero():
    rows, weight = np.array([[1.0, np.nan], [5.0, np.nan], [-9.0, np.nan]]), np.array([1.0, 2.0, 0.0])
    for block in (DenseBlock(rows, 0, None, weight), DenseBlock(rows.astype(np.float32), 0, None, weight)):
        for found in (Extent().of(block), Extent().native_run(block, 1)):
            low, high = found.known
            assert (low[0], high[0]) == (1.0, 5.0)
            assert np.isnan([low[1], high[1]]).all()


def test_batches_give_the_range_of_one_fit_and_a_saved_model_goes_on(tmp_path):
    for kind in (MinMaxScaler, MaxAbsScaler):
        whole = kind().fit(GAPS)
        mercer.save(kind().partial_fit(GAPS[:300]), tmp_path / "scaler.mercer")
        parts = mercer.load(tmp_path / "scaler.mercer").partial_fit(GAPS[300:])
        np.testing.assert_array_equal(parts.transform(GAPS), whole.transform(GAPS))
        assert parts.n_samples_seen_ == whole.n_samples_seen_ == len(GAPS)


def test_quantiles_of_a_file_are_exact_or_say_how_far_they_are_off(tmp_path, monkeypatch):
    rows = np.random.default_rng(4).normal(size=(30_000, 2))
    np.save(tmp_path / "rows.npy", rows)
    inside, outside = RobustScaler().fit(rows), RobustScaler().fit(tmp_path / "rows.npy")
    np.testing.assert_array_equal(inside.center_, outside.center_)
    np.testing.assert_array_equal(inside.scale_, outside.scale_)
    monkeypatch.setattr(column_values, "MOST", 1_000)
    with pytest.warns(UserWarning, match="exact to 3.9e-03 of their value"):
        rough = RobustScaler().fit(tmp_path / "rows.npy")
    np.testing.assert_allclose(rough.scale_, inside.scale_, rtol=2 * 3.9e-3)


def test_sparse_rows_have_the_quantiles_of_dense_ones():
    dense = np.where(np.random.default_rng(5).random(ROWS.shape) < 0.4, 0.0, ROWS)
    options = {"with_centering": False, "quantile_range": (10.0, 80.0)}
    ours, sparse = RobustScaler(**options).fit(dense), RobustScaler(**options).fit(scipy.sparse.csr_array(dense))
    np.testing.assert_allclose(sparse.scale_, ours.scale_, rtol=1e-12)
    np.testing.assert_array_equal(sparse.transform(scipy.sparse.csr_array(dense)).toarray() != 0, dense != 0)


# Edges and errors


def test_a_constant_column_keeps_its_unit_and_an_empty_one_stays_empty():
    rows = np.array([[2.0, np.nan], [2.0, np.nan]])
    for kind, expected in ((MinMaxScaler, 0.0), (MaxAbsScaler, 1.0), (RobustScaler, 0.0)):
        found = kind().fit_transform(rows)
        assert found[:, 0].tolist() == [expected] * 2
        assert np.isnan(found[:, 1]).all()


def test_results_are_written_over_the_rows_where_that_is_asked_for():
    for kind, options in SCALERS:
        rows = ROWS.copy()
        assert kind(copy=False, **options).fit(rows).transform(rows) is rows
        np.testing.assert_array_equal(rows, kind(**options).fit_transform(ROWS))


def test_rules_that_are_broken_are_told():
    with pytest.raises(ParameterError, match=r"Minimum of desired feature range must be smaller than maximum. Got"):
        MinMaxScaler((2, 1)).fit(ROWS)
    with pytest.raises(ParameterError, match="RobustScaler: Invalid quantile range"):
        RobustScaler(quantile_range=(80.0, 20.0)).fit(ROWS)
    with pytest.raises(ParameterError, match="The number of quantiles cannot be greater than the number of samples"):
        QuantileTransformer(n_quantiles=20, subsample=10).fit(ROWS)
    with pytest.raises(DataError, match="QuantileTransformer only accepts non-negative sparse matrices; got -"):
        QuantileTransformer(n_quantiles=20).fit(scipy.sparse.csr_array(ROWS))
    with pytest.raises(DataError, match="RobustScaler: Cannot center sparse matrices: use `with_centering=False`"):
        RobustScaler().fit(scipy.sparse.csr_array(ROWS))
    with pytest.raises(DataError, match="Cannot binarize a sparse matrix with threshold < 0"):
        Binarizer(threshold=-1.0).transform(scipy.sparse.csr_array(ROWS))
    for kind, _ in SCALERS:
        with pytest.raises(DataError, match=f"{kind.__name__}: Input X contains infinity"):
            kind().fit([[1.0], [np.inf]])
