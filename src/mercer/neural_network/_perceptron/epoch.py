"""One epoch over a source: which rows come when, in batches."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer._source import Block, Source
from mercer._source.namespace import namespace_of, to_numpy
from mercer._types import Array
from mercer.neural_network._perceptron.passes import (
    DensePasses,
    LayerPasses,
    Passes,
    move_named,
    open_passes,
    place_like,
)
from mercer.neural_network._perceptron.plan import Plan
from mercer.neural_network._perceptron.state import PerceptronState


@dataclass(eq=False)
class SharedPasses:
    """What epochs over rows in memory share: passes with their arrays and threads, made once and closed at the end."""

    plan: Plan
    training: np.ndarray | None = None
    passes: Passes | None = None

    def open(self, source: Source, batch: int) -> Passes:
        """Return the passes over all rows of a source in memory or on a device."""
        if self.passes is None:
            self.passes = open_passes(self.plan, source.whole(), source.y, source.weight, source.threads, batch)
        return self.passes

    def list_rows(self, n: int, weight: Array | None) -> np.ndarray:
        """Return the rows to learn from; those of weight zero do not take part."""
        rows = np.arange(n) if self.training is None else self.training
        return rows if weight is None else rows[to_numpy(weight)[rows] > 0]

    def close(self) -> None:
        """Stop the worker threads."""
        if self.passes is not None:
            self.passes.close()
        self.passes = None


@dataclass(frozen=True, eq=False)
class Epoch:
    """A request: visit every row once, in batches; the answer is the next state and the mean objective met."""

    shared: SharedPasses
    state: PerceptronState

    def answer(self, source: Source) -> tuple[PerceptronState, float]:
        walk = _Walk(self.shared.plan, self.state)
        if source.place in ("memory", "device"):
            batch = self.shared.plan.batch_size
            passes = self.shared.open(source, batch)
            rows = self.shared.list_rows(source.n_rows, source.weight)
            walk.visit(passes, rows, (self.state.epochs,))
        else:
            # Rows elsewhere come block by block; batches end where blocks end.
            source.each(_itself, lambda block: walk.visit_block(block, source.threads))
        return walk.finish()


def _itself(block: Block) -> Block:
    return block


@dataclass(eq=False)
class _Walk:
    """The weights on the way through an epoch, and the sums of what was met."""

    plan: Plan
    state: PerceptronState
    sums: np.ndarray = field(default_factory=lambda: np.zeros(5))

    def __post_init__(self) -> None:
        self.theta: Array = self.state.theta
        self.carried: tuple[Array, ...] = self.state.carried
        self.statistics: dict[str, Any] = self.state.statistics
        self.steps = self.state.steps

    def visit_block(self, block: Block, threads: int) -> None:
        """Visit the rows of a block that is read once, in an order of their own."""
        rows = np.arange(block.n) if block.weight is None else np.flatnonzero(block.weight > 0)
        X = block.X if block.is_native or not isinstance(block.X, np.ndarray) else np.ascontiguousarray(block.X)
        passes = open_passes(self.plan, X, block.y, block.weight, threads, self.plan.batch_size)
        try:
            self.visit(passes, rows, (self.state.epochs, block.start))
        finally:
            passes.close()

    def visit(self, passes: Passes, rows: np.ndarray, key: tuple[int, ...]) -> None:
        """Visit some rows, in an order drawn from the seed and a key."""
        if len(rows) == 0:
            return
        order = rows
        if self.plan.shuffle:
            random = np.random.default_rng(np.random.SeedSequence(self.state.seed, spawn_key=key))
            order = random.permutation(rows)
        order = np.ascontiguousarray(order, dtype=np.intp)
        # Without a native or flat form the steps are array operations.
        if isinstance(passes, LayerPasses) or (isinstance(passes, DensePasses) and not passes.takes_steps):
            self._step_through(passes, order)
            return
        # These passes hold weights of their own during a run, and give them back at its end.
        passes.load(self.theta, self.carried)
        sums = passes.run(order, self.state.rate, self.steps)
        self.steps = int(sums[2])
        self.theta, self.carried = passes.read()
        self.sums += sums

    def _step_through(self, passes: DensePasses | LayerPasses, order: np.ndarray) -> None:
        """Take a step for each batch in array operations."""
        plan, like = self.plan, self.theta
        if isinstance(passes, LayerPasses):
            like = passes.X if not hasattr(passes.X, "toarray") else self.theta
            self.theta, *carried = place_like((self.theta, *self.carried), like)
            self.carried = tuple(carried)
            passes.statistics, passes.seed = plan.network.place(self.statistics, self.theta), self.state.seed
        xp = namespace_of(self.theta)
        # Sums of losses and penalties: arrays of no axes, which are fetched from a device once, at the end.
        losses: Any = 0.0
        penalties: Any = 0.0
        for first in range(0, len(order), plan.batch_size):
            rows = order[first : first + plan.batch_size]
            if plan.batch_norm and len(rows) < 2 and len(order) > 1:
                continue  # one row has no variance: it takes part in other epochs
            place = self.theta if isinstance(plan.method, str) else plan.method.place(self.theta, self.carried)
            value, gradient, total = passes.differentiate(place, rows, self.steps)
            if total == 0.0:
                continue
            # The penalty is that of a batch: divided by its weight, like the loss.
            penalty, slope = plan.penalty(place, xp) if plan.alpha > 0 else (0.0, 0.0)
            self._move(gradient + slope / total if plan.alpha > 0 else gradient, xp)
            if xp is np:
                # On the host sums are taken in double, whatever the precision of the rows.
                value, penalty = float(value), float(penalty)
            losses = losses + value * total
            # Weighted by rows, so that the mean over the epoch is one over rows.
            penalties = penalties + penalty * (len(rows) / total)
            self.sums[1] += total
            self.sums[4] += len(rows)
        self.sums[0] += float(losses)
        self.sums[3] += float(penalties)
        if isinstance(passes, LayerPasses):
            self.statistics = {
                name: {key: to_numpy(value) for key, value in kept.items()} for name, kept in passes.statistics.items()
            }
            self.theta = to_numpy(self.theta)
            self.carried = tuple(to_numpy(array) for array in self.carried)

    def _move(self, gradient: Array, xp: Any) -> None:
        """Clip the gradient, take the step, and keep pruned weights at zero."""
        plan = self.plan
        self.steps += 1
        if plan.clip_norm is not None:
            norm = xp.sqrt(xp.sum(gradient * gradient))
            # The direction stays; a norm that is not a number leaves the gradient as it is, and the fit ends.
            gradient = gradient * xp.where(norm > plan.clip_norm, plan.clip_norm / norm, xp.ones_like(norm))
        if plan.clip_value is not None:
            gradient = xp.clip(gradient, -plan.clip_value, plan.clip_value)
        share = min(1.0, self.steps / plan.warm_up) if plan.warm_up else 1.0
        if isinstance(plan.method, str):
            rate = share * self.state.rate
            self.theta, self.carried = move_named(plan, self.theta, gradient, self.carried, rate, self.steps)
        else:
            theta, self.carried = plan.method.move(self.theta, gradient, self.carried, self.steps)
            self.theta = self.theta + share * (theta - self.theta) if share < 1.0 else theta
        if plan.mask is not None:
            self.theta = self.theta * plan.mask

    def finish(self) -> tuple[PerceptronState, float]:
        """Return the state after the epoch, and the mean loss met plus the mean penalty."""
        # The sums: losses, weights, steps, penalties and rows met.
        loss = self.sums[0] / self.sums[1] if self.sums[1] > 0 else 0.0
        loss += self.sums[3] / self.sums[4] if self.sums[4] > 0 else 0.0
        state = replace(
            self.state,
            theta=self.theta,
            carried=self.carried,
            statistics=self.statistics,
            steps=self.steps,
            epochs=self.state.epochs + 1,
            seen=self.state.seen + int(self.sums[4]),
        )
        return state, float(loss)
