"""The loss of an autoencoder: restored rows, noise, sparse codes and contraction."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer._types import Array
from mercer.neural_network._layers.network import Network
from mercer.neural_network._relatives.training import TrainingState

__all__ = ["Coder", "Reconstruction"]

# Length of the random steps by which the Jacobian of the code is measured; rows are of order one.
_CONTRACTION_STEP = 0.01


class Penalties(Protocol):
    """The settings of an autoencoder that its loss reads."""

    noise: float
    noise_kind: str
    sparsity: float
    contraction: float
    alpha: float


@dataclass(frozen=True, eq=False)
class Coder:
    """An encoder and a decoder with their weights in one vector, encoder first."""

    encoder: Network
    decoder: Network

    def split(self, theta: Array) -> tuple[Array, Array]:
        return theta[: self.encoder.n_weights], theta[self.encoder.n_weights :]


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """The loss of restored rows with the penalties of an autoencoder; a ``Task``."""

    coder: Coder
    rows: Array
    weight: Array
    penalised: Array
    model: Penalties

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    def learn(self, state: TrainingState, rows: Array) -> tuple[float, Array, dict[str, Any]]:
        model, coder = self.model, self.coder
        clean = self.rows[rows].astype(state.theta.dtype, copy=False)
        weight = self._share(rows, clean.dtype)
        given = self._damage(clean, state)
        by_encoder, by_decoder = coder.split(state.theta)
        options: dict[str, Any] = {"training": True, "seed": state.seed, "step": state.step}
        encoded = coder.encoder.forward(by_encoder, given, {}, **options)
        restored = coder.decoder.forward(by_decoder, encoded.output, {}, **options)
        gap = restored.output - clean
        # The mean over columns too, so that penalties mean the same for wide and narrow tables.
        scale = weight[:, None] / clean.shape[1]
        loss = float((scale * gap * gap).sum())
        decoder_slope, by_input = coder.decoder.backward(restored, 2.0 * scale * gap)
        by_code = by_input["input"]
        if model.sparsity:
            loss += model.sparsity * float((weight[:, None] * np.abs(encoded.output)).sum())
            by_code = by_code + model.sparsity * weight[:, None] * np.sign(encoded.output)
        encoder_slope = coder.encoder.backward(encoded, by_code)[0]
        if model.contraction:
            extra, slope = self._contract(by_encoder, given, weight, state)
            loss, encoder_slope = loss + extra, encoder_slope + slope
        slope = np.concatenate([encoder_slope, decoder_slope])
        if model.alpha:
            loss += 0.5 * model.alpha * float((self.penalised * state.theta * state.theta).sum())
            slope = slope + model.alpha * self.penalised * state.theta
        return loss, slope, {}

    def _share(self, rows: Array, dtype: Any) -> Array:
        """Return the weight of each row of a batch, for means over rows of weight one."""
        weight = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        return (weight / len(rows)).astype(dtype)

    def _damage(self, rows: Array, state: TrainingState) -> Array:
        """Return rows with noise added, or with some values set to zero."""
        if not self.model.noise:
            return rows
        random = np.random.default_rng(np.random.SeedSequence([*state.seed, 3, state.step]))
        if self.model.noise_kind == "masking":
            return rows * (random.random(rows.shape) >= self.model.noise)
        return rows + np.asarray(self.model.noise * random.standard_normal(rows.shape), dtype=rows.dtype)

    def _contract(self, theta: Array, rows: Array, weight: Array, state: TrainingState) -> tuple[float, Array]:
        """Return the penalty on the squared Jacobian of the code, and its gradient.

        For a random step e of covariance s^2 I, the mean of |f(x + e) - f(x)|^2 / s^2 is the squared Frobenius norm of
        the Jacobian of f, up to terms of order s^2.
        """
        random = np.random.default_rng(np.random.SeedSequence([*state.seed, 4, state.step]))
        step = np.asarray(_CONTRACTION_STEP * random.standard_normal(rows.shape), dtype=rows.dtype)
        network = self.coder.encoder
        here, there = network.forward(theta, rows, {}), network.forward(theta, rows + step, {})
        gap = there.output - here.output
        scale = self.model.contraction * weight[:, None] / _CONTRACTION_STEP**2
        loss = float((scale * gap * gap).sum())
        slope = network.backward(there, 2.0 * scale * gap)[0] - network.backward(here, 2.0 * scale * gap)[0]
        return loss, slope

    def judge(self, state: TrainingState, rows: Array) -> float:
        clean = self.rows[rows].astype(state.theta.dtype, copy=False)
        by_encoder, by_decoder = self.coder.split(state.theta)
        code = self.coder.encoder.forward(by_encoder, clean, {}).output
        gap = self.coder.decoder.forward(by_decoder, code, {}).output - clean
        return float((self._share(rows, np.float64)[:, None] * gap * gap).sum()) / clean.shape[1]
