"""Autoencoders against principal components, finite differences, and curved data."""

import numpy as np
import pytest

import mercer
from mercer.decomposition import PCA
from mercer.errors import DataError, ParameterError
from mercer.neural_network import Autoencoder
from mercer.neural_network._relatives.autoencoder import Reconstruction
from mercer.neural_network._relatives.plan import Batch, Moment
from mercer.optim import LBFGS


def make_rows(n=300, d=6, rank=2, noise=0.1, seed=0):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, rank)) @ random.normal(size=(rank, d)) + noise * random.normal(size=(n, d))
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


@pytest.mark.catalogue("NN-18", "PM-21")
def test_a_linear_autoencoder_reaches_the_error_and_the_subspace_of_principal_components():
    X = make_rows()
    settings = {"hidden_layer_sizes": (), "solver": LBFGS(), "max_iter": 500, "tol": 1e-9, "random_state": 0}
    model = Autoencoder(2, **settings).fit(X)
    pca = PCA(2).fit(X)
    best = ((X - pca.inverse_transform(pca.transform(X))) ** 2).sum(axis=1).mean()
    assert -model.score(X) == pytest.approx(best, rel=1e-8)
    # The decoder's columns span the principal subspace: the sines of the angles between them are small.
    basis = np.linalg.qr(model.inverse_transform(np.eye(2)).T - model.inverse_transform(np.zeros((1, 2))).T)[0]
    assert np.linalg.norm(basis - pca.components_.T @ (pca.components_ @ basis)) < 1e-5


@pytest.mark.catalogue("NN-18")
def test_a_curved_manifold_is_restored_better_than_by_principal_components():
    t = np.random.default_rng(0).uniform(-2, 2, 300)
    X = np.column_stack([t, t**2 - 4 / 3])
    pca = PCA(1).fit(X)
    straight = ((X - pca.inverse_transform(pca.transform(X))) ** 2).sum(axis=1).mean()
    model = Autoencoder(1, hidden_layer_sizes=(16,), solver=LBFGS(), max_iter=300, random_state=0).fit(X)
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
    task = Reconstruction(coder, model)
    batch, moment = Batch(X[::2], None, weight[::2]), Moment({}, (1, 2), 0)
    _, gradient, _ = task.learn(theta, batch, moment)
    for index in range(0, len(theta), 5):
        step = np.zeros(len(theta))
        step[index] = 1e-5
        values = [task.learn(theta + sign * step, batch, moment)[0] for sign in (1, -1)]
        assert gradient[index] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-7)


def test_a_sparse_code_has_zeros_and_still_restores_rows():
    """Rows are sums of few of six patterns: a quarter of the numbers that made them are not zero."""
    random = np.random.default_rng(0)
    sources = random.exponential(size=(300, 6)) * (random.random((300, 6)) < 0.25)
    X = sources @ random.normal(size=(6, 10)) + 0.02 * random.normal(size=(300, 10))
    X -= X.mean(axis=0)
    settings = {"hidden_layer_sizes": (), "code_activation": "relu", "alpha": 1e-3, "learning_rate_init": 0.02}
    settings |= {"max_iter": 150, "tol": 0.0, "random_state": 0}
    plain, sparse = (Autoencoder(12, sparsity=strength, **settings).fit(X) for strength in (0.0, 0.1))
    shares = [(model.transform(X) == 0).mean() for model in (plain, sparse)]
    assert shares[0] < 0.5 < 0.75 < shares[1]
    assert -sparse.score(X) < 0.05 * (X**2).sum(axis=1).mean()


def measure_jacobian(model, X):
    """Return the mean norm of the derivatives of the code by the row."""
    network = model.encoder_
    trace = network.forward(model.weights_[: network.n_weights], X, {})
    parts = [network.backward(trace, np.eye(4)[[unit] * len(X)])[1]["input"] for unit in range(4)]
    return np.sqrt(sum((part**2).sum(axis=1) for part in parts)).mean()


@pytest.mark.fixed_seed("how much of the rows a shorter Jacobian loses depends on them")
def test_contraction_shortens_the_jacobian_of_the_code():
    X = make_rows(d=8, rank=4)
    settings = {"hidden_layer_sizes": (12,), "alpha": 1e-3, "learning_rate_init": 0.01, "max_iter": 60, "tol": 0.0}
    plain, tight = (Autoencoder(4, contraction=strength, random_state=0, **settings).fit(X) for strength in (0.0, 0.1))
    assert measure_jacobian(tight, X) < 0.4 * measure_jacobian(plain, X)
    assert tight.score(X) > 1.5 * plain.score(X)


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
    model = Autoencoder(2, early_stopping=True, learning_rate_init=0.05, max_iter=300, random_state=0).fit(X)
    assert model.converged_
    loss = model.history_["validation_loss"]
    # The rule: ten epochs in a row, none of which improves the best before it by tol.
    assert (loss[-10:] > np.minimum.accumulate(loss)[-11:-1] - model.tol).all()
    mercer.save(model, tmp_path / "coder.mercer")
    assert np.array_equal(mercer.load(tmp_path / "coder.mercer").transform(X), model.transform(X))


def test_bad_input_is_answered_by_sentences():
    X = make_rows(50)
    with pytest.raises(ParameterError, match=r"hidden_layer_sizes must be positive integers; got \(4, 0\)"):
        Autoencoder(hidden_layer_sizes=(4, 0)).fit(X)
    model = Autoencoder(2, max_iter=1, random_state=0).fit(X)
    with pytest.raises(DataError, match=r"codes must have shape \(n_samples, 2\); got \(1, 3\)"):
        model.inverse_transform(np.zeros((1, 3)))
    with pytest.warns(Warning, match=r"the loss grew without end in epoch \d+; the weights of epoch \d+ were kept"):
        wild = Autoencoder(learning_rate_init=1e140, random_state=0, max_iter=3).fit(X)
    assert np.isfinite(wild.weights_).all()
