"""What a fitted restricted Boltzmann machine says: hidden probabilities, energies, likelihoods and samples."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import open_new_rows, seed_sequence
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.parameter import Choice, Integer, Rule, Seed, check_parameters
from mercer._base.validation import few_rows
from mercer._native.machine import unit_draws
from mercer._source import Block
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, integers
from mercer._types import Array
from mercer.errors import DataError
from mercer.neural_network._boltzmann.contrastive import Contrast, RestrictedState, measure_pseudo_likelihood
from mercer.neural_network._boltzmann.partition import MOST_UNITS, anneal_log_partition, sum_log_partition


class RestrictedModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Methods of a fitted machine; see ``BernoulliRBM``."""

    visible: str
    random_state: Any
    n_features_in_: int
    components_: Array
    intercept_hidden_: Array
    intercept_visible_: Array
    _chains_state: tuple[Array, Array, Array, int]
    _n_gibbs_calls: int

    _stored: ClassVar[dict[str, Stored]] = {
        "_n_gibbs_calls": integers(low=0),
    }

    def _contrast(self) -> Contrast:
        raise NotImplementedError  # the estimator knows the settings

    def _state(self) -> RestrictedState:
        weights = np.ascontiguousarray(self.components_.T)
        return RestrictedState(weights, self.intercept_visible_, self.intercept_hidden_, *self._chains_state)

    def transform(self, X: Any) -> Array:
        """Compute the probabilities of the hidden units.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

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
        check_is_fitted(self)
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

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if self.visible == "gaussian":
            check_is_fitted(self)
            return self.log_likelihood(X).astype(self.components_.dtype)
        source = open_new_rows(self, X, accept_sparse="csr")
        seed = self.random_state if isinstance(self.random_state, int | np.integer) else 0
        words = np.random.SeedSequence([int(seed), source.n_features]).generate_state(source.n_features, np.uint64)
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


def _score_block(state: RestrictedState, words: Array, block: Block) -> Array:
    """Return the estimated log pseudo-likelihood of each row of a block."""
    rows = block.dense()
    # A random linear form of the bits of a row's values, modulo 2^64; its high bits choose the unit. Adding zero turns
    # -0.0 into 0.0, and float32 values have the same bits as float64.
    bits = (rows.astype(np.float64) + 0.0).view(np.uint64)
    mixed = (bits ^ (bits >> np.uint64(32))) @ words
    flips = ((mixed >> np.uint64(33)) % np.uint64(rows.shape[1])).astype(np.int64)
    rows = rows.astype(state.weights.dtype, copy=False)
    scores = np.ascontiguousarray(rows @ state.weights)
    return measure_pseudo_likelihood(state, rows, scores, flips)[0].astype(rows.dtype, copy=False)
