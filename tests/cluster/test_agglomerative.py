"""Agglomerative clustering: trees, cuts, graphs, new rows, and fits that end early."""

import signal

import numpy as np
import pytest
import sklearn.cluster
from scipy.cluster import hierarchy
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from mercer.cluster import AgglomerativeClustering
from mercer.errors import DataError, InterruptWarning, ParameterError
from mercer.watch import Checkpoint

LINKAGES = ("single", "complete", "average", "weighted", "ward", "centroid", "median")
X = np.random.default_rng(0).normal(size=(150, 3))


class At:
    """A callback that does something after the step of a given number."""

    def __init__(self, number, action):
        self.number, self.action, self.seen = number, action, 0

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context):
        self.seen += 1
        if self.seen == self.number:
            self.action()


def press_ctrl_c():
    signal.raise_signal(signal.SIGINT)


def crash():
    raise RuntimeError("killed")


@pytest.mark.catalogue("CL-06")
@pytest.mark.parametrize("linkage", ["single", "complete", "average", "ward"])
def test_trees_and_partitions_are_scikit_learns(linkage):
    options = {"n_clusters": 5, "linkage": linkage, "compute_distances": True}
    ours, theirs = AgglomerativeClustering(**options).fit(X), sklearn.cluster.AgglomerativeClustering(**options).fit(X)
    assert np.array_equal(np.sort(ours.children_, axis=1), np.sort(theirs.children_, axis=1))
    np.testing.assert_allclose(ours.distances_, theirs.distances_, rtol=1e-10)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1
    assert ours.converged_
    assert ours.n_leaves_ == 150
    assert ours.certificate_.kind == "none"


@pytest.mark.catalogue("CL-06")
@pytest.mark.parametrize("linkage", ["single", "complete", "average", "ward"])
def test_trees_along_a_graph_are_scikit_learns(linkage):
    graph = kneighbors_graph(X, 12, include_self=False)
    options = {"n_clusters": 5, "linkage": linkage, "compute_distances": True, "connectivity": graph}
    ours, theirs = AgglomerativeClustering(**options).fit(X), sklearn.cluster.AgglomerativeClustering(**options).fit(X)
    np.testing.assert_allclose(ours.distances_, theirs.distances_, rtol=1e-10)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1


@pytest.mark.parametrize("linkage", LINKAGES)
def test_a_graph_in_which_all_rows_touch_changes_no_tree(linkage):
    whole = AgglomerativeClustering(5, linkage=linkage, compute_distances=True).fit(X)
    options = {"linkage": linkage, "compute_distances": True, "connectivity": np.ones((150, 150))}
    along = AgglomerativeClustering(5, **options).fit(X)
    np.testing.assert_allclose(along.distances_, whole.distances_, rtol=1e-9)
    assert np.array_equal(along.labels_, whole.labels_)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_clusters_are_connected_in_the_graph_however_near_others_are(linkage):
    """A strip folded in the middle: its two halves nearly lie on one another."""
    i = np.arange(20)
    noise = np.random.default_rng(1).normal(size=(20, 2))
    strip = np.column_stack([np.minimum(i, 19 - i), 0.1 * (i >= 10)]) + 0.01 * noise
    graph = csr_array((np.ones(19), (i[:-1], i[1:])), shape=(20, 20))
    along = AgglomerativeClustering(4, connectivity=graph, linkage=linkage).fit(strip)
    assert np.sum(np.diff(along.labels_) != 0) == 3
    if linkage == "complete":
        free = AgglomerativeClustering(4, linkage=linkage).fit(strip)
        assert np.sum(np.diff(free.labels_) != 0) > 3


def test_components_are_joined_and_counted():
    graph = csr_array((np.ones(2), ([0, 2], [1, 3])), shape=(5, 5))
    with pytest.warns(UserWarning, match="connected components of the connectivity matrix is 3 > 1"):
        model = AgglomerativeClustering(2, connectivity=graph, linkage="average").fit(X[:5])
    assert model.n_connected_components_ == 3
    assert len(model.children_) == 4


