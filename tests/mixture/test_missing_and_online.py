"""Gaussian mixtures of rows with missing entries, of batches, and of rows in other places."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from mercer.errors import DataError
from mercer.mixture import GaussianMixture

KINDS = ("full", "tied", "diag", "spherical")


@pytest.fixture(scope="module")
def blobs():
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [400, 300, 200])
    root = np.array([[1.0, 0.0, 0.0], [0.7, 0.6, 0.0], [-0.3, 0.2, 0.9]])
    means = np.array([[0.0, 0.0, 0.0], [6.0, 1.0, 2.0], [1.0, 6.0, -3.0]])
    return means[labels] + generator.normal(size=(900, 3)) @ root.T, labels


def with_gaps(X, share, seed=1):
    gaps = np.random.default_rng(seed).random(X.shape) < share
    gaps[np.arange(len(X)), np.random.default_rng(seed + 1).integers(0, X.shape[1], len(X))] = False
    return np.where(gaps, np.nan, X)


@pytest.mark.catalogue("DE-10")
def test_one_gaussian_with_gaps_meets_the_likelihood_equations(blobs):
    """At the maximum of the observed-data likelihood no small change of mean or covariance raises it."""
    X = with_gaps(blobs[0][:300], 0.3)
    model = GaussianMixture(1, tol=1e-12, max_iter=5000, reg_covar=0).fit(X)
    assert (np.diff(model.lower_bounds_) >= -1e-12).all()
    generator = np.random.default_rng(2)
    for size in (1e-2, 1e-3):
        for _ in range(20):
            moved = model.means_ + size * generator.normal(size=(1, 3))
            other = GaussianMixture(1, max_iter=0, weights_init=[1.0], means_init=moved)
            skew = generator.normal(size=(3, 3)) * size
            covariance = model.covariances_[0] + skew @ skew.T + size * np.diag(generator.random(3))
            other.set_params(precisions_init=np.linalg.inv(covariance)[None]).fit(X)
            assert other.score(X) < model.lower_bound_


@pytest.mark.catalogue("DE-10")
def test_complete_rows_take_the_common_way_and_a_gap_only_adds_to_it(blobs):
    X = blobs[0]
    complete = GaussianMixture(1).fit(X)
    hole = X.copy()
    hole[0, 0] = np.nan
    near = GaussianMixture(1, tol=1e-10, max_iter=500).fit(hole)
    np.testing.assert_allclose(near.means_, complete.means_, atol=0.02)
    np.testing.assert_allclose(near.covariances_, complete.covariances_, atol=0.1)


@pytest.mark.catalogue("DE-10")
@pytest.mark.parametrize("kind", KINDS)
def test_components_are_found_through_gaps(blobs, kind):
    X = with_gaps(blobs[0], 0.2)
    model = GaussianMixture(3, covariance_type=kind, random_state=0, tol=1e-6, max_iter=500).fit(X)
    assert (np.diff(model.lower_bounds_) >= -1e-6).all()
    assert adjusted_rand_score(blobs[1], model.predict(blobs[0])) > 0.97
    assert adjusted_rand_score(blobs[1], model.predict(X)) > 0.85
    assert model.lower_bound_ == pytest.approx(model.score(X), rel=1e-10)
    assert model.score(X) > GaussianMixture(1, covariance_type=kind).fit(X).score(X)


def test_weights_are_repetitions_of_rows_with_gaps(blobs):
    X, weight = with_gaps(blobs[0][::4], 0.2), np.random.default_rng(3).integers(0, 3, 225)
    options = {"means_init": [[0.0, 0, 0], [6, 1, 2], [1, 6, -3]], "tol": 1e-9, "max_iter": 500}
    options |= {"weights_init": np.full(3, 1 / 3), "precisions_init": [np.eye(3)] * 3}
    weighted = GaussianMixture(3, **options).fit(X, sample_weight=weight.astype(float))
    repeated = GaussianMixture(3, **options).fit(X.repeat(weight, axis=0))
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_, rtol=1e-8)


def test_threads_and_blocks_do_not_change_rows_with_gaps(blobs):
    X = with_gaps(np.tile(blobs[0], (60, 1)), 0.1)
    one, many = (GaussianMixture(3, random_state=0, max_iter=2, tol=0, n_jobs=n) for n in (1, 5))
    with pytest.warns(ConvergenceWarning):
        assert one.fit(X).covariances_.tobytes() == many.fit(X).covariances_.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_online_em_come_near_one_fit(blobs, kind):
    X = np.random.default_rng(4).permutation(blobs[0])
    model = GaussianMixture(3, covariance_type=kind, random_state=0)
    for _ in range(3):
        for start in range(0, 900, 100):
            model.partial_fit(X[start : start + 100])
    whole = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    assert model.n_batches_seen_ == 27
    assert model.score(X) > whole.score(X) - 0.02
    first = model.means_.copy()
    model.partial_fit(X[:100] + 1.0)
    assert np.all(model.weights_ @ (model.means_ - first) > 0)
    assert model.fit(X).n_batches_seen_ == 1
    value = model.score(X)
    assert model.partial_fit(X).score(X) > value - 0.01
    with pytest.raises(DataError, match="n_components and covariance_type must not change where a fit goes on"):
        model.set_params(n_components=2).partial_fit(X)


def test_batches_go_on_where_they_are(blobs):
    torch = pytest.importorskip("torch")
    here, there = GaussianMixture(3, random_state=0), GaussianMixture(3, random_state=0)
    for start in range(0, 900, 300):
        part = blobs[0][start : start + 300]
        here.partial_fit(part)
        there.partial_fit(torch.asarray(part))
    assert isinstance(there.means_, torch.Tensor)
    np.testing.assert_allclose(there.means_.numpy(), here.means_, rtol=1e-8)


def test_rows_with_gaps_may_be_in_a_file_a_stream_or_on_a_cluster(blobs, tmp_path):
    import dask.array

    X = with_gaps(blobs[0], 0.1)
    np.save(tmp_path / "rows.npy", X)
    options = {"random_state": 0, "n_init": 2}
    expected = GaussianMixture(3, **options).fit(X)
    for rows in (tmp_path / "rows.npy", [X[:500], X[500:]], dask.array.from_array(X, chunks=(900, 3))):
        found = GaussianMixture(3, **options).fit(rows)
        np.testing.assert_allclose(found.covariances_, expected.covariances_, rtol=1e-9)
        assert found.score(rows) == pytest.approx(expected.score(X), rel=1e-10)


def test_one_batch_of_online_em_is_one_step_and_the_second_counts_for_two_to_the_minus_06():
    generator = np.random.default_rng(5)
    first, second = generator.normal(size=(200, 2)), generator.normal(size=(200, 2)) + 1.0
    model = GaussianMixture(1, reg_covar=0).partial_fit(first)
    np.testing.assert_allclose(model.means_[0], first.mean(axis=0), rtol=1e-12)
    model.partial_fit(second)
    share = 2**-0.6
    mean = (1 - share) * first.mean(axis=0) + share * second.mean(axis=0)
    np.testing.assert_allclose(model.means_[0], mean, rtol=1e-12)
    squares = (1 - share) * first.T @ first / 200 + share * second.T @ second / 200 - np.outer(mean, mean)
    np.testing.assert_allclose(model.covariances_[0], squares, rtol=1e-10)


def test_gaps_that_say_nothing_are_refused_with_the_cure(blobs):
    X = blobs[0][:20].copy()
    with pytest.raises(DataError, match="every column needs an observed entry; column 1 is NaN throughout"):
        GaussianMixture(2).fit(np.where([False, True, False], np.nan, X))
    with pytest.raises(DataError, match="every row needs an observed entry; 1 are NaN throughout"):
        GaussianMixture(2).fit(np.where(np.arange(20)[:, None] == 4, np.nan, X))
    with pytest.raises(DataError, match="contains infinity"):
        GaussianMixture(2).fit(np.where(X[3, 1] == X, np.inf, X))
    model = GaussianMixture(2, random_state=0).fit(X)
    with pytest.raises(DataError, match="every row needs an observed entry; 1 are NaN throughout"):
        model.predict([[np.nan] * 3, [1.0, np.nan, 2.0]])
