"""Recurrent layers, trained by backpropagation through time.

A row is a sequence (time, d). A second input (time,), where it is given, holds 1 for steps that exist and 0 for
padding: the state passes a padded step unchanged, so that sequences of several lengths share a batch.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from mercer._plain import plain
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.neural_network._layers.activations import ACTIVATIONS
from mercer.neural_network._layers.initialisers import draw_weights
from mercer.neural_network._layers.layer import Call, Layer, Shape

State: TypeAlias = tuple[Array, ...]


class _Recurrent(Layer):
    """What recurrent layers share: checks, first weights, and the loop over time."""

    units: int
    return_sequences: bool
    n_inputs: ClassVar[tuple[int, int]] = (1, 2)
    # How many blocks of `units` columns the weights have: one for each gate, and one for the candidate.
    n_gates: ClassVar[int] = 1
    # How many arrays (n, units) pass from step to step; the first one is the output.
    n_states: ClassVar[int] = 1

    def infer_shape(self, *shapes: Shape) -> Shape:
        shape = shapes[0]
        if len(shape) != 2 or shape[0] < 1:
            self._refuse("rows must have the shape (time, columns), time >= 1", shape, "Reshape the rows.")
        # The second input, if there is one, marks the steps that exist in sequences of different lengths.
        if len(shapes) == 2 and shapes[1] != shape[:1]:
            self._refuse(f"the mask must have the shape {shape[:1]}", shapes[1], "Give one number per step.")
        if self.units < 1:
            self._refuse("units must be at least 1", self.units, "Give the number of units.")
        return (shape[0], self.units) if self.return_sequences else (self.units,)

    def initialise(self, random: np.random.Generator, *shapes: Shape) -> dict[str, np.ndarray]:
        d, width = shapes[0][1], self.n_gates * self.units
        shape = (d, self.units)
        blocks = [draw_weights(random, "glorot_uniform", *shape, shape, "tanh") for _ in range(self.n_gates)]
        # Orthogonal matrices keep the length of the state, so that gradients neither vanish nor explode at first.
        turns = [np.linalg.qr(random.standard_normal((self.units, self.units)))[0] for _ in range(self.n_gates)]
        return {"W": np.concatenate(blocks, axis=1), "U": np.concatenate(turns, axis=1), "b": np.zeros(width)}

    def forward(self, call: Call, *inputs: Array) -> Array:
        x = inputs[0]
        mask = inputs[1] if len(inputs) == 2 else None
        xp, (n, time, d) = namespace_of(x), x.shape
        # Time comes first, so that the rows of a step are contiguous. What drives all steps is one product.
        by_time = xp.reshape(xp.permute_dims(x, (1, 0, 2)), (time * n, d))
        driven = xp.reshape(by_time @ call.weights["W"] + call.weights["b"], (time, n, -1))
        zeros = xp.zeros((n, self.units), dtype=x.dtype, device=x.device)
        state: State = (zeros,) * self.n_states
        states, kept = [state], []
        for t in range(time):
            after, own = self._advance(driven[t, :, :], state, call.weights["U"], xp)
            if mask is not None:
                share = mask[:, t][:, None]
                # Padding (share 0) keeps the old state.
                after = tuple(old + share * (new - old) for new, old in zip(after, state, strict=True))
            state = after
            states.append(state)
            kept.append(own)
        call.kept = (by_time, mask, states, kept)
        return xp.stack([after[0] for after in states[1:]], axis=1) if self.return_sequences else state[0]

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        by_time, mask, states, kept = call.kept
        xp, W, U = namespace_of(gradient), call.weights["W"], call.weights["U"]
        n, time = gradient.shape[0], len(kept)
        zeros = xp.zeros_like(states[0][0])
        by_state: State = (zeros,) * self.n_states
        by_driven = [zeros] * time
        if not self.return_sequences:
            # Only the last state has a derivative from above.
            by_state = (gradient, *by_state[1:])
        for t in range(time - 1, -1, -1):
            if self.return_sequences:
                # Each step adds its own derivative to what flows back from the steps after it.
                by_state = (by_state[0] + gradient[:, t, :], *by_state[1:])
            if mask is None:
                by_driven[t], by_state = self._retreat(by_state, states[t], kept[t], U, xp)
                continue
            share = mask[:, t][:, None]
            moved = tuple(share * part for part in by_state)
            by_driven[t], before = self._retreat(moved, states[t], kept[t], U, xp)
            # A padded step passes the derivative on as it is.
            by_state = tuple(new + part - own for new, part, own in zip(before, by_state, moved, strict=True))
        flat = xp.concat(by_driven, axis=0)
        # The derivatives by the weights add up over steps: one product over all of them.
        call.gradients["W"], call.gradients["b"] = by_time.T @ flat, xp.sum(flat, axis=0)
        call.gradients["U"] = self._turn(xp.concat([state[0] for state in states[:-1]], axis=0), kept, flat, xp)
        if not call.wants_inputs:
            return (None,) if mask is None else (None, None)
        by_x = xp.permute_dims(xp.reshape(flat @ W.T, (time, n, W.shape[0])), (1, 0, 2))
        return (by_x,) if mask is None else (by_x, xp.zeros_like(mask))

    def _turn(self, before: Array, kept: list[Any], delta: Array, xp: Any) -> Array:
        """Return the derivative by U: of all steps' states before them, and derivatives by what drives them."""
        return before.T @ delta

    def _advance(self, driven: Array, state: State, U: Array, xp: Any) -> tuple[State, tuple[Array, ...]]:
        """Return the state after a step, and what the step back needs."""
        raise NotImplementedError  # each kind of layer defines its own

    def _retreat(self, by_after: State, state: State, own: Any, U: Array, xp: Any) -> tuple[Array, State]:
        """Return the derivatives by what drives the step, and by the state before it."""
        raise NotImplementedError  # each kind of layer defines its own


