"""Multidimensional scaling: exact distances, scikit-learn's stress, order only, and places for new rows."""

import numpy as np
import pytest
import sklearn.manifold
from scipy.spatial.distance import pdist, squareform

from mercer.decomposition import PCA
from mercer.manifold import MDS, ClassicalMDS, smacof

X = np.random.default_rng(0).normal(size=(40, 3)) * [3.0, 2.0, 0.5]


def stress_of(points, D):
    return float(((squareform(pdist(points)) - D) ** 2).sum() / 2)


def test_classical_scaling_restores_euclidean_distances_and_is_pca():
    model = ClassicalMDS(3).fit(X)
    np.testing.assert_allclose(pdist(model.embedding_), pdist(X), atol=1e-10)
    scores = PCA(2).fit_transform(X)
    points = ClassicalMDS(2).fit_transform(X)
    np.testing.assert_allclose(np.abs(points), np.abs(scores), atol=1e-9)
    assert model.certificate_.satisfied
    theirs = sklearn.manifold.ClassicalMDS(2).fit(X)
    np.testing.assert_allclose(points, theirs.embedding_, atol=1e-9)


def test_new_rows_are_placed_by_gowers_formula_and_landmarks_suffice():
    model = ClassicalMDS(3).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
    new = np.random.default_rng(1).normal(size=(5, 3))
    gaps = np.linalg.norm(model.transform(new)[:, None] - model.embedding_[None], axis=2)
    np.testing.assert_allclose(gaps, np.linalg.norm(new[:, None] - X[None], axis=2), atol=1e-9)
    few = ClassicalMDS(3, n_landmarks=6).fit(X)
    assert few.dissimilarity_matrix_.shape == (6, 6)
    np.testing.assert_allclose(pdist(few.embedding_), pdist(X), atol=1e-8)


def test_the_stress_falls_is_what_it_says_and_ends_at_a_stationary_point():
    model = MDS(2, eps=1e-12, max_iter=3000).fit(X)
    D = squareform(pdist(X))
    assert model.stress_ == pytest.approx(stress_of(model.embedding_, D))
    assert np.all(np.diff(model.history_["objective"]) <= 1e-9)
    assert model.certificate_.satisfied
    # At a stationary point no small change of one coordinate lowers the stress by more than its square.
    for row, column in ((0, 0), (7, 1), (20, 0)):
        moved = [model.embedding_.copy() for _ in range(2)]
        moved[0][row, column] += 1e-4
        moved[1][row, column] -= 1e-4
        slope = (stress_of(moved[0], D) - stress_of(moved[1], D)) / 2e-4
        assert abs(slope) < 1e-2


@pytest.mark.parametrize("metric", [True, False])
def test_steps_from_the_same_points_are_scikit_learns(metric):
    D, first = squareform(pdist(X)), np.random.default_rng(1).uniform(size=(40, 2))
    options = {"init": first, "metric": metric, "n_init": 1, "eps": 0.0, "max_iter": 12, "normalized_stress": False}
    ours, stress, n_iter = smacof(D, return_n_iter=True, **options)
    theirs, expected, their_iter = sklearn.manifold.smacof(D, return_n_iter=True, **options)
    assert n_iter == their_iter
    assert stress == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(pdist(ours), pdist(theirs), rtol=1e-6)


def test_only_the_order_counts_without_metric():
    D = squareform(pdist(X[:20, :2]))
    model = MDS(2, metric="precomputed", metric_mds=False, max_iter=2000, eps=1e-9).fit(D**3)
    assert model.stress_ < 0.02
    order = np.corrcoef(
        np.argsort(np.argsort(pdist(model.embedding_))), np.argsort(np.argsort(D[np.triu_indices(20, 1)]))
    )
    assert order[0, 1] > 0.999


def test_threads_and_starts_change_no_bit():
    first = MDS(2, init="random", n_init=3, random_state=1, n_jobs=1).fit(X)
    second = MDS(2, init="random", n_init=3, random_state=1, n_jobs=4).fit(X)
    np.testing.assert_array_equal(first.embedding_, second.embedding_)
    single = MDS(2, init="random", n_init=1, random_state=1).fit(X)
    assert first.stress_ <= single.stress_ * (1 + 1e-9)


def test_a_new_row_has_the_place_of_least_stress():
    model = MDS(2, eps=1e-10, max_iter=2000).fit(X[:30])
    place = model.transform(X[30:31])[0]
    wanted = np.linalg.norm(X[:30] - X[30], axis=1)

    def cost(point):
        return np.sum((np.linalg.norm(model.embedding_ - point, axis=1) - wanted) ** 2)

    for step in np.array([[0.01, 0.0], [-0.01, 0.0], [0.0, 0.01], [0.0, -0.01]]):
        assert cost(place + step) >= cost(place)
    np.testing.assert_array_equal(model.transform(X[:30]), model.embedding_)


def test_wrong_dissimilarities_are_refused_with_the_cure():
    D = squareform(pdist(X))
    with pytest.raises(ValueError, match=r"must be symmetric.*Give 0.5"):
        MDS(metric="precomputed").fit(np.triu(D))
    with pytest.raises(ValueError, match="must not be negative; got -1"):
        ClassicalMDS(metric="precomputed").fit(-np.ones((3, 3)))
    with pytest.raises(ValueError, match="2-dimensional and square"):
        MDS(metric="precomputed").fit(X)
    with pytest.raises(ValueError, match="n_landmarks needs rows"):
        ClassicalMDS(metric="precomputed", n_landmarks=3).fit(D)
    with pytest.raises(ValueError, match="init matrix should be of shape"):
        MDS().fit(X, init=np.zeros((3, 2)))
    same = MDS().fit(np.ones((6, 2)))
    np.testing.assert_allclose(same.embedding_, 0.0, atol=1e-12)
