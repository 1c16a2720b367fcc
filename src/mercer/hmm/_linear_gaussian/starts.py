"""First parameters of a linear-Gaussian model, from the rows: the space of lagged rows, and two regressions in it."""

from typing import Any

import numpy as np

from mercer._types import Array
from mercer.hmm._linear_gaussian.parameters import StateSpaceParameters, check_covariance, read_matrix

# First transitions are shrunk to at most this spectral radius: a first guess must not explode.
_RADIUS = 0.99


def read_parameters(subject: str, given: dict[str, Any], k: int, d: int, p: int) -> dict[str, Array]:
    """Return the parameters that the user gave, checked."""
    shapes: dict[str, tuple[int, ...]] = {
        "transition": (k, k),
        "observation": (d, k),
        "transition_noise": (k, k),
        "observation_noise": (d, d),
        "start_mean": (k,),
        "start_covariance": (k, k),
        "control": (k, p),
        "observation_control": (d, p),
    }
    read = {}
    for name, shape in shapes.items():
        if given[name] is not None:
            matrix = read_matrix(subject, name, given[name], shape)
            read[name] = check_covariance(subject, name, matrix) if name.endswith(("noise", "covariance")) else matrix
    return read


def first_parameters(sequences: list[tuple[Array, Array]], given: dict[str, Array], k: int) -> StateSpaceParameters:
    """Return first parameters: those given, and others from the rows."""
    d, p = sequences[0][0].shape[1], sequences[0][1].shape[1]
    filled = [_fill(Y) for Y, _ in sequences]
    spread = np.maximum(np.concatenate(filled).var(axis=0), 1e-8)
    states, rows = _find_states(filled, k)
    C = given.get("observation")
    if C is None:
        # Observations regressed on the states found.
        C = np.linalg.lstsq(states, rows, rcond=None)[0].T if len(states) else np.eye(d, k)
    A = given.get("transition")
    if A is None:
        A = 0.9 * np.eye(k)
        if len(states) > k + 1:
            # States regressed on those before, shrunk to a stable transition.
            A = np.linalg.lstsq(states[:-1], states[1:], rcond=None)[0].T
            A = A * min(1.0, _RADIUS / max(float(np.abs(np.linalg.eigvals(A)).max()), 1e-12))
    # Without given matrices the states have about unit variance.
    level = float(np.mean(spread)) if "observation" in given else 1.0
    defaults = {
        "transition": A,
        "observation": C,
        "transition_noise": 0.5 * level * np.eye(k),
        "observation_noise": np.diag(0.5 * spread),
        "start_mean": np.zeros(k),
        "start_covariance": 10.0 * level * np.eye(k),
        "control": np.zeros((k, p)),
        "observation_control": np.zeros((d, p)),
    }
    return StateSpaceParameters(**{name: np.ascontiguousarray(value) for name, value in (defaults | given).items()})


def _fill(Y: Array) -> Array:
    """Return rows without gaps: missing entries become the mean of their column."""
    gaps = np.isnan(Y)
    if not gaps.any():
        return Y
    counts = np.maximum((~gaps).sum(axis=0), 1)
    return np.where(gaps, np.where(gaps, 0.0, Y).sum(axis=0) / counts, Y)


def _find_states(sequences: list[Array], k: int) -> tuple[Array, Array]:
    """Return the k coordinates of largest variance of the lagged rows, scaled to mean square one, and the rows."""
    d = sequences[0].shape[1]
    # Enough lags that the stacked rows have more than k columns.
    lags = k // d + 1
    stacked = [np.concatenate([Y[lag : len(Y) - lags + 1 + lag] for lag in range(lags)], axis=1) for Y in sequences]
    stacked = [table for table in stacked if len(table)]
    if not stacked or sum(map(len, stacked)) <= k:
        return np.empty((0, k)), np.empty((0, d))
    table = np.concatenate(stacked)
    _, vectors = np.linalg.eigh(table.T @ table)
    # A sign for each vector: its largest entry is positive, whatever the LAPACK returned.
    vectors = vectors[:, ::-1][:, :k]
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    states = table @ vectors
    scale = np.sqrt(np.mean(states**2, axis=0))
    return states / np.where(scale > 0, scale, 1.0), table[:, :d]