def _open_gates(z: Array, xp: Any) -> Array:
    """Return 1 / (1 + exp(-z)) by tanh: one pass, without overflow."""
    return 0.5 + 0.5 * xp.tanh(0.5 * z)


@plain
@dataclass(frozen=True)
class SimpleRecurrent(_Recurrent):
    """The simple recurrence h_t = g(x_t W + h_(t-1) U + b), h_0 = 0 (Elman, 1990).

    Parameters
    ----------
    units : int
    return_sequences : bool, default=False
        Whether the states of all steps are returned, (time, units), or the last one, (units,).
    activation : str, default='tanh'
        The function g; see Activation.
    """

    units: int
    return_sequences: bool = False
    activation: str = "tanh"

    def _advance(self, driven: Array, state: State, U: Array, xp: Any) -> tuple[State, tuple[Array, ...]]:
        z = driven + state[0] @ U
        after = ACTIVATIONS[self.activation].value(z, xp)
        return (after,), (z, after)

    def _retreat(self, by_after: State, state: State, own: Any, U: Array, xp: Any) -> tuple[Array, State]:
        by_z = by_after[0] * ACTIVATIONS[self.activation].slope(own[0], own[1], xp)
        return by_z, (by_z @ U.T,)


@plain
@dataclass(frozen=True)
class GatedRecurrent(_Recurrent):
    """The gated recurrent unit (Cho et al., 2014).

    With the update gate u = s(x W_u + h U_u + b_u), the reset gate r = s(x W_r + h U_r + b_r) and the candidate
    c = tanh(x W_c + (r h) U_c + b_c), the state becomes (1 - u) h + u c; s is the logistic function. The columns of W,
    U and b hold u, r and c, in this order.

    Parameters
    ----------
    units : int
    return_sequences : bool, default=False
        Whether the states of all steps are returned, (time, units), or the last one, (units,).
    """

    units: int
    return_sequences: bool = False
    n_gates: ClassVar[int] = 3

    def _advance(self, driven: Array, state: State, U: Array, xp: Any) -> tuple[State, tuple[Array, ...]]:
        k, (h,) = self.units, state
        gates = _open_gates(driven[:, : 2 * k] + h @ U[:, : 2 * k], xp)
        update, reset = gates[:, :k], gates[:, k:]
        reset_state = reset * h
        candidate = xp.tanh(driven[:, 2 * k :] + reset_state @ U[:, 2 * k :])
        return (h + update * (candidate - h),), (update, reset, candidate, reset_state)

    def _retreat(self, by_after: State, state: State, own: Any, U: Array, xp: Any) -> tuple[Array, State]:
        k, (h,), (by_h,) = self.units, state, by_after
        update, reset, candidate, _ = own
        # tanh' = 1 - candidate^2, and h' = (1 - update) h + update candidate.
        by_candidate = by_h * update * (1.0 - candidate * candidate)
        by_reset_state = by_candidate @ U[:, 2 * k :].T
        # d h' / d update = candidate - h; the gate's slope is update (1 - update).
        by_update = by_h * (candidate - h) * update * (1.0 - update)
        by_reset = by_reset_state * h * reset * (1.0 - reset)
        by_gates = xp.concat([by_update, by_reset], axis=1)
        # Three ways back to the old state: past the update, through the reset, and through the gates.
        before = by_h * (1.0 - update) + by_reset_state * reset + by_gates @ U[:, : 2 * k].T
        return xp.concat([by_gates, by_candidate], axis=1), (before,)

    def _turn(self, before: Array, kept: list[Any], delta: Array, xp: Any) -> Array:
        k = 2 * self.units
        reset_states = xp.concat([own[3] for own in kept], axis=0)
        return xp.concat([before.T @ delta[:, :k], reset_states.T @ delta[:, k:]], axis=1)


