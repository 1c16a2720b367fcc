"""Every layer's backward pass against central differences, for its weights and its inputs."""

import numpy as np
import pytest

from mercer.errors import DataError, ParameterError
from mercer.neural_network import (
    LSTM,
    Activation,
    Add,
    AveragePool,
    BatchNorm,
    Concatenate,
    Conv1d,
    Conv2d,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    GatedRecurrent,
    LayerNorm,
    MaxPool,
    Network,
    Reshape,
    Residual,
    SimpleRecurrent,
    TableEmbedding,
)
from mercer.objectives import Absolute, Huber, Logistic, Pinball, Poisson, Softmax, Squared

SMOOTH = ["identity", "logistic", "tanh", "elu", "gelu", "softplus", "relu", "leaky_relu"]
CHAINS = {
    **{f"activation {name}": ([Dense(4), Activation(name), Dense(2)], (3,)) for name in SMOOTH},
    "dense without bias": ([Dense(4, bias=False)], (3,)),
    "dense over time": ([Dense(4)], (5, 3)),
    "dropout": ([Dense(6), Dropout(0.4), Dense(2)], (3,)),
    "dropout, scaled at test time": ([Dense(6), Dropout(0.4, inverted=False), Dense(2)], (3,)),
    "batch norm": ([Dense(4), BatchNorm(), Activation("tanh"), Dense(2)], (3,)),
    "batch norm of images": ([Conv2d(2, 2), BatchNorm(), Flatten(), Dense(2)], (4, 4, 2)),
    "layer norm": ([Dense(4), LayerNorm(), Dense(2)], (3,)),
    "convolution of sequences": ([Conv1d(3, 3, stride=2, padding=1), Activation("tanh")], (7, 2)),
    "convolution of images": ([Conv2d(3, (2, 3), stride=(1, 2), padding=1), Activation("tanh")], (5, 6, 2)),
    "largest of sequences": ([Conv1d(3, 2), MaxPool(2)], (7, 2)),
    "overlapping largest of images": ([MaxPool(3, stride=1), Flatten(), Dense(2)], (5, 5, 2)),
    "mean of images": ([AveragePool((2, 3)), Flatten(), Dense(2)], (4, 6, 2)),
    "simple recurrence": ([SimpleRecurrent(4), Dense(2)], (5, 3)),
    "simple recurrence to sequences": ([SimpleRecurrent(4, return_sequences=True, activation="logistic")], (5, 3)),
    "gated recurrence": ([GatedRecurrent(4), Dense(2)], (5, 3)),
    "gated recurrence to sequences": ([GatedRecurrent(4, return_sequences=True)], (5, 3)),
    "long short-term memory": ([LSTM(4), Dense(2)], (5, 3)),
    "long short-term memory to sequences": ([LSTM(4, return_sequences=True)], (5, 3)),
    "reshape": ([Reshape((3, 2)), Dense(2), Flatten()], (6,)),
    "residual": ([Dense(4), Residual((Dense(5), Activation("tanh"), Dense(4))), Dense(2)], (3,)),
}
GRAPHS = {
    "add and a value used twice": (
        {"a": (Dense(3), "input"), "b": (Activation("tanh"), "a"), "c": (Add(), "a", "b", "b")},
        (3,),
    ),
    "concatenate": ({"a": (Dense(3), "input"), "b": (Concatenate(), "a", "input"), "c": (Dense(2), "b")}, (3,)),
    "masked recurrence": ({"r": (GatedRecurrent(3), "x", "mask")}, {"x": (4, 2), "mask": (4,)}),
    "masked long short-term memory": ({"r": (LSTM(3), "x", "mask")}, {"x": (4, 2), "mask": (4,)}),
}


def differentiate(function, x, step=1e-6):
    gradient = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        x[place] += step
        above = function()
        x[place] -= 2 * step
        gradient[place] = (above - function()) / (2 * step)
        x[place] += step
    return gradient


def compare(network, rows, seed=3, training=True):
    """Return the relative errors of the derivatives by theta and by the rows."""
    random = np.random.default_rng(1)
    theta, statistics = network.initialise(random_state=2)
    theta += 0.1 * random.standard_normal(theta.shape)
    options = {"training": training, "seed": (seed,), "step": 4}
    trace = network.forward(theta, rows, statistics, **options)
    factors = random.standard_normal(trace.output.shape)

    def value():
        return float(np.sum(factors * network.forward(theta, rows, statistics, **options).output))

    gradient, by_rows = network.backward(trace, factors)
    errors = [relative_error(gradient, differentiate(value, theta))] if theta.size else []
    for name, array in rows.items():
        if name != "mask":
            errors.append(relative_error(by_rows[name], differentiate(value, array)))
    return errors


def relative_error(first, second):
    return np.linalg.norm(first - second) / max(np.linalg.norm(first) + np.linalg.norm(second), 1e-12)


