"""Newton steps of a linear machine: optimality by the gap that they report, and the same bits however steps are cut."""

import importlib

import numpy
import pytest

# The tube, the width and the limits of a loss.
HINGE = (0.0, 0.0, -1.0, 0.0)
SQUARED_HINGE = (0.0, 0.5, -numpy.inf, 0.0)
ABSOLUTE = (0.0, 0.0, -1.0, 1.0)
TUBE = (0.3, 0.0, -1.0, 1.0)
HUBER = (0.0, 1.0, -0.4, 0.4)


@pytest.fixture
def machine_steps(level):
    return importlib.import_module(f"mercer._native.{level}.machine_steps")


def rows(labels, seed=0):
    draw = numpy.random.default_rng(seed)
    X = draw.normal(size=(24, 3))
    truth = X @ [1.0, -0.5, 0.2] + 0.5 * draw.normal(size=24)
    sign = numpy.where(truth > 0, 1.0, -1.0) if labels else numpy.ones(24)
    centre = numpy.ones(24) if labels else truth
    weight = draw.uniform(0.5, 2.0, size=24)
    return X, sign, centre, weight / weight.sum()


def make(machine_steps, shape, allowed=1e-9, l2=0.05):
    given = rows(shape[3] == 0)
    n, width = given[0].shape
    # Contents of scratch must not matter.
    room = (*numpy.full((2, n), numpy.nan), *numpy.full((3, width), numpy.nan), numpy.full((width, width), numpy.nan))
    current, best = numpy.zeros(width), numpy.zeros(width)
    smooth = shape[1] > 0
    limits = (allowed, 1e-16, 0.0 if smooth else 0.1 * allowed)
    machine = machine_steps.Machine(given, numpy.array(shape), l2, limits, current, best, room)
    machine.barrier = 0.0 if smooth else 0.5
    return machine, given, best


def objective(shape, given, w, l2=0.05):
    """Return J, written out."""
    X, sign, centre, weight = given
    tube, width, low, high = shape
    distance = sign * (X @ w) - centre
    total = numpy.zeros(len(X))
    for depth, limit in ((-(distance + tube), -low), (distance - tube, high)):
        depth = numpy.maximum(depth, 0.0)
        if limit == 0:
            continue
        bent = depth <= limit * width
        line = limit * (depth - 0.5 * limit * width) if numpy.isfinite(limit) else 0.0
        total += numpy.where(bent, depth**2 / (2 * width), line) if width > 0 else limit * depth
    return weight @ total + 0.5 * l2 * w @ w


@pytest.mark.parametrize("shape", [HINGE, SQUARED_HINGE, ABSOLUTE, TUBE, HUBER])
def test_the_gap_is_reached_and_no_move_lowers_the_objective_by_more(machine_steps, shape):
    machine, given, best = make(machine_steps, shape)
    record = numpy.empty((200, 2))
    done = machine_steps.run_steps(machine, record)
    assert machine.ended
    assert not machine.odd
    assert machine.objective == pytest.approx(objective(shape, given, best), rel=1e-12)
    assert -1e-15 <= machine.objective - machine.bound <= 1e-9
    assert (numpy.diff(record[:done, 0]) <= 0).all()
    draw = numpy.random.default_rng(1)
    for size in (1e-2, 1e-4, 1e-6):
        moved = best + size * draw.normal(size=best.shape)
        assert objective(shape, given, moved) >= machine.bound - 1e-14


@pytest.mark.parametrize("shape", [HINGE, SQUARED_HINGE, TUBE])
def test_steps_one_at_a_time_give_the_same_bits_as_all_in_one_call(machine_steps, shape):
    whole, _, best = make(machine_steps, shape)
    record = numpy.empty((200, 2))
    done = machine_steps.run_steps(whole, record)
    single, _, other = make(machine_steps, shape)
    seen = []
    while not single.ended:
        part = numpy.empty((1, 2))
        if machine_steps.run_steps(single, part):
            seen.append(part[0, 0])
    assert numpy.array_equal(best, other)
    assert seen == record[:done, 0].tolist()


def test_rows_that_overflow_are_reported_and_not_solved(machine_steps):
    machine, given, _ = make(machine_steps, SQUARED_HINGE)
    given[0][:] *= 1e200
    with numpy.errstate(all="ignore"):
        machine_steps.run_steps(machine, numpy.empty((5, 2)))
    assert machine.odd
