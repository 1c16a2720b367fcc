"""PCA batch by batch: the moments add up, so nothing is lost of the rows that are gone."""

import numpy as np
import pytest
import scipy.sparse

import mercer
from mercer.decomposition import PCA, IncrementalPCA
from mercer.errors import DataError, ParameterError

X = np.random.default_rng(0).normal(size=(700, 8)) @ np.random.default_rng(1).normal(size=(8, 8)) + 30.0
WEIGHT = np.arange(700) % 3 / 2.0
CUTS = [slice(0, 20), slice(20, 21), slice(21, 700)]
NAMES = ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_", "scale_")


def in_batches(model, X, weight=None):
    for cut in CUTS:
        model.partial_fit(X[cut], sample_weight=None if weight is None else weight[cut])
    return model


def assert_same_model(one, other):
    for name in NAMES:
        if getattr(one, name) is not None:
            np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-10, atol=1e-12, err_msg=name)
    assert other.noise_variance_ == pytest.approx(one.noise_variance_, rel=1e-10)
    assert (other.n_components_, other.n_samples_) == (one.n_components_, one.n_samples_)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(
    "settings",
    [{"n_components": 3}, {"n_components": 0.9}, {"n_components": "mle"}, {"n_components": 2, "scale": True}, {}],
    ids=repr,
)
def test_batches_give_the_components_of_one_fit_over_all_rows(settings, weight):
    one = PCA(svd_solver="covariance_eigh", **settings).fit(X, sample_weight=weight)
    many = in_batches(PCA(**settings), X, weight)
    assert_same_model(one, many)
    assert many.n_samples_seen_ == many.n_samples_
    assert many.solver_used_ == "covariance_eigh"
    assert many.certificate_.satisfied
    assert many.converged_
    assert many.n_iter_ == 1


def test_nothing_is_cut_off_as_the_incremental_method_must():
    exact = PCA(2).fit(X).explained_variance_
    many, cut = in_batches(PCA(2), X), IncrementalPCA(2, batch_size=20).fit(X)
    np.testing.assert_allclose(many.explained_variance_, exact, rtol=1e-12)
    assert np.abs(cut.explained_variance_ - exact).max() > 1e-4


def test_rows_may_come_from_any_place():
    one = PCA(3, svd_solver="covariance_eigh").fit(X)
    assert_same_model(one, PCA(3).partial_fit(iter([X[:300], X[300:]])))
    assert_same_model(one, PCA(3).partial_fit(scipy.sparse.csr_array(X[:300])).partial_fit(X[300:]))


def test_a_saved_model_goes_on_where_it_stopped(tmp_path):
    model = PCA(3).partial_fit(X[:300])
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer").partial_fit(X[300:])
    assert np.array_equal(loaded.components_, model.partial_fit(X[300:]).components_)


def test_wider_than_long_until_enough_rows_have_come():
    model = PCA().partial_fit(X[:4])
    assert model.n_components_ == 4
    assert_same_model(PCA(svd_solver="covariance_eigh").fit(X), model.partial_fit(X[4:]))


def test_a_failed_call_leaves_the_model_as_it_was_and_fit_forgets_the_batches():
    model = PCA(2).partial_fit(X)
    before = model.components_.copy()
    with pytest.raises(DataError, match="overflow float64"):
        model.partial_fit(np.array([[1e300] * 8, [-1e300] * 8]))
    with pytest.raises(ValueError, match="7 features"):
        model.partial_fit(X[:, :7])
    np.testing.assert_array_equal(model.partial_fit(X).components_.round(8), before.round(8))
    assert not hasattr(model.fit(X), "n_samples_seen_")
    with pytest.warns(UserWarning, match="PCA: partial_fit adds to sums that fit does not keep"):
        model.partial_fit(X)
    assert model.n_samples_seen_ == 700


def test_too_few_rows_and_unsuitable_solvers_are_refused_with_a_cure():
    with pytest.raises(DataError, match="n_components=5 must be between 0 and"):
        PCA(5).partial_fit(X[:3])
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as caught:
        PCA(2, svd_solver="arpack").partial_fit(X)
    assert isinstance(caught.value.__cause__, ParameterError)
    assert "Set svd_solver='auto', or call fit." in str(caught.value.__cause__)
