"""Restricted Boltzmann machines."""

import math
import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, LimitedEstimator, fitting, open_new_rows, seed_sequence
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.parameter import Boolean, Choice, Integer, Real, Rule, Seed, attribute, check_parameters, parameter
from mercer._base.validation import few_rows
from mercer._native.machine import unit_draws
from mercer._solver import Solver, Step
from mercer._source import Block
from mercer._source.memory import require_memory
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, floats, integers, members, numbers
from mercer._types import Array
from mercer.errors import DataError
from mercer.neural_network._boltzmann.contrastive import (
    Contrast,
    RestrictedState,
    measure_pseudo_likelihood,
    read_rows,
    train_epochs,
)
from mercer.neural_network._boltzmann.enumeration import MOST_UNITS

# States in one block of an exact sum.
_BLOCK = 2**12


def list_states(n_units: int, first: int = 0, stop: int | None = None) -> Array:
    """Return the states `first` to `stop` of binary units, as rows of 0 and 1; unit 0 is the lowest bit."""
    numbers = np.arange(first, 2**n_units if stop is None else stop)
    return ((numbers[:, None] >> np.arange(n_units)) & 1).astype(np.float64)


def sum_log_partition(weights: Array, visible: Array, hidden: Array, gaussian: bool) -> float:
    """Return log Z exactly, by listing the states of the smaller layer (of the hidden one for Gaussian units).

    Parameters
    ----------
    weights : (d, k), float64
    visible, hidden : (d,), (k,), float64
    gaussian : bool
    """
    d, k = weights.shape
    # The sum is over the smaller layer; the roles of the layers are symmetric for binary units.
    if not gaussian and d < k:
        return sum_log_partition(np.ascontiguousarray(weights.T), hidden, visible, False)
    if k > MOST_UNITS:
        raise DataError(
            f"log_partition: an exact sum needs at most {MOST_UNITS} units in {'the hidden' if gaussian else 'one'} "
            f"layer; got {d} visible and {k} hidden ones. Pass method='ais' for an estimate."
        )
    parts = []
    for first in range(0, 2**k, _BLOCK):
        states = list_states(k, first, min(first + _BLOCK, 2**k))
        scores = states @ weights.T
        if gaussian:
            # The Gaussian integral over v given h: exp(b.s + |s|^2 / 2) (2 pi)^(d / 2), with s = W h.
            inside = scores @ visible + 0.5 * np.einsum("ij,ij->i", scores, scores) + 0.5 * d * math.log(2.0 * math.pi)
        else:
            inside = np.empty(len(states))
            unit_draws.sum_softplus(scores, visible, np.empty((2, d)), inside)
        parts.append(float(logsumexp(states @ hidden + inside)))
    return float(logsumexp(parts))


def anneal_log_partition(
    weights: Array, visible: Array, hidden: Array, gaussian: bool, n_chains: int, n_levels: int, seed: int
) -> tuple[float, float]:
    """Return an estimate of log Z and the standard error of its logarithm (Salakhutdinov and Murray, 2008).

    Chains begin at the machine without couplings, whose Z is known, and couplings grow in `n_levels` steps to their
    values. The product of the ratios along a chain has the mean Z / Z_0.
    """
    d, k = weights.shape
    random = np.random.default_rng(seed)
    if gaussian:
        rows = visible + random.standard_normal((n_chains, d))
        # Hidden units without input double the weight each.
        base = k * math.log(2.0) + 0.5 * d * math.log(2.0 * math.pi)
    else:
        rows = (random.random((n_chains, d)) < 1.0 / (1.0 + np.exp(-visible))).astype(np.float64)
        base = k * math.log(2.0) + float(np.logaddexp(0.0, visible).sum())
    nothing, scratch = np.zeros(k), np.empty((2, k))
    logs, here, there = np.zeros(n_chains), np.empty(n_chains), np.empty(n_chains)
    for level in range(n_levels):
        beta, following = level / n_levels, (level + 1) / n_levels
        scores = rows @ weights + hidden
        unit_draws.sum_softplus(beta * scores, nothing, scratch, here)
        unit_draws.sum_softplus(following * scores, nothing, scratch, there)
        # The ratio of unnormalised probabilities of two levels at the present state.
        logs += there - here
        # One Gibbs step at the next level keeps its distribution.
        chances = following * scores
        unit_draws.activate_units(chances, nothing)
        drive = following * ((random.random(chances.shape) < chances).astype(np.float64) @ weights.T) + visible
        if gaussian:
            rows = drive + random.standard_normal(drive.shape)
        else:
            unit_draws.activate_units(drive, np.zeros(d))
            rows = (random.random(drive.shape) < drive).astype(np.float64)
    ratios = np.exp(logs - logs.max())
    spread = float(ratios.std() / ratios.mean()) / math.sqrt(n_chains)
    return base + float(logsumexp(logs)) - math.log(n_chains), spread


