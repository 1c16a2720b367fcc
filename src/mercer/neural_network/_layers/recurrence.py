"""Recurrent layers, trained by backpropagation through time.

A row is a sequence (time, d). A second input (time,), where it is given, holds 1 for steps that exist and 0 for
padding: the state passes a padded step unchanged, so that sequences of several lengths share a batch.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._plain import plain
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.neural_network._layers.activations import ACTIVATIONS, expit
from mercer.neural_network._layers.initialisers import draw_weights
from mercer.neural_network._layers.layer import Call, Layer, Shape

__all__ = ["GatedRecurrent", "SimpleRecurrent"]


class _Recurrent(Layer):
    """What recurrent layers share: checks, first weights, and the loop over time."""

    units: int
    return_sequences: bool
    n_inputs: ClassVar[tuple[int, int]] = (1, 2)
    # How many blocks of `units` columns the weights have: one for each gate, and one for the candidate.
    n_gates: ClassVar[int] = 1

    def infer_shape(self, *shapes: Shape) -> Shape:
        shape = shapes[0]
        if len(shape) != 2 or shape[0] < 1:
            self._refuse("rows must have the shape (time, columns), time >= 1", shape, "Reshape the rows.")
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
        xp = namespace_of(x)
        driven = x @ call.weights["W"] + call.weights["b"]
        state = xp.zeros((x.shape[0], self.units), dtype=x.dtype, device=x.device)
        states, kept = [state], []
        for t in range(x.shape[1]):
            after, own = self._advance(driven[:, t, :], state, call.weights["U"], xp)
            if mask is not None:
                share = mask[:, t][:, None]
                after = share * after + (1.0 - share) * state
            state = after
            states.append(state)
            kept.append(own)
        call.kept = (x, mask, states, kept)
        return xp.stack(states[1:], axis=1) if self.return_sequences else state

    def backward(self, call: Call, gradient: Array) -> tuple[Array, ...]:
        x, mask, states, kept = call.kept
        xp, W, U = namespace_of(gradient), call.weights["W"], call.weights["U"]
        by_U, by_state = xp.zeros_like(U), xp.zeros_like(states[0])
        by_driven = [by_state] * len(kept)
        if not self.return_sequences:
            by_state = gradient
        for t in range(len(kept) - 1, -1, -1):
            if self.return_sequences:
                by_state = by_state + gradient[:, t, :]
            share = 1.0 if mask is None else mask[:, t][:, None]
            passed = 0.0 if mask is None else (1.0 - share) * by_state
            by_driven[t], before, change = self._retreat(share * by_state, states[t], kept[t], U, xp)
            by_U = by_U + change
            by_state = before + passed
        delta = xp.stack(by_driven, axis=1)
        flat = xp.reshape(delta, (-1, W.shape[1]))
        call.gradients["W"] = xp.reshape(x, (-1, W.shape[0])).T @ flat
        call.gradients["U"], call.gradients["b"] = by_U, xp.sum(flat, axis=0)
        by_x = delta @ W.T
        return (by_x,) if mask is None else (by_x, xp.zeros_like(mask))

    def _advance(self, driven: Array, state: Array, U: Array, xp: Any) -> tuple[Array, tuple[Array, ...]]:
        """Return the state after a step, and what the step back needs."""
        raise NotImplementedError  # each kind of layer defines its own

    def _retreat(self, by_after: Array, state: Array, own: Any, U: Array, xp: Any) -> tuple[Array, Array, Array]:
        """Return the derivatives by what drives the step, by the state before it, and by U."""
        raise NotImplementedError  # each kind of layer defines its own


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

    def _advance(self, driven: Array, state: Array, U: Array, xp: Any) -> tuple[Array, tuple[Array, ...]]:
        z = driven + state @ U
        after = ACTIVATIONS[self.activation].value(z, xp)
        return after, (z, after)

    def _retreat(self, by_after: Array, state: Array, own: Any, U: Array, xp: Any) -> tuple[Array, Array, Array]:
        by_z = by_after * ACTIVATIONS[self.activation].slope(own[0], own[1], xp)
        return by_z, by_z @ U.T, state.T @ by_z


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

    def _advance(self, driven: Array, state: Array, U: Array, xp: Any) -> tuple[Array, tuple[Array, ...]]:
        k = self.units
        gates = expit(driven[:, : 2 * k] + state @ U[:, : 2 * k], xp)
        update, reset = gates[:, :k], gates[:, k:]
        candidate = xp.tanh(driven[:, 2 * k :] + (reset * state) @ U[:, 2 * k :])
        return state + update * (candidate - state), (update, reset, candidate)

    def _retreat(self, by_after: Array, state: Array, own: Any, U: Array, xp: Any) -> tuple[Array, Array, Array]:
        k = self.units
        update, reset, candidate = own
        by_candidate = by_after * update * (1.0 - candidate * candidate)
        by_reset_state = by_candidate @ U[:, 2 * k :].T
        by_update = by_after * (candidate - state) * update * (1.0 - update)
        by_reset = by_reset_state * state * reset * (1.0 - reset)
        by_gates = xp.concat([by_update, by_reset], axis=1)
        before = by_after * (1.0 - update) + by_reset_state * reset + by_gates @ U[:, : 2 * k].T
        by_U = xp.concat([state.T @ by_gates, (reset * state).T @ by_candidate], axis=1)
        return xp.concat([by_gates, by_candidate], axis=1), before, by_U