def draw_rows(shapes, n=5):
    random = np.random.default_rng(0)
    rows = {name: random.standard_normal((n, *shape)) for name, shape in shapes.items()}
    if "mask" in rows:
        lengths = random.integers(1, rows["mask"].shape[1] + 1, n)
        rows["mask"] = (np.arange(rows["mask"].shape[1]) < lengths[:, None]).astype(float)
    return rows


@pytest.mark.catalogue("NN-04", "NN-19", "NN-20")
@pytest.mark.parametrize("name", [*CHAINS, *GRAPHS])
def test_backward_equals_central_differences(name):
    network = Network(*(CHAINS | GRAPHS)[name])
    assert max(compare(network, draw_rows(network.inputs))) < 1e-6


def test_backward_through_running_statistics_equals_central_differences():
    network = Network([Dense(4), BatchNorm(), Dense(2)], (3,))
    assert max(compare(network, draw_rows(network.inputs), training=False)) < 1e-6


def test_embeddings_learn_by_code():
    network = Network([Embedding(5, 3), Flatten(), Dense(2)], (4,))
    codes = np.random.default_rng(0).integers(5, size=(6, 4)).astype(float)
    theta, _ = network.initialise(0)
    y = np.random.default_rng(1).standard_normal((6, 2))
    gradient = network.evaluate(theta, codes, y)[1]
    numeric = differentiate(lambda: network.evaluate(theta, codes, y)[0], theta)
    assert relative_error(gradient, numeric) < 1e-6
    with pytest.raises(ParameterError, match=r"Embedding: codes must be in \[0, 5\); got codes from 0 to 9"):
        network.forward(theta, np.array([[0.0, 9.0, 0.0, 0.0]]))


def test_table_embedding_passes_the_other_columns():
    network = Network([TableEmbedding((1,), (3,), (2,)), Dense(2)], (3,))
    rows = np.array([[0.5, 0.0, -1.0], [1.5, 2.0, 2.0], [0.1, 2.0, 1.0]])
    y = np.random.default_rng(1).standard_normal((3, 2))
    theta, _ = network.initialise(0)
    trace = network.forward(theta, rows)
    np.testing.assert_allclose(trace.outputs["0 TableEmbedding"][:, 2:], rows[:, [0, 2]])
    numeric = differentiate(lambda: network.evaluate(theta, rows, y)[0], theta)
    assert relative_error(network.evaluate(theta, rows, y)[1], numeric) < 1e-6


LOSSES = {
    "squared_error": 2,
    "poisson": 2,
    "log_loss": 3,
    "binary_log_loss": 2,
    Huber(): 2,
    Absolute(): 2,
    Pinball(0.3): 1,
    Squared(): 1,
    Poisson(): 1,
    Logistic(): 1,
    Softmax(4): 4,
}


@pytest.mark.catalogue("NN-04", "NN-06")
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_gradient_of_every_loss_equals_central_differences(loss):
    k, n, random = LOSSES[loss], 6, np.random.default_rng(0)
    network = Network([Dense(4), Activation("tanh"), Dense(k)], (3,))
    X, weight = random.standard_normal((n, 3)), random.random(n)
    name = loss if isinstance(loss, str) else type(loss).__name__
    one_class = name in ("log_loss", "Softmax")
    y = random.integers(k if one_class else 2, size=n if one_class or k == 1 else (n, k)).astype(float)
    if name in ("squared_error", "Huber", "Absolute", "Pinball", "Squared"):
        y = y + random.standard_normal(y.shape)
    theta, _ = network.initialise(0)
    gradient = network.evaluate(theta, X, y, loss=loss, weight=weight)[1]
    numeric = differentiate(lambda: network.evaluate(theta, X, y, loss=loss, weight=weight)[0], theta)
    assert relative_error(gradient, numeric) < 1e-6


def test_output_error_of_softmax_is_probability_minus_target():
    from mercer.neural_network._layers.losses import read_loss

    scores, y = np.array([[1.0, 2.0, 0.5]]), np.array([1.0])
    value, residual = read_loss("log_loss", 3).evaluate(scores, y)
    p = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(residual, p - [[0.0, 1.0, 0.0]], rtol=1e-12)
    np.testing.assert_allclose(value, -np.log(p[0, 1]), rtol=1e-12)


def test_step_refuses_gradient_training():
    network = Network([Dense(2), Activation("step"), Dense(1)], (3,))
    theta, _ = network.initialise(0)
    with pytest.raises(ParameterError, match="'step' has derivative zero everywhere"):
        network.evaluate(theta, np.ones((2, 3)), np.ones(2))


def test_batch_norm_refuses_a_batch_of_one():
    network = Network([BatchNorm(), Dense(1)], (3,))
    theta, statistics = network.initialise(0)
    with pytest.raises(DataError, match="BatchNorm: a training batch must have at least 2 rows"):
        network.forward(theta, np.ones((1, 3)), statistics, training=True)
    assert network.forward(theta, np.ones((1, 3)), statistics).output.shape == (1, 1)
