"""Autoencoders: a code of few numbers from which rows can be restored."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting, open_new_rows
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.model_placement import check_placement
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Integer, Real, parameter
from mercer._source import Block
from mercer._source.namespace import namespace_of, to_numpy
from mercer._source.placement import is_on_device
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.neural_network._layers.activations import ACTIVATIONS, Activation
from mercer.neural_network._layers.dense import Dense
from mercer.neural_network._layers.layer import Layer, as_like
from mercer.neural_network._layers.network import Network
from mercer.neural_network._layers.normalisation import Dropout
from mercer.neural_network._relatives.network_model import IN_BATCHES, NetworkModel, join_layers, mark_weights, penalise
from mercer.neural_network._relatives.plan import Batch, Moment

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


class Autoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NetworkModel):
    r"""A network that restores its input from a code of few numbers.

    An encoder f and a decoder g minimise, over the rows,

    .. math::

        \frac{1}{n} \sum_i \frac{1}{d} \lVert x_i - g(f(\tilde x_i)) \rVert^2
        + \lambda \lVert f(\tilde x_i) \rVert_1 + \kappa \lVert \partial f / \partial x \rVert_F^2
        + \tfrac{\alpha}{2} \lVert W \rVert^2

    where :math:`\tilde x` is x with noise (a denoising autoencoder), :math:`\lambda` = `sparsity` (a sparse one) and
    :math:`\kappa` = `contraction` (a contractive one). Without hidden layers and with ``activation='identity'`` the
    optimum is the subspace of the principal components. Standardise the columns first.

    Attributes
    ----------
    weights_ : ndarray of shape (n_weights,)
        The weights of the encoder, then those of the decoder.
    encoder_, decoder_ : property
        The two networks; see :class:`Network`.

    Notes
    -----
    A pass takes O(n w) time for w weights. Rows that are restored badly are unusual: :meth:`score_samples` is minus the
    squared error of reconstruction, for detection of outliers.

    References
    ----------
    Baldi and Hornik (1989), Neural networks and principal component analysis; Vincent et al. (2010), Stacked denoising
    autoencoders; Rifai et al. (2011), Contractive auto-encoders.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.neural_network import Autoencoder
    >>> from mercer.optim import LBFGS
    >>> t = np.random.default_rng(0).uniform(-2, 2, 300)
    >>> X = np.column_stack([t, t**2 - 1.3])
    >>> curve = Autoencoder(1, hidden_layer_sizes=(16,), solver=LBFGS(), max_iter=300, random_state=0).fit(X)
    >>> bool(-curve.score_samples(X).mean() < 0.1)  # a line leaves 1.3
    True
    """

    n_components: int = parameter(Integer(1), default=2, kw_only=False, doc="Numbers in the code.")
    hidden_layer_sizes: Sequence[int] = parameter(
        ArrayRule("integers"),
        default=(64,),
        doc="Units of the layers of the encoder; the decoder has them in reverse order. ``()`` for none.",
    )
    activation: str = parameter(
        Choice(*(name for name in ACTIVATIONS if name != "step")),
        default="tanh",
        doc="Activation of the hidden layers.",
    )
    code_activation: str = parameter(
        Choice("identity", "logistic", "tanh", "relu"), default="identity", doc="Activation of the code."
    )
    noise: float = parameter(
        Real(0),
        default=0.0,
        doc="Standard deviation of Gaussian noise on the input, or the share of values that are set to zero.",
    )
    noise_kind: str = parameter(Choice("gaussian", "masking"), default="gaussian", doc="What the noise does.")
    sparsity: float = parameter(Real(0), default=0.0, doc="Strength of the L1 penalty on the code.")
    contraction: float = parameter(
        Real(0),
        default=0.0,
        doc="Strength of the penalty on the squared Jacobian of the code, measured by one random step a row.",
    )
    batch_size: int = parameter(Integer(1), default=128, after="learning_rate_init", doc="Rows in a batch.")
    max_iter: int = parameter(Integer(1), default=200, doc="Most passes over the rows.")

    _documents = {
        "dropout": "Share of hidden units that are dropped in training.",
    }

    _check_exceptions: ClassVar[dict[str, str]] = {
        **NetworkModel._check_exceptions,
        "check_sample_weight_equivalence_on_dense_data": IN_BATCHES,
    }
    _depends_on_units = ("columns", "scale", "place")

    @fitting
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, X_val: Any = None, sample_weight_val: Any = None
    ) -> "Autoencoder":
        """Learn to restore rows.

        Parameters
        ----------
        X_val, sample_weight_val : default=None
            Rows that `early_stopping` judges by, in place of a part of `X`.
        """
        self._check_together(self.dropout > 0 or self.noise > 0)
        source = self._open(X, None, sample_weight)
        validation = None
        if self._check_validation(X_val):
            judged = self._open(X_val, None, sample_weight_val, reset=False)
            validation = (judged.whole(), None, judged.weight)
        task = Reconstruction(self._build(source.n_features), self)
        self._train(task, source, validation=validation, attributes={"_n_features_out": self.n_components})
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Autoencoder":
        """Take one epoch over some rows, from where the last call or ``fit`` ended."""
        first = self._check_partial()
        source = self._open(X, None, sample_weight, reset=first)
        task = Reconstruction(self._build(source.n_features), self)
        self._train(task, source, attributes={"_n_features_out": self.n_components}, is_part=True)
        return self

    def _build(self, n_features: int) -> Coder:
        sizes = [int(size) for size in np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=np.int64))]
        if any(size < 1 for size in sizes):
            raise ParameterError(
                f"Autoencoder: hidden_layer_sizes must be positive integers; got {self.hidden_layer_sizes!r}."
            )
        # The activation tells the layer which scale of first weights suits it;
        # the function itself is a layer of its own.
        code: list[Layer] = [Dense(self.n_components, activation=self.code_activation)]
        if self.code_activation != "identity":
            code.append(Activation(self.code_activation))
        encoder = join_layers((*self._stack(sizes), *code), (n_features,))
        # The decoder mirrors the encoder's hidden layers.
        decoder = join_layers((*self._stack(sizes[::-1]), Dense(n_features)), (self.n_components,))
        return Coder(encoder, decoder)

    def _stack(self, sizes: list[int]) -> list[Layer]:
        layers: list[Layer] = []
        for size in sizes:
            layers += [Dense(size, activation=self.activation), Activation(self.activation)]
            if self.dropout:
                layers.append(Dropout(self.dropout))
        return layers

    @property
    def encoder_(self) -> Network:
        """The network from rows to codes."""
        check_is_fitted(self, "weights_")
        return self._build(self.n_features_in_).encoder

    @property
    def decoder_(self) -> Network:
        """The network from codes to rows."""
        check_is_fitted(self, "weights_")
        return self._build(self.n_features_in_).decoder

    def transform(self, X: Any) -> Array:
        """Encode rows."""
        source = open_new_rows(self, X)
        return source.map(_Codes(self._build(self.n_features_in_), self.weights_))

    def inverse_transform(self, X: Any) -> Array:
        """Decode codes."""
        check_is_fitted(self)
        codes = X if is_on_device(X) else np.asarray(X, dtype=to_numpy(self.weights_).dtype)
        check_placement(self, codes)
        if codes.ndim != 2 or codes.shape[1] != self._n_features_out:
            raise DataError(
                f"Autoencoder: codes must have shape (n_samples, {self._n_features_out}); got {tuple(codes.shape)}. "
                f"Pass what transform returned."
            )
        return self._build(self.n_features_in_).decode(self.weights_, codes)

    def score_samples(self, X: Any) -> Array:
        """Return minus the squared error of reconstruction of each row; the lower, the more unusual."""
        source = open_new_rows(self, X)
        return source.map(_Errors(self._build(self.n_features_in_), self.weights_))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of :meth:`score_samples`."""
        scores = self.score_samples(X)
        return float(namespace_of(scores).mean(scores)) if is_on_device(scores) else float(np.mean(scores))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(frozen=True, eq=False)
class _Codes:
    """A function of a block: the codes of its rows."""

    coder: Coder
    theta: Array

    def __call__(self, block: Block) -> Array:
        return self.coder.encode(self.theta, self._read(block))

    def _read(self, block: Block) -> Array:
        return block.xp.astype(block.dense(), self.theta.dtype, copy=False)


class _Errors(_Codes):
    """A function of a block: minus the squared error of each restored row."""

    def __call__(self, block: Block) -> Array:
        rows = self._read(block)
        gap = self.coder.decode(self.theta, self.coder.encode(self.theta, rows)) - rows
        return -block.xp.sum(gap * gap, axis=1)
