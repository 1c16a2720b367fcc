"""Projection pursuit: the directions along which rows look least Gaussian."""

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.parameter import Choice, Integer, Real, Seed, parameter
from mercer._stored import Stored, floats
from mercer.decomposition._separation.fixed_point import pursue_all, pursue_each
from mercer.decomposition._separation.gaussianity import rate_sources
from mercer.decomposition._separation.ica import make_refusal
from mercer.decomposition._separation.negentropy import CONTRASTS, contrast_reference
from mercer.decomposition._separation.state import SeparationTask, Unmixing
from mercer.decomposition._separation.unmixing import Unmixer
from mercer.decomposition._separation.whitening import Whitener


class ProjectionPursuit(Unmixer, LimitedEstimator):
    """Find directions whose projections are furthest from a Gaussian, by kurtosis or negentropy.

    On white rows u, a unit vector w maximises |kurt(w^T u)| = |<(w^T u)^4> - 3|, or the approximate negentropy
    (<G(w^T u)> - <G(v)>)^2 with Gaussian v, by the fixed point::

        w <- <u g(w^T u)> - <g'(w^T u)> w,      w <- w / |w|

    which is w <- <u (w^T u)^3> - 3 w for the kurtosis. Both signs of the index count: light tails are as interesting
    as heavy ones.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions: projections are ``(X - mean_) @ components_.T``, uncorrelated and of variance one, by falling
        index.
    mixing_ : ndarray of shape (n_features, n_components)
        The pseudo-inverse; the entry of largest magnitude in each column is positive.
    index_ : ndarray of shape (n_components,)
        Excess kurtosis, or approximate negentropy, of each projection.
    nongaussianity_, gaussian_pvalue_ : ndarray of shape (n_components,)
        As for :class:`ICA`.
    mean_ : ndarray of shape (n_features,)
    history_, converged_, n_iter_, certificate_
        See :class:`mercer.Estimator`.

    Notes
    -----
    O(n d (k + n_init)) a step for k white columns. The index has several maxima; `n_init` looks for the best.

    References
    ----------
    Huber (1985), Projection pursuit. Hyvarinen (1999), Fast and robust fixed-point algorithms for independent component
    analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import ProjectionPursuit
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(2000, 6))
    >>> X[:, 3] = random.choice([-2.0, 2.0], 2000) + 0.5 * random.normal(size=2000)
    >>> model = ProjectionPursuit(1, index="kurtosis", random_state=0).fit(X)
    >>> int(np.argmax(np.abs(model.components_[0]))), bool(model.index_[0] < -1.5)
    (3, True)
    """

    n_components: int = parameter(Integer(1), default=2, kw_only=False, doc="Number of directions.")
    index: str = parameter(
        Choice(*CONTRASTS),
        default="logcosh",
        doc="Negentropy by G = log cosh or -exp(-u^2 / 2), which are robust, or kurtosis, which a single outlier "
        "can decide.",
    )
    orthogonalisation: str = parameter(
        Choice("deflation", "symmetric"),
        default="deflation",
        doc="One direction after the other, each orthogonal to those before, or all at once.",
    )
    n_init: int = parameter(
        Integer(1), default=5, doc='First vectors of each direction; the best result is kept. Only for ``"deflation"``.'
    )
    max_iter: int = parameter(Integer(1), default=200, doc="Steps at most for each direction.")
    tol: float = parameter(
        Real(0, closed="left"), default=1e-8, doc="Stops when no direction turns by more: 1 - |cos| of the angle."
    )
    random_state: Any = parameter(Seed(), default=None, doc="Of the first vectors.")

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _objective_moves: ClassVar[str | None] = None

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns"),
        "mixing_": floats("columns, components"),
        "index_": floats("components"),
        "nongaussianity_": floats("components"),
        "gaussian_pvalue_": floats("components"),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "ProjectionPursuit":
        """Find the directions of `X`."""
        source = self._open(X, sample_weight=sample_weight, ensure_all_finite=False, ensure_min_samples=2)
        task = SeparationTask(
            Whitener(
                "ProjectionPursuit", None, source.n_features, make_refusal(self, source), n_needed=self.n_components
            ),
            CONTRASTS[self.index],
            self.tol,
            self.max_iter,
            seed_sequence(self.random_state).spawn(1)[0],
            n_init=self.n_init,
            n_directions=self.n_components,
            dtype=source.host_dtype,
        )
        solver = pursue_each if self.orthogonalisation == "deflation" else pursue_all
        with np.errstate(invalid="ignore", over="ignore"):
            outcome = self._drive(partial(solver, task), source, fitted=partial(self._describe, task))
        self.n_iter_ = int(outcome.state.steps)
        self._conclude(outcome)
        return self

    def _describe(self, task: SeparationTask, state: Unmixing) -> dict[str, Any]:
        """Return the fitted attributes: directions by falling index, with fixed signs."""
        white = state.white
        mean, variance = contrast_reference(task.score)
        gap = state.value - mean
        # <y^4> - 3 for kurtosis, since G = y^4 / 4; else Hyvarinen's approximation of negentropy.
        index = 4.0 * state.value - 3.0 if self.index == "kurtosis" else gap**2 / (2.0 * variance)
        order = np.argsort(-np.abs(index), kind="stable")
        W = state.W[order]
        # The mixing is the pseudo-inverse: there may be fewer directions than columns.
        mixing = white.inverse @ np.linalg.pinv(W)
        largest = np.argmax(np.abs(mixing), axis=0)
        signs = np.where(mixing[largest, np.arange(len(W))] < 0, -1.0, 1.0)
        z, pvalues = rate_sources(task.score, state.curvature[order], white.weight, white.n_components)
        as_rows = partial(np.ascontiguousarray, dtype=task.dtype)
        return {
            "components_": as_rows(signs[:, None] * (W @ white.matrix)),
            "mixing_": as_rows(signs * mixing),
            "mean_": as_rows(white.mean),
            "index_": index[order],
            "nongaussianity_": np.abs(z),
            "gaussian_pvalue_": np.array([0.0 if math.isnan(value) else value for value in pvalues]),
        }
