"""Rows coded by the leaves of totally random trees."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import mercer
from mercer.ensemble import RandomTreesEmbedding
from mercer.errors import ParameterError


def table(n=200, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_products_of_codes_count_the_trees_in_which_two_rows_share_a_leaf():
    X = table()
    model = RandomTreesEmbedding(n_estimators=7, random_state=0).fit(X)
    leaves = model.apply(X)
    shared = (leaves[:, None] == leaves[None]).sum(axis=2)
    codes = model.transform(X)
    np.testing.assert_array_equal((codes @ codes.T).toarray(), shared)
    np.testing.assert_array_equal(shared / 7, model.proximity(X))


def test_the_code_has_a_column_for_each_leaf_and_each_leaf_has_rows():
    X = table()
    model = RandomTreesEmbedding(n_estimators=5, max_depth=3, random_state=1).fit(X)
    codes = model.transform(X)
    assert codes.shape == (200, sum(member.get_n_leaves() for member in model.estimators_))
    assert (codes.sum(axis=0) > 0).all()
    rows = np.concatenate([member.tree_.n_node_samples[member.tree_.children_left < 0] for member in model.estimators_])
    np.testing.assert_array_equal(np.asarray(codes.sum(axis=0)).ravel(), rows)


def test_sparse_and_dense_codes_are_those_of_the_encoder_of_leaves():
    X = table()
    sparse = RandomTreesEmbedding(n_estimators=5, random_state=0).fit(X)
    dense = RandomTreesEmbedding(n_estimators=5, sparse_output=False, random_state=0)
    np.testing.assert_array_equal(dense.fit_transform(X), sparse.transform(X).toarray())
    assert (sparse.one_hot_encoder_.transform(sparse.apply(X)) != sparse.transform(X)).nnz == 0
    assert isinstance(dense.one_hot_encoder_.transform(dense.apply(X)), np.ndarray)


def test_a_tree_with_no_limit_tells_all_rows_apart():
    X = table(50)
    codes = RandomTreesEmbedding(n_estimators=2, max_depth=None, random_state=0).fit_transform(X)
    assert codes.shape == (50, 100)
    assert len(np.unique(codes.toarray(), axis=0)) == 50


def test_columns_are_drawn_evenly_and_cuts_uniformly_between_the_ends():
    # The root of each tree splits one of three columns; its threshold is uniform between the least and greatest value.
    X = np.random.default_rng(0).exponential(size=(300, 3))
    trees = [member.tree_ for member in RandomTreesEmbedding(600, max_depth=1, random_state=0).fit(X).estimators_]
    columns = np.array([tree.feature[0] for tree in trees])
    counts = np.bincount(columns, minlength=3)
    # 200 expected with a deviation of 11.5.
    assert abs(counts - 200).max() < 60
    low, high = X.min(axis=0), X.max(axis=0)
    places = (np.array([tree.threshold[0] for tree in trees]) - low[columns]) / (high - low)[columns]
    # The mean of 600 uniform numbers deviates by 0.012.
    assert abs(places.mean() - 0.5) < 0.06
    assert 0.0 <= places.min() < 0.05
    assert 0.95 < places.max() <= 1.0


def test_the_order_of_rows_and_repetitions_do_not_change_the_code():
    X = table()
    order = np.random.default_rng(1).permutation(len(X))
    model = RandomTreesEmbedding(n_estimators=4, random_state=0)
    expected = model.fit_transform(X).toarray()
    np.testing.assert_array_equal(model.fit(X[order]).transform(X).toarray(), expected)
    np.testing.assert_array_equal(model.fit(X, sample_weight=np.full(len(X), 2.0)).transform(X).toarray(), expected)


def test_names_tell_tree_and_leaf():
    X = table()
    model = RandomTreesEmbedding(n_estimators=2, max_depth=1, random_state=0).fit(X)
    assert model.get_feature_names_out().tolist() == [
        f"randomtreesembedding_{t}_{leaf}" for t in (0, 1) for leaf in (1, 2)
    ]


def test_sparse_rows_and_saved_models_give_the_same_code(tmp_path):
    X = np.where(np.random.default_rng(0).random((100, 4)) < 0.5, 0.0, table(100, 4))
    model = RandomTreesEmbedding(n_estimators=3, random_state=0).fit(X)
    mercer.save(model, tmp_path / "model")
    for one, rows in ((model, csr_array(X)), (mercer.load(tmp_path / "model"), X)):
        np.testing.assert_array_equal(one.transform(rows).toarray(), model.transform(X).toarray())


def test_more_trees_are_added_to_those_of_a_warm_start():
    X = table()
    model = RandomTreesEmbedding(n_estimators=3, warm_start=True, random_state=0)
    first = model.fit_transform(X).toarray()
    whole = model.set_params(n_estimators=5).fit_transform(X).toarray()
    np.testing.assert_array_equal(whole[:, : first.shape[1]], first)
    np.testing.assert_array_equal(
        whole, RandomTreesEmbedding(n_estimators=5, random_state=0).fit_transform(X).toarray()
    )


def test_wrong_parameters_are_named():
    with pytest.raises(ParameterError, match=r"RandomTreesEmbedding: max_depth must be"):
        RandomTreesEmbedding(max_depth=-1).fit(table())
