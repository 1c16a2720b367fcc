"""What layers and networks compute: closed forms, laws and messages."""

import numpy as np
import pytest

from mercer.errors import DataError, ParameterError
from mercer.neural_network import (
    Activation,
    Add,
    BatchNorm,
    Conv1d,
    Conv2d,
    Dense,
    Dropout,
    Flatten,
    Network,
    SimpleRecurrent,
)


@pytest.mark.catalogue("NN-02")
def test_activations_have_their_known_values_and_derivatives():
    z = np.linspace(-4, 4, 33)
    s = 1 / (1 + np.exp(-z))
    np.testing.assert_allclose(Activation("logistic").compute(z), s, rtol=1e-12)
    np.testing.assert_allclose(Activation("logistic").differentiate(z), s * (1 - s), rtol=1e-12)
    assert Activation("logistic").differentiate(z).max() == 0.25
    np.testing.assert_allclose(Activation("tanh").compute(z), 2 / (1 + np.exp(-2 * z)) - 1, atol=1e-15)
    assert (Activation("step").differentiate(z) == 0).all()
    np.testing.assert_array_equal(Activation("step").compute(z), z >= 0)
    for name in ("logistic", "tanh"):
        assert abs(Activation(name).differentiate(np.array([40.0]))[0]) < 1e-15
    for name in Activation.names:
        if name != "step":
            smooth = z[np.abs(z) > 1e-3]
            ahead, behind = (Activation(name).compute(smooth + h) for h in (1e-6, -1e-6))
            np.testing.assert_allclose(Activation(name).differentiate(smooth), (ahead - behind) / 2e-6, atol=1e-8)


def test_activations_do_not_overflow():
    z = np.array([-1e4, 1e4])
    with np.errstate(all="raise", under="ignore"):
        for name in Activation.names:
            assert np.isfinite(Activation(name).compute(z)).all(), name
            assert np.isfinite(Activation(name).differentiate(z)).all(), name


@pytest.mark.catalogue("NN-01")
def test_a_stack_of_linear_layers_is_one_linear_map():
    network = Network([Dense(5), Dense(4), Dense(2)], (3,))
    theta, _ = network.initialise(0)
    weights = [own["W"] for own in network.split(theta).values()]
    X = np.random.default_rng(0).standard_normal((6, 3))
    np.testing.assert_allclose(network.forward(theta, X).output, X @ weights[0] @ weights[1] @ weights[2], atol=1e-12)


@pytest.mark.catalogue("NN-01")
def test_a_threshold_unit_decides_like_a_perceptron():
    network = Network([Dense(1), Activation("step")], (2,))
    theta = np.array([1.0, -2.0, 0.5])
    X = np.random.default_rng(0).standard_normal((50, 2))
    np.testing.assert_array_equal(network.forward(theta, X).output[:, 0], X @ theta[:2] + 0.5 >= 0)


@pytest.mark.catalogue("NN-12")
@pytest.mark.parametrize(("w", "expected"), [(1.0, 3.81e-6), (4.0, 1.0), (5.0, 7.45)])
def test_gradients_vanish_or_explode_by_w_over_four(w, expected):
    # One logistic unit per layer; the bias -w / 2 keeps every pre-activation at 0, where the derivative is 1/4.
    network = Network([layer for _ in range(10) for layer in (Dense(1), Activation("logistic"))], (1,))
    theta = np.tile([w, -w / 2], 10)
    trace = network.forward(theta, np.full((1, 1), 0.5))
    gradient, _ = network.backward(trace, np.ones((1, 1)))
    by_bias = gradient[1::2]
    np.testing.assert_allclose(by_bias[0] / by_bias[-1], (w / 4) ** 9, rtol=1e-10)
    np.testing.assert_allclose(by_bias[0] / by_bias[-1], expected, rtol=2e-3)


@pytest.mark.catalogue("NN-14")
def test_the_mean_over_dropout_masks_is_the_test_output():
    X = np.ones((2000, 8))
    for inverted in (True, False):
        network = Network([Dropout(0.25, inverted), Dense(1)], (8,))
        theta, _ = network.initialise(0)
        training = network.forward(theta, X, training=True, seed=(5,)).output
        testing = network.forward(theta, X).output[0, 0]
        np.testing.assert_allclose(training.mean(), testing, atol=4 * training.std() / 2000**0.5)


