"""EM for linear-Gaussian models: first parameters, expected sums over sequences, and the regressions they give.

Given smoothed states, the transition and the observation are linear regressions of x_(t+1) and of y_t on (x_t, u_t),
with second moments in place of products. Noise covariances are the mean squared residuals plus `reg_covar` times the
identity: the mode under a prior proportional to exp(-n reg_covar tr(noise^-1) / 2), which keeps them regular.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mercer._source import Source
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.hmm._linear_gaussian.parameters import StateSpaceParameters, check_covariance, read_matrix
from mercer.hmm._linear_gaussian.passes import filter_sequence, smooth_sequence

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


@dataclass(frozen=True, eq=False)
class Moments:
    """Expected sums: of first states, of x_(t+1) and y_t with z_t = (x_t, u_t), and the log-likelihood."""

    log_likelihood: float
    n_sequences: float
    start: Array
    start_square: Array
    n_moves: float
    moved: Array
    moved_cross: Array
    before: Array
    n_seen: float
    seen: Array
    seen_cross: Array
    behind: Array

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))


@dataclass(frozen=True, eq=False)
class SequenceMoments:
    """The request of the E step."""

    parameters: StateSpaceParameters
    sequences: list[tuple[Array, Array]]
    subject: str

    def answer(self, source: Source) -> Moments:
        totals: list[Moments] = []

        def receive(moments: Moments) -> None:
            totals[:] = [totals[0] + moments] if totals else [moments]

        def expect(number: int) -> Moments:
            # One long sequence has the threads for its chunks, several share them.
            Y, controls = self.sequences[number]
            threads = source.threads if len(self.sequences) == 1 else 1
            return expect_moments(self.subject, self.parameters, Y, controls, threads)

        if len(self.sequences) == 1:
            return expect(0)
        run_numbered(expect, len(self.sequences), source.threads, receive)
        return totals[0]


def expect_moments(subject: str, parameters: StateSpaceParameters, Y: Array, controls: Array, threads: int) -> Moments:
    """Return the expected sums of one sequence."""
    k = parameters.n_states
    filtered = filter_sequence(subject, parameters, Y, controls, threads)
    smoothed = smooth_sequence(subject, parameters, filtered, threads)
    X, V = smoothed.means, smoothed.covariances
    # Regressors: states and controls.
    Z = np.concatenate([X, controls], axis=1)
    moved_cross = X[1:].T @ Z[:-1]
    # E[x_(t+1) x_t^T] is the product of the means plus the smoothed cross-covariance.
    moved_cross[:, :k] += smoothed.crosses[:-1].sum(axis=0)
    before, moved = _second_moment(Z[:-1], V[:-1], k), _second_moment(X[1:], V[1:], k)
    start_square = np.outer(X[0], X[0]) + V[0]
    seen = _expect_observations(parameters, Y, Z, V)
    total = float(filtered.scores.sum())
    return Moments(total, 1.0, X[0], start_square, float(len(Y) - 1), moved, moved_cross, before, *seen)


def _second_moment(Z: Array, V: Array, k: int) -> Array:
    """Return the sum of E[z z^T], where only the first k entries of z are uncertain."""
    total = Z.T @ Z
    total[:k, :k] += V.sum(axis=0)
    return total


def _expect_observations(parameters: StateSpaceParameters, Y: Array, Z: Array, V: Array) -> tuple[Any, ...]:
    """Return the number of steps with an observation, and the sums of E[y y^T], E[y z^T] and E[z z^T] over them.

    Missing entries of y are Gaussian given the state and the entries that are there. Steps are taken together that miss
    the same entries.
    """
    k, d = parameters.n_states, Y.shape[1]
    weights = np.concatenate([parameters.observation, parameters.observation_control], axis=1)
    seen, cross, behind, count = np.zeros((d, d)), np.zeros((d, Z.shape[1])), np.zeros((Z.shape[1],) * 2), 0.0
    gaps = np.isnan(Y)
    patterns = [(np.zeros(d, dtype=bool), np.ones(len(Y), dtype=bool))]
    if gaps.any():
        kinds, which = np.unique(gaps, axis=0, return_inverse=True)
        patterns = [(kind, which.ravel() == number) for number, kind in enumerate(kinds)]
    for missing, rows in patterns:
        if missing.all():
            # A step without observation says nothing about the observation's parameters.
            continue
        there, R = ~missing, parameters.observation_noise
        square = _second_moment(Z[rows], V[rows], k)
        # y = fill z + known + noise, with fill zero and the values themselves known where y is there.
        # The pseudo-inverse also serves entries that are seen without noise.
        carry = R[np.ix_(missing, there)] @ np.linalg.pinv(R[np.ix_(there, there)], hermitian=True)
        fill = np.zeros((d, Z.shape[1]))
        fill[missing] = weights[missing] - carry @ weights[there]
        known = np.zeros((int(rows.sum()), d))
        known[:, there] = Y[rows][:, there]
        known[:, missing] = known[:, there] @ carry.T
        half = fill @ (Z[rows].T @ known)
        noise = np.zeros((d, d))
        noise[np.ix_(missing, missing)] = R[np.ix_(missing, missing)] - carry @ R[np.ix_(there, missing)]
        seen += fill @ square @ fill.T + half + half.T + known.T @ known + rows.sum() * noise
        cross += fill @ square + known.T @ Z[rows]
        behind += square
        count += float(rows.sum())
    return count, seen, cross, behind


class StateSpaceTraining:
    """A linear-Gaussian model as the EM engine asks for it.

    `learned` are the names of the parameters to learn; `diagonal` those of the noises that stay diagonal.
    """

    def __init__(self, sequences: list[Any], learned: set[str], diagonal: set[str], reg: float, subject: str) -> None:
        self.sequences, self.learned, self.diagonal = sequences, learned, diagonal
        self.reg, self.subject = reg, subject
        self.n_steps = sum(len(Y) for Y, _ in sequences)

    def expectation(self, parameters: StateSpaceParameters) -> SequenceMoments:
        """Return the request of the E step."""
        return SequenceMoments(parameters, self.sequences, self.subject)

    def maximisation(self, expected: Moments, parameters: StateSpaceParameters) -> StateSpaceParameters:
        """Return the M step: two regressions, and the moments of first states."""
        e, p, k = expected, parameters, parameters.n_states
        moves = np.concatenate([p.transition, p.control], axis=1)
        regressed = self._regress(moves, e.moved_cross, e.before, k, ("transition", "control"))
        # A state without noise is a fixed function of the one before: its row holds for certain and is kept.
        moves = np.where((np.diag(p.transition_noise) > 0)[:, None], regressed, moves)
        looks = np.concatenate([p.observation, p.observation_control], axis=1)
        looks = self._regress(looks, e.seen_cross, e.behind, k, ("observation", "observation_control"))
        Q, R, m, P = p.transition_noise, p.observation_noise, p.start_mean, p.start_covariance
        if "transition_noise" in self.learned and e.n_moves:
            Q = self._take_noise("transition_noise", _residual(moves, e.moved, e.moved_cross, e.before) / e.n_moves, Q)
        if "observation_noise" in self.learned and e.n_seen:
            R = self._take_noise("observation_noise", _residual(looks, e.seen, e.seen_cross, e.behind) / e.n_seen, R)
        if "start_mean" in self.learned:
            m = e.start / e.n_sequences
        if "start_covariance" in self.learned:
            # E[(x_1 - m)(x_1 - m)^T] over the sequences.
            square = e.start_square - np.outer(m, e.start) - np.outer(e.start, m) + e.n_sequences * np.outer(m, m)
            P = self._take_noise("start_covariance", square / e.n_sequences, P)
        A, B, C, D = moves[:, :k], moves[:, k:], looks[:, :k], looks[:, k:]
        return StateSpaceParameters(*(np.ascontiguousarray(part) for part in (A, C, Q, R, m, P, B, D)))

    def _regress(self, old: Array, cross: Array, square: Array, k: int, names: tuple[str, str]) -> Array:
        """Return the coefficients of a regression; some of its columns may be held."""
        columns = np.arange(old.shape[1])
        free = ((columns < k) & (names[0] in self.learned)) | ((columns >= k) & (names[1] in self.learned))
        if not free.any() or not square.any():
            return old
        new = old.copy()
        rest = cross[:, free] - old[:, ~free] @ square[np.ix_(~free, free)]
        # Least squares by the pseudo-inverse: directions in which no state moves keep coefficient zero.
        new[:, free] = np.linalg.lstsq(square[np.ix_(free, free)], rest.T, rcond=1e-12)[0].T
        return new

    def _take_noise(self, name: str, matrix: Array, old: Array) -> Array:
        """Return a noise covariance of the form that it must keep; what had no noise before has none after."""
        noise = 0.5 * (matrix + matrix.T) + self.reg * np.eye(len(matrix))
        if name in self.diagonal:
            noise = np.diag(np.diag(noise))
        alive = np.diag(old) > 0
        return noise * np.outer(alive, alive)

    def objective(self, expected: Moments, parameters: StateSpaceParameters) -> float:
        """Return the log-likelihood plus the log prior of the noises, per step."""
        return (expected.log_likelihood + self._log_prior(expected, parameters)) / self.n_steps

    def _log_prior(self, expected: Moments, parameters: StateSpaceParameters) -> float:
        counts = {
            "transition_noise": expected.n_moves,
            "observation_noise": expected.n_seen,
            "start_covariance": expected.n_sequences,
        }
        total = 0.0
        for name, count in counts.items():
            if name in self.learned and self.reg:
                noise = getattr(parameters, name)
                alive = np.diag(noise) > 0
                # The mode prior -n reg tr(noise^-1) / 2; see the docstring of the module.
                total -= 0.5 * count * self.reg * float(np.trace(np.linalg.inv(noise[np.ix_(alive, alive)])))
        return total

    def gain(self, expected: Moments, parameters: StateSpaceParameters, better: StateSpaceParameters) -> float:
        """Return the rise of the expected complete-data objective, per step."""
        values = [self._expect_objective(expected, chosen) for chosen in (parameters, better)]
        return (values[1] - values[0]) / self.n_steps

    def _expect_objective(self, expected: Moments, p: StateSpaceParameters) -> float:
        e = expected
        moves = np.concatenate([p.transition, p.control], axis=1)
        looks = np.concatenate([p.observation, p.observation_control], axis=1)
        m = p.start_mean
        start = e.start_square - np.outer(m, e.start) - np.outer(e.start, m) + e.n_sequences * np.outer(m, m)
        return (
            _gaussian_sum(e.n_moves, _residual(moves, e.moved, e.moved_cross, e.before), p.transition_noise)
            + _gaussian_sum(e.n_seen, _residual(looks, e.seen, e.seen_cross, e.behind), p.observation_noise)
            + _gaussian_sum(e.n_sequences, start, p.start_covariance)
            + self._log_prior(e, p)
        )

    def slack(self, parameters: StateSpaceParameters, better: StateSpaceParameters) -> float:
        """Return zero: the M step is exact."""
        return 0.0


def _residual(weights: Array, square: Array, cross: Array, before: Array) -> Array:
    """Return the sum of E[(y - W z)(y - W z)^T]."""
    half = weights @ cross.T
    return square - half - half.T + weights @ before @ weights.T


def _gaussian_sum(count: float, residual: Array, noise: Array) -> float:
    """Return -(count log|noise| + tr(noise^-1 residual)) / 2, over the directions that have noise."""
    # Directions without noise are deterministic and have no density.
    alive = np.diag(noise) > 0
    part = noise[np.ix_(alive, alive)]
    if not count or not len(part):
        return 0.0
    sign, log_determinant = np.linalg.slogdet(part)
    if sign <= 0:
        return float("nan")
    return -0.5 * (
        count * float(log_determinant) + float(np.trace(np.linalg.solve(part, residual[np.ix_(alive, alive)])))
    )
