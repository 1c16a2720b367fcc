"""Derivatives by the tape: against differences, against backpropagation, and what it refuses."""

import numpy as np
import pytest

from mercer.errors import DataError
from mercer.neural_network import Activation, Dense, Network, Variable, differentiate_by
from mercer.optim import numerical_gradient

EXPRESSIONS = {
    "sums and products": lambda x: ((2.0 - x) * x + x / (x * x + 3.0) - 1.0 / (x + 4.0)).sum(),
    "elementwise": lambda x: ((x * x + 1.0).log() + (-x).exp() * x.tanh() + x.abs() ** 3).mean(),
    "matrices": lambda x: (x.reshape(2, 3).T @ x.reshape(2, 3)).sum(axis=0)[1] + (x @ x),
    "matrix and vector": lambda x: ((np.arange(12.0).reshape(2, 6) @ x) ** 2).sum() + (x[:2] @ x.reshape(2, 3)).sum(),
    "reductions": lambda x: (x.reshape(2, 3).mean(axis=1) * x.reshape(2, 3).max(axis=1)).sum() + x.max(),
    "an entry taken twice": lambda x: (x[[0, 0, 3]] ** 2).sum() + x[1:4].sum(),
    "broadcasting": lambda x: (x.reshape(2, 3) * x[:3] + x.reshape(2, 3)[:, :1]).sum(),
    "activation": lambda x: x.apply(Activation("gelu")).sum(),
}


@pytest.mark.catalogue("NN-05")
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_derivatives_equal_central_differences(name):
    x = np.array([0.3, -1.2, 0.8, 2.0, -0.5, 1.1])
    variable = Variable(x)
    gradient = differentiate_by(EXPRESSIONS[name](variable), variable)
    numeric = numerical_gradient(lambda place: float(EXPRESSIONS[name](Variable(place)).value), x)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.catalogue("NN-05")
def test_the_tape_equals_backpropagation():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((7, 3)), random.standard_normal((7, 2))
    network = Network([Dense(4), Activation("tanh"), Dense(2)], (3,))
    theta, _ = network.initialise(0)
    _, gradient, _ = network.evaluate(theta, X, y)
    (W1, b1), (W2, b2) = ((Variable(own["W"]), Variable(own["b"])) for own in network.split(theta).values() if own)
    loss = (((X @ W1 + b1).tanh() @ W2 + b2 - y) ** 2).sum() * (0.5 / 7)
    parts = differentiate_by(loss, W1, b1, W2, b2)
    np.testing.assert_allclose(np.concatenate([part.ravel() for part in parts]), gradient, atol=1e-12)


@pytest.mark.catalogue("NN-05")
def test_a_value_used_twice_accumulates():
    x = Variable([3.0])
    square = x * x
    np.testing.assert_allclose(differentiate_by((square + square * x).sum(), x), [2 * 3 + 3 * 9])


def test_a_variable_without_influence_has_derivative_zero():
    x, other = Variable([1.0, 2.0]), Variable([5.0])
    gradients = differentiate_by(x.sum(), x, other)
    np.testing.assert_array_equal(gradients[1], [0.0])


@pytest.mark.catalogue("NN-05")
def test_cycles_and_arrays_are_refused():
    x = Variable([1.0])
    z = x * 2.0
    x.parents.append((z, lambda g: g))
    with pytest.raises(DataError, match="the record has a cycle"):
        differentiate_by(z.sum(), x)
    with pytest.raises(DataError, match=r"must be a single number; got shape \(2,\)"):
        differentiate_by(Variable([1.0, 2.0]) * 2.0)
