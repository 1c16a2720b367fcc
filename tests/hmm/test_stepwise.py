"""partial_fit: stepwise EM on batches of sequences."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

import mercer
from mercer.errors import DataError
from mercer.hmm import GMMHMM, CategoricalHMM, DensityHMM, GaussianHMM, MultinomialHMM, PoissonHMM
from mercer.hmm._gaussian_emission import GaussianEmission

STATES = np.repeat(np.random.default_rng(0).integers(0, 2, 60), 10)
GAUSSIAN = np.random.default_rng(1).normal(size=(600, 2)) + 3.0 * STATES[:, None]
# States and the groups within them are told apart by a column each.
GROUPED = (
    np.random.default_rng(1).normal(size=(600, 2))
    + np.c_[20.0 * STATES, 8.0 * np.random.default_rng(3).integers(0, 2, 600)]
)
COUNTS = np.random.default_rng(2).poisson(1.0 + 4.0 * STATES[:, None] * [1.0, 0.5]).astype(float)
MODELS = {
    **{kind: (GaussianHMM(2, kind, random_state=0), GAUSSIAN) for kind in ("spherical", "diag", "full", "tied")},
    "mixture": (GMMHMM(2, n_mix=2, random_state=0), GROUPED),
    "poisson": (PoissonHMM(2, random_state=0), COUNTS),
    "categorical": (CategoricalHMM(2, n_features=6, random_state=0), np.minimum(COUNTS, 5)),
    "multinomial": (
        MultinomialHMM(2, random_state=0),
        np.stack([np.minimum(COUNTS[:, 0], 5), 5 - np.minimum(COUNTS[:, 0], 5)], 1),
    ),
}
LENGTHS = [100, 200, 300]


def learnt(model):
    return {name: getattr(model, name) for name in ("startprob_", "transmat_", *model._emission_names)}


def assert_equal(model, other, rtol=1e-9):
    for name, value in learnt(model).items():
        np.testing.assert_allclose(value, learnt(other)[name], rtol=rtol, atol=rtol, err_msg=name)


@pytest.mark.filterwarnings("ignore:.*not converged")
@pytest.mark.parametrize("kind", MODELS)
def test_the_first_batch_is_the_first_iteration_of_fit(kind):
    model, X = MODELS[kind]
    first = clone(model).partial_fit(X, lengths=LENGTHS, sequence_weight=[1.0, 2.0, 0.5])
    expected = clone(model).set_params(n_iter=1).fit(X, lengths=LENGTHS, sequence_weight=[1.0, 2.0, 0.5])
    assert_equal(first, expected, 1e-12)
    assert first.n_batches_seen_ == 1


@pytest.mark.filterwarnings("ignore:.*not converged")
@pytest.mark.parametrize("kind", MODELS)
def test_a_fitted_model_stays_where_it_is_on_its_own_rows(kind):
    model, X = MODELS[kind]
    # The prior of variances counts less as steps add up, which would move them.
    settings = {"covars_prior": 0.0} if "covars_prior" in model.get_params() else {}
    # A gain of g leaves steps of the order of sqrt(g).
    model = clone(model).set_params(n_iter=1000, tol=1e-13, **settings).fit(X, lengths=LENGTHS)
    other = mercer.to_device(model, "cpu")
    for _ in range(3):
        other.partial_fit(X, lengths=LENGTHS)
    assert_equal(other, model, 1e-6)


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_two_batches_are_blended_by_hand(kind):
    """The second M step sees the average of both batches' counts, per step, with the share 2^-0.6 for the second."""
    model = GaussianHMM(2, kind, random_state=0, covars_prior=0.0)
    first, second = GAUSSIAN[:400], GAUSSIAN[400:]
    model.partial_fit(first, lengths=[100, 300])
    # Posterior probabilities of the first batch under the parameters that its E step had: those before its M step.
    begin = GaussianHMM(2, kind, random_state=0, n_iter=0).fit(first, lengths=[100, 300])
    shares = [begin.predict_proba(first, [100, 300]), model.predict_proba(second)]
    model.partial_fit(second)
    weights = [1.0 - 2.0**-0.6, 2.0**-0.6]
    mass = sum(w * p.mean(axis=0) for w, p in zip(weights, shares, strict=True))
    batches = list(zip(weights, shares, (first, second), strict=True))
    means = sum(w * p.T @ X / len(X) for w, p, X in batches) / mass[:, None]
    np.testing.assert_allclose(model.means_, means, rtol=1e-9)
    for state in range(2):
        away = [X - means[state] for X in (first, second)]
        products = [w * (p[:, state, None] * z).T @ z / len(z) for (w, p, _), z in zip(batches, away, strict=True)]
        covariance = sum(products) / mass[state]
        expected = covariance if kind == "full" else np.diag(covariance)
        np.testing.assert_allclose(model.covars_[state], expected, rtol=1e-8)


