"""Latent Dirichlet allocation against its closed forms, its bound and scikit-learn's."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation as Theirs
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer._native.factors import topic_shares
from mercer.decomposition import LatentDirichletAllocation
from mercer.errors import DataError


def draw_counts(n=200, d=30, k=3, length=60, seed=0):
    """Counts of rows whose topics have columns of their own."""
    random = np.random.default_rng(seed)
    topics = np.kron(np.eye(k), np.ones(d // k)) / (d // k)
    shares = random.dirichlet(np.full(k, 0.2), n)
    return np.array([random.multinomial(length, row) for row in shares @ topics]).astype(float), shares, topics


def test_one_topic_has_the_posterior_of_one_dirichlet_distribution():
    X = draw_counts()[0]
    model = LatentDirichletAllocation(1, max_iter=1, random_state=0).fit(X)
    assert np.allclose(model.components_, 1.0 + X.sum(axis=0))
    assert np.allclose(model.transform(X, normalize=False), 1.0 + X.sum(axis=1, keepdims=True))


def test_topics_and_shares_of_drawn_rows_are_found():
    X, shares, topics = draw_counts()
    model = LatentDirichletAllocation(3, max_iter=40, random_state=0).fit(X)
    found = model.components_ / model.components_.sum(axis=1, keepdims=True)
    order = (found @ topics.T).argmax(axis=0)
    assert sorted(order) == [0, 1, 2]
    assert np.abs(found[order] - topics).max() < 0.03
    assert np.abs(model.transform(X)[:, order] - shares).mean() < 0.05


def test_rows_satisfy_their_fixed_point():
    X = draw_counts(30)[0]
    model = LatentDirichletAllocation(3, random_state=0, mean_change_tol=1e-12, max_doc_update_iter=5000).fit(X)
    gamma = model.transform(X, normalize=False)
    shares = np.exp(psi(gamma))
    quotients = X / (shares @ model.exp_dirichlet_component_)
    assert np.allclose(gamma, 1 / 3 + shares * (quotients @ model.exp_dirichlet_component_.T), rtol=1e-6)


def test_bound_perplexity_and_shares_are_scikit_learns_for_the_same_topics():
    X = draw_counts()[0]
    model = LatentDirichletAllocation(3, random_state=0).fit(X)
    theirs = Theirs(3, max_iter=1, random_state=0).fit(X)
    theirs.components_, theirs.exp_dirichlet_component_ = model.components_, model.exp_dirichlet_component_
    assert model.score(X) == pytest.approx(theirs.score(X), rel=1e-6)
    assert model.perplexity(X) == pytest.approx(theirs.perplexity(X), rel=1e-6)
    assert model.perplexity(X, sub_sampling=True) == pytest.approx(theirs.perplexity(X, sub_sampling=True), rel=1e-6)
    assert np.abs(model.transform(X) - theirs.transform(X)).max() < 1e-2
    assert model.bound_ == pytest.approx(model.perplexity(X))


@pytest.mark.parametrize("method", ["batch", "online"])
def test_the_perplexity_is_not_above_scikit_learns(method):
    X = draw_counts()[0]
    given = {"max_iter": 30, "learning_method": method, "random_state": 0}
    ours, theirs = (one(3, **given).fit(X).bound_ for one in (LatentDirichletAllocation, Theirs))
    assert ours < 1.05 * theirs


def test_passes_raise_the_bound():
    X = draw_counts()[0]
    objective = LatentDirichletAllocation(3, max_iter=20, random_state=0).fit(X).history_["objective"]
    assert (np.diff(objective) > -1e-6 * np.abs(objective).max()).all()


def test_the_fit_stops_when_a_pass_changes_the_perplexity_by_less_than_asked():
    X = draw_counts()[0]
    model = LatentDirichletAllocation(3, max_iter=500, evaluate_every=1, perp_tol=1e-3, random_state=0).fit(X)
    assert model.converged_
    assert model.n_iter_ < 500
    assert model.certificate_.value <= 1e-3
    with pytest.warns(ConvergenceWarning):
        LatentDirichletAllocation(3, max_iter=2, evaluate_every=1, perp_tol=1e-9, random_state=0).fit(X)


def test_integer_weights_are_repetitions_and_sparse_rows_are_dense_ones():
    X = draw_counts(80)[0]
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    model = LatentDirichletAllocation(3, random_state=0)
    first = model.fit(X, sample_weight=weight).components_
    assert np.allclose(first, model.fit(np.repeat(X, weight, axis=0)).components_)
    assert np.allclose(model.fit(X).components_, model.fit(csr_array(X)).components_, rtol=1e-12)


def test_batches_in_a_row_are_the_online_fit():
    X = draw_counts(300)[0]
    given = {"batch_size": 100, "total_samples": 300, "random_state": 0, "learning_method": "online"}
    model = LatentDirichletAllocation(3, **given)
    for first in range(0, 300, 100):
        model.partial_fit(X[first : first + 100])
    assert np.allclose(model.components_, LatentDirichletAllocation(3, max_iter=1, **given).fit(X).components_)
    assert model.n_batch_iter_ == 4


def test_a_saved_model_goes_on_where_it_was(tmp_path):
    X = draw_counts()[0]
    model = LatentDirichletAllocation(3, random_state=0).fit(X)
    mercer.save(model, tmp_path / "topics.mercer")
    assert np.array_equal(mercer.load(tmp_path / "topics.mercer").transform(X), model.transform(X))


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_other_units_of_counts_stay_finite(factor):
    X = factor * draw_counts(50)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LatentDirichletAllocation(3, random_state=0).fit(X)
    assert np.isfinite(model.components_).all()
    assert np.allclose(model.transform(X).sum(axis=1), 1.0)


def test_columns_that_no_row_of_the_fit_had_are_taken():
    X = draw_counts(50)[0]
    X[:, 0] = 0.0
    model = LatentDirichletAllocation(3, topic_word_prior=1e-3, random_state=0).fit(X)
    row = np.zeros((1, X.shape[1]))
    row[0, 0] = 5.0
    assert np.isfinite(model.transform(row)).all()
    assert np.isfinite(model.score(row))


def test_negative_counts_are_errors_and_rows_of_zeros_leave_the_prior():
    model = LatentDirichletAllocation(2)
    with pytest.raises(DataError, match="Negative values in data passed to LatentDirichletAllocation"):
        model.fit([[1.0, -1.0]])
    assert np.allclose(model.fit(np.zeros((3, 2))).components_, 0.5)


def test_the_native_digamma_has_ten_digits():
    # One update of a row without counts leaves the prior, whatever the shares are; one count shows them.
    x = np.exp(np.linspace(np.log(1e-2), np.log(1e8), 200))
    gamma, logs = np.stack([x, 2 * x], axis=1).copy(), np.empty(200)
    places, columns = np.arange(201, dtype=np.int32), np.zeros(200, dtype=np.int32)
    topics = np.array([[1.0, 1.0]])
    nothing = np.zeros((0, 2))
    given = (places, columns, np.ones(200), topics, 0.0, gamma, np.ones(200), 0, 0.0, nothing, logs, np.empty((2, 2)))
    topic_shares.infer_rows(*given)
    assert np.allclose(np.exp(logs), np.exp(psi(x)) + np.exp(psi(2 * x)), rtol=2e-10)
