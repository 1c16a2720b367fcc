"""Isolation forests: path lengths, scores, draws, places and errors."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.ensemble

import mercer
from mercer.ensemble import IsolationForest, average_path_length
from mercer.errors import ParameterError


def table(n=300, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("n", [1, 2, 3, 10, 256])
def test_the_expected_path_has_its_closed_form(n):
    harmonic = sum(1.0 / k for k in range(1, n))
    assert float(average_path_length(n)) == pytest.approx(2 * harmonic - 2 * (n - 1) / n, abs=1e-12)


def test_the_expected_path_is_the_mean_over_all_orders_of_splits():
    # c(n) obeys the recursion of random binary trees: a split leaves k of n rows on the left, each k equally likely.
    means = [0.0, 0.0]
    for n in range(2, 12):
        means.append(1 + sum(k / n * means[k] + (n - k) / n * means[n - k] for k in range(1, n)) / (n - 1))
    assert np.allclose(average_path_length(np.arange(12)), means)


def test_one_column_of_equally_spaced_rows_has_the_paths_of_random_trees():
    # Without a limit of depth that matters, the mean path of all rows is c(n).
    X = np.arange(8.0)[:, None]
    model = IsolationForest(n_estimators=4000, random_state=0).fit(X)
    paths = -np.log2(-model.score_samples(X)) * average_path_length(8)
    # Splits are uniform in value: between neighbours, as many equally likely places as there are gaps. Depth ends at 3.
    assert paths.mean() == pytest.approx(average_path_length(8), abs=0.35)
    assert paths[0] < paths[3]
    assert paths[7] < paths[4]


def test_scores_agree_with_the_trees_one_by_one():
    X = table()
    model = IsolationForest(n_estimators=7, random_state=1).fit(X)
    paths = np.mean([member.predict(X) for member in model.estimators_], axis=0)
    assert np.allclose(model.score_samples(X), -(2.0 ** (-paths / average_path_length(256))))


def test_both_walks_give_the_same_bits():
    X = table(2000, 5)
    model = IsolationForest(n_estimators=20, random_state=1).fit(X)
    many, few = model.score_samples(X), np.concatenate([model.score_samples(part) for part in np.split(X, 10)])
    assert (many == few).all()


def test_scores_are_close_to_those_of_scikit_learn():
    X = table(2000, 4)
    X[:3] += 8.0
    ours = IsolationForest(n_estimators=300, random_state=0).fit(X).score_samples(X)
    theirs = sklearn.ensemble.IsolationForest(n_estimators=300, random_state=0).fit(X).score_samples(X)
    assert np.corrcoef(ours, theirs)[0, 1] > 0.97
    assert np.abs(ours - theirs).max() < 0.06


def test_contamination_is_the_share_of_outliers():
    X = table(1000)
    model = IsolationForest(contamination=0.07, random_state=0).fit(X)
    assert (model.predict(X) == -1).sum() == 70


def test_weights_draw_rows_and_zero_weights_leave_them_out():
    X = table(100)
    weight = np.where(np.arange(100) < 50, 3.0, 0.0)
    weight[0] = 1.0
    model = IsolationForest(n_estimators=20, random_state=0).fit(X, sample_weight=weight)
    assert np.concatenate(model.estimators_samples_).max() < 50


def test_a_warm_start_keeps_the_trees():
    X = table()
    model = IsolationForest(n_estimators=5, random_state=0, warm_start=True).fit(X)
    first = model.trees_
    model.set_params(n_estimators=9).fit(X)
    whole = IsolationForest(n_estimators=9, random_state=0).fit(X)
    assert (model.trees_.thresholds[: len(first.thresholds)] == first.thresholds).all()
    assert (model.score_samples(X) == whole.score_samples(X)).all()


def test_sparse_rows_give_the_same_bits_as_dense_ones():
    X = table() * (table(seed=1) > 0)
    dense, sparse = (IsolationForest(random_state=0).fit(rows) for rows in (X, scipy.sparse.csr_array(X)))
    assert (dense.score_samples(X) == sparse.score_samples(scipy.sparse.csr_array(X))).all()


def test_missing_values_are_sent_to_a_side():
    X = table(700)
    X[::5, 1] = np.nan
    model = IsolationForest(random_state=0).fit(X)
    assert np.isfinite(model.score_samples(X)).all()


def test_equal_rows_are_not_strange():
    assert (IsolationForest().fit_predict(np.ones((50, 2))) == 1).all()


def test_a_saved_forest_scores_alike(tmp_path):
    X = table()
    model = IsolationForest(n_estimators=5, max_features=2, random_state=0).fit(X)
    mercer.save(model, tmp_path / "forest.mercer")
    again = mercer.load(tmp_path / "forest.mercer")
    assert (again.score_samples(X) == model.score_samples(X)).all()
    assert all(len(columns) == 2 for columns in again.estimators_features_)


def test_a_share_of_outliers_above_a_half_is_refused():
    with pytest.raises(ParameterError, match=r"contamination must be one of 'auto' or a number in \(0, 0.5\]; got 0.7"):
        IsolationForest(contamination=0.7).fit(table())


def test_infinite_values_are_refused():
    X = table()
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        IsolationForest().fit(X)


def test_rows_beyond_32_bits_are_copied_and_make_the_same_trees(monkeypatch):
    X = table(100)
    expected = IsolationForest(n_estimators=5, max_samples=40, random_state=0).fit(X).score_samples(X)
    monkeypatch.setattr("mercer.ensemble._isolation.isolation_forest._MOST_ROWS", 50)
    model = IsolationForest(n_estimators=5, max_samples=40, random_state=0).fit(X)
    np.testing.assert_array_equal(model.score_samples(X), expected)
