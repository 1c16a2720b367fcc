"""Stochastic steps of a map: edges drawn by their weights attract their ends, and each draws rows that repel.

Time runs in epochs. An edge has events at a fixed rate from a phase of its own: event number m happens where
``rate * time + phase`` reaches the integer m, so that no state is kept between steps. In a step, all points move by the
places of its beginning; it is short enough that no edge has two events in it. A point writes its own place alone, and
the rows that repel are a hash of seed, step and edge: a map does not depend on the number of threads.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.linear import shuffles
    from cython.cimports.mercer._native.shared import inline, team, team_items
else:
    from mercer._native.linear import shuffles
    from mercer._native.shared import inline, team, team_items

# Points of an item: some 10 microseconds.
_ROWS = cython.declare(cython.Py_ssize_t, 64)
# Pairs of points whose forces are computed together, in vectors.
_SLOTS = cython.declare(cython.Py_ssize_t, 512)
# Edges whose events are listed together; as many as slots.
_EDGES = cython.declare(cython.Py_ssize_t, 512)
# A waiting thread goes to sleep this many times later than usual: steps follow one another in well under a millisecond.
_PATIENCE = cython.declare(cython.Py_ssize_t, 4)
# 2^32 divided by the golden ratio, which spreads consecutive counters over all words.
_GOLDEN = cython.declare(cython.ulonglong, 0x9E3779B9)
# The lower 32 bits of a word.
_LOW = cython.declare(cython.ulonglong, 0xFFFFFFFF)
# Added to squared distances that repel, which would else be infinite at zero.
_SOFT = cython.declare(cython.float, 0.001)
# The longest step of a coordinate at a rate of one.
_LONGEST = cython.declare(cython.float, 4.0)
# Squared distances from below, whose logarithm must be finite.
_TINY = cython.declare(cython.float, 1e-30)
# Exponent from which a + d^(2b) is d^(2b) in float32, and its square is still finite.
_HIGHEST = cython.declare(cython.float, 40.0)


@cython.cclass
class SampledSteps:
    """The steps of a map, and the arrays that the threads share.

    Parameters
    ----------
    control : (32 + 8 threads,), int64, see team.pxd
    edges : starts (n + 1,) int64, rows int32, ends int32, rates float32 (events per epoch), phases float32 in [0, 1),
        plus one where the row is above its end: one end draws at odd events, and the other at even ones
    places : (2, n, d), float32: the places of even steps and of odd ones, changed
    others : (m, d), float32: places that the edges lead to, which stay; (0, d) if the edges join points of the map
    scratch : slots (threads, 4, 512) int32, forces (threads, 2 + d, 512) float32
    kernel : (3,), float32: a, b and the strength of the repulsion
    draws : rows that an event draws
    """

    control: cython.longlong[::1]
    starts: cython.const[cython.longlong][::1]
    rows: cython.const[cython.int][::1]
    ends: cython.const[cython.int][::1]
    rates: cython.const[cython.float][::1]
    phases: cython.const[cython.float][::1]
    cython.declare(places=cython.float[:, :, ::1], slots=cython.int[:, :, ::1], forces=cython.float[:, :, ::1])
    others: cython.const[cython.float][:, ::1]
    kernel: cython.const[cython.float][::1]
    cython.declare(draws=cython.Py_ssize_t, step=cython.Py_ssize_t, key=cython.ulonglong)
    cython.declare(before=cython.float, after=cython.float, rate=cython.float)

    def __init__(self, control, edges, places, others, scratch, kernel, draws: cython.Py_ssize_t):
        self.control, self.places, self.others, self.kernel, self.draws = control, places, others, kernel, draws
        self.starts, self.rows, self.ends, self.rates, self.phases = edges
        self.slots, self.forces = scratch

    def help(self, member: cython.Py_ssize_t):
        """Take items of all steps as worker thread `member`, until the threads are stopped."""
        with cython.nogil:
            item = team_items.await_item(self.control, member, _PATIENCE)
            while item >= 0:
                _work(self, item, member)
                item = team_items.await_item(self.control, member, _PATIENCE)

    def call(self):
        """Allow worker threads to begin."""
        team.set_stopped(self.control, 0)

    def dismiss(self):
        """Stop the worker threads, whatever they have not begun."""
        team_items.stop_workers(self.control)

    def take_steps(
        self,
        first: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
        length: cython.double,
        rates: cython.const[cython.double][::1],
        seed: cython.ulonglong,
    ):
        """Take steps `first` to `last` of `length` epochs each.

        `rates` (2,): the first learning rate, and the time at which it has fallen to zero. `seed`: 32 bits.
        """
        items: cython.Py_ssize_t = (self.places.shape[1] + _ROWS - 1) // _ROWS
        with cython.nogil:
            for step in range(first, last):
                self.step = step
                self.before, self.after = step * length, (step + 1) * length
                self.rate = rates[0] * (1.0 - step * length / rates[1])
                self.key = shuffles.mix(seed + shuffles.mix(step + 1))
                team.publish(self.control, items)
                item = team_items.take_item(self.control, items)
                while item >= 0:
                    _work(self, item, 0)
                    item = team_items.take_item(self.control, items)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _work(steps: SampledSteps, item: cython.Py_ssize_t, member: cython.Py_ssize_t) -> cython.void:
    """Move a run of points by the events of this step."""
    now: cython.Py_ssize_t = steps.step % 2
    first: cython.Py_ssize_t = item * _ROWS
    last: cython.Py_ssize_t = min(first + _ROWS, steps.places.shape[1])
    edge: cython.Py_ssize_t = steps.starts[first]
    for i in range(first, last):
        for axis in range(steps.places.shape[2]):
            steps.places[1 - now, i, axis] = steps.places[now, i, axis]
    while edge < steps.starts[last]:
        end = min(edge + _EDGES, steps.starts[last])
        if steps.others.shape[0] > 0:
            _act(steps, steps.others, steps.slots[member], steps.forces[member], edge, end)
        else:
            _act(steps, steps.places[now], steps.slots[member], steps.forces[member], edge, end)
        edge = end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _act(
    steps: SampledSteps,
    others: cython.const[cython.float][:, ::1],
    slots: cython.int[:, ::1],
    forces: cython.float[:, ::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.void:
    """Move points by the events of some edges: those that draw, a run after the other, and the rest."""
    now: cython.Py_ssize_t = steps.step % 2
    drawing: cython.Py_ssize_t = 0
    resting: cython.Py_ssize_t = 0
    for e in range(first, last):
        number = cython.cast(cython.int, steps.rates[e] * steps.after + steps.phases[e])
        happens = 0 if number == cython.cast(cython.int, steps.rates[e] * steps.before + steps.phases[e]) else 1
        # Both ends see an event, and take turns to draw.
        draws = 1 if steps.others.shape[0] > 0 else (number & 1)
        # Few edges have an event, at times that no CPU foresees: each is written to both lists, and the next over it.
        slots[2, drawing] = slots[3, resting] = cython.cast(cython.int, e - first)
        drawing += happens & draws
        resting += happens & (1 - draws)
    for event in range(resting):
        _attract(steps, slots, forces, event, first + slots[3, event])
    _move(steps.places[now], others, steps.places[1 - now], steps, slots, forces, resting)
    run: cython.Py_ssize_t = _SLOTS // (1 + steps.draws)
    begin: cython.Py_ssize_t = 0
    while begin < drawing:
        size: cython.Py_ssize_t = min(run, drawing - begin)
        for event in range(size):
            _attract(steps, slots, forces, event, first + slots[2, begin + event])
        _draw(steps, slots, forces, size, others.shape[0], first, begin)
        _move(steps.places[now], others, steps.places[1 - now], steps, slots, forces, size * (1 + steps.draws))
        begin += size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _attract(
    steps: SampledSteps, slots: cython.int[:, ::1], forces: cython.float[:, ::1], slot: cython.Py_ssize_t,
    edge: cython.Py_ssize_t,
) -> cython.void:  # fmt: skip
    """Write the pair of an edge to a slot."""
    slots[0, slot], slots[1, slot], forces[0, slot] = steps.rows[edge], steps.ends[edge], 1.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draw(
    steps: SampledSteps,
    slots: cython.int[:, ::1],
    forces: cython.float[:, ::1],
    size: cython.Py_ssize_t,
    rows: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    begin: cython.Py_ssize_t,
) -> cython.void:
    """Write the pairs that the first `size` slots draw behind them: the first draw of all, the second...

    A point that draws itself is not moved by that: the step between the two is zero.
    """
    for draw in range(steps.draws):
        base = size * (draw + 1)
        for event in range(size):
            key = shuffles.mix(steps.key + _GOLDEN * (first + slots[2, begin + event] + 1))
            key = shuffles.mix(key + _GOLDEN * (draw + 1))
            slots[1, base + event] = cython.cast(cython.int, (key * rows) >> 32)
            slots[0, base + event] = slots[0, event]
            forces[0, base + event] = 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(
    own: cython.const[cython.float][:, ::1],
    others: cython.const[cython.float][:, ::1],
    out: cython.float[:, ::1],
    steps: SampledSteps,
    slots: cython.int[:, ::1],
    forces: cython.float[:, ::1],
    filled: cython.Py_ssize_t,
) -> cython.void:
    """Move points by the forces of the pairs that are listed: `slots` and whether a pair attracts, ``forces[0]``."""
    step: cython.float
    rate: cython.float = steps.rate
    for s in range(filled):
        forces[1, s] = 0.0
    for axis in range(others.shape[1]):
        for s in range(filled):
            step = own[slots[0, s], axis] - others[slots[1, s], axis]
            forces[2 + axis, s] = step
            forces[1, s] += step * step
    _weigh(forces, filled, steps.kernel[0], steps.kernel[1], steps.kernel[2])
    for axis in range(others.shape[1]):
        for s in range(filled):
            step = forces[1, s] * forces[2 + axis, s]
            step = _LONGEST if step > _LONGEST else step
            forces[2 + axis, s] = rate * (-_LONGEST if step < -_LONGEST else step)
    for axis in range(others.shape[1]):
        for s in range(filled):
            out[slots[0, s], axis] += forces[2 + axis, s]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weigh(
    forces: cython.float[:, ::1], filled: cython.Py_ssize_t, a: cython.float, b: cython.float, strength: cython.float
) -> cython.void:
    """Replace squared distances, ``forces[1]``, by the factors of the steps between the points."""
    power: cython.float
    above: cython.float
    pull: cython.float = -2.0 * a * b
    push: cython.float = 2.0 * strength * b
    for s in range(filled):
        square = forces[1, s] if forces[1, s] > _TINY else _TINY
        power = b * inline.log(square)
        power = inline.exp(power if power < _HIGHEST else _HIGHEST)
        above = pull * power if forces[0, s] > 0.0 else push
        below = square if forces[0, s] > 0.0 else square + _SOFT
        forces[1, s] = above / (below * (1.0 + a * power))


def weigh_pairs(forces: cython.float[:, ::1], filled: cython.Py_ssize_t, kernel: cython.const[cython.float][::1]):
    """Replace squared distances, ``forces[1]``, by the factors of the steps of the first `filled` pairs.

    ``forces[0]`` is one for a pair that attracts and zero for one that repels; `kernel` as in :class:`SampledSteps`.
    """
    with cython.nogil:
        _weigh(forces, filled, kernel[0], kernel[1], kernel[2])
