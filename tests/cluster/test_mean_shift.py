"""MeanShift: worked steps, fixed points, the labels of scikit-learn, the bandwidth of all pairs, seeds, errors."""

import numpy as np
import pytest
import sklearn.cluster
from sklearn.datasets import make_blobs

from mercer.cluster import MeanShift, estimate_bandwidth, get_bin_seeds, mean_shift
from mercer.errors import DataError


def draw(n=200, seed=0):
    return make_blobs(n, 2, centers=[[0, 0], [8, 0], [0, 8]], cluster_std=1.0, random_state=seed)[0]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_steps_go_to_the_mean_of_the_rows_within_the_bandwidth(scale):
    X = np.array([[0.0], [1.0], [2.0], [3.0], [9.0]]) * scale
    one = MeanShift(bandwidth=1.5 * scale, seeds=[[0.1 * scale]]).fit(X)
    # 0.1 -> mean of 0 and 1 -> mean of 0, 1 and 2 -> stays: 2.5 is the edge that 3 is beyond.
    np.testing.assert_allclose(one.cluster_centers_ / scale, [[1.0]])
    assert one.history_["moving"].tolist() == [1.0, 1.0, 0.0]
    heights = [np.maximum(0, 1 - ((X / scale - x) / 1.5) ** 2).sum() / 5 for x in (0.1, 0.5, 1.0)]
    np.testing.assert_allclose(one.history_["objective"], heights)
    assert one.certificate_.value == 0.0
    assert one.n_iter_ == 2


@pytest.mark.parametrize("settings", [{}, {"bandwidth": 2.0}, {"bin_seeding": True, "bandwidth": 1.5}])
def test_centres_and_labels_are_those_of_scikit_learn(settings):
    X = draw()
    ours, theirs = MeanShift(**settings).fit(X), sklearn.cluster.MeanShift(**settings).fit(X)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-3 * ours.bandwidth_)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    far = MeanShift(**settings, cluster_all=False).fit(X)
    np.testing.assert_array_equal(far.labels_, sklearn.cluster.MeanShift(**settings, cluster_all=False).fit(X).labels_)
    new = draw(50, 1) * 1.5
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))


def test_the_density_at_the_seeds_never_falls_and_centres_are_apart():
    X = draw(400)
    model = MeanShift(bandwidth=1.2).fit(X)
    assert (np.diff(model.history_["objective"]) >= -1e-12).all()
    gaps = np.linalg.norm(model.cluster_centers_[:, None] - model.cluster_centers_[None], axis=2)
    assert gaps[~np.eye(len(gaps), dtype=bool)].min() > 1.2
    around = (np.linalg.norm(X[None] - model.cluster_centers_[:, None], axis=2) <= 1.2).sum(axis=1)
    assert (np.diff(around) <= 0).all()


def test_the_bandwidth_is_the_mean_distance_to_a_share_of_all_rows():
    X = draw(90)
    distances = np.sort(np.linalg.norm(X[:, None] - X[None], axis=2), axis=1)
    for quantile, place in ((0.3, 26), (1.0, 89), (0.0, 0)):
        assert estimate_bandwidth(X, quantile=quantile) == pytest.approx(distances[:, place].mean())
    assert estimate_bandwidth(X) == pytest.approx(sklearn.cluster.estimate_bandwidth(X))
    assert 0.5 < estimate_bandwidth(X, n_samples=40) / estimate_bandwidth(X) < 1.5


def test_equal_rows_and_a_bandwidth_of_zero_give_a_cluster_for_each_place():
    X = np.repeat([[0.1], [0.7]], 10, axis=0)
    centres, labels = mean_shift(np.repeat([[0.1], [0.2], [0.7]], 5, axis=0))
    assert estimate_bandwidth(X) == 0.0
    assert len(centres) == 3 or len(set(labels)) == 3
    model = MeanShift().fit(X)
    assert sorted(model.cluster_centers_.ravel().tolist()) == [0.1, 0.7]


def test_places_of_the_grid_are_seeds_where_enough_rows_are():
    X = np.array([[1.0, 1.0], [1.4, 1.4], [1.8, 1.2], [2.0, 1.0], [2.1, 1.1], [0.0, 0.0]])
    assert get_bin_seeds(X, 1.0).tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 1.0]]
    assert get_bin_seeds(X, 1.0, 2).tolist() == [[1.0, 1.0], [2.0, 1.0]]
    with pytest.warns(UserWarning, match="using data points as seeds"):
        get_bin_seeds(X, 0.01)


def test_seeds_away_from_all_rows_are_refused():
    with pytest.raises(DataError, match=r"No point was within bandwidth=0\.1"):
        MeanShift(bandwidth=0.1, seeds=[[-9, -9]]).fit(draw())
    with pytest.raises(DataError, match="seeds must have the 2 columns of X; got 1"):
        MeanShift(bandwidth=1.0, seeds=[[1.0]]).fit(draw())