@pytest.mark.catalogue("CL-06")
@pytest.mark.parametrize("linkage", ["single", "complete", "average", "ward"])
def test_a_threshold_cuts_at_a_height_and_a_number_at_a_number(linkage):
    model = AgglomerativeClustering(None, distance_threshold=2.0, linkage=linkage).fit(X)
    flat = hierarchy.fcluster(hierarchy.linkage(X, linkage), np.nextafter(2.0, 0), "distance")
    assert model.n_clusters_ == len(np.unique(flat)) == np.sum(model.distances_ >= 2.0) + 1
    assert adjusted_rand_score(model.labels_, flat) == 1
    again = AgglomerativeClustering(model.n_clusters_, linkage=linkage).fit(X)
    assert np.array_equal(again.labels_, model.labels_)


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "weighted", "centroid", "median"])
def test_distances_given_and_measured_are_one(linkage):
    model = AgglomerativeClustering(4, linkage=linkage).fit(X)
    D = cdist(X, X)
    before = D.copy()
    given = AgglomerativeClustering(4, linkage=linkage, metric="precomputed").fit(D)
    assert np.array_equal(given.labels_, model.labels_)
    assert np.array_equal(D, before)
    if linkage not in ("centroid", "median"):
        called = AgglomerativeClustering(4, linkage=linkage, metric=lambda rows: cdist(rows, rows)).fit(X)
        assert np.array_equal(called.labels_, model.labels_)
        new = np.random.default_rng(1).normal(size=(30, 3))
        assert np.array_equal(given.predict(cdist(new, X)), model.predict(new))
        assert np.array_equal(called.predict(new), model.predict(new))


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "ward", "centroid"])
def test_a_new_row_goes_to_the_cluster_it_would_merge_with_first(linkage):
    model = AgglomerativeClustering(4, linkage=linkage).fit(X)
    for row in np.random.default_rng(1).normal(size=(10, 3)):
        costs = []
        for k in range(4):
            own = X[model.labels_ == k]
            gaps, step = np.linalg.norm(own - row, axis=1), np.linalg.norm(own.mean(axis=0) - row)
            costs.append(
                {
                    "single": gaps.min(),
                    "complete": gaps.max(),
                    "average": gaps.mean(),
                    "ward": np.sqrt(len(own) / (len(own) + 1)) * step,
                    "centroid": step,
                }[linkage]
            )
        assert model.predict(row[None]).tolist() == [int(np.argmin(costs))]


@pytest.mark.catalogue("CL-20")
def test_single_linkage_separates_moons_and_ward_does_not():
    moons, truth = make_moons(300, noise=0.05, random_state=0)
    single = AgglomerativeClustering(2, linkage="single").fit(moons)
    assert adjusted_rand_score(single.labels_, truth) == 1
    assert adjusted_rand_score(single.predict(moons), truth) == 1
    assert adjusted_rand_score(AgglomerativeClustering(2).fit(moons).labels_, truth) < 0.8


@pytest.mark.parametrize("linkage", LINKAGES)
def test_a_fit_ended_early_keeps_its_merges_and_one_killed_resumes(linkage, monkeypatch, tmp_path):
    monkeypatch.setattr("mercer.cluster._hierarchy.merging._WORK", 9000)
    options = {"linkage": linkage, "compute_distances": True}
    whole = AgglomerativeClustering(3, **options).fit(X)
    assert len(whole.history_["step"]) > 5
    assert (np.diff(whole.history_["objective"]) < 0).all()
    with pytest.warns(ConvergenceWarning, match="stopped by max_time after 1 steps"):
        short = AgglomerativeClustering(3, max_time=0.0, **options).fit(X)
    assert not short.converged_
    assert 3 < short.n_clusters_ == 150 - len(short.children_)
    assert len(short.predict(X[:5])) == 5
    stopped = AgglomerativeClustering(3, **options).set_callbacks(At(2, press_ctrl_c))
    with pytest.warns(InterruptWarning), pytest.raises(KeyboardInterrupt):
        stopped.fit(X)
    assert len(stopped.history_["step"]) == 2
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(RuntimeError, match="killed"):
        AgglomerativeClustering(3, **options).set_callbacks(Checkpoint(path, every=0), At(3, crash)).fit(X)
    checkpoint = Checkpoint(path, every=0)
    resumed = AgglomerativeClustering(3, **options).set_callbacks(checkpoint).fit(X)
    assert checkpoint.resumed_from_ == 2
    assert np.array_equal(resumed.children_, whole.children_)
    assert np.array_equal(resumed.history_["objective"], whole.history_["objective"])


def test_a_kept_tree_is_read_again(tmp_path):
    first = AgglomerativeClustering(3, memory=str(tmp_path)).fit(X)
    second = AgglomerativeClustering(3, memory=str(tmp_path), linkage="single").fit(X)
    third = AgglomerativeClustering(5, memory=str(tmp_path)).fit(X)
    assert np.array_equal(first.children_, third.children_)
    assert not np.array_equal(first.children_, second.children_)
    assert third.n_clusters_ == 5


@pytest.mark.parametrize(
    ("rows", "options", "error", "words"),
    [
        (X, {"n_clusters": 151}, DataError, "n_clusters must be at most the 150 rows; got 151"),
        (X, {"metric": "cosine"}, ParameterError, "cosine was provided as metric. Ward can only work with euclidean"),
        (X * 0, {"metric": "cosine", "linkage": "single"}, DataError, "cannot be used when X contains zero vectors"),
        (-np.ones((3, 3)), {"metric": "precomputed", "linkage": "single"}, DataError, "non-negative; got -1"),
        (np.tri(3) - np.eye(3), {"metric": "precomputed", "linkage": "single"}, DataError, "must be symmetric"),
        (np.ones((3, 3)), {"metric": "precomputed", "linkage": "single"}, DataError, "to itself must be 0; got 1"),
        (X, {"connectivity": np.eye(4)}, DataError, r"connectivity must be of shape \(150, 150\)"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(rows, options, error, words):
    with pytest.raises(error, match=words):
        AgglomerativeClustering(**options).fit(rows)
