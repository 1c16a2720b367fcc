"""Autoencoders against principal components, finite differences, and curved data."""

import numpy as np
import pytest

import mercer
from mercer.decomposition import PCA
from mercer.errors import DataError, ParameterError
from mercer.neural_network import Autoencoder
from mercer.neural_network._relatives.network_model import find_penalised
from mercer.neural_network._relatives.reconstruction import Reconstruction
from mercer.neural_network._relatives.training import TrainingState


def make_rows(n=300, d=6, rank=2, noise=0.1, seed=0):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, rank)) @ random.normal(size=(rank, d)) + noise * random.normal(size=(n, d))
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


@pytest.mark.catalogue("NN-18", "PM-21")
def test_a_linear_autoencoder_reaches_the_error_and_the_subspace_of_principal_components():
    X = make_rows()
    settings = {"batch_size": 300, "learning_rate_init": 0.05, "max_iter": 1500, "tol": 1e-7, "n_iter_no_change": 50}
    model = Autoencoder(2, hidden_layer_sizes=(), random_state=0, **settings).fit(X)
    pca = PCA(2).fit(X)
    best = ((X - pca.inverse_transform(pca.transform(X))) ** 2).sum(axis=1).mean()
    assert (1 - 1e-9) * best < -model.score_samples(X).mean() < 1.02 * best
    # The decoder's columns span the principal subspace: the sines of the angles between them are small.
    basis = np.linalg.qr(model.inverse_transform(np.eye(2)).T - model.inverse_transform(np.zeros((1, 2))).T)[0]
    assert np.linalg.norm(basis - pca.components_.T @ (pca.components_ @ basis)) < 0.1


@pytest.mark.catalogue("NN-18")
def test_a_curved_manifold_is_restored_better_than_by_principal_components():
    t = np.random.default_rng(0).uniform(-2, 2, 300)
    X = np.column_stack([t, t**2 - 4 / 3])
    pca = PCA(1).fit(X)
    straight = ((X - pca.inverse_transform(pca.transform(X))) ** 2).sum(axis=1).mean()
    model = Autoencoder(1, hidden_layer_sizes=(16,), learning_rate_init=0.01, random_state=0).fit(X)
    assert -model.score(X) < 0.1 * straight
    assert model.transform(X).shape == (300, 1)
    assert model.inverse_transform(model.transform(X)).shape == X.shape


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"sparsity": 0.1, "code_activation": "logistic"},
        {"contraction": 0.1},
        {"alpha": 0.1, "dropout": 0.3, "noise": 0.2},
        {"noise": 0.3, "noise_kind": "masking"},
    ],
)
def test_the_gradient_of_every_penalty_is_that_of_finite_differences(settings):
    X = make_rows(20)
    weight = np.random.default_rng(0).random(20)
    model = Autoencoder(2, hidden_layer_sizes=(3,), **settings)
    coder = model._build(6)
    theta = np.concatenate([network.initialise(0)[0] for network in (coder.encoder, coder.decoder)])
    mask = np.concatenate([find_penalised(network) for network in (coder.encoder, coder.decoder)])
    task = Reconstruction(coder, X, weight, mask, model)
    rows = np.arange(0, 20, 2)
    _, gradient, _ = task.learn(TrainingState.begin(theta, {}, (1, 2)), rows)
    for index in range(0, len(theta), 5):
        step = np.zeros(len(theta))
        step[index] = 1e-5
        values = [task.learn(TrainingState.begin(theta + sign * step, {}, (1, 2)), rows)[0] for sign in (1, -1)]
        assert gradient[index] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-7)


def test_penalties_do_what_their_names_say():
    X = make_rows(d=8, rank=4)
    settings = {"hidden_layer_sizes": (), "learning_rate_init": 0.01, "max_iter": 60, "random_state": 0, "tol": 0.0}
    plain = Autoencoder(4, **settings).fit(X)
    sparse = Autoencoder(4, sparsity=0.05, **settings).fit(X)
    assert np.abs(sparse.transform(X)).mean() < 0.7 * np.abs(plain.transform(X)).mean()
    tight = Autoencoder(4, contraction=0.05, **settings).fit(X)
    jacobians = [np.linalg.norm(model.encoder_.split(model.weights_[:36])["0 Dense"]["W"]) for model in (plain, tight)]
    assert jacobians[1] < 0.8 * jacobians[0]


def test_noise_makes_a_better_restorer_of_damaged_rows():
    X = make_rows(400, 12, 3)
    damaged = X + 0.7 * np.random.default_rng(1).normal(size=X.shape)
    settings = {"hidden_layer_sizes": (20,), "learning_rate_init": 0.01, "max_iter": 80, "random_state": 0, "tol": 0.0}
    errors = []
    for noise in (0.0, 0.7):
        model = Autoencoder(8, noise=noise, **settings).fit(X)
        errors.append(((model.inverse_transform(model.transform(damaged)) - X) ** 2).mean())
    assert errors[1] < 0.85 * errors[0]


def test_outliers_are_restored_badly():
    X = make_rows(300, 8)
    model = Autoencoder(2, hidden_layer_sizes=(16,), learning_rate_init=0.01, max_iter=60, random_state=0).fit(X)
    strange = np.random.default_rng(5).normal(size=(50, 8)) * 2
    assert np.quantile(model.score_samples(strange), 0.9) < np.quantile(model.score_samples(X), 0.1)


def test_early_stopping_keeps_the_weights_that_were_best_on_held_out_rows(tmp_path):
    X = make_rows(100)
    model = Autoencoder(2, early_stopping=True, learning_rate_init=0.05, max_iter=100, random_state=0).fit(X)
    assert model.converged_
    assert np.argmin(model.history_["validation_loss"]) < len(model.history_["validation_loss"]) - 1
    mercer.save(model, tmp_path / "coder.mercer")
    assert np.array_equal(mercer.load(tmp_path / "coder.mercer").transform(X), model.transform(X))


def test_bad_input_is_answered_by_sentences():
    X = make_rows(50)
    with pytest.raises(ParameterError, match=r"hidden_layer_sizes must be positive integers; got \(4, 0\)"):
        Autoencoder(hidden_layer_sizes=(4, 0)).fit(X)
    model = Autoencoder(2, max_iter=1, random_state=0).fit(X)
    with pytest.raises(DataError, match=r"codes must have shape \(n_samples, 2\); got \(1, 3\)"):
        model.inverse_transform(np.zeros((1, 3)))
    with pytest.warns(
        Warning, match=r"the loss was no longer a number in epoch \d+; the weights of epoch \d+ were kept"
    ):
        wild = Autoencoder(learning_rate_init=1e200, random_state=0, max_iter=3).fit(X)
    assert np.isfinite(wild.weights_).all()
