"""Stochastic steps, against the recurrence written out with whole vectors and no scales, accounts or lags."""

import importlib

import numpy
import pytest
import scipy.sparse

from mercer._native.shared.loss_numbers import EPSILON_INSENSITIVE as TUBE
from mercer._native.shared.loss_numbers import HINGE, HUBER, LOGISTIC, SQUARED, SQUARED_HINGE
from mercer._native.shared.loss_numbers import MODIFIED_HUBER as MODIFIED
from mercer._native.shared.loss_numbers import SQUARED_EPSILON_INSENSITIVE as SQUARED_TUBE
from mercer._solver.composite.dual_rows import list_row_arrays

# Schedules, by their places in the native code.
CONSTANT = 0
OPTIMAL = 1
INVERSE = 2
FIRST = 3
SECOND = 4


@pytest.fixture
def stochastic(level):
    return importlib.import_module(f"mercer._native.{level}.stochastic")


def losses(loss, shape, y, z):
    """Return the loss and its slope."""
    # Margins have the signs -1 and 1.
    sign, r = 2 * y - 1, z - y
    m = sign * z
    tube = max(abs(r) - shape, 0)
    return {
        HINGE: (max(shape - m, 0), -sign * (m <= shape)),
        SQUARED_HINGE: (max(1 - m, 0) ** 2, -2 * sign * max(1 - m, 0)),
        LOGISTIC: (numpy.logaddexp(0, -m), -sign / (1 + numpy.exp(m))),
        MODIFIED: (max(1 - m, 0) ** 2 if m > -1 else -4 * m, -2 * sign * max(1 - m, 0) if m > -1 else -4 * sign),
        SQUARED: (r * r / 2, r),
        HUBER: (
            r * r / 2 if abs(r) <= shape else shape * (abs(r) - shape / 2),
            numpy.clip(r, -shape, shape),
        ),
        TUBE: (tube, numpy.sign(r) * (tube > 0)),
        SQUARED_TUBE: (tube**2, 2 * numpy.sign(r) * tube),
    }[loss]


def visit_plainly(X, y, weight, order, loss, shape, schedule, rate, power, origin, l1, l2, average, batch):
    """Return coefficients, intercept, their averages and the summed loss after all batches."""
    w, b, t, total = numpy.zeros(X.shape[1]), 0.0, 1, 0.0
    mean, mean_b, due, owed = numpy.zeros_like(w), 0.0, 0.0, numpy.zeros_like(w)
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        eta = {OPTIMAL: 1 / (rate * (origin + t - 1)), INVERSE: rate / t**power}.get(schedule, rate)
        step, step_b = numpy.zeros_like(w), 0.0
        for i in rows:
            z = X[i] @ w + b
            value, slope = losses(loss, shape, y[i], z)
            total += weight[i] * value
            push = -eta * slope
            if schedule == FIRST:
                push = min(rate, value / (X[i] @ X[i])) * (2 * y[i] - 1 if loss == HINGE else numpy.sign(y[i] - z))
            elif schedule == SECOND:
                push = value / (X[i] @ X[i] + 0.5 / rate) * (2 * y[i] - 1 if loss == HINGE else numpy.sign(y[i] - z))
            step, step_b = step + weight[i] * push * X[i] / len(rows), step_b + weight[i] * push / len(rows)
        w, b = w * max(0, 1 - eta * l2) + step, b + step_b
        if 0 < average <= t:
            mean, mean_b = mean + (w - mean) / (t - average + 1), mean_b + (b - mean_b) / (t - average + 1)
        due += eta * l1
        clipped = numpy.where(w > 0, numpy.maximum(w - (due + owed), 0), numpy.minimum(w + (due - owed), 0))
        owed, w, t = owed + clipped - w, clipped, t + 1
    return w, b, mean, mean_b, total


def call(stochastic, X, y, weight, order, loss, shape, schedule, rate, power, origin, l1, l2, average, batch):
    d = X.shape[1]
    v, owed, lag = numpy.zeros(d), numpy.zeros(d if l1 else 0), numpy.zeros(d if average else 0)
    method = stochastic.Method(loss, shape, 0.0, schedule, power, origin, True, l1, l2, float(average), 0.0)
    score, visits = stochastic.Score(v, owed, lag, rate, -1.0), stochastic.Visits(y, weight, order, order, 3)
    for begin in range(0, len(order), 2 * batch):
        bounds = (begin, min(begin + 2 * batch, len(order)))
        stochastic.visit_rows(*list_row_arrays(X), visits, *bounds, method, score, numpy.zeros(batch))
    if l1:
        # Columns that sparse rows have not met lately pay at the end.
        v = numpy.where(v > 0, numpy.maximum(v - (score.due + owed), 0), numpy.minimum(v + (score.due - owed), 0))
    steps = score.step - 1
    mean = (score.mass * v - lag) / max(1, steps - average + 1) if average else numpy.zeros(d)
    return v * score.scale, score.intercept, mean, score.average_intercept, score.losses


def rows(real=numpy.float64, seed=0):
    draw = numpy.random.default_rng(seed)
    X = numpy.where(draw.uniform(size=(30, 11)) < 0.5, 0, draw.normal(size=(30, 11))).astype(real)
    y = numpy.where(draw.uniform(size=30) < 0.5, 1.0, 0.0)
    return X, y, draw.uniform(0.5, 2, size=30), draw.permutation(30).astype(numpy.intp)


