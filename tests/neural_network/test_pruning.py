"""Pruning by magnitude and by saliency, and the temperature of probabilities."""

import numpy as np
import pytest

from mercer.errors import DataError, UnsupportedError
from mercer.neural_network import MLPClassifier, MLPRegressor, estimate_saliency, prune_weights

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.catalogue("NN-09")
def test_the_requested_sparsity_is_reached_and_stays_in_training():
    X = np.random.default_rng(0).normal(size=(80, 4))
    model = MLPRegressor(hidden_layer_sizes=(6,), max_iter=20, random_state=0, warm_start=True).fit(X, X[:, 0])
    smallest = np.sort(np.abs(np.concatenate([W.ravel() for W in model.coefs_])))[:15]
    prune_weights(model, 0.5)
    zeros = [W == 0 for W in model.coefs_]
    assert sum(part.sum() for part in zeros) == 15
    assert min(np.abs(W[W != 0]).min() for W in model.coefs_) >= smallest[-1]
    before = [W.copy() for W in model.coefs_]
    model.fit(X, X[:, 0])
    assert all((W[part] == 0).all() for W, part in zip(model.coefs_, zeros, strict=True))
    assert any((old != W).any() for W, old in zip(model.coefs_, before, strict=True))


@pytest.mark.catalogue("NN-09")
@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_pruned_weights_stay_zero_in_batches_until_a_new_fit(solver):
    X = np.random.default_rng(0).normal(size=(80, 4))
    model = MLPRegressor(hidden_layer_sizes=(6,), solver=solver, max_iter=20, random_state=0).fit(X, X[:, 0])
    prune_weights(model, 0.6)
    zeros = [W == 0 for W in model.coefs_]
    assert sum(part.sum() for part in zeros) == 18
    before = [W.copy() for W in model.coefs_]
    for rows in np.split(X, 4):
        model.partial_fit(rows, rows[:, 0])
    assert all((W[part] == 0).all() for W, part in zip(model.coefs_, zeros, strict=True))
    assert all((old != W)[~part].all() for W, old, part in zip(model.coefs_, before, zeros, strict=True))
    model.fit(X, X[:, 0])
    model.partial_fit(X, X[:, 0])
    assert all((W != 0).all() for W in model.coefs_)


@pytest.mark.catalogue("NN-10")
def test_the_predicted_increase_is_exact_for_a_quadratic_with_a_diagonal_hessian():
    # Orthogonal columns with mean zero: the Hessian of the mean squared error is diagonal.
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(60, 4)) - 0.0)[0]
    X = np.linalg.qr(X - X.mean(axis=0))[0] * 3.0
    y = X @ [2.0, -1.0, 0.5, 0.0]
    model = MLPRegressor(hidden_layer_sizes=(), solver="lbfgs", alpha=0.0, tol=1e-10, max_iter=200).fit(X, y)
    saliency = estimate_saliency(model, X, y)[0][:, 0]
    for column in range(4):
        weights = model.coefs_[0][:, 0].copy()
        weights[column] = 0.0
        rise = 0.5 * np.mean((X @ weights + model.intercepts_[0] - y) ** 2) - 0.5 * np.mean((model.predict(X) - y) ** 2)
        np.testing.assert_allclose(saliency[column], rise, atol=1e-7)


@pytest.mark.catalogue("NN-10")
def test_irrelevant_inputs_are_pruned_first():
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 4))
    y = 2.0 * X[:, 0] - X[:, 1] + 0.1 * random.normal(size=150)
    model = MLPRegressor(hidden_layer_sizes=(), solver="lbfgs", random_state=0).fit(X, y)
    prune_weights(model, 0.5, rule="saliency", X=X, y=y)
    np.testing.assert_array_equal(model.coefs_[0][:, 0] != 0, [True, True, False, False])


def test_pruning_says_what_it_needs():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = MLPRegressor(hidden_layer_sizes=(2,), max_iter=2, random_state=0).fit(X, X[:, 0])
    with pytest.raises(DataError, match="needs the rows X and y"):
        prune_weights(model, 0.5, rule="saliency")
    normed = MLPRegressor(hidden_layer_sizes=(2,), max_iter=2, batch_norm=True, random_state=0).fit(X, X[:, 0])
    with pytest.raises(UnsupportedError, match="drop batch_norm"):
        prune_weights(normed, 0.5)


def test_a_temperature_makes_sure_probabilities_milder_and_keeps_the_classes():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    y = np.array(["a", "b", "c"])[(X[:, 0] + 1.5 * random.normal(size=400) > 0).astype(int) + (X[:, 1] > 1)]
    model = MLPClassifier((60,), alpha=0.0, learning_rate_init=0.02, max_iter=150, random_state=0).fit(X[:100], y[:100])
    before, labels = model.predict_proba(X[100:]), model.predict(X[100:])

    def loss(probabilities):
        return -np.mean(np.log(probabilities[np.arange(300), np.searchsorted(model.classes_, y[100:])]))

    model.calibrate(X[100:], y[100:])
    assert model.temperature_ > 1.2
    assert loss(model.predict_proba(X[100:])) < loss(before)
    np.testing.assert_array_equal(model.predict(X[100:]), labels)
    with pytest.raises(DataError, match="calibrate needs one known label"):
        model.calibrate(X[:2], ["a", "z"])