@pytest.mark.catalogue("NN-14")
def test_dropout_draws_another_mask_in_each_step_and_the_same_for_the_same_seed():
    network = Network([Dropout(0.5)], (50,))
    masks = [
        network.forward(np.empty(0), np.ones((1, 50)), training=True, seed=(1,), step=step).output for step in (0, 1, 0)
    ]
    assert (masks[0] != masks[1]).any()
    assert (masks[0] == masks[2]).all()
    none = Network([Dropout(0.0)], (50,)).forward(np.empty(0), np.ones((1, 50)), training=True).output
    assert (none == 1).all()


@pytest.mark.catalogue("NN-15")
def test_batch_norm_gives_mean_zero_and_variance_one_and_can_undo_itself():
    random = np.random.default_rng(0)
    Z = random.normal(3.0, 2.0, (40, 3))
    network = Network([BatchNorm(epsilon=1e-12)], (3,))
    theta, statistics = network.initialise(0)
    trace = network.forward(theta, Z, statistics, training=True)
    np.testing.assert_allclose(trace.output.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(trace.output.var(axis=0), 1, rtol=1e-9)
    # The first batch sets the running statistics: predicting the same rows gives the same values.
    np.testing.assert_allclose(network.forward(theta, Z, trace.statistics).output, trace.output, rtol=1e-9)
    restoring = np.concatenate([Z.std(axis=0), Z.mean(axis=0)])
    np.testing.assert_allclose(network.forward(restoring, Z, statistics, training=True).output, Z, rtol=1e-8)


def measure_layers(activation, scheme, width=200):
    """Mean squares of what enters the activations of 20 layers."""
    dense = Dense(width, initialiser=scheme, activation=activation)
    network = Network([layer for _ in range(20) for layer in (dense, Activation(activation))], (width,))
    theta, _ = network.initialise(0)
    trace = network.forward(theta, np.random.default_rng(0).standard_normal((50, width)))
    return np.array([np.square(trace.outputs[name]).mean() for name in network.names if "Dense" in name])


@pytest.mark.catalogue("NN-11")
@pytest.mark.parametrize(("activation", "scheme"), [("tanh", "auto"), ("relu", "auto"), ("relu", "he_normal")])
def test_the_matching_scheme_keeps_the_variance_over_twenty_layers(activation, scheme):
    sizes = measure_layers(activation, scheme)
    assert 0.4 < sizes[-1] / sizes[3] < 2.5
    # Schemes that do not match lose or gain a factor in every layer.
    if activation == "tanh":
        # Layers of infinite width: q becomes the mean of (5/3 tanh(sqrt(q) v))^2 for Gaussian v, whose fixed point q
        # they come to.
        points, weights = np.polynomial.hermite_e.hermegauss(80)
        q = 1.0
        for _ in range(200):
            q = float(weights @ (5 / 3 * np.tanh(np.sqrt(q) * points)) ** 2 / weights.sum())
        np.testing.assert_allclose(sizes[-5:].mean(), q, rtol=0.25)
        lost = measure_layers(activation, "fan_in")
        assert lost[-1] / lost[3] < 0.4
    else:
        lost = measure_layers(activation, "fan_in")
        np.testing.assert_allclose(lost[-1] / lost[0], 2.0**-19, rtol=2.0)


@pytest.mark.catalogue("NN-11")
def test_zero_weights_keep_hidden_units_identical():
    network = Network([Dense(3, initialiser="zeros"), Activation("logistic"), Dense(1, initialiser="zeros")], (2,))
    theta, _ = network.initialise(0)
    random = np.random.default_rng(0)
    X, y = random.standard_normal((20, 2)), random.standard_normal(20)
    for _ in range(5):
        theta = theta - 0.5 * network.evaluate(theta, X, y)[1]
    W = network.split(theta)["0 Dense"]["W"]
    assert np.abs(W).max() > 0
    np.testing.assert_allclose(W, W[:, :1].repeat(3, axis=1))


@pytest.mark.catalogue("NN-20")
def test_a_convolution_is_a_dense_layer_that_shares_its_weights():
    random = np.random.default_rng(0)
    network = Network([Conv1d(2, 3)], (6, 1))
    theta, _ = network.initialise(0)
    W = network.split(theta)["0 Conv1d"]["W"]
    shared = np.zeros((6, 4, 2))
    for place in range(4):
        shared[place : place + 3, place] = W
    X = random.standard_normal((5, 6, 1))
    expected = (X[:, :, 0] @ shared.reshape(6, 8)).reshape(5, 4, 2)
    np.testing.assert_allclose(network.forward(theta, X).output, expected, atol=1e-12)


@pytest.mark.catalogue("NN-20")
def test_a_shifted_image_shifts_the_feature_map():
    network = Network([Conv2d(3, 3)], (8, 8, 2))
    theta, _ = network.initialise(0)
    X = np.random.default_rng(0).standard_normal((2, 8, 8, 2))
    moved = np.roll(X, 1, axis=2)
    before, after = network.forward(theta, X).output, network.forward(theta, moved).output
    np.testing.assert_allclose(after[:, :, 1:], before[:, :, :-1], atol=1e-12)


@pytest.mark.catalogue("NN-19")
def test_gradients_through_time_follow_the_recurrent_weight():
    def ratio(u):
        network = Network([SimpleRecurrent(1, activation="identity")], (9, 1))
        trace = network.forward(np.array([1.0, u, 0.0]), np.ones((1, 9, 1)))
        by_x = network.backward(trace, np.ones((1, 1)))[1]["input"][0, :, 0]
        return by_x[0] / by_x[-1]

    np.testing.assert_allclose([ratio(0.5), ratio(1.0), ratio(2.0)], [0.5**8, 1.0, 2.0**8])


@pytest.mark.catalogue("NN-05")
def test_graphs_reject_cycles_and_unknown_inputs():
    with pytest.raises(ParameterError, match="'a', 'b' form or follow a cycle"):
        Network({"a": (Dense(2), "b"), "b": (Dense(2), "a")}, (2,))
    with pytest.raises(ParameterError, match="got nowhere"):
        Network({"a": (Dense(2), "nowhere")}, (2,))


def test_layers_may_be_given_in_any_order():
    network = Network({"out": (Add(), "a", "input"), "a": (Dense(2), "input")}, (2,), output="out")
    assert network.names == ["a", "out"]


def test_shapes_that_do_not_meet_name_the_layer():
    with pytest.raises(ParameterError, match=r"layer 'sum', fed by 'a', 'input': Add: all inputs must have one shape"):
        Network({"a": (Dense(3), "input"), "sum": (Add(), "a", "input")}, (2,))
    with pytest.raises(ParameterError, match=r"layer '1 Conv2d'.*rows must have the shape \(height, width, channels\)"):
        Network([Flatten(), Conv2d(2)], (4, 4, 1))
    with pytest.raises(ParameterError, match="the window must not be larger than the row"):
        Network([Conv2d(2, 5)], (4, 4, 1))
    network = Network([Dense(2)], (3,))
    with pytest.raises(DataError, match=r"rows of the input 'input' must have the shape \(3,\); got \(4,\)"):
        network.forward(network.initialise(0)[0], np.ones((2, 4)))
    with pytest.raises(DataError, match="outputs and the targets must have one length; got 4 outputs and 2 targets"):
        network.evaluate(network.initialise(0)[0], np.ones((2, 3)), np.ones(2))


def test_array_api_arrays_run_through_the_same_code():
    xp = pytest.importorskip("array_api_strict")
    layers = [Conv2d(2, 2, padding=1), BatchNorm(), Activation("elu"), Flatten(), Dropout(0.3), Dense(3)]
    network = Network(layers, (3, 3, 1))
    theta, statistics = network.initialise(0)
    X, y = np.random.default_rng(0).standard_normal((4, 3, 3, 1)), np.array([0.0, 1.0, 2.0, 1.0])
    value, gradient, _ = network.evaluate(theta, X, y, loss="log_loss", statistics=statistics, training=True)
    there = xp.asarray(theta)
    other = network.evaluate(
        there, xp.asarray(X), xp.asarray(y), loss="log_loss", statistics=network.place(statistics, there), training=True
    )
    np.testing.assert_allclose(other[0], value, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(other[1]), gradient, atol=1e-12)