LOSSES = (HINGE, SQUARED_HINGE, LOGISTIC, MODIFIED, SQUARED, HUBER, TUBE, SQUARED_TUBE)
SETTINGS = [
    *((loss, CONSTANT, 0.0, 0.0, 0, 1) for loss in LOSSES),
    *((LOGISTIC, schedule, 0.0, 0.01, 0, 1) for schedule in (OPTIMAL, INVERSE)),
    *((loss, schedule, 0.0, 0.0, 0, 1) for loss in (HINGE, TUBE) for schedule in (FIRST, SECOND)),
    (LOGISTIC, CONSTANT, 0.0, 0.5, 4, 1),
    (LOGISTIC, CONSTANT, 0.02, 0.0, 0, 1),
    (HUBER, CONSTANT, 0.02, 0.0, 1, 4),
    # A step that shrinks to zero: 1 - 0.05 * 30 < 0.
    (LOGISTIC, CONSTANT, 0.0, 30.0, 2, 1),
]


@pytest.mark.parametrize("real", [numpy.float64, numpy.float32])
@pytest.mark.parametrize(("loss", "schedule", "l1", "l2", "average", "batch"), SETTINGS)
def test_dense_visits_follow_the_recurrence(stochastic, loss, schedule, l1, l2, average, batch, real):
    X, y, weight, order = rows(real)
    given = (loss, 0.3, schedule, 0.05, 0.4, 7.0, l1, l2, average, batch)
    expected = visit_plainly(X.astype(float), y, weight, order, *given)
    for found, truth in zip(call(stochastic, X, y, weight, order, *given), expected, strict=True):
        assert found == pytest.approx(truth, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("wide", [numpy.int32, numpy.int64])
@pytest.mark.parametrize(("loss", "schedule", "l1", "l2", "average", "batch"), SETTINGS)
def test_sparse_visits_equal_dense_ones_once_columns_not_met_have_paid(
    stochastic, loss, schedule, l1, l2, average, batch, wide
):
    X, y, weight, order = rows()
    csr = scipy.sparse.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(wide), csr.indptr.astype(wide)
    given = (loss, 0.3, schedule, 0.05, 0.4, 7.0, l1, l2, average, batch)
    dense, sparse = call(stochastic, X, y, weight, order, *given), call(stochastic, csr, y, weight, order, *given)
    assert sparse[4] == pytest.approx(dense[4], rel=1e-10)
    assert sparse[1] == pytest.approx(dense[1], rel=1e-10)
    assert sparse[0] == pytest.approx(dense[0], abs=1e-12)
    if l1 == 0:
        assert sparse[2] == pytest.approx(dense[2], abs=1e-12)


def test_a_scale_that_falls_far_is_put_back_into_the_coefficients(stochastic):
    X, y, weight, order = rows()
    order = numpy.tile(order, 10)
    given = (LOGISTIC, 0.0, CONSTANT, 0.05, 0.4, 7.0, 0.0, 10.0, 1, 1)
    expected = visit_plainly(X, y, weight, order, *given)
    for found, truth in zip(call(stochastic, X, y, weight, order, *given), expected, strict=True):
        assert found == pytest.approx(truth, rel=1e-9, abs=1e-12)


def test_class_numbers_stand_for_signs_and_empty_weights_for_ones(stochastic):
    X, y, _, order = rows()
    numbers, nothing, ones = numpy.where(y > 0, 2.0, 0.0), numpy.zeros(0), numpy.ones(30)
    found = []
    method = stochastic.Method(HINGE, 1.0, 0.0, CONSTANT, 0.5, 0.0, True, 0.0, 0.0, 0.0, 0.0)
    for targets, positive, weight in ((numbers, 2.0, nothing), (y, -1.0, ones)):
        v = numpy.zeros(11)
        score = stochastic.Score(v, nothing, nothing, 0.1, positive)
        visits = stochastic.Visits(targets, weight, order, order, 3)
        stochastic.visit_rows(*list_row_arrays(X), visits, 0, 30, method, score, numpy.zeros(1))
        found.append((v.tolist(), score.intercept, score.losses, score.losses_at_zero, score.updates, score.weight))
    assert found[0] == found[1]
    assert 0 < score.updates <= 30


@pytest.mark.parametrize("loss", LOSSES)
def test_at_zero_coefficients_the_loss_is_that_at_a_score_of_zero_to_the_bit(stochastic, loss):
    X, y, weight, order = rows()
    method = stochastic.Method(loss, 0.3, 0.0, CONSTANT, 0.4, 7.0, False, 0.0, 0.0, 0.0, 0.0)
    none = numpy.empty(0)
    score = stochastic.Score(numpy.zeros(X.shape[1]), none, none, 0.0, -1.0)
    visits = stochastic.Visits(y, weight, order, order, 4)
    # A rate of zero leaves the coefficients where they are.
    stochastic.visit_rows(*list_row_arrays(X), visits, 0, len(order), method, score, numpy.zeros(1))
    assert score.losses > 0
    assert score.losses == score.losses_at_zero