def test_many_batches_find_what_made_them():
    truth = GaussianHMM(2)
    truth.startprob_, truth.transmat_ = np.array([0.5, 0.5]), np.array([[0.95, 0.05], [0.1, 0.9]])
    truth.means_, truth.covars_ = np.array([[0.0], [3.0]]), np.array([[1.0], [0.25]])
    model = GaussianHMM(2, random_state=0)
    for number in range(80):
        model.partial_fit(truth.sample(300, random_state=number)[0])
    order = np.argsort(model.means_[:, 0])
    assert model.n_batches_seen_ == 80
    np.testing.assert_allclose(model.means_[order, 0], [0.0, 3.0], atol=0.1)
    np.testing.assert_allclose(model.covars_[order, 0], [1.0, 0.25], atol=0.1)
    np.testing.assert_allclose(model.transmat_[np.ix_(order, order)], truth.transmat_, atol=0.03)


def test_moments_move_with_the_means():
    random = np.random.default_rng(3)
    old = GaussianEmission("full", random.normal(size=(2, 2)), np.tile(np.eye(2), (2, 1, 1)))
    new = GaussianEmission("full", random.normal(size=(2, 2)), old.covars)
    shares = np.zeros((600, 8))
    shares[:, :2] = random.random((600, 2))
    found, expected = old.sums(GAUSSIAN, shares).recentre(old, new), new.sums(GAUSSIAN, shares)
    for name in ("mass", "first", "second"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9)


def test_priors_count_against_all_steps_so_far():
    model = GaussianHMM(2, random_state=0, transmat_prior=1000.0)
    model.partial_fit(GAUSSIAN)
    early = np.abs(model.transmat_ - 0.5).max()
    for _ in range(20):
        model.partial_fit(GAUSSIAN)
    # 999 transitions of the prior outweigh 600 observed ones, and are outweighed by 12600.
    assert early < 0.15
    assert np.abs(model.transmat_ - 0.5).max() > 0.3


def test_a_saved_model_goes_on_as_if_it_had_not_been_saved(tmp_path):
    model = GaussianHMM(2, "full", random_state=0).partial_fit(GAUSSIAN[:300])
    mercer.save(model, tmp_path / "model.mercer")
    other = mercer.load(tmp_path / "model.mercer").partial_fit(GAUSSIAN[300:])
    assert_equal(other, model.partial_fit(GAUSSIAN[300:]), 0.0)
    assert other.n_batches_seen_ == 2


def test_batches_on_a_device_give_the_model_of_memory():
    memory, there = GaussianHMM(2, random_state=0), GaussianHMM(2, random_state=0)
    for part in (GAUSSIAN[:300], GAUSSIAN[300:]):
        memory.partial_fit(part)
        there.partial_fit(torch.asarray(part))
    assert isinstance(there.means_, torch.Tensor)
    assert_equal(memory, there)
    with pytest.raises(DataError, match="must use the same namespace"):
        there.partial_fit(GAUSSIAN)


def test_fit_forgets_the_batches():
    model = GaussianHMM(2, random_state=0).partial_fit(GAUSSIAN).fit(GAUSSIAN)
    assert not hasattr(model, "n_batches_seen_")
    assert_equal(model, GaussianHMM(2, random_state=0).fit(GAUSSIAN), 0.0)


def test_batches_with_other_columns_or_densities_are_refused():
    model = GaussianHMM(2, random_state=0).partial_fit(GAUSSIAN)
    with pytest.raises(ValueError, match="X has 1 features, but GaussianHMM is expecting 2"):
        model.partial_fit(GAUSSIAN[:, :1])
    with pytest.raises(DataError, match=r"transmat_ must have shape|startprob_ must have shape"):
        model.set_params(n_components=3).partial_fit(GAUSSIAN)
    assert not hasattr(DensityHMM(2), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit"):
        DensityHMM(2).partial_fit(GAUSSIAN)
