"""Which transitions a chain may make: all, forward only, or to near states; and the stationary distribution."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mercer._types import Array
from mercer.errors import DataError, ParameterError


def make_mask(subject: str, topology: Any, n_states: int) -> Array:
    """Return which transitions are allowed, (k, k), from the parameter ``topology``."""
    # ahead[i, j] = j - i.
    ahead = np.arange(n_states)[None, :] - np.arange(n_states)[:, None]
    if isinstance(topology, str):
        rules = {"ergodic": ahead == ahead, "left-right": (ahead == 0) | (ahead == 1), "banded": np.abs(ahead) <= 1}
        return rules[topology]
    mask = np.asarray(topology).astype(bool)
    if mask.shape != (n_states, n_states):
        raise ParameterError(
            f"{subject}: topology must be a word or an array of shape {(n_states, n_states)}, one row per state; got "
            f"shape {mask.shape}."
        )
    if not mask.any(axis=1).all():
        state = int(np.argmin(mask.any(axis=1)))
        raise ParameterError(
            f"{subject}: state {state} has no allowed transition in topology. Allow at least the one to itself."
        )
    return mask


def find_stationary(subject: str, transition: Array) -> Array:
    """Return the probabilities p with p = p A; raise if the chain has several of them."""
    k = len(transition)
    count, labels = connected_components(csr_array(transition > 0), connection="strong")
    # A class of states that can be left has no mass in the long run; with two closed classes p is not unique.
    closed = [c for c in range(count) if not (transition[labels == c][:, labels != c] > 0).any()]
    if len(closed) > 1:
        members = "; ".join(str(np.flatnonzero(labels == c).tolist()) for c in closed)
        raise DataError(
            f"{subject}: the chain has {len(closed)} closed sets of states ({members}), hence no unique stationary "
            f"distribution. Ask for the one of each set by a model of its states alone."
        )
    inside = labels == closed[0]
    part = transition[np.ix_(inside, inside)]
    # p (A - I) = 0 with sum p = 1, as least squares.
    system = np.vstack([part.T - np.eye(len(part)), np.ones(len(part))])
    solution = np.linalg.lstsq(system, np.append(np.zeros(len(part)), 1.0), rcond=None)[0]
    out = np.zeros(k)
    out[inside] = np.maximum(solution, 0.0) / np.maximum(solution, 0.0).sum()
    return out
