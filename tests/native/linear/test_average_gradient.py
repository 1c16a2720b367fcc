"""Average-gradient visits, against the recurrence written out with whole vectors."""

import importlib

import numpy
import pytest
import scipy.sparse

# Losses, by their places in the native code.
LOGISTIC = 0
SOFTMAX = 1
SQUARED = 2


@pytest.fixture
def average_gradient(level):
    return importlib.import_module(f"mercer._native.{level}.average_gradient")


@pytest.fixture
def native_centred(level):
    return importlib.import_module(f"mercer._native.{level}.centred_gradient")


def derive(scores, y, loss):
    if loss == SQUARED:
        return scores - y
    if loss == LOGISTIC:
        return 1 / (1 + numpy.exp(-scores)) - y
    return numpy.exp(scores) / numpy.exp(scores).sum() - (numpy.arange(len(scores)) == y)


def visit_plainly(X, y, weight, order, loss, share, fit_intercept, step, l1, l2, w, average, table):
    """Visit rows with a one for the intercept, which stays put if it is not fitted."""
    rows = numpy.column_stack([X, numpy.full(len(X), float(fit_intercept))])
    for i in order:
        change = weight[i] * derive(w @ rows[i] + (0 if fit_intercept else w[:, -1]), y[i], loss) - table[i]
        table[i] += change
        seen = numpy.outer(change, rows[i])
        moved = w - step * (average + (seen if share == 0 else share * seen))
        shrunk = numpy.sign(moved) * numpy.maximum(abs(moved) - step * l1, 0) / (1 + step * l2)
        w[:] = shrunk if fit_intercept else numpy.column_stack([shrunk[:, :-1], w[:, -1]])
        average += seen


def make_visits(loss, real):
    draw = numpy.random.default_rng(0)
    k = 3 if loss == SOFTMAX else 1
    X = numpy.where(draw.uniform(size=(20, 9)) < 0.6, 0, draw.normal(size=(20, 9)) + 1).astype(real)
    y = draw.normal(size=20) if loss == SQUARED else draw.integers(0, max(2, k), size=20).astype(float)
    weight, order = draw.uniform(size=20) / 20, draw.integers(0, 20, size=60).astype(numpy.intp)
    step, table, w = draw.uniform(0.05, 0.1, size=10), draw.normal(size=(20, k)) / 20, draw.normal(size=(k, 10))
    return X, y, weight, order, step, table, w


def sum_gradients(X, table, fit_intercept):
    return numpy.column_stack([table.T @ X, fit_intercept * table.sum(axis=0)])


@pytest.mark.parametrize("real", [numpy.float64, numpy.float32])
@pytest.mark.parametrize("share", [0.0, 20.0])
@pytest.mark.parametrize("loss", [LOGISTIC, SOFTMAX, SQUARED])
@pytest.mark.parametrize(("l1", "l2", "fit_intercept"), [(0.0, 0.0, True), (0.0, 0.3, False), (0.2, 0.1, True)])
def test_dense_and_sparse_visits_follow_the_recurrence(average_gradient, real, share, loss, l1, l2, fit_intercept):
    X, y, weight, order, step, table, w = make_visits(loss, real)
    mean = numpy.linspace(-1.0, 1.0, 9)
    penalties = [numpy.append(numpy.full(9, strength), 0.0) for strength in (l1, l2)]
    method = (y, weight, order, loss, share, fit_intercept, step)
    room = numpy.full(len(w), numpy.nan)

    expected = w.copy(), sum_gradients(X - mean, table, fit_intercept), table.copy()
    dense = [part.copy() for part in expected]
    visit_plainly(X - mean, *method, *penalties, *expected)
    native = average_gradient.Method(loss, share, fit_intercept, step, *penalties)
    state = average_gradient.State(*dense, room)
    average_gradient.visit_dense(X, mean, y, weight, order, native, state, numpy.full(9, numpy.nan))
    for found, wanted in zip(dense, expected):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)

    expected = w.copy(), sum_gradients(X.astype(float), table, fit_intercept), table.copy()
    sparse = [part.copy() for part in expected]
    visit_plainly(X.astype(float), *method, *penalties, *expected)
    rows, seen = scipy.sparse.csr_array(X), numpy.full(9, -1, dtype=numpy.intp)
    state = average_gradient.State(*sparse, room)
    average_gradient.visit_sparse(rows.data, rows.indices, rows.indptr, y, weight, order, native, state, seen)
    for found, wanted in zip(sparse, expected):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("real", [numpy.float64, numpy.float32])
@pytest.mark.parametrize("share", [0.0, 20.0])
@pytest.mark.parametrize("l2", [0.0, 0.01, 8.0])
def test_sparse_rows_less_their_mean_follow_the_recurrence(native_centred, real, share, l2):
    X, y, weight, order, _, table, w = make_visits(SQUARED, real)
    w[:, -1] = 0.0
    mean = numpy.linspace(-1.0, 1.0, 9)
    expected = w.copy(), sum_gradients(X - mean, table, False), table.copy()
    found = w[0, :-1].copy(), X.T.astype(float) @ table[:, 0], table.copy()
    visit_plainly(X - mean, y, weight, order, SQUARED, share, False, 0.05, 0.0, l2, *expected)
    rows, scratch = scipy.sparse.csr_array(X), numpy.full((2, 9), numpy.nan)
    given = (mean, y, weight, order, (share, 0.05, l2))
    native_centred.visit_centred(rows.data, rows.indices, rows.indptr, *given, *found, scratch)
    coef, average, remembered = found
    numpy.testing.assert_allclose(coef, expected[0][0, :-1], rtol=1e-9, atol=1e-11)
    numpy.testing.assert_allclose(average - mean * remembered.sum(), expected[1][0, :-1], rtol=1e-9, atol=1e-11)
    numpy.testing.assert_allclose(remembered, expected[2], rtol=1e-9, atol=1e-11)
