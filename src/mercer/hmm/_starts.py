"""Where training begins: drawn rows, first means, the transitions a chain may make, and what the user has set."""

from collections.abc import Generator
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mercer._solver.request import Take
from mercer._source import Source
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.hmm._emission import find_missing

# Most values of the rows in which first means are searched for: 2 MiB.
_MOST_VALUES = 2**18
# That many rows are taken however wide they are.
_FEWEST_ROWS = 1024
# Sums of given probabilities may differ from one by this much: what single precision loses.
_ROUNDING = 1e-5


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


def draw_rows(source: Source, generator: np.random.Generator, subject: str) -> Generator[Any, Any, Array]:
    """Draw rows without missing entries, in float64; where there are none, missing entries are filled by means."""
    n, most = source.n_rows, max(_FEWEST_ROWS, _MOST_VALUES // source.n_features)
    # A sample of rows is enough to find first means.
    indices = np.arange(n) if n <= most else np.sort(generator.choice(n, most, replace=False))
    rows = np.asarray((yield Take(indices)), dtype=np.float64)
    find_missing(rows, subject)
    rows = rows[~np.isnan(rows).all(axis=1)]
    gaps = np.isnan(rows)
    if gaps.any():
        whole = rows[~gaps.any(axis=1)]
        if len(whole):
            return whole
        # Only where no row is whole: gaps are filled by the means of their columns.
        counts = np.maximum((~gaps).sum(axis=0), 1)
        rows = np.where(gaps, np.nansum(rows, axis=0) / counts, rows)
    if not len(rows):
        raise DataError(f"{subject}: every step is missing (NaN). Give sequences with observed steps.")
    return rows


def find_first_means(rows: Array, count: int, seed: np.random.SeedSequence) -> Array:
    """Return the centres of k-means; fewer different rows than centres give some centres twice, with noise."""
    if count == 1:
        return rows.mean(axis=0, keepdims=True)
    from mercer.cluster import KMeans

    different = np.unique(rows, axis=0) if len(rows) <= 4 * count else rows
    if len(different) <= count:
        generator = np.random.default_rng(seed)
        scale = 1e-3 * (rows.std(axis=0) + 1e-3)
        # Copies of the different rows, told apart by noise: equal states would stay equal.
        chosen = different[np.arange(count) % len(different)]
        return chosen + scale * generator.standard_normal(chosen.shape)
    number = int(seed.generate_state(1)[0] % 2**31)
    return np.asarray(KMeans(count, n_init=1, random_state=number, n_jobs=1).fit(rows).cluster_centers_)


def assign_nearest(rows: Array, centres: Array) -> Array:
    """Return the nearest centre of each row."""
    # |x - c|^2 less |x|^2, which no centre changes.
    return np.argmin(np.einsum("ij,ij->i", centres, centres) - 2.0 * (rows @ centres.T), axis=1)


def check_probabilities(subject: str, name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Return given probabilities: of the right shape, not negative, with rows that sum to one."""
    value = np.asarray(value, dtype=np.float64)
    if value.shape != shape:
        raise DataError(f"{subject}: {name} must have shape {shape}; got {value.shape}.")
    if not np.isfinite(value).all() or value.min() < 0:
        raise DataError(f"{subject}: {name} must hold probabilities; got a smallest entry of {value.min():g}.")
    totals = value.reshape(-1, shape[-1]).sum(axis=1)
    wrong = int(np.argmax(np.abs(totals - 1.0)))
    if totals[wrong] == 0:
        raise DataError(
            f"{subject}: row {wrong} of {name} holds zeros only: no state can follow state {wrong}. Give it at least "
            f"the transition to itself."
        )
    if abs(totals[wrong] - 1.0) > _ROUNDING:
        raise DataError(
            f"{subject}: the rows of {name} must sum to one; row {wrong} sums to {totals[wrong]:.6g}. Divide it by its "
            f"sum."
        )
    return value / value.sum(axis=-1, keepdims=True)
