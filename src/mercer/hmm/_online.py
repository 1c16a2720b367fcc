"""Filter a stream: one observation at a time, in microseconds."""

from typing import Any

import numpy as np

from mercer._types import Array
from mercer.hmm._chain import Chain, ImpossibleSequenceError
from mercer.hmm._emission import check_columns


class StateFilter:
    """The probabilities of the states of a stream, updated with each observation.

    Made by ``start_filter`` of a fitted model. A new stream needs a new filter, or :meth:`reset`.

    Attributes
    ----------
    probabilities : ndarray of shape (n_components,)
        p(state | observations so far); before the first one the probabilities of first states.
    log_likelihood : float
        Of the observations so far.
    n_steps : int
        Observations so far.
    """

    def __init__(self, chain: Chain, subject: str = "StateFilter") -> None:
        self._chain, self._subject = chain, subject
        self._scores = np.empty((1, chain.lanes))
        self.reset()

    def reset(self) -> "StateFilter":
        """Forget the stream."""
        self.probabilities = self._chain.initial.copy()
        self.log_likelihood, self.n_steps = 0.0, 0
        return self

    def predict_next(self) -> Array:
        """Return the probabilities of the next state, before its observation."""
        return self.probabilities @ self._chain.transition if self.n_steps else self._chain.initial

    def update(self, x: Any) -> Array:
        """Take one observation and return the probabilities of the current state; NaN is a missing step.

        Parameters
        ----------
        x : array-like of shape (n_features,)

        Returns
        -------
        probabilities : ndarray of shape (n_components,)
        """
        chain = self._chain
        row = np.asarray(x, dtype=np.float64).reshape(1, -1)
        if row.shape[1] != chain.emission.n_columns:
            check_columns(self._subject, chain.emission, row.shape[1])
        chain.emission.scores(row, self._scores)
        scores = self._scores[0, : chain.n_states]
        ahead = self.predict_next()
        # Only states that can be reached set the scale, so that an outlier does not underflow.
        reachable = ahead > 0
        top = scores[reachable].max()
        if top == -np.inf:
            raise ImpossibleSequenceError(self._subject, 0, self.n_steps)
        joint = ahead * np.exp(np.where(reachable, scores, -np.inf) - top)
        total = joint.sum()
        self.probabilities = joint / total
        self.log_likelihood += float(np.log(total) + top)
        self.n_steps += 1
        return self.probabilities
