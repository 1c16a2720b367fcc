"""What a fitted linear-Gaussian model can do: filter, smooth, predict, score and sample."""

from typing import Any

import numpy as np
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from mercer._base import Estimator, few_rows, seed_sequence
from mercer._base.interface import DensityMixin
from mercer._base.parameter import Boolean, Integer, Nothing, Rule, Seed, attribute, check_parameters
from mercer._source import Source
from mercer._types import Array
from mercer.errors import DataError
from mercer.hmm._linear_gaussian.estimates import StateEstimates
from mercer.hmm._linear_gaussian.parameters import NAMES, StateSpaceParameters
from mercer.hmm._linear_gaussian.passes import filter_sequence, forecast_states, smooth_sequence
from mercer.hmm._linear_gaussian.rows import cut_sequences, read_controls, read_sequences


class StateSpaceInference(DensityMixin, Estimator):
    """The half of a linear-Gaussian model that needs its parameters only."""

    random_state: Any = attribute()
    transition_: Array = attribute()
    observation_: Array = attribute()
    transition_noise_: Array = attribute()
    observation_noise_: Array = attribute()
    start_mean_: Array = attribute()
    start_covariance_: Array = attribute()
    control_: Array = attribute()
    observation_control_: Array = attribute()

    def _collect_parameters(self) -> StateSpaceParameters:
        check_is_fitted(self, "transition_")
        parts = (np.ascontiguousarray(vars(self)[f"{name}_"], dtype=np.float64) for name in NAMES)
        return StateSpaceParameters(*parts)

    def _take_rows(self, source: Source) -> Array:
        """Return the rows as numbers of double precision; NaN is a missing entry, infinity an error."""
        rows = np.ascontiguousarray(source.whole(), dtype=np.float64)
        assert_all_finite(rows, allow_nan=True, estimator_name=type(self).__name__, input_name="X")
        return rows

    def _read(self, X: Any, lengths: Any, controls: Any) -> tuple[list[tuple[Array, Array]], Any]:
        """Return new sequences with their controls, and the type of their numbers."""
        check_is_fitted(self, "transition_")
        subject = type(self).__name__
        # A few rows without gaps skip the opening of a source, which takes longer than to filter them.
        few = few_rows(self, X) if lengths is None else None
        if few is not None:
            rows = few.astype(np.float64)
            return cut_sequences(subject, rows, None, controls, self.control_.shape[1]), few.dtype
        X, lengths = read_sequences(subject, X, lengths)
        source = self._open(X, None, None, reset=False, ensure_all_finite=False)
        rows = self._take_rows(source)
        return cut_sequences(subject, rows, lengths, controls, self.control_.shape[1]), source.host_dtype

    def filter(self, X: Any, lengths: Any = None, *, controls: Any = None) -> StateEstimates:
        """Estimate the state at each step from the steps up to it.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_features), or a list of such arrays
        lengths : array-like of int, default=None
        controls : array-like of shape (n_steps, n_controls), or a list of such arrays, default=None

        Returns
        -------
        StateEstimates
        """
        p, subject, threads = self._collect_parameters(), type(self).__name__, self._threads()
        sequences, dtype = self._read(X, lengths, controls)
        parts = [filter_sequence(subject, p, Y, U, threads) for Y, U in sequences]
        return StateEstimates(
            np.concatenate([part.means[1] for part in parts], dtype=dtype),
            np.concatenate([part.covariances[1] for part in parts], dtype=dtype),
            float(sum(part.scores.sum() for part in parts)),
        )

    def smooth(self, X: Any, lengths: Any = None, *, controls: Any = None) -> StateEstimates:
        """Estimate the state at each step from all steps of its sequence; see :meth:`filter`."""
        p, subject, threads = self._collect_parameters(), type(self).__name__, self._threads()
        sequences, dtype = self._read(X, lengths, controls)
        filtered = [filter_sequence(subject, p, Y, U, threads) for Y, U in sequences]
        parts = [smooth_sequence(subject, p, part, threads) for part in filtered]
        return StateEstimates(
            np.concatenate([part.means for part in parts], dtype=dtype),
            np.concatenate([part.covariances for part in parts], dtype=dtype),
            float(sum(part.scores.sum() for part in filtered)),
        )

    def score_samples(self, X: Any, lengths: Any = None, *, controls: Any = None) -> Array:
        """Compute the log density of each step given the steps before it; shape (n_steps,)."""
        p, subject, threads = self._collect_parameters(), type(self).__name__, self._threads()
        sequences, dtype = self._read(X, lengths, controls)
        return np.concatenate([filter_sequence(subject, p, Y, U, threads).scores for Y, U in sequences], dtype=dtype)

    def score(self, X: Any, y: Any = None, lengths: Any = None, *, controls: Any = None) -> float:
        """Compute the log-likelihood of sequences, summed over all steps."""
        p, subject, threads = self._collect_parameters(), type(self).__name__, self._threads()
        sequences, _ = self._read(X, lengths, controls)
        return float(sum(filter_sequence(subject, p, Y, U, threads).scores.sum() for Y, U in sequences))

    def predict(
        self,
        X: Any,
        horizon: int | None = None,
        *,
        controls: Any = None,
        future_controls: Any = None,
        return_cov: bool = False,
    ) -> Any:
        """Predict each step of a sequence from the steps before it, or forecast the steps after its end.

        Parameters
        ----------
        X : array-like of shape (n_steps, n_features)
            One sequence.
        horizon : int or None, default=None
            The number of steps to forecast after the last; None predicts each row of X from the rows before it.
        controls : array-like of shape (n_steps, n_controls), default=None
        future_controls : array-like of shape (horizon, n_controls), default=None
            u_t of the steps to forecast.
        return_cov : bool, default=False
            Whether to return the covariance of each prediction too.

        Returns
        -------
        means : ndarray of shape (n_steps or horizon, n_features)
        covariances : ndarray of shape (n_steps or horizon, n_features, n_features)
            With `return_cov`: of the observations themselves, with their noise.
        """
        rules: dict[str, Rule] = {"horizon": Integer(1) | Nothing(), "return_cov": Boolean()}
        check_parameters(type(self).__name__, rules, {"horizon": horizon, "return_cov": return_cov})
        p, subject = self._collect_parameters(), type(self).__name__
        ((Y, U), *others), dtype = self._read(X, None, controls)
        if others:
            raise DataError(f"{subject}: predict takes one sequence; got {1 + len(others)}. Call it once for each.")
        filtered = filter_sequence(subject, p, Y, U, self._threads())
        means, covariances = filtered.means[0], filtered.covariances[0]
        if horizon is not None:
            U = read_controls(subject, "future_controls", future_controls, horizon, p.control.shape[1])
            means, covariances = forecast_states(p, filtered.after, U)
        seen = (means @ p.observation.T + U @ p.observation_control.T).astype(dtype)
        if not return_cov:
            return seen
        # Cov(y) = C P C^T + R.
        spread = np.einsum("ij,tjk,lk->til", p.observation, covariances, p.observation) + p.observation_noise
        return seen, spread.astype(dtype)

    def sample(self, n_samples: int = 1, *, controls: Any = None, random_state: Any = None) -> tuple[Array, Array]:
        """Draw a sequence.

        Parameters
        ----------
        n_samples : int, default=1
            The number of steps.
        controls : array-like of shape (n_samples, n_controls), default=None
        random_state : int, Generator, RandomState or None, default=None
            None takes the parameter of the model.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        states : ndarray of shape (n_samples, n_components)
        """
        rules: dict[str, Rule] = {"n_samples": Integer(1), "random_state": Seed()}
        check_parameters(type(self).__name__, rules, {"n_samples": n_samples, "random_state": random_state})
        p = self._collect_parameters()
        U = read_controls(type(self).__name__, "controls", controls, n_samples, p.control.shape[1])
        random = np.random.default_rng(seed_sequence(self.random_state if random_state is None else random_state))
        # Noise of covariance Q from standard normals by its square root.
        moves = random.normal(size=(n_samples, p.n_states)) @ _root(p.transition_noise).T + U @ p.control.T
        noise = random.normal(size=(n_samples, len(p.observation_noise))) @ _root(p.observation_noise).T
        states = np.empty((n_samples, p.n_states))
        states[0] = p.start_mean + _root(p.start_covariance) @ random.normal(size=p.n_states)
        for step in range(1, n_samples):
            states[step] = p.transition @ states[step - 1] + moves[step - 1]
        return states @ p.observation.T + U @ p.observation_control.T + noise, states


def _root(covariance: Array) -> Array:
    """Return a matrix whose product with its transpose is the covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))
