"""SimpleImputer and MissingIndicator: what stands in the place of missing entries, and which are missing."""

import numpy as np
import pandas
import pytest
import scipy.sparse
import sklearn.impute
from sklearn.pipeline import make_pipeline

import mercer
from mercer.errors import DataError
from mercer.impute import MissingIndicator, SimpleImputer
from mercer.linear_model import Ridge

ROWS = np.round(np.random.default_rng(0).normal(size=(701, 5)) * [1e-6, 1.0, 1e6, 3.0, 1.0] + [0, 1e8, 0, 0, 0], 1)
GAPS = np.where(np.random.default_rng(1).random(ROWS.shape) < 0.2, np.nan, ROWS)
EMPTY = np.where(np.arange(5) == 3, np.nan, GAPS)
STRATEGIES = ["mean", "median", "most_frequent", "constant"]


def dense(rows):
    return rows.toarray() if scipy.sparse.issparse(rows) else rows


def test_a_case_by_hand():
    rows = np.array([[1.0, np.nan], [1.0, 2.0], [np.nan, 4.0], [7.0, 9.0]])
    expected = {"mean": [3.0, 5.0], "median": [1.0, 4.0], "most_frequent": [1.0, 2.0], "constant": [0.0, 0.0]}
    for strategy, values in expected.items():
        imputer = SimpleImputer(strategy=strategy).fit(rows)
        np.testing.assert_allclose(imputer.statistics_, values, rtol=1e-15)
        found = imputer.transform(rows)
        assert (found[2, 0], found[0, 1]) == tuple(imputer.statistics_)
        np.testing.assert_array_equal(found[3], rows[3])


@pytest.mark.filterwarnings("ignore:Skipping features")
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("options", [{}, {"add_indicator": True}, {"keep_empty_features": True}], ids=str)
def test_results_are_those_of_scikit_learn_for_dense_sparse_and_marked_rows(strategy, options):
    stored = scipy.sparse.csr_array(np.where(np.random.default_rng(2).random(EMPTY.shape) < 0.5, 0.0, EMPTY))
    for rows, more in ((EMPTY, {}), (stored, {}), (np.where(np.isnan(EMPTY), -1.0, EMPTY), {"missing_values": -1.0})):
        if scipy.sparse.issparse(rows) and strategy == "constant":
            continue  # scikit-learn takes a column whose stored entries are all missing for empty, despite its zeros
        kinds = SimpleImputer, sklearn.impute.SimpleImputer
        ours, theirs = (kind(strategy=strategy, **options, **more).fit(rows) for kind in kinds)
        np.testing.assert_allclose(ours.statistics_, theirs.statistics_.astype(float), rtol=1e-12, atol=1e-14)
        expected = dense(theirs.transform(rows)).astype(float)
        np.testing.assert_allclose(dense(ours.transform(rows)), expected, rtol=1e-12, atol=1e-14)
        assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_files_and_streams_get_the_values_of_an_array(strategy, tmp_path):
    pandas.DataFrame(GAPS, columns=list("abcde")).to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    inside = SimpleImputer(strategy=strategy, add_indicator=True).fit(GAPS)
    for place in (tmp_path / "rows.parquet", lambda: iter(np.array_split(GAPS, 9))):
        outside = SimpleImputer(strategy=strategy, add_indicator=True).fit(place)
        np.testing.assert_array_equal(outside.statistics_, inside.statistics_)
        np.testing.assert_array_equal(np.asarray(outside.transform(place)), inside.transform(GAPS))


def test_a_pipeline_fills_a_file_as_it_is_read(tmp_path):
    target = np.nan_to_num(GAPS[:, 1]) + GAPS[:, 4].clip(0.0).astype(bool)
    target = np.where(np.isnan(target), 0.0, target)
    pandas.DataFrame(GAPS, columns=list("abcde")).assign(y=target).to_csv(tmp_path / "rows.csv", index=False)
    inside = make_pipeline(SimpleImputer(), Ridge()).fit(GAPS, target)
    outside = make_pipeline(SimpleImputer(), Ridge()).fit(tmp_path / "rows.csv", "y")
    np.testing.assert_allclose(outside[-1].coef_, inside[-1].coef_, rtol=1e-9)


def test_filled_entries_are_missing_again_after_the_way_back():
    imputer = SimpleImputer(add_indicator=True).fit(GAPS)
    np.testing.assert_array_equal(imputer.inverse_transform(imputer.transform(GAPS)), GAPS)
    with pytest.raises(DataError, match="works only when 'SimpleImputer' is instantiated with 'add_indicator=True'"):
        SimpleImputer().fit(GAPS).inverse_transform(GAPS)


def test_texts_and_whole_numbers_keep_their_type_and_a_saved_model_goes_on(tmp_path):
    texts = np.array([["oak", None], ["oak", "a"], ["ash", "a"]], dtype=object)
    imputer = SimpleImputer(missing_values=None, strategy="most_frequent").fit(texts)
    assert imputer.transform(texts)[0].tolist() == ["oak", "a"]
    assert imputer.converged_
    mercer.save(imputer, tmp_path / "imputer.mercer")
    assert mercer.load(tmp_path / "imputer.mercer").transform(texts).tolist() == imputer.transform(texts).tolist()
    whole = SimpleImputer(missing_values=-1, strategy="median").fit(np.array([[1, 2], [-1, 4], [3, 6]]))
    assert whole.transform(np.array([[-1, -1]])).tolist() == [[2.0, 4.0]]


def test_missing_entries_are_told_and_new_ones_refused():
    found = MissingIndicator().fit(GAPS[:, :2])
    np.testing.assert_array_equal(found.transform(GAPS[:, :2]), np.isnan(GAPS[:, :2]))
    known = MissingIndicator().fit(np.where(np.arange(5) == 2, GAPS, ROWS))
    assert known.features_.tolist() == [2]
    assert known.get_feature_names_out().tolist() == ["missingindicator_x2"]
    with pytest.raises(DataError, match=r"The features \[0 1 3 4\] have missing values in transform"):
        known.transform(GAPS)
    stored = scipy.sparse.csr_array(np.where(np.random.default_rng(2).random(GAPS.shape) < 0.5, 0.0, GAPS))
    sparse = MissingIndicator(features="all").fit_transform(stored)
    assert sparse.format == "csc"
    np.testing.assert_array_equal(sparse.toarray(), np.isnan(stored.toarray()))


def test_infinite_entries_and_empty_columns_are_told():
    for strategy in STRATEGIES:
        with pytest.raises(DataError, match="SimpleImputer: Input X contains infinity"):
            SimpleImputer(strategy=strategy).fit([[1.0], [np.inf]])
    with pytest.warns(UserWarning, match=r"Skipping features without any observed values: \[3\]"):
        assert SimpleImputer().fit(EMPTY).transform(EMPTY).shape == (701, 4)