@plain
@dataclass(frozen=True)
class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997), with a forget gate (Gers et al., 2000).

    With the gates i, f, o = s(x W + h U + b) of input, forgetting and output, s the logistic function, and the
    candidate g = tanh(x W_g + h U_g + b_g), the cell becomes f c + i g and the state o tanh(c). The columns of W, U and
    b hold i, f, o and g, in this order. The first bias of f is 1, so that a new network remembers.

    Parameters
    ----------
    units : int
    return_sequences : bool, default=False
        Whether the states of all steps are returned, (time, units), or the last one, (units,).
    """

    units: int
    return_sequences: bool = False
    n_gates: ClassVar[int] = 4
    n_states: ClassVar[int] = 2

    def initialise(self, random: np.random.Generator, *shapes: Shape) -> dict[str, np.ndarray]:
        weights = super().initialise(random, *shapes)
        weights["b"][self.units : 2 * self.units] = 1.0
        return weights

    def _advance(self, driven: Array, state: State, U: Array, xp: Any) -> tuple[State, tuple[Array, ...]]:
        k, (h, cell) = self.units, state
        z = driven + h @ U
        gates, candidate = _open_gates(z[:, : 3 * k], xp), xp.tanh(z[:, 3 * k :])
        after = gates[:, k : 2 * k] * cell + gates[:, :k] * candidate
        bent = xp.tanh(after)
        return (gates[:, 2 * k :] * bent, after), (gates, candidate, bent)

    def _retreat(self, by_after: State, state: State, own: Any, U: Array, xp: Any) -> tuple[Array, State]:
        k, cell = self.units, state[1]
        gates, candidate, bent = own
        by_h, by_cell = by_after
        by_cell = by_cell + by_h * gates[:, 2 * k :] * (1.0 - bent * bent)
        by_gates = xp.concat([by_cell * candidate, by_cell * cell, by_h * bent], axis=1) * gates * (1.0 - gates)
        by_z = xp.concat([by_gates, by_cell * gates[:, :k] * (1.0 - candidate * candidate)], axis=1)
        return by_z, (by_z @ U.T, by_cell * gates[:, k : 2 * k])
