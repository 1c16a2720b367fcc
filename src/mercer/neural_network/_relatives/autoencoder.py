"""Autoencoders: a code of few numbers from which rows can be restored."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting, open_new_rows
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Integer, Real, Rule
from mercer._solver import Solver
from mercer._source import Block
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.neural_network._layers.activations import ACTIVATIONS, Activation
from mercer.neural_network._layers.dense import Dense
from mercer.neural_network._layers.layer import Layer
from mercer.neural_network._layers.network import Network
from mercer.neural_network._layers.normalisation import Dropout
from mercer.neural_network._relatives.network_model import IN_BATCHES, WHOLE_ROWS, NetworkModel, find_penalised
from mercer.neural_network._relatives.reconstruction import Coder, Reconstruction
from mercer.neural_network._relatives.training import TrainingState, train

__all__ = ["Autoencoder"]


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

    Parameters
    ----------
    n_components : an integer in [1, inf), default=2
        Numbers in the code.
    hidden_layer_sizes : an array-like, default=(64,)
        Units of the layers of the encoder; the decoder has them in reverse order. ``()`` for none.
    activation : one of 'identity', 'logistic', 'tanh', 'relu', 'leaky_relu', 'elu', 'gelu', 'softplus', default='tanh'
        Activation of the hidden layers.
    code_activation : one of 'identity', 'logistic', 'tanh', 'relu', default='identity'
        Activation of the code.
    noise : a number in [0, inf), default=0.0
        Standard deviation of Gaussian noise on the input, or the share of values that are set to zero.
    noise_kind : one of 'gaussian', 'masking', default='gaussian'
        What the noise does.
    sparsity : a number in [0, inf), default=0.0
        Strength of the L1 penalty on the code.
    contraction : a number in [0, inf), default=0.0
        Strength of the penalty on the squared Jacobian of the code, measured by one random step a row.
    dropout : a number in [0, 1), default=0.0
        Share of hidden units that are dropped in training.
    alpha : a number in [0, inf), default=0.0
        Strength of the L2 penalty on the weights.
    learning_rate_init : a number in (0, inf), default=0.001
        Step size of Adam.
    batch_size : an integer in [1, inf), default=128
        Rows in a batch.
    max_iter : an integer in [1, inf), default=200
        Most passes over the rows.
    tol : a number in [0, inf), default=0.0001
        Fall of the loss that counts as one.
    n_iter_no_change : an integer in [1, inf), default=10
        Passes without such a fall that end the fit.
    early_stopping : a boolean, default=False
        Whether some rows are held out, the fit ends by their loss, and the weights that were best on them are kept.
    validation_fraction : a number in (0, 1), default=0.1
        Share of these rows.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        Seed of the first weights, the batches and the noise.
    verbose : a boolean, default=False
        Whether to print each pass.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit stops, at the end of a pass.

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
    >>> t = np.random.default_rng(0).uniform(-2, 2, 300)
    >>> X = np.column_stack([t, t**2 - 1.3])
    >>> curve = Autoencoder(1, hidden_layer_sizes=(16,), learning_rate_init=0.01, random_state=0).fit(X)
    >>> bool(-curve.score_samples(X).mean() < 0.1)  # a line leaves 1.3
    True
    """

    _parameters: ClassVar[dict[str, Rule]] = {
        "n_components": Integer(1),
        "hidden_layer_sizes": ArrayRule(),
        "activation": Choice(*(name for name in ACTIVATIONS if name != "step")),
        "code_activation": Choice("identity", "logistic", "tanh", "relu"),
        "noise": Real(0),
        "noise_kind": Choice("gaussian", "masking"),
        "sparsity": Real(0),
        "contraction": Real(0),
        "dropout": Real(0, 1, closed="left"),
        **NetworkModel._training,
    }

    _check_exceptions: ClassVar[dict[str, str]] = {
        **NetworkModel._check_exceptions,
        "check_sample_weight_equivalence_on_dense_data": IN_BATCHES,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        hidden_layer_sizes: Sequence[int] = (64,),
        activation: str = "tanh",
        code_activation: str = "identity",
        noise: float = 0.0,
        noise_kind: str = "gaussian",
        sparsity: float = 0.0,
        contraction: float = 0.0,
        dropout: float = 0.0,
        alpha: float = 0.0,
        learning_rate_init: float = 0.001,
        batch_size: int = 128,
        max_iter: int = 200,
        tol: float = 0.0001,
        n_iter_no_change: int = 10,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        verbose: bool = False,
        max_time: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.code_activation = code_activation
        self.noise = noise
        self.noise_kind = noise_kind
        self.sparsity = sparsity
        self.contraction = contraction
        self.dropout = dropout
        self.alpha = alpha
        self.learning_rate_init = learning_rate_init
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Autoencoder":
        """Learn to restore rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts.

        Returns
        -------
        Autoencoder
            The fitted estimator.
        """
        source = self._open(X, None, sample_weight)
        coder = self._build(source.n_features)
        seed = self._seed()
        dtype = source.host_dtype
        parts = [
            network.initialise(seed[number], dtype)[0] for number, network in enumerate((coder.encoder, coder.decoder))
        ]
        first = TrainingState.begin(np.concatenate(parts), {}, seed)
        penalised = np.concatenate([find_penalised(coder.encoder), find_penalised(coder.decoder)]).astype(dtype)

        def make_task(given: tuple[Array, Array, Array]) -> Reconstruction:
            return Reconstruction(coder, given[0], given[2], penalised, self)

        def solve(start: TrainingState | None) -> Solver[TrainingState]:
            return train(self._schedule(), make_task, WHOLE_ROWS, start or first)

        outcome = self._drive(solve, source, max_steps=self.max_iter)
        self._finish(outcome)
        return self

    def _fitted(self, state: TrainingState) -> dict[str, Any]:
        return {"weights_": state.choose_weights()[0], "_n_features_out": self.n_components}

    def _build(self, n_features: int) -> Coder:
        sizes = [int(size) for size in np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=np.int64))]
        if any(size < 1 for size in sizes):
            message = f"Autoencoder: hidden_layer_sizes must be positive integers; got {self.hidden_layer_sizes!r}."
            raise ParameterError(message)
        code: list[Layer] = [Dense(self.n_components, activation=self.code_activation)]
        if self.code_activation != "identity":
            code.append(Activation(self.code_activation))
        encoder = Network([*self._stack(sizes), *code], (n_features,))
        decoder = Network([*self._stack(sizes[::-1]), Dense(n_features)], (self.n_components,))
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
        """Encode rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        source = open_new_rows(self, X)
        coder, theta = self._build(self.n_features_in_), self.weights_
        return source.map(lambda block: _encode(coder, theta, block))

    def inverse_transform(self, X: Any) -> Array:
        """Decode codes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        codes = np.asarray(X, dtype=self.weights_.dtype)
        if codes.ndim != 2 or codes.shape[1] != self._n_features_out:
            message = f"Autoencoder: codes must have shape (n_samples, {self._n_features_out}); got {codes.shape}."
            raise DataError(message)
        coder = self._build(self.n_features_in_)
        return coder.decoder.forward(coder.split(self.weights_)[1], codes, {}).output

    def score_samples(self, X: Any) -> Array:
        """Return minus the squared error of reconstruction of each row; the lower, the more unusual.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        source = open_new_rows(self, X)
        coder, theta = self._build(self.n_features_in_), self.weights_

        def measure(block: Block) -> Array:
            restored = coder.decoder.forward(coder.split(theta)[1], _encode(coder, theta, block), {}).output
            gap = restored - block.dense()
            return -np.einsum("ij,ij->i", gap, gap)

        return source.map(measure)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of :meth:`score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _encode(coder: Coder, theta: Array, block: Block) -> Array:
    rows = block.dense().astype(theta.dtype, copy=False)
    return coder.encoder.forward(coder.split(theta)[0], rows, {}).output
