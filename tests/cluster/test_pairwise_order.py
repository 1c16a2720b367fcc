"""The order of the clusters of pairwise clustering: by first objects, or by positions on a map."""

import numpy as np

from mercer.cluster import PairwiseClustering


def test_clusters_are_numbered_by_first_objects_or_by_the_rows_of_the_neighbourhood():
    X = np.r_[np.full(8, 0.0), np.full(8, 10.0), np.full(8, 20.0)] + np.random.default_rng(0).normal(0, 0.1, 24)
    X = X[np.random.default_rng(1).permutation(24)]
    distances = (X[:, None] - X) ** 2
    plain = PairwiseClustering(3, metric="precomputed", random_state=0).fit(distances)
    first = [np.flatnonzero(plain.labels_ == k)[0] for k in range(3)]
    assert first == sorted(first)
    # On a line 0 - 1 - 2, where neighbours confuse their labels, the middle position is that of the middle cluster.
    line = np.array([[0.8, 0.2, 0.0], [0.2, 0.6, 0.2], [0.0, 0.2, 0.8]])
    mapped = PairwiseClustering(3, metric="precomputed", neighbourhood=line, random_state=0).fit(distances)
    centres = [X[mapped.labels_ == k].mean() for k in range(3)]
    assert abs(centres[1] - 10.0) < 1.0
    assert {round(centres[0], -1), round(centres[2], -1)} == {0.0, 20.0}
    np.testing.assert_array_equal(mapped.memberships_.argmax(axis=1), mapped.labels_)
