"""Convolutional classifiers: shifted images, dense equivalents, shapes, and sentences for wrong ones."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import mercer
from mercer.errors import DataError, ParameterError
from mercer.neural_network import Conv2d, ConvClassifier, Network

SMALL = {"filters": (6,), "hidden_layer_sizes": (), "learning_rate_init": 0.02, "random_state": 0}


def make_bars(n=200, side=8, seed=0):
    """Images of a bar that lies or stands, at a random place, with noise."""
    random = np.random.default_rng(seed)
    images = 0.1 * random.normal(size=(n, side, side))
    standing = random.random(n) < 0.5
    for image, stands, place in zip(images, standing, random.integers(1, side - 1, n), strict=True):
        image[(slice(None), place) if stands else (place, slice(None))] += 1.0
    return images, np.where(standing, "standing", "lying")


@pytest.mark.catalogue("NN-20")
def test_bars_are_told_apart_wherever_they_are():
    X, y = make_bars()
    model = ConvClassifier(max_iter=15, **SMALL).fit(X[:150], y[:150])
    assert model.image_shape_ == (8, 8, 1)
    assert model.score(X[150:].reshape(50, -1), y[150:]) > 0.95
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.catalogue("NN-20")
def test_a_convolution_is_a_dense_layer_with_shared_weights_and_shifts_with_its_image():
    random = np.random.default_rng(0)
    network = Network([Conv2d(1, 3)], (6, 6, 1))
    theta, _ = network.initialise(0)
    # The response to every pixel alone makes the matrix of the dense layer.
    matrix = network.forward(theta, np.eye(36).reshape(36, 6, 6, 1)).output.reshape(36, 16)
    image = random.normal(size=(1, 6, 6, 1))
    np.testing.assert_allclose(image.reshape(1, 36) @ matrix, network.forward(theta, image).output.reshape(1, 16))
    assert len(np.unique(matrix[matrix != 0])) == 9
    shifted = np.roll(image, (1, 1), axis=(1, 2))
    maps = [network.forward(theta, one).output[0, :, :, 0] for one in (image, shifted)]
    np.testing.assert_allclose(maps[1][1:, 1:], maps[0][:-1, :-1])


def test_digits_are_read_by_a_small_network_with_channels_dropout_and_batch_norm():
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    model = ConvClassifier((8, 8), max_iter=6, batch_norm=True, dropout=0.1, **SMALL).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.88
    assert model.weights_.dtype == np.float32


@pytest.mark.fixed_seed("thirty epochs with early stopping need not learn 60 other images")
def test_colours_are_channels_and_models_survive(tmp_path):
    random = np.random.default_rng(0)
    X = random.random((60, 4, 6, 3))
    y = X[:, :, :, 0].mean(axis=(1, 2)) > X[:, :, :, 1].mean(axis=(1, 2))
    model = ConvClassifier(max_iter=30, early_stopping=True, pool=1, **SMALL).fit(X, y)
    assert model.image_shape_ == (4, 6, 3)
    assert model.score(X, y) > 0.7
    mercer.save(model, tmp_path / "colours.mercer")
    assert np.array_equal(mercer.load(tmp_path / "colours.mercer").predict_proba(X), model.predict_proba(X))


def test_images_of_another_size_are_answered_by_sentences():
    X, y = make_bars(30)
    model = ConvClassifier(max_iter=1, **SMALL).fit(X, y)
    with pytest.raises(DataError, match=r"shape \(8, 8, 1\) of those that were learnt; got \(4, 16\). Scale or cut"):
        model.predict(X.reshape(30, 4, 16))
    with pytest.raises(ValueError, match=r"X has 49 features, but ConvClassifier is expecting 64"):
        model.predict(X[:, :7, :7].reshape(30, -1))
    with pytest.raises(ParameterError, match=r"with the product 64, .* got \(7, 9\). Pass the shape"):
        ConvClassifier((7, 9)).fit(X.reshape(30, -1), y)
    with pytest.raises(DataError, match=r"images must have the shape \(4, 16, 1\) that image_shape gives"):
        ConvClassifier((4, 16)).fit(X, y)
    with pytest.raises(ParameterError, match=r"batch_norm=True needs batches of at least 2 images; got batch_size=1"):
        ConvClassifier(batch_norm=True, batch_size=1).fit(X, y)
    with pytest.raises(DataError, match="at least one image"):
        model.predict(X[:0])
