"""The loss of an autoencoder: restored rows, noise, sparse codes and contraction."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.neural_network._layers.layer import as_like
from mercer.neural_network._layers.network import Network
from mercer.neural_network._relatives.network_penalty import mark_weights, penalise
from mercer.neural_network._relatives.task import Batch, Moment

# Length of the random steps by which the Jacobian of the code is measured; rows are of order one.
_CONTRACTION_STEP = 0.01


class Penalties(Protocol):
    """The settings of an autoencoder that its loss reads."""

    noise: float
    noise_kind: str
    sparsity: float
    contraction: float
    dropout: float
    alpha: float


@dataclass(frozen=True, eq=False)
class Coder:
    """An encoder and a decoder with their weights in one vector, encoder first."""

    encoder: Network
    decoder: Network

    def split(self, theta: Array) -> tuple[Array, Array]:
        return theta[: self.encoder.n_weights], theta[self.encoder.n_weights :]

    def encode(self, theta: Array, rows: Array) -> Array:
        """Return the codes of rows."""
        return self.encoder.forward(self.split(theta)[0], rows, {}).output

    def decode(self, theta: Array, codes: Array) -> Array:
        """Return the rows that codes stand for."""
        return self.decoder.forward(self.split(theta)[1], codes, {}).output


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """The loss of restored rows with the penalties of an autoencoder; a ``Task``."""

    coder: Coder
    model: Penalties

    @property
    def n_weights(self) -> int:
        return self.coder.encoder.n_weights + self.coder.decoder.n_weights

    @property
    def is_normalised(self) -> bool:
        return False

    @property
    def is_random(self) -> bool:
        model = self.model
        return bool(model.noise or model.contraction or model.dropout)

    @cached_property
    def penalised(self) -> np.ndarray:
        """1 for the weights that the penalty applies to, 0 for biases."""
        return np.concatenate([mark_weights(self.coder.encoder), mark_weights(self.coder.decoder)])

    def initialise(self, random_state: Any, dtype: Any) -> tuple[np.ndarray, dict[str, Any]]:
        seeds = np.random.SeedSequence(random_state).generate_state(2).tolist()
        networks = (self.coder.encoder, self.coder.decoder)
        parts = [network.initialise(seed, dtype)[0] for seed, network in zip(seeds, networks, strict=True)]
        return np.concatenate(parts), {}

    def place(self, values: dict[str, Any], like: Array) -> dict[str, Any]:
        return values

    def learn(self, theta: Array, batch: Batch, moment: Moment) -> tuple[float, Array, dict[str, Any]]:
        model, coder, clean = self.model, self.coder, batch.X
        xp = namespace_of(clean)
        weight = _share(batch)
        given = self._damage(clean, moment)
        by_encoder, by_decoder = coder.split(theta)
        options: dict[str, Any] = {"training": True, "seed": moment.seed, "step": moment.step}
        encoded = coder.encoder.forward(by_encoder, given, {}, **options)
        restored = coder.decoder.forward(by_decoder, encoded.output, {}, **options)
        gap = restored.output - clean
        # The mean over columns too, so that penalties mean the same for wide and narrow tables.
        scale = weight[:, None] / clean.shape[1]
        loss = float(xp.sum(scale * gap * gap))
        decoder_slope, by_input = coder.decoder.backward(restored, 2.0 * scale * gap)
        by_code = by_input["input"]
        if model.sparsity:
            loss += model.sparsity * float(xp.sum(weight[:, None] * xp.abs(encoded.output)))
            by_code = by_code + model.sparsity * weight[:, None] * xp.sign(encoded.output)
        encoder_slope = coder.encoder.backward(encoded, by_code, by_inputs=False)[0]
        if model.contraction:
            extra, slope = self._contract(by_encoder, given, weight, moment)
            loss, encoder_slope = loss + extra, encoder_slope + slope
        gradient = xp.concat([encoder_slope, decoder_slope])
        if model.alpha:
            extra, slope = penalise(theta, self.penalised, model.alpha)
            loss, gradient = loss + extra, gradient + slope
        return loss, gradient, {}

    def _damage(self, rows: Array, moment: Moment) -> Array:
        """Return rows with noise added, or with some values set to zero."""
        if not self.model.noise:
            return rows
        random = np.random.default_rng(np.random.SeedSequence([*moment.seed, 3, moment.step]))
        if self.model.noise_kind == "masking":
            return rows * as_like(random.random(rows.shape) >= self.model.noise, rows)
        return rows + as_like(self.model.noise * random.standard_normal(rows.shape), rows)

    def _contract(self, theta: Array, rows: Array, weight: Array, moment: Moment) -> tuple[float, Array]:
        """Return the penalty on the squared Jacobian of the code, and its gradient.

        For a random step e of covariance s^2 I, the mean of |f(x + e) - f(x)|^2 / s^2 is the squared Frobenius norm of
        the Jacobian of f, up to terms of order s^2.
        """
        random = np.random.default_rng(np.random.SeedSequence([*moment.seed, 4, moment.step]))
        step = as_like(_CONTRACTION_STEP * random.standard_normal(rows.shape), rows)
        network = self.coder.encoder
        here, there = network.forward(theta, rows, {}), network.forward(theta, rows + step, {})
        gap = there.output - here.output
        # The scale contains 1 / s^2 of the estimate.
        scale = self.model.contraction * weight[:, None] / _CONTRACTION_STEP**2
        loss = float(namespace_of(rows).sum(scale * gap * gap))
        # The gap depends on theta at both places: d|gap|^2 = 2 gap (d there - d here).
        slope = network.backward(there, 2.0 * scale * gap)[0] - network.backward(here, 2.0 * scale * gap)[0]
        return loss, slope

    def judge(self, theta: Array, batch: Batch, statistics: dict[str, Any]) -> float:
        gap = self.coder.decode(theta, self.coder.encode(theta, batch.X)) - batch.X
        return float(namespace_of(gap).sum(_share(batch)[:, None] * gap * gap)) / batch.X.shape[1]


def _share(batch: Batch) -> Array:
    """Return the weight of each row of a batch, with the sum one."""
    xp = namespace_of(batch.X)
    if batch.weight is None:
        return xp.ones_like(batch.X[:, 0]) / batch.X.shape[0]
    return batch.weight / xp.sum(batch.weight)