def _score_block(state: RestrictedState, words: Array, block: Block) -> Array:
    """Return the estimated log pseudo-likelihood of each row of a block."""
    rows = block.dense()
    # A random linear form of the bits of a row's values, modulo 2^64; its high bits choose the unit. Rows of zeros get
    # a word of their own. Adding zero turns -0.0 into 0.0, and float32 values have the same bits as float64.
    bits = (rows.astype(np.float64) + 0.0).view(np.uint64)
    mixed = (bits ^ (bits >> np.uint64(32))) @ words[:-1]
    mixed = np.where(mixed == 0, words[-1], mixed)
    flips = ((mixed >> np.uint64(33)) % np.uint64(rows.shape[1])).astype(np.int64)
    rows = rows.astype(state.weights.dtype, copy=False)
    scores = np.ascontiguousarray(rows @ state.weights)
    return measure_pseudo_likelihood(state, rows, scores, flips)[0].astype(rows.dtype, copy=False)


_IN_BATCHES = "batches have a fixed number of rows, so repeated rows fall into other batches"


class BernoulliRBM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LimitedEstimator):
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
        "_n_gibbs_calls": integers(low=0),
    }
    _takes_sparse = True
    _depends_on_units = ("columns", "scale", "place")

    n_features_in_: int = attribute()
    components_: Array = attribute()
    intercept_hidden_: Array = attribute()
    intercept_visible_: Array = attribute()
    _chains_state: tuple[Array, Array, Array, int] = attribute()
    _n_gibbs_calls: int = attribute()

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
            return train_epochs(self._contrast(), start or first, int(self.batch_size), self.n_iter)

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

    def _state(self) -> RestrictedState:
        weights = np.ascontiguousarray(self.components_.T)
        return RestrictedState(weights, self.intercept_visible_, self.intercept_hidden_, *self._chains_state)

    def transform(self, X: Any) -> Array:
        """Compute the probabilities of the hidden units.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            P(h = 1 | v).
        """
        if (rows := few_rows(self, X)) is not None:
            return self._activate(rows)
        return open_new_rows(self, X, accept_sparse="csr").map(self._activate_block)

    def _activate_block(self, block: Block) -> Array:
        return self._activate(block.dense())

    def _activate(self, rows: Array) -> Array:
        scores = np.ascontiguousarray(rows @ self.components_.T)
        unit_draws.activate_units(scores, self.intercept_hidden_.astype(scores.dtype, copy=False))
        return scores

    def inverse_transform(self, X: Any) -> Array:
        """Compute the mean of the visible units given hidden ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Hidden states, or probabilities of them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            P(v = 1 | h), or b + W h for Gaussian units.
        """
        hidden = np.asarray(X, dtype=self.components_.dtype)
        if hidden.ndim != 2 or hidden.shape[1] != len(self.components_):
            raise DataError(
                f"BernoulliRBM: hidden states must have shape (n_samples, {len(self.components_)}); got {hidden.shape}."
            )
        scores = hidden @ self.components_
        # Gaussian visible units have the mean W h + b; binary ones have the logistic function of it.
        if self.visible == "gaussian":
            return scores + self.intercept_visible_
        unit_draws.activate_units(scores, self.intercept_visible_)
        return scores

    def free_energy(self, X: Any) -> Array:
        """Compute F(v) = -log sum_h exp(-E(v, h)), so that P(v) = exp(-F(v)) / Z.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return open_new_rows(self, X, accept_sparse="csr", logarithms=True).map(self._sum_free_energy)

    def _sum_free_energy(self, block: Block) -> Array:
        rows = np.asarray(block.dense(), dtype=np.float64)
        hidden = self.intercept_hidden_.astype(np.float64, copy=False)
        inside = np.empty(len(rows))
        scores = np.ascontiguousarray(rows @ self.components_.T.astype(np.float64, copy=False))
        unit_draws.sum_softplus(scores, hidden, np.empty((2, len(hidden))), inside)
        if self.visible == "gaussian":
            gap = rows - self.intercept_visible_
            # F(v) = |v - b|^2 / 2 - sum_j softplus(c_j + v.W_j) for Gaussian units.
            return 0.5 * np.einsum("ij,ij->i", gap, gap) - inside
        return -(rows @ self.intercept_visible_) - inside

    def score_samples(self, X: Any) -> Array:
        """Estimate the log pseudo-likelihood of rows, or compute their log-density for Gaussian units.

        The log pseudo-likelihood is the sum over visible units of log P(v_j | other units). It is estimated by d times
        the term of one unit, which is drawn from `random_state` and the row's own values: a row's score does not depend
        on the rows that come with it, and does not change from call to call.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of 0 and 1, or any rows for Gaussian units.
        """
        if self.visible == "gaussian":
            check_is_fitted(self)
            return self.log_likelihood(X).astype(self.components_.dtype)
        source = open_new_rows(self, X, accept_sparse="csr")
        seed = self.random_state if isinstance(self.random_state, int | np.integer) else 0
        words = np.random.SeedSequence([int(seed), source.n_features]).generate_state(source.n_features + 1, np.uint64)
        state = self._state()
        # An odd factor maps 64-bit numbers one to one, so no bit of a row's values is lost in the hash.
        return source.map(partial(_score_block, state, words | np.uint64(1)))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of :meth:`score_samples`."""
        return float(np.mean(self.score_samples(X)))

    def log_partition(
        self, method: str = "auto", *, n_chains: int = 100, n_levels: int = 1000, random_state: Any = 0
    ) -> float:
        """Compute log Z: exactly where one layer has at most 20 units, else by annealed importance sampling.

        Parameters
        ----------
        method : {"auto", "exact", "ais"}, default="auto"
            "exact" raises where the sum is too long.
        n_chains, n_levels : int, default=100 and 1000
            Chains, and levels of couplings that each passes through, of the estimate.
        random_state : int, Generator, RandomState or None, default=0

        Returns
        -------
        float
        """
        check_is_fitted(self)
        rules: dict[str, Rule] = {"n_chains": Integer(1), "n_levels": Integer(1), "random_state": Seed()}
        check_parameters("log_partition", {"method": Choice("auto", "exact", "ais")}, {"method": method})
        values = {"n_chains": n_chains, "n_levels": n_levels, "random_state": random_state}
        check_parameters("log_partition", rules, values)
        gaussian = self.visible == "gaussian"
        arrays = (self.components_.T, self.intercept_visible_, self.intercept_hidden_)
        weights, visible, hidden = (np.ascontiguousarray(part, dtype=np.float64) for part in arrays)
        # The sum runs over the states of one layer; the other is summed in closed form. Gaussian units cannot be
        # listed.
        listed = len(hidden) if gaussian else min(weights.shape)
        with one_blas_thread():
            if method == "exact" or (method == "auto" and listed <= MOST_UNITS):
                return sum_log_partition(weights, visible, hidden, gaussian)
            seed = int(seed_sequence(random_state).generate_state(1)[0])
            return anneal_log_partition(weights, visible, hidden, gaussian, n_chains, n_levels, seed)[0]

    def log_likelihood(self, X: Any, method: str = "auto") -> Array:
        """Compute log P(v) = -F(v) - log Z of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        method : {"auto", "exact", "ais"}, default="auto"
            How log Z is found; see :meth:`log_partition`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return -self.free_energy(X) - self.log_partition(method)

    def gibbs(self, v: Any, n_steps: int = 1) -> Array:
        """Take Gibbs steps: draw the hidden units given the visible ones, then the visible ones given them.

        Parameters
        ----------
        v : {array-like, sparse matrix} of shape (n_samples, n_features)
            Visible states to start from.
        n_steps : int, default=1

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Visible states, of booleans for binary units. Each call draws anew; the first call after a fit with an
            integer as `random_state` always draws the same.
        """
        check_is_fitted(self)
        check_parameters("gibbs", {"n_steps": Integer(1)}, {"n_steps": n_steps})
        source = open_new_rows(self, v, accept_sparse="csr")
        rows = np.concatenate([block.dense() for block in source.blocks()]).astype(self.components_.dtype, copy=False)
        state = self._state()
        # Each call has a stream of its own, so that calls one after another differ.
        self._n_gibbs_calls = vars(self).get("_n_gibbs_calls", 0) + 1
        random = np.random.default_rng(np.random.SeedSequence([*state.seed.tolist(), 3, self._n_gibbs_calls]))
        drawn = self._contrast().walk(state, rows, n_steps, random)
        return drawn if self.visible == "gaussian" else drawn.astype(bool)

    def sample(self, n_samples: int = 1, *, n_steps: int = 1000, random_state: Any = None) -> Array:
        """Draw visible states from the machine, each at the end of a chain of its own.

        Parameters
        ----------
        n_samples : int, default=1
        n_steps : int, default=1000
            Gibbs steps from a random start. Machines with deep modes need more.
        random_state : int, Generator, RandomState or None, default=None

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            States of 0 and 1, or real numbers for Gaussian units.
        """
        check_is_fitted(self)
        values = {"n_samples": n_samples, "n_steps": n_steps, "random_state": random_state}
        check_parameters("sample", {"n_samples": Integer(1), "n_steps": Integer(1), "random_state": Seed()}, values)
        random = np.random.default_rng(seed_sequence(random_state))
        rows = (random.random((n_samples, self.n_features_in_)) < 0.5).astype(self.components_.dtype)
        return self._contrast().walk(self._state(), rows, n_steps, random)
