"""Local outlier factors: regular grids, parity with scikit-learn, duplicates and errors."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.neighbors

from mercer.errors import DataError
from mercer.neighbors import LocalOutlierFactor


def table(n=400, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_rows_inside_a_regular_grid_have_a_factor_of_one():
    grid = np.stack(np.meshgrid(np.arange(15.0), np.arange(15.0)), axis=-1).reshape(-1, 2)
    factors = -LocalOutlierFactor(n_neighbors=8).fit(grid).negative_outlier_factor_.reshape(15, 15)
    assert np.allclose(factors[3:-3, 3:-3], 1.0, atol=0.02)
    assert np.abs(factors - 1.0).max() < 0.25


def test_factors_of_three_rows_on_a_line():
    # k = 1: neighbours 0-1, 1-0, 3-1; reachability distances 1, 1, 2; factors 1, 1, and lrd(1) / lrd(3) = 2.
    model = LocalOutlierFactor(n_neighbors=1).fit([[0.0], [1.0], [3.0]])
    assert model.negative_outlier_factor_ == pytest.approx([-1.0, -1.0, -2.0])


@pytest.mark.parametrize(
    "settings", [{}, {"n_neighbors": 7}, {"metric": "manhattan"}, {"p": 3}, {"metric": "cosine", "algorithm": "brute"}]
)
def test_factors_equal_those_of_scikit_learn(settings):
    X = table()
    ours, theirs = (
        family.LocalOutlierFactor(**settings).fit(X).negative_outlier_factor_
        for family in (sklearn.neighbors, __import__("mercer.neighbors", fromlist=["x"]))
    )
    assert np.allclose(ours, theirs, rtol=1e-8)


def test_scores_of_new_rows_equal_those_of_scikit_learn():
    X, new = table(), table(50, seed=1) * 2
    ours = LocalOutlierFactor(novelty=True, contamination=0.1).fit(X)
    theirs = sklearn.neighbors.LocalOutlierFactor(novelty=True, contamination=0.1).fit(X)
    assert np.allclose(ours.score_samples(new), theirs.score_samples(new), rtol=1e-8)
    assert (ours.predict(new) == theirs.predict(new)).all()


def test_factors_do_not_depend_on_the_unit():
    X = table()
    plain, tiny = (LocalOutlierFactor().fit(rows).negative_outlier_factor_ for rows in (X, X * 1e-12))
    assert np.allclose(plain, tiny)


def test_distances_given_as_a_matrix_serve_as_well_as_rows():
    X = table(60)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    plain, given = LocalOutlierFactor().fit(X), LocalOutlierFactor(metric="precomputed").fit(D)
    assert np.allclose(plain.negative_outlier_factor_, given.negative_outlier_factor_)
    with pytest.raises(DataError, match="Precomputed matrix must be square"):
        LocalOutlierFactor(metric="precomputed").fit(D[:, :30])


def test_equal_rows_have_a_factor_of_one():
    model = LocalOutlierFactor(n_neighbors=3).fit(np.ones((20, 2)))
    assert model.negative_outlier_factor_ == pytest.approx(-np.ones(20))


def test_more_equal_rows_than_neighbours_give_a_warning_with_the_cure():
    X = np.concatenate([np.zeros(30), np.arange(1.0, 40.0)])[:, None]
    with pytest.warns(UserWarning, match="Increase the number of neighbors") as caught:
        LocalOutlierFactor(n_neighbors=5).fit(X)
    assert "more than n_neighbors=5 equal ones" in str(caught[0].message)


def test_contamination_is_the_share_of_outliers():
    assert (LocalOutlierFactor(contamination=0.1).fit_predict(table()) == -1).sum() == 40


@pytest.mark.parametrize("sparse", [False, True])
def test_factors_of_weighted_rows_are_those_of_repeated_ones(sparse):
    X = np.random.default_rng(3).normal(size=(40, 2))
    weight = np.random.default_rng(4).integers(0, 4, 40)
    weighted = LocalOutlierFactor(5, contamination=0.2).fit(scipy.sparse.csr_array(X) if sparse else X, None, weight)
    repeated = LocalOutlierFactor(5, contamination=0.2).fit(X.repeat(weight, axis=0))
    firsts = np.cumsum(weight)[weight > 0] - 1
    factors = weighted.negative_outlier_factor_
    np.testing.assert_allclose(factors[weight > 0], repeated.negative_outlier_factor_[firsts])
    assert weighted.offset_ == pytest.approx(repeated.offset_)
    # A row of weight zero is compared with rows it is not one of, as a new row would be.
    novel = LocalOutlierFactor(5, novelty=True).fit(X.repeat(weight, axis=0))
    np.testing.assert_allclose(factors[weight == 0], novel.score_samples(X[weight == 0]))


def test_weights_count_rows_by_their_parts():
    X = np.array([[0.0], [1.0], [3.0], [10.0]])
    model = LocalOutlierFactor(2, novelty=True).fit(X, sample_weight=[1.0, 1.5, 2.0, 0.5])
    # Two neighbours of 0 are row 1 with its weight of 1.5 and a quarter of row 2; of 1, its own half and row 0, and a
    # quarter of row 2; of 3, its second copy and two thirds of row 1; of 10, row 2 alone.
    np.testing.assert_array_equal(model._last_distances, [3.0, 2.0, 2.0, 7.0])
    reach = [(1.5 * 2.0 + 0.5 * 3.0) / 2, (0.5 * 2.0 + 1.0 * 3.0 + 0.5 * 2.0) / 2, 2.0, 7.0]
    np.testing.assert_allclose(1.0 / model._densities, reach)
    message = "LocalOutlierFactor: sample_weight counts rows, and neighbours need at least 2 rows; got weights with the"
    with pytest.raises(ValueError, match=message):
        LocalOutlierFactor(2).fit(X, sample_weight=[0.25] * 4)


@pytest.mark.parametrize("metric", ["minkowski", "manhattan"])
def test_one_row_of_weight_five_is_the_row_five_times(metric):
    once = LocalOutlierFactor(n_neighbors=2, metric=metric).fit(np.ones((1, 3)), sample_weight=[5.0])
    np.testing.assert_allclose(once.negative_outlier_factor_, [-1.0])
