"""Recurrent networks: gradients through time, memory, sequences of several lengths, and sentences for bad ones."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer.errors import DataError
from mercer.neural_network import (
    LSTM,
    Network,
    RecurrentClassifier,
    RecurrentRegressor,
    SimpleRecurrent,
    Variable,
    differentiate_by,
)
from mercer.neural_network._layers.losses import read_loss
from mercer.neural_network._relatives.plan import Batch, Moment
from mercer.neural_network._relatives.sequences import pad_sequences
from mercer.neural_network._relatives.supervised import Supervised


@pytest.mark.catalogue("NN-19")
@pytest.mark.parametrize("cell", ["simple", "gru", "lstm"])
@pytest.mark.parametrize("by_step", [False, True])
def test_gradients_through_time_are_those_of_finite_differences(cell, by_step):
    random = np.random.default_rng(0)
    sequences = pad_sequences("test", random.normal(size=(9, 2)), [4, 2, 3])
    network = RecurrentRegressor(3, cell=cell, n_layers=2)._build(sequences.layout, 1, by_step)
    theta, _ = network.initialise(0)
    theta = theta + 0.1 * random.normal(size=theta.shape)
    targets = random.normal(size=(3, 4) if by_step else 3)
    task = Supervised(network, sequences.layout, read_loss("squared_error", 1), 0.1, by_step)
    batch, moment = Batch(sequences.flatten(), targets, None), Moment({}, (0,), 0)
    _, gradient, _ = task.learn(theta, batch, moment)
    for index in range(0, len(theta), 3):
        step = np.zeros(len(theta))
        step[index] = 1e-5
        values = [task.learn(theta + sign * step, batch, moment)[0] for sign in (1, -1)]
        assert gradient[index] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-7)


@pytest.mark.catalogue("NN-19")
def test_a_delayed_copy_is_learnt_step_by_step():
    """The target of each step is the sign that came two steps before: the network must remember it."""
    bits = np.random.default_rng(0).integers(0, 2, (120, 8))
    y = np.zeros_like(bits)
    y[:, 2:] = bits[:, :-2]
    X = 2.0 * bits[:, :, None] - 1.0
    model = RecurrentClassifier(12, learning_rate_init=0.02, max_iter=60, tol=0.0, random_state=0).fit(X[:80], y[:80])
    assert model.by_step_
    assert model.predict(X[80:]).shape == (40, 8)
    assert (model.predict(X[80:]) == y[80:]).mean() > 0.97
    assert model.score(X[80:], y[80:]) == (model.predict(X[80:]) == y[80:]).mean()
    # A network without memory could at best guess.
    lengths = np.full(40, 8)
    stacked = model.predict(X[80:].reshape(-1, 1), lengths)
    assert np.array_equal(stacked, model.predict(X[80:]).ravel())


@pytest.mark.catalogue("NN-19")
def test_the_gradient_reaches_back_as_powers_of_the_recurrent_weights():
    network = Network([SimpleRecurrent(1, activation="identity")], (6, 1))
    for u in (0.5, 1.0, 2.0):
        trace = network.forward(np.array([1.0, u, 0.0]), np.ones((1, 6, 1)))
        _, by_input = network.backward(trace, np.ones((1, 1)))
        np.testing.assert_allclose(by_input["input"][0, :, 0], u ** np.arange(5, -1, -1.0))


def test_padding_changes_nothing():
    random = np.random.default_rng(0)
    lengths = random.integers(1, 7, 40)
    rows = random.normal(size=(lengths.sum(), 2))
    y = np.array([part[:, 0].sum() for part in np.split(rows, np.cumsum(lengths)[:-1])])
    model = RecurrentRegressor(16, learning_rate_init=0.02, max_iter=60, tol=0.0, random_state=0).fit(rows, y, lengths)
    assert not model.by_step_
    assert model.predict(rows, lengths).shape == (40,)
    assert 1 - ((model.predict(rows, lengths) - y) ** 2).mean() / y.var() > 0.9
    alone = [model.predict(part, [len(part)])[0] for part in np.split(rows, np.cumsum(lengths)[:-1])]
    np.testing.assert_allclose(alone, model.predict(rows, lengths), rtol=1e-9)
    padded = pad_sequences("test", rows, lengths).values
    np.testing.assert_allclose(model.predict(padded, lengths), model.predict(rows, lengths))


def test_rows_are_sequences_of_numbers_and_labels_may_be_words(tmp_path):
    random = np.random.default_rng(0)
    t = np.linspace(0, 6, 12)
    slow = random.random(80) < 0.5
    X = np.sin(t * np.where(slow, 1.0, 3.0)[:, None] + random.random((80, 1))) + 0.1 * random.normal(size=(80, 12))
    y = np.where(slow, "slow", "fast")
    model = RecurrentClassifier(8, cell="simple", learning_rate_init=0.02, max_iter=40, random_state=0)
    model.fit(X[:60], y[:60], sample_weight=np.ones(60))
    assert model.score(X[60:], y[60:]) > 0.9
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    mercer.save(model, tmp_path / "signals.mercer")
    assert np.array_equal(mercer.load(tmp_path / "signals.mercer").predict(X), model.predict(X))


@pytest.mark.parametrize("by_step", [False, True])
def test_a_list_of_sequences_is_their_rows_with_lengths(by_step):
    random = np.random.default_rng(0)
    lengths = [4, 2, 5, 3]
    listed = [random.normal(size=(length, 3)) for length in lengths]
    labels = [random.integers(0, 2, length) for length in lengths] if by_step else [0, 1, 0, 1]
    rows, y = np.concatenate(listed), np.concatenate(labels) if by_step else labels
    model = RecurrentClassifier(4, max_iter=3, tol=0.0, random_state=0)
    with pytest.warns(ConvergenceWarning):
        from_rows = model.fit(rows, y, lengths=lengths).predict_proba(rows, lengths)
    with pytest.warns(ConvergenceWarning):
        model.fit(listed, labels)
    assert np.array_equal(model.predict_proba(listed), from_rows)
    assert model.score(listed, labels) == model.score(rows, y, lengths=lengths)


def test_bad_lists_of_sequences_are_answered_by_sentences():
    model = RecurrentClassifier(2, max_iter=1)
    with pytest.raises(DataError, match=r"at least one step; sequence 1 has none. Drop empty sequences"):
        model.fit([np.ones((3, 2)), np.ones((0, 2))], [0, 1])
    with pytest.raises(DataError, match=r"the same number of columns; got 2 and 4. Give every sequence the same"):
        model.fit([np.ones((3, 2)), np.ones((3, 4))], [0, 1])


def test_bad_sequences_are_answered_by_sentences():
    rows = np.random.default_rng(0).normal(size=(10, 2))
    model = RecurrentRegressor(2, max_iter=1)
    with pytest.raises(DataError, match=r"every length must be at least 1; sequence 1 has 0. Drop empty sequences"):
        model.fit(rows, [1.0, 2.0, 3.0], lengths=[6, 0, 4])
    with pytest.raises(DataError, match=r"lengths must sum to the number of rows, 10; got 9. Pass one length"):
        model.fit(rows, [1.0, 2.0], lengths=[6, 3])
    with pytest.raises(DataError, match=r"lengths must be integers, one for each sequence"):
        model.fit(rows, [1.0, 2.0], lengths=[6.5, 3.5])
    with pytest.raises(DataError, match=r"one entry for each of 2 sequences, or for each of their 10 steps; got shape"):
        model.fit(rows, np.ones(3), lengths=[6, 4])
    with pytest.raises(DataError, match=r"one number for each of 5 sequences, at most 2; got 5 numbers up to 3"):
        model.fit(rows.reshape(5, 2, 2), np.ones(5), lengths=[1, 2, 3, 1, 1])
    with pytest.raises(DataError, match=r"at least one step and one column; got shape \(5, 0, 2\). Drop"):
        model.fit(np.zeros((5, 0, 2)), np.ones(5))
    with pytest.raises(DataError, match=r"requires y to be passed, but the target y is None. Give a target"):
        model.fit(rows.reshape(5, 2, 2))
    model.fit(rows, [1.0, 2.0], lengths=[6, 4])
    with pytest.raises(ValueError, match=r"X has 1 features, but RecurrentRegressor is expecting 2"):
        model.predict(rows[:, :1], lengths=[10])


@pytest.mark.catalogue("NN-19")
def test_long_short_term_memory_is_its_formulas_and_its_gradient_that_of_the_tape():
    random = np.random.default_rng(0)
    k, d, x = 3, 2, random.normal(size=(4, 5, 2))
    network = Network([LSTM(k)], (5, d))
    theta, _ = network.initialise(0)
    # The forget gate starts open.
    np.testing.assert_array_equal(network.split(theta)["0 LSTM"]["b"], [0.0] * 3 + [1.0] * 3 + [0.0] * 6)
    theta = theta + 0.3 * random.normal(size=theta.shape)
    tape = Variable(theta)
    W, U, b = tape[: 4 * k * d].reshape(d, 4 * k), tape[4 * k * d : -4 * k].reshape(k, 4 * k), tape[-4 * k :]
    h, cell = Variable(np.zeros((4, k))), Variable(np.zeros((4, k)))
    for t in range(5):
        z = x[:, t] @ W + h @ U + b
        i, f, o = (1.0 / (1.0 + (-z[:, gate * k : (gate + 1) * k]).exp()) for gate in range(3))
        cell = f * cell + i * z[:, 3 * k :].tanh()
        h = o * cell.tanh()
    trace = network.forward(theta, x)
    np.testing.assert_allclose(trace.output, h.value, rtol=1e-12)
    gradient, _ = network.backward(trace, 2.0 * trace.output)
    np.testing.assert_allclose(gradient, differentiate_by((h**2.0).sum(), tape), rtol=1e-9)
