"""Restricted Boltzmann machines."""

import warnings
from typing import Any, ClassVar

from sklearn.exceptions import ConvergenceWarning

from mercer._base import Estimator, LimitedEstimator, fitting, seed_sequence
from mercer._base.parameter import Boolean, Choice, Integer, Real, Seed, parameter
from mercer._solver import Solver, Step
from mercer._source.memory import require_memory
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, floats, members, numbers
from mercer.errors import DataError
from mercer.neural_network._boltzmann.contrastive import Contrast, RestrictedState, read_rows, train_epochs
from mercer.neural_network._boltzmann.restricted_model import RestrictedModel

_IN_BATCHES = "batches have a fixed number of rows, so repeated rows fall into other batches"


class BernoulliRBM(RestrictedModel, LimitedEstimator):
    r"""A restricted Boltzmann machine: visible and hidden units, with weights between the two layers only.

    A state has the energy and the probability

    .. math:: E(v, h) = -b^T v - c^T h - v^T W h, \qquad P(v, h) = \exp(-E(v, h)) / Z

    with v and h of 0 and 1, so that units of one layer are independent given the other:
    :math:`P(h_j = 1 \mid v) = \sigma(c_j + v^T W_j)` and :math:`P(v_i = 1 \mid h) = \sigma(b_i + W_i h)`. Learning
    follows the gradient of the mean log-likelihood,
    :math:`\langle v h^T \rangle_{data} - \langle v h^T \rangle_{model}`, whose second term is sampled by
    Gibbs steps. With ``visible='gaussian'`` the visible units are real numbers with
    :math:`v \mid h \sim N(b + W h, I)`: standardise the columns first.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Weights, the transpose of W.
    intercept_hidden_ : ndarray of shape (n_components,)
        Biases of the hidden units, c.
    intercept_visible_ : ndarray of shape (n_features,)
        Biases of the visible units, b.
    h_samples_ : ndarray of shape (batch_size, n_components)
        Hidden states of the persistent chains.
    history_ : dict of ndarray
        Of each pass: the estimated log pseudo-likelihood of a row (``objective``) under the weights that its batch met;
        for Gaussian units minus the squared error of reconstruction.

    Notes
    -----
    A batch of b rows takes O(b d k) time: two products with W more than the data term for each Gibbs step, and one
    update in place. Batches of binary units without momentum are learnt in native code by a team of threads. Rows are
    read in batches from any place, sparse ones are made dense a batch at a time, and float32 rows are worked on in
    float32, twice as fast. A last batch of fewer rows gives the chains' term the weight of its rows; scikit-learn gives
    it more. A row of weight w counts w times in its batch.

    The default is scikit-learn's: as many persistent chains as a batch has rows, ten. They estimate the model's term
    only if they mix faster than the weights change. On small tables of a few distinct patterns the weights soon grow so
    large that no chain leaves its pattern; the likelihood then falls again, and the machine may forget a pattern. There
    set ``persistent=False``, or raise `batch_size` to 50 or more so that the chains cover all patterns. Two patterns of
    six units reach a mean log-likelihood of -0.8 with ``persistent=False`` (-0.69 is the best possible), -1.3 with 50
    chains, and between -1.1 and -8.9, by the seed, with ten. Tables such as digits are learnt as well by either.

    For a stack of machines, put several into a pipeline: each learns from the hidden probabilities of the one before.

    References
    ----------
    Smolensky (1986), Information processing in dynamical systems; Hinton (2002), Training products of experts by
    minimizing contrastive divergence; Tieleman (2008), Training restricted Boltzmann machines using approximations to
    the likelihood gradient; Salakhutdinov and Murray (2008), On the quantitative analysis of deep belief networks.

    Examples
    --------
    Two groups of pixels that are on together, and the exact likelihood of a machine that has learnt them:

    >>> import numpy as np
    >>> from mercer.neural_network import BernoulliRBM
    >>> X = np.repeat([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], 50, axis=0)[np.random.default_rng(0).permutation(100)]
    >>> model = BernoulliRBM(n_components=2, n_iter=200, persistent=False, random_state=0).fit(X)
    >>> bool(model.log_likelihood(X).mean() > -1.0)  # six independent fair coins would have -4.16
    True
    """

    n_components: int = parameter(Integer(1), default=256, kw_only=False, doc="Hidden units, k.")
    learning_rate: float = parameter(Real(0, closed="neither"), default=0.1, doc="Size of a step along the gradient.")
    batch_size: int = parameter(
        Integer(1),
        default=10,
        doc="Rows in a batch, and the number of persistent chains. Batches are consecutive rows: shuffle sorted "
        "rows first.",
    )
    n_iter: int = parameter(Integer(0), default=10, doc="Passes over the rows.")
    verbose: int | bool = parameter(Integer(0) | Boolean(), default=0, doc="Whether to print each pass.")
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the first weights and of all draws.")
    persistent: bool = parameter(
        Boolean(),
        default=True,
        doc="Whether chains go on from batch to batch (as in scikit-learn), or begin at each batch's rows (CD-k). "
        "Rows of a few distinct patterns need False, see the notes.",
    )
    n_gibbs: int = parameter(Integer(1), default=1, doc="Gibbs steps for each batch, k of CD-k.")
    momentum: float = parameter(
        Real(0, 1, closed="left"), default=0.0, doc="Share of the last step's direction that is kept."
    )
    weight_decay: float = parameter(
        Real(0), default=0.0, doc="Strength of an L2 penalty on the weights, not on the biases."
    )
    visible: str = parameter(
        Choice("bernoulli", "gaussian"),
        default="bernoulli",
        doc="The visible units: probabilities between 0 and 1, or real numbers of variance 1 given the hidden units.",
    )

    _documents = {
        "max_time": "Seconds after which the fit stops, at the end of a pass.",
        "n_jobs": (
            "Threads of the fit, where batches are large enough, of :meth:`transform` and of :meth:`score_samples`. "
            "Never changes a result."
        ),
    }

    _law_exceptions: ClassVar[dict[str, str]] = {
        "row order": "batches are consecutive rows, and the chains pass through them in order",
        "weights": _IN_BATCHES,
    }
    _check_exceptions: ClassVar[dict[str, str]] = {
        **Estimator._check_exceptions,
        "check_sample_weight_equivalence_on_dense_data": _IN_BATCHES,
        "check_sample_weight_equivalence_on_sparse_data": _IN_BATCHES,
    }
    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    # A sampled gradient may lower the pseudo-likelihood.
    _objective_moves: ClassVar[str | None] = None

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns"),
        "intercept_hidden_": floats("components"),
        "intercept_visible_": floats("columns"),
        "h_samples_": floats("*, components"),
        "_chains_state": members(numbers("*, * | * | ")),
    }
    _takes_sparse = True

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BernoulliRBM":
        """Learn from rows, batch by batch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of values between 0 and 1, or any rows for Gaussian units.
        """
        source = self._open(X, None, sample_weight, accept_sparse="csr")
        shape = (source.n_features, self.n_components)
        self._require_weights(shape)
        first = RestrictedState.begin(seed_sequence(self.random_state), shape, self.batch_size, source.host_dtype)

        def solve(start: RestrictedState | None) -> Solver[RestrictedState]:
            return train_epochs(self._contrast(), start or first, self.batch_size, self.n_iter)

        # Callbacks of a pipeline expect room for at least one step.
        outcome = self._drive(solve, source, max_steps=max(1, self.n_iter))
        if outcome.reason == "diverged":
            warnings.warn(
                f"BernoulliRBM: the weights overflowed in pass {outcome.n_steps + 1}; those of pass {outcome.n_steps} "
                f"were kept. Lower learning_rate (now {self.learning_rate!r}), or scale the columns.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self._conclude(outcome)
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BernoulliRBM":
        """Take one step, with all rows of `X` as one batch."""
        seen = "components_" in vars(self)
        source = self._open(X, None, sample_weight, reset=not seen, accept_sparse="csr")
        shape = (source.n_features, self.n_components)
        self._require_weights(shape)
        try:
            rows, weight = source.on_rows(0, source.n_rows, read_rows)
        finally:
            source.release()
        if seen:
            self._check_same_size()
            # The step changes arrays in place; a copy keeps the model as it was if the weights overflow.
            state = self._state().copy()
        else:
            state = RestrictedState.begin(seed_sequence(self.random_state), shape, self.batch_size, rows.dtype)
        with one_blas_thread():
            state = self._contrast().learn_once(state, rows, weight)
        if not state.is_finite():
            warnings.warn(
                f"BernoulliRBM: the weights overflowed in partial_fit, and were kept as they were. Lower learning_rate "
                f"(now {self.learning_rate!r}), or scale the columns.",
                ConvergenceWarning,
                stacklevel=3,
            )
            return self
        for name, value in self._fitted(state).items():
            setattr(self, name, value)
        return self

    def _contrast(self) -> Contrast:
        return Contrast(
            float(self.learning_rate),
            self.n_gibbs,
            bool(self.persistent),
            float(self.momentum),
            float(self.weight_decay),
            self.visible == "gaussian",
        )

    def _require_weights(self, shape: tuple[int, int]) -> None:
        # The weights, their copy of the pass before, the chains, and the direction of momentum.
        n_bytes = 8.0 * ((3 if self.momentum else 2) * shape[0] * shape[1] + 2 * self.batch_size * sum(shape))
        require_memory("BernoulliRBM", n_bytes, f"{shape[0]} x {shape[1]} weights", "lower n_components")

    def _check_same_size(self) -> None:
        if len(self.components_) != self.n_components:
            raise DataError(
                f"BernoulliRBM: n_components must not change between calls of partial_fit; got {self.n_components} "
                f"after {len(self.components_)}. Set it back, or call fit to start afresh."
            )

    def _fitted(self, state: RestrictedState) -> dict[str, Any]:
        return {
            # scikit-learn's components_ are (hidden, visible), the state's weights (visible, hidden).
            "components_": state.weights.T,
            "intercept_hidden_": state.hidden,
            "intercept_visible_": state.visible,
            "h_samples_": state.chains,
            "_chains_state": (state.chains, state.velocity, state.seed, state.epoch),
            "_n_features_out": len(state.hidden),
        }

    def _describe_step(self, number: int, step: Step[Any]) -> str:
        return f"[{type(self).__name__}] Iteration {number + 1}, pseudo-likelihood = {step.objective:.2f}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
