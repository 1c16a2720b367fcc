"""What layers show of themselves, loss surfaces, and functions approximated by units."""

import numpy as np
import pytest

from mercer.errors import DataError, ParameterError
from mercer.neural_network import (
    Activation,
    Dense,
    Network,
    approximate_by_cosines,
    approximate_by_units,
    draw_direction,
    examine_layers,
    map_loss,
)


def test_gradient_norms_and_pre_activations_are_those_of_the_layers():
    network = Network([Dense(3), Activation("tanh"), Dense(1)], (2,))
    theta, _ = network.initialise(0)
    X, y = np.random.default_rng(0).normal(size=(5, 2)), np.arange(5.0)
    _, gradient, _ = network.evaluate(theta, X, y)
    reports = {report.name: report for report in examine_layers(network, theta, X, y)}
    assert reports["0 Dense"].gradient_norm == pytest.approx(np.linalg.norm(gradient[:9]))
    assert reports["2 Dense"].gradient_norm == pytest.approx(np.linalg.norm(gradient[9:]))
    expected = X @ theta[:6].reshape(2, 3) + theta[6:9]
    np.testing.assert_allclose(reports["1 Activation"].pre_activations, expected)
    assert np.isnan(reports["0 Dense"].saturated)


def test_saturated_and_dead_units_are_counted():
    network = Network([Dense(4), Activation("relu"), Dense(4), Activation("logistic"), Dense(1)], (1,))
    theta, _ = network.initialise(0)
    weights = network.split(theta)
    weights["0 Dense"]["W"][:] = 1.0
    weights["0 Dense"]["b"][:] = [0.0, -100.0, 0.0, -100.0]
    weights["2 Dense"]["W"][:] = 0.0
    weights["2 Dense"]["b"][:] = [0.0, 0.0, 0.0, 10.0]
    reports = examine_layers(network, theta, np.ones((3, 1)), np.ones(3))
    assert reports[1].dead == 0.5
    assert reports[3].saturated == 0.25
    assert reports[3].dead == 0.0
    with pytest.raises(DataError, match="at least one row"):
        examine_layers(network, theta, np.ones((0, 1)), np.ones(0))


def test_a_loss_surface_is_the_loss_at_each_place():
    network = Network([Dense(1)], (2,))
    theta = np.array([1.0, -1.0, 0.5])
    X, y = np.random.default_rng(0).normal(size=(6, 2)), np.ones(6)
    first, second = draw_direction(network, theta, 0), draw_direction(network, theta, 1)
    # Every array of weights moves by its own norm.
    assert np.linalg.norm(first[:2]) == pytest.approx(np.sqrt(2))
    assert abs(first[2]) == pytest.approx(0.5)
    surface = map_loss(lambda w: network.evaluate(w, X, y)[0], theta, first, second, steps=[-1.0, 0.0, 2.0])
    assert surface.losses[1, 1] == pytest.approx(network.evaluate(theta, X, y)[0])
    assert surface.losses[2, 0] == pytest.approx(network.evaluate(theta - first + 2 * second, X, y)[0])
    with pytest.raises(ParameterError, match=r"the shape of theta, \(3,\); got \(2,\) and \(3,\)"):
        map_loss(lambda w: 0.0, theta, first[:2], second)


@pytest.mark.catalogue("NN-17")
def test_more_steps_and_sigmoids_approximate_a_function_better():
    x = np.linspace(0, 2, 2001)

    def function(t):
        return np.sin(3 * t) + t

    errors = [np.abs(approximate_by_units(function, n, high=2.0)(x) - function(x)).max() for n in (10, 40, 160)]
    # A Lipschitz constant of 4 bounds the error by 4 * 2 / (2 n).
    assert all(error <= 4.0 / n for error, n in zip(errors, (10, 40, 160), strict=True))
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    smooth = [
        np.abs(approximate_by_units(function, n, high=2.0, steepness=4.0)(x) - function(x)).max() for n in (10, 160)
    ]
    assert smooth[1] < 0.1 * smooth[0]
    assert approximate_by_units(function, 1)(x[:3]) == pytest.approx(np.full(3, function(0.5)))


@pytest.mark.catalogue("NN-17")
def test_cosines_of_sums_make_products_of_cosines():
    points = np.random.default_rng(0).random((50, 2))

    def product(x):
        return np.cos(2 * np.pi * x[:, 0]) * np.cos(3 * np.pi * x[:, 1])

    network = approximate_by_cosines(product, 4)
    assert network.weights.shape == (2, 32)
    np.testing.assert_allclose(network(points), product(points), atol=1e-12)

    def hill(x):
        return np.exp(-10 * ((x - 0.4) ** 2).sum(axis=1))

    errors = [np.abs(approximate_by_cosines(hill, n)(points) - hill(points)).max() for n in (2, 4, 8)]
    assert errors[0] > errors[1] > errors[2]
    with pytest.raises(ParameterError, match="n_frequencies must be at least 1; got 0"):
        approximate_by_cosines(hill, 0)
    with pytest.raises(ParameterError, match="n_units must be at least 1 and low below high"):
        approximate_by_units(np.sin, 3, low=1.0, high=0.0)
    with pytest.raises(DataError, match="must give 3 finite numbers"):
        approximate_by_units(lambda x: np.full(3, np.nan), 3)
