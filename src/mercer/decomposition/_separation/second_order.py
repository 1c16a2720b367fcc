"""Second-order source separation: sources in time that differ in their autocorrelations."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from mercer._base import LimitedEstimator, fitting
from mercer._base.parameter import Array as ArrayLike
from mercer._base.parameter import Choice, Integer, Nothing, Real, parameter
from mercer._plain import plain
from mercer._solver import Dense, Solution, Solver, Step
from mercer._solver.request import run_large
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._source.threads import run_numbered
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.decomposition._separation.diagonalisation import METHODS, certify_turn, off_diagonal, sweep_matrices
from mercer.decomposition._separation.ica import make_refusal
from mercer.decomposition._separation.unmixing import Unmixer
from mercer.decomposition._separation.whitening import Whitener, WhiteSpace, whiten
from mercer.errors import DataError, ParameterError

# Sources are alike if their autocorrelations differ by less than this many standard errors, root mean square.
_ALIKE = 4.0


@plain
@dataclass(frozen=True)
class LaggedSources:
    """A transform V of white rows, with the lagged covariances of these, (n_lags, k, k), and the number of sweeps."""

    white: WhiteSpace
    V: Array
    covariances: Array
    sweeps: int = 0


class SecondOrderSeparation(Unmixer, LimitedEstimator):
    """Separate sources in time by their autocorrelations: one lag (AMUSE) or many (SOBI).

    White rows u of a mixture of uncorrelated sources are a rotation of them, and the symmetrised lagged covariances::

        C_tau = (<u(t) u(t - tau)^T> + <u(t - tau) u(t)^T>) / 2 = E diag(r_1(tau), ..., r_k(tau)) E^T

    share the rotation E; the sources are E^T u. One lag is enough if all autocorrelations r_i(tau) differ at it; more
    lags average noise out, and separate sources that are alike at one lag only. Gaussian sources are no obstacle.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Unmixing matrix: sources are ``(X - mean_) @ components_.T``, of variance one, by falling autocorrelation at the
        first lag.
    mixing_ : ndarray of shape (n_features, n_components)
        Its pseudo-inverse; the entry of largest magnitude in each column is positive.
    mean_ : ndarray of shape (n_features,)
    whitening_ : ndarray of shape (n_components, n_features)
    lags_ : ndarray of shape (n_lags,)
    autocorrelations_ : ndarray of shape (n_components, n_lags)
        Of each source at each lag.
    off_diagonal_ : float
        The share of the squares of the transformed covariances that is left off the diagonals.
    history_, converged_, n_iter_, certificate_
        See :class:`mercer.Estimator`; the objective is the share of squares off the diagonals.

    Notes
    -----
    O(n d^2 + n k^2 m + m k^3 sweeps) for n rows, d features, k sources and m lags. Rows must be in the order of time
    and in memory; `lengths` marks recordings that do not follow one another.

    References
    ----------
    Tong, Liu, Soon and Huang (1991), Indeterminacy and identifiability of blind identification. Belouchrani,
    Abed-Meraim, Cardoso and Moulines (1997), A blind source separation technique using second-order statistics.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_autoregressive
    >>> from mercer.decomposition import SecondOrderSeparation, match_sources
    >>> sources = make_autoregressive(5000, coefficients=[[0.95], [-0.6]]).data
    >>> X = sources @ np.array([[1.0, 0.5], [0.3, 1.0]])
    >>> model = SecondOrderSeparation(lags=1).fit(X)
    >>> bool((match_sources(model.transform(X), sources).correlation > 0.99).all())
    True
    """

    _needs_rows: ClassVar[str] = "it compares rows with later ones of the same sequence"

    n_components: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        kw_only=False,
        doc="Number of sources: the principal components with most variance are unmixed. None takes all of them.",
    )
    lags: Any = parameter(
        Integer(1) | ArrayLike(),
        default=10,
        doc="A number m means the lags 1, 2, ..., m, an array-like the lags themselves; ``lags=1`` is AMUSE.",
    )
    diagonaliser: str = parameter(
        Choice(*METHODS),
        default="jacobi",
        doc="How the lagged covariances are made diagonal; the last two also allow for whitening that noise has "
        "made wrong.",
    )
    tol: float = parameter(
        Real(0, closed="left"), default=1e-10, doc="The change of the transform in a sweep at which the solver stops."
    )
    max_iter: int = parameter(Integer(1), default=200, doc="Sweeps at most.")

    # Products of rows that are some lags apart cross the borders of blocks.
    _places: ClassVar[tuple[str, ...]] = ("memory",)
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the white rows are kept, forecast before they are taken: every lag reads them once",
        "row order": "rows are times: their order is what separates the sources",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns"),
        "mixing_": floats("columns, components"),
        "whitening_": floats("components, columns"),
        "lags_": integers("*", low=0),
        "autocorrelations_": floats("components, *"),
        "off_diagonal_": floats(),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, lengths: Any = None) -> "SecondOrderSeparation":
        """Find the sources of rows in the order of time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, one for each time.
        lengths : array-like of shape (n_recordings,) or None, default=None
            The numbers of rows of recordings that follow each other in `X` but not in time; None means one recording.
        """
        source = self._open(X, ensure_min_samples=2)
        starts = _read_lengths(lengths, source.n_rows)
        lags = self._read_lags(np.diff(starts))
        whitener = Whitener(type(self).__name__, self.n_components, source.n_features, make_refusal(self, source))
        fitted = partial(self._describe, lags, source.host_dtype)
        with np.errstate(invalid="ignore", over="ignore"):
            outcome = self._drive(
                partial(self._solve, whitener, source, lags, starts), source, fitted=fitted, max_steps=self.max_iter
            )
        self._warn_of_twins(source.n_rows)
        self._conclude(outcome)
        return self

    def _solve(
        self, whitener: Whitener, source: Source, lags: Array, starts: Array, start: LaggedSources | None
    ) -> Solver:
        """Whiten, sum the lagged covariances, and make them diagonal; one step a sweep."""
        state = start
        if state is None:
            white = yield from whiten(whitener)
            covariances = yield Dense(lambda: _sum_lagged(whitener.subject, source, white, lags, starts))
            state = LaggedSources(white, np.eye(white.n_components), covariances)
        change, matrices = math.inf, state.covariances
        if self.diagonaliser != "jacobi":
            # Lag 0 is the identity, which rotations keep by themselves.
            matrices = np.concatenate([np.eye(len(state.V))[None], matrices])
        for sweep in sweep_matrices(matrices, self.diagonaliser, None if state.sweeps == 0 else state.V):
            change = sweep.change
            state = LaggedSources(state.white, sweep.transform, state.covariances, state.sweeps + 1)
            yield Step(sweep.criterion, state, certify_turn(change, self.tol), {"change": change})
            if change <= self.tol or state.sweeps >= self.max_iter:
                break
        return Solution(state, change <= self.tol, certify_turn(change, self.tol))

    def _read_lags(self, lengths: Array) -> Array:
        """Return the lags as rising whole numbers, each shorter than a recording."""
        given = np.arange(1, self.lags + 1) if np.ndim(self.lags) == 0 else np.asarray(self.lags)
        whole = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iu" and (given > 0).all()
        if not whole:
            raise ParameterError(
                f"{type(self).__name__}: lags must be a positive number or positive whole numbers; got {self.lags!r}. "
                f"Give lags in rows, such as range(1, 11)."
            )
        longest = int(lengths.max())
        if int(given.max()) >= longest:
            raise DataError(
                f"{type(self).__name__}: lags must be shorter than the longest recording, {longest} rows; got a lag of "
                f"{int(given.max())}. Lower lags, or give more rows."
            )
        return np.unique(given)

    def _describe(self, lags: Array, dtype: Any, state: LaggedSources) -> dict[str, Any]:
        """Return the fitted attributes: sources of variance one, slow ones first, with fixed signs."""
        white, V = state.white, state.V / np.linalg.norm(state.V, axis=1)[:, None]
        # The autocorrelation of each source at each lag.
        diagonals = np.einsum("ij,mjk,ik->im", V, state.covariances, V)
        mixing = white.inverse @ np.linalg.inv(V)
        order = np.argsort(-diagonals[:, 0], kind="stable")
        largest = np.argmax(np.abs(mixing), axis=0)
        signs = np.where(mixing[largest, np.arange(len(V))] < 0, -1.0, 1.0)[order]
        as_rows = partial(np.ascontiguousarray, dtype=dtype)
        return {
            "components_": as_rows(signs[:, None] * (V @ white.matrix)[order]),
            "mixing_": as_rows(signs * mixing[:, order]),
            "mean_": as_rows(white.mean),
            "whitening_": as_rows(white.matrix),
            "lags_": lags,
            "autocorrelations_": diagonals[order],
            "off_diagonal_": off_diagonal(V @ state.covariances @ V.T),
        }

    def _warn_of_twins(self, n_rows: int) -> None:
        """Warn if two sources have the same autocorrelations: any rotation of the two would do as well."""
        r = self.autocorrelations_
        # Root mean square difference over the lags.
        gaps = np.sqrt(((r[:, None, :] - r[None, :, :]) ** 2).mean(axis=2))
        # Bartlett: the variance of a cross-covariance is the sum over lags of the products of the autocorrelations.
        errors = np.sqrt(np.maximum(1.0 + 2.0 * r @ r.T, 0.1) / n_rows)
        alike = np.triu(gaps < _ALIKE * errors, 1)
        if alike.any():
            first, second = (int(number[0]) for number in np.nonzero(alike))
            warnings.warn(
                f"{type(self).__name__}: the autocorrelations of {int(alike.sum())} pairs of sources, such as {first} "
                f"and {second}, differ by no more than chance at all lags. Such sources cannot be separated by them: "
                f"try other lags, or ICA.",
                UserWarning,
                stacklevel=5,
            )


def _sum_lagged(subject: str, source: Source, white: WhiteSpace, lags: Array, starts: Array) -> Array:
    """Return the symmetrised lagged covariances of white rows, (n_lags, k, k); recordings begin at `starts`."""
    k = white.n_components
    require_memory(subject, 8.0 * source.n_rows * k, "the white rows", "give fewer rows or components")
    U = source.map(lambda block: block.centre(white.mean) @ white.matrix.T, np.empty((source.n_rows, k)))
    sums: list[Array] = []

    def correlate(number: int) -> Array:
        lag, total, count = int(lags[number]), np.zeros((k, k)), 0
        for start, stop in pairwise(starts):
            if stop - start > lag:
                # Pairs of rows `lag` apart, within a recording only. A value takes part in k multiplications, which
                # take as long as k / 8 other operations.
                later, earlier = U[start + lag : stop], U[start : stop - lag]
                total += run_large(partial(np.matmul, later.T, earlier), later.size * max(1, k // 8))
                count += stop - start - lag
        return 0.5 * (total + total.T) / count

    run_numbered(correlate, len(lags), source.threads, sums.append)
    return np.stack(sums)


def _read_lengths(lengths: Any, n_rows: int) -> Array:
    """Return where each recording starts, and the number of rows at the end."""
    if lengths is None:
        return np.array([0, n_rows])
    sizes = np.asarray(lengths)
    whole = sizes.ndim == 1 and isinstance(lengths, Sequence | np.ndarray) and sizes.dtype.kind in "iu"
    if not whole or (sizes <= 0).any() or int(sizes.sum()) != n_rows:
        got = int(sizes.sum()) if whole else lengths
        raise DataError(
            f"SecondOrderSeparation: `lengths` must be positive whole numbers that sum to the number of rows, "
            f"{n_rows}; got {got!r}. Pass one length per recording."
        )
    return np.append(0, np.cumsum(sizes))
