"""Factor analysis: Gaussian rows whose correlations a few common factors explain, and their rotation."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.batches import forget_batches, open_batch
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, Seed, parameter
from mercer._base.reading import read_numbers
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.eigenpairs import find_eigenpairs
from mercer._solver.request import HEAVY_SPECTRUM
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._statistic import Moments
from mercer._stored import Stored, floats, members
from mercer._types import Array
from mercer.decomposition._axes import fix_signs
from mercer.decomposition._latent.latent_gaussian import LatentGaussian
from mercer.errors import DataError, ParameterError

# Sweeps over all pairs of factors; rotations settle in some ten, and more mean a criterion that is flat.
_SWEEPS = 200
# Angle in radians below which a pair has settled.
_ANGLE = 1e-9
# Smallest share of a column's variance that its noise may have: a column that the factors explain whole has no
# density (a Heywood case).
_LEAST = 1e-12
_STATEMENT = (
    "Largest |gradient| of the mean log-likelihood in the logarithm of a noise variance, at the best loadings for the "
    "variances: zero at a stationary point. A step along it would gain about n times its square, which the tolerance "
    "compares with tol. It bounds nothing globally."
)


def rotate_loadings(components: Any, *, method: str = "varimax") -> np.ndarray:
    r"""Rotate loadings so that each factor has few large ones; the covariance they make stays the same.

    Of all rotations R of the loadings L = R ``components`` the result maximises
    :math:`\sum_{ij} L_{ij}^4 - \frac{\gamma}{d} \sum_i (\sum_j L_{ij}^2)^2`: with gamma = 1 the variance of the squared
    loadings within factors (varimax), with gamma = 0 their fourth powers (quartimax).

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        Loadings, a factor in each row.
    method : {"varimax", "quartimax"}, default="varimax"
        The criterion.

    Returns
    -------
    ndarray of shape (n_components, n_features)
        Rotated loadings.

    References
    ----------
    Kaiser (1958), The varimax criterion for analytic rotation in factor analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import rotate_loadings
    >>> simple = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    >>> turned = np.array([[0.8, 0.6], [-0.6, 0.8]]) @ simple
    >>> np.abs(rotate_loadings(turned)).round(6).sum(axis=1)
    array([2., 2.])
    """
    L = read_numbers("rotate_loadings", "components", components, closed="neither")
    if L.ndim != 2:
        raise DataError(f"rotate_loadings: components must be a matrix, a factor in each row; got shape {L.shape}.")
    if method not in ("varimax", "quartimax"):
        raise ParameterError(f"rotate_loadings: method must be one of 'varimax', 'quartimax'; got {method!r}.")
    gamma = 1.0 if method == "varimax" else 0.0
    L = L.copy()
    for _ in range(_SWEEPS):
        # Every pair of factors is turned by its best angle, until none turns any more.
        angles = [_turn_pair(L, p, q, gamma) for p in range(len(L)) for q in range(p + 1, len(L))]
        if max(angles, default=0.0) <= _ANGLE:
            break
    return L


def _turn_pair(L: np.ndarray, p: int, q: int, gamma: float) -> float:
    """Turn two factors in their plane to the best angle, which has a closed form; return its size."""
    x, y = L[p].copy(), L[q].copy()
    u, v = x * x - y * y, 2.0 * x * y
    rise = 2.0 * float(u @ v) - 2.0 * gamma * float(u.sum() * v.sum()) / len(x)
    run = float(u @ u - v @ v) - gamma * float(u.sum() ** 2 - v.sum() ** 2) / len(x)
    # The criterion is a cosine of four times the angle.
    angle = math.atan2(rise, run) / 4.0
    L[p], L[q] = math.cos(angle) * x + math.sin(angle) * y, math.cos(angle) * y - math.sin(angle) * x
    return abs(angle)


@plain
@dataclass(frozen=True, eq=False)
class FactorState:
    """Mean, loadings, noise variances, and the log-likelihoods so far."""

    weight: float
    mean: Array
    components: Array
    noise: Array
    likelihoods: Array
    stopped: bool = False


class FactorAnalysis(LatentGaussian):
    r"""Factor analysis: rows are a few Gaussian factors times loadings, plus noise of its own variance in each column.

    .. math:: x = m + W^\top z + e, \qquad z \sim N(0, I), \quad e \sim N(0, \Psi), \quad \Psi \text{ diagonal},

    so that rows have the covariance :math:`W^\top W + \Psi`. Mean, loadings W (``components_``) and noise variances
    (``noise_variance_``) have maximum likelihood. Unlike principal components, factors do not depend on the units of
    the columns, and a column's own noise does not become a factor.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Loadings; without rotation the factors are sorted by the variance that they explain beside the noise.
    noise_variance_ : ndarray of shape (n_features,)
        Variance of each column's own noise.
    mean_ : ndarray of shape (n_features,)
    loglike_ : list of float
        Log-likelihood of all rows after each iteration; it rises.
    history_ : dict of ndarray
        The mean log-likelihood of a row.
    certificate_ : Certificate
        The gradient of the mean log-likelihood in the logarithms of the noise variances.

    Notes
    -----
    The likelihood depends on the rows through mean and covariance only: one pass, O(n d^2), wherever the rows are, and
    then O(d^3) an iteration, which alternates between the best loadings for given noise (an eigenvalue problem) and
    the best noise for given loadings.

    References
    ----------
    Lawley and Maxwell (1971), Factor analysis as a statistical method. Barber (2012), Bayesian reasoning and machine
    learning, algorithm 21.1. Kaiser (1958), The varimax criterion.

    Examples
    --------
    >>> from mercer.decomposition import FactorAnalysis
    >>> from sklearn.datasets import load_iris
    >>> model = FactorAnalysis(2, rotation="varimax").fit(load_iris().data)
    >>> model.components_.shape, round(model.score(load_iris().data), 2)
    ((2, 4), -2.6)
    """

    n_components: int | None = parameter(
        Integer(0) | Nothing(), default=None, kw_only=False, doc="How many factors; None for as many as columns."
    )
    tol: float = parameter(
        Real(0), default=1e-2, doc="The fit stops when an iteration raises the log-likelihood of all rows by less."
    )
    copy: bool = parameter(
        Boolean(),
        default=True,
        doc="The rows are never overwritten, whatever this says; it is here so that scikit-learn's code runs.",
    )
    noise_variance_init: Any = parameter(
        ArrayRule() | Nothing(),
        default=None,
        after="max_iter",
        doc="First noise variances, one for each column; None for half the columns' variances. (scikit-learn starts "
        "from ones, and then takes a loud column for a factor.)",
    )
    svd_method: str = parameter(
        Choice("lapack", "randomized"),
        default="randomized",
        doc="Accepted for scikit-learn's code: eigenvectors of the d x d covariance are exact either way.",
    )
    iterated_power: int = parameter(Integer(0), default=3, doc="Accepted for scikit-learn's code.")
    rotation: str | None = parameter(
        Choice("varimax", "quartimax") | Nothing(),
        default=None,
        doc="How the loadings are rotated at the end; see :func:`rotate_loadings`. The likelihood does not change.",
    )
    random_state: Any = parameter(Seed(), default=0, doc="Accepted for scikit-learn's code: nothing is drawn.")

    _documents = {
        "max_iter": "Most iterations.",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "noise_variance_": floats("columns"),
        "loglike_": members(floats()),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "FactorAnalysis":
        """Find loadings and noise variances of maximum likelihood."""
        forget_batches(self)
        self._learn(self._open(X, sample_weight=sample_weight))
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "FactorAnalysis":
        """Find loadings and noise variances of these rows and of all that earlier calls were given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place
            Rows; read once, and not kept.

        Returns
        -------
        FactorAnalysis
            The fitted estimator, with the total weight of all rows so far in ``n_samples_seen_``.
        """
        self._learn(open_batch(self, X, None, sample_weight))
        return self

    def _learn(self, source: Source) -> None:
        d = source.n_features
        count = d if self.n_components is None else self.n_components
        if count > d:
            raise DataError(
                f"FactorAnalysis: n_components must be at most the number of columns, {d}; got {count}. Lower it: more "
                f"factors than columns explain nothing."
            )
        require_memory("FactorAnalysis", 48.0 * d * d, f"the covariance of {d} columns", "select columns")
        first = self._first_noise(d)
        fitted = partial(self._attributes_of, dtype=source.host_dtype)
        outcome = self._drive(partial(self._solve, count, first), source, fitted=fitted, max_steps=self.max_iter)
        self._conclude(outcome)

    def _first_noise(self, d: int) -> np.ndarray | None:
        if self.noise_variance_init is None:
            return None
        noise = np.array(self.noise_variance_init, dtype=np.float64)
        if noise.shape != (d,) or not (noise > 0).all():
            raise DataError(
                f"FactorAnalysis: noise_variance_init must have a positive number for each column, {d}; got shape "
                f"{noise.shape}. Give variances, or None."
            )
        return noise

    def _solve(self, count: int, first: np.ndarray | None, start: FactorState | None) -> Solver:
        """Alternate between loadings and noise variances until the log-likelihood rests."""
        moments = yield Moments()
        weight, covariance = moments.weight, moments.scatter / moments.weight
        variances = np.diagonal(covariance)
        if not np.isfinite(covariance).all():
            raise DataError("FactorAnalysis: the squares of the rows overflow float64; divide the rows by a constant.")
        if not variances.any():
            raise DataError(
                f"FactorAnalysis: the rows must differ; columns are constant (rank 0) in n_samples={weight:g} rows. "
                f"Give rows that vary."
            )
        least = _LEAST * np.maximum(variances, variances.max() * _LEAST)
        # Half the variance of each column, whatever its unit: with equal noise in all columns a loud one would look
        # like a factor, and its noise could hardly grow again.
        noise = np.maximum(variances / 2, least) if first is None else first
        empty = np.empty((0, len(variances)))
        state = start or FactorState(weight, np.array(moments.mean), empty, noise, np.empty(0))
        while not state.stopped and len(state.likelihoods) < self.max_iter:
            state = yield from self._iterate(state, covariance, count, least)
            yield Step(state.likelihoods[-1] / weight, state)
        return Solution(state, state.stopped, self._certify(state, covariance))

    def _iterate(
        self, state: FactorState, covariance: np.ndarray, count: int, least: np.ndarray
    ) -> Generator[Any, Any, FactorState]:
        """Return the state after one iteration: new noise from the loadings so far, and the best loadings for it."""
        noise = state.noise
        if len(state.likelihoods):
            # Noise is what the loadings leave of each column's variance, with a floor against Heywood cases.
            noise = np.maximum(np.diagonal(covariance) - (state.components**2).sum(axis=0), least)
        d = len(noise)
        # In units of the noise the model is probabilistic PCA with noise one.
        root = np.sqrt(noise)
        scaled = covariance / root[:, None] / root[None, :]
        values, vectors = np.empty(0), np.empty((d, 0))
        if count:
            values, vectors = yield Dense(lambda: find_eigenpairs(scaled, d - count), heavy=d > HEAVY_SPECTRUM)
        # Directions with a scaled variance below one are noise.
        values, axes = np.maximum(values[::-1], 1.0), fix_signs(vectors[:, ::-1].T)
        # The loading along a direction of scaled variance l is sqrt(l - 1).
        components = np.sqrt(values - 1.0)[:, None] * axes * root
        # A direction of scaled variance l adds log max(l, 1) + l / max(l, 1): the model has variance max(l, 1).
        total = float(np.trace(scaled)) - float(np.sum(values - 1.0))
        per_row = d * math.log(2 * math.pi) + float(np.log(noise).sum()) + float(np.log(values).sum()) + total
        likelihood = -0.5 * state.weight * per_row
        gain = likelihood - state.likelihoods[-1] if len(state.likelihoods) else math.inf
        likelihoods = np.append(state.likelihoods, likelihood)
        return FactorState(state.weight, state.mean, components, noise, likelihoods, bool(gain < self.tol))

    def _certify(self, state: FactorState, covariance: np.ndarray) -> Certificate:
        """Return the gradient of the mean log-likelihood in the logarithms of the noise variances."""
        scaled = state.components / state.noise
        small = np.eye(len(scaled)) + scaled @ state.components.T
        precision = np.diag(1.0 / state.noise) - scaled.T @ np.linalg.solve(small, scaled)
        slope = 0.5 * state.noise * np.diagonal(precision @ covariance @ precision - precision)
        # A noise variance on its floor can only rise.
        floor = state.noise <= 2 * _LEAST * np.diagonal(covariance)
        value = float(np.abs(np.where(floor, np.maximum(slope, 0.0), slope)).max())
        return Certificate.of("gradient norm", value, math.sqrt(self.tol / state.weight), _STATEMENT)

    def _attributes_of(self, state: FactorState, dtype: Any) -> dict[str, Any]:
        components = state.components
        if self.rotation is not None and len(components):
            components = rotate_loadings(components, method=self.rotation)
        return {
            "components_": np.ascontiguousarray(components, dtype=dtype),
            "noise_variance_": state.noise.astype(dtype),
            "mean_": state.mean.astype(dtype),
            "loglike_": [float(value) for value in state.likelihoods],
        }
