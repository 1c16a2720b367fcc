"""Native steps through dense layers, against the same steps written out with whole matrices."""

import importlib

import numpy
import pytest

ADAM = 3
RELU = 3
SOFTMAX = 3


@pytest.fixture
def dense_steps(level):
    return importlib.import_module(f"mercer._native.{level}.dense_steps")


def step_by_hand(theta, X, y, t, rate, alpha):
    """Return theta, its means and the loss after one Adam step from zero means."""
    W1, b1, W2, b2 = theta[:12].reshape(3, 4), theta[12:16], theta[16:24].reshape(4, 2), theta[24:]
    hidden = numpy.maximum(X @ W1 + b1, 0)
    shares = numpy.exp(hidden @ W2 + b2)
    shares /= shares.sum(axis=1, keepdims=True)
    loss = -numpy.log(shares[numpy.arange(len(y)), y])
    delta = (shares - numpy.eye(2)[y]) / len(y)
    back = (delta @ W2.T) * (hidden > 0)
    parts = [X.T @ back + alpha * W1 / len(y), back.sum(0), hidden.T @ delta + alpha * W2 / len(y), delta.sum(0)]
    gradient = numpy.concatenate([part.ravel() for part in parts])
    mean, square = 0.1 * gradient, 0.001 * gradient**2
    rate = rate * (1 - 0.999**t) ** 0.5 / (1 - 0.9**t)
    return theta - rate * mean / (numpy.sqrt(square) + 1e-8), loss.sum()


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_step_equals_the_step_written_out(dense_steps, dtype, is_sparse):
    random = numpy.random.default_rng(0)
    n, batch = 10, 10
    X, y = random.normal(size=(n, 3)).astype(dtype), random.integers(2, size=n)
    theta = random.normal(size=26).astype(dtype)
    expected, loss = step_by_hand(theta.astype(float), X.astype(float), y, 1, 0.01, 0.5)
    layout = numpy.array([[3, 4, 0, 12, 0, 30, 30], [4, 2, 16, 24, 30, 70, 70]], dtype=numpy.intp)
    pieces = numpy.array([[0, 0, 2], [0, 2, 3], [1, 0, 4]], dtype=numpy.intp)
    none = numpy.empty(0, dtype=numpy.intp)
    sparse = (numpy.tile(numpy.arange(3), n).astype(numpy.intp), numpy.arange(0, 3 * n + 1, 3).astype(numpy.intp))
    kinds = numpy.array([RELU, SOFTMAX, ADAM, 4], dtype=numpy.intp)
    rules = numpy.array([0.01, 0.9, 0.999, 1e-8, 0.5, 0.0])
    tasks = dense_steps.NetworkTasks(
        dtype == numpy.float64,
        layout,
        pieces,
        sparse if is_sparse else (none, none),
        numpy.empty(0),
        kinds,
        rules,
        (numpy.empty(batch), numpy.empty(3)),
        numpy.zeros(40, numpy.int64),
    )
    data = X.ravel().copy() if is_sparse else numpy.empty(0, dtype)
    moving = [theta, *(numpy.zeros(26, dtype) for _ in range(3))]
    tasks.hold((X, data, y.astype(dtype).reshape(-1, 1)), moving, (numpy.empty(90, dtype), numpy.empty(90, dtype)))
    sums = numpy.zeros(5)
    tasks.run(random.permutation(n).astype(numpy.intp), 0, n, batch, sums)
    numpy.testing.assert_allclose(theta, expected, rtol=1e-9 if dtype == numpy.float64 else 1e-4)
    numpy.testing.assert_allclose(sums[:3], [loss, n, 1], rtol=1e-5)
