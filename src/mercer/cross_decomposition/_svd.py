"""PLSSVD: the singular vectors of the covariance between two tables."""

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._source import Source
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.cross_decomposition._deflation import PairedAxes, first_axes
from mercer.cross_decomposition._latent import LatentTransformer
from mercer.cross_decomposition._moments import TwoTables


class PLSSVD(LatentTransformer):
    r"""Pairs of orthonormal directions in two tables whose scores have the greatest covariance.

    The directions are the singular vectors of :math:`X^T Y` for centred (and scaled) tables: the weights of
    :class:`PLSCanonical` without deflation, so that the weights of different pairs are orthogonal, not the scores.

    Attributes
    ----------
    x_weights_, y_weights_ : ndarray of shape (n_features, n_components), (n_targets, n_components)
        The singular vectors. The entry of largest magnitude in each column of ``x_weights_`` is positive.
    covariances_ : ndarray of shape (n_components,)
        The covariance of each pair of scores: singular values over the total weight less one.
    correlations_ : ndarray of shape (n_components,)
        The correlation of each pair of scores.
    x_mean_, y_mean_, x_scale_, y_scale_ : ndarray
        Means and divisors of the columns.
    history_ : dict of ndarray
        ``objective``, the sum of the covariances.
    certificate_ : Certificate
        ``"residual"`` of the singular vectors.

    Notes
    -----
    One pass over rows in any place, then O(d q min(d, q)).

    References
    ----------
    J. Wegelin, A survey of partial least squares methods, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cross_decomposition import PLSSVD
    >>> X = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [2.0, 2.0, 2.0], [2.0, 5.0, 4.0]])
    >>> Y = np.array([[0.1, -0.2], [0.9, 1.1], [6.2, 5.9], [11.9, 12.3]])
    >>> model = PLSSVD(2).fit(X, Y)
    >>> model.correlations_.round(3)
    array([0.997, 0.949])
    """

    _documents = {
        "n_components": "Pairs; at most the number of rows and of columns of either table.",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "y_mean_": floats("targets"),
        "y_scale_": floats("targets"),
        "y_weights_": floats("targets, components"),
        "covariances_": floats("components"),
    }

    def _solve(self, source: Source, tables: TwoTables, start: PairedAxes | None) -> Solver:
        return _decompose(tables, self.n_components, start)

    def _describe_axes(self, state: PairedAxes, dtype: Any, flat: bool) -> dict[str, Any]:
        return super()._describe_axes(state, dtype, flat) | {"covariances_": state.spectrum.astype(dtype)}

    def _x_map(self) -> Array:
        return self.x_weights_

    def _y_map(self) -> Array:
        return self.y_weights_


def _decompose(tables: TwoTables, k: int, start: PairedAxes | None) -> Solver:
    """Compute the singular vectors of the cross moment: a solver of one step."""
    state = start
    if state is None:
        # A small decomposition takes less time than handing it out.
        heavy = tables.cross.size * min(tables.cross.shape) > 2**20
        state = (yield Dense(partial(_find_vectors, tables, k), heavy)) if heavy else _find_vectors(tables, k)
        yield Step(float(state.spectrum.sum()), state, _certify(state))
    return Solution(state, True, _certify(state))


def _find_vectors(tables: TwoTables, k: int) -> PairedAxes:
    C = tables.cross
    left, values, right = np.linalg.svd(C, full_matrices=False)
    U, V = left[:, :k], right[:k].T
    # The largest weight of a direction in X is positive, and Y follows.
    signs = np.where(U[np.abs(U).argmax(axis=0), np.arange(k)] < 0, -1.0, 1.0)
    U, V, values = U * signs, V * signs, values[:k]
    # |C v - s u| + |C^T u - s v|: zero for exact singular vectors.
    gaps = np.linalg.norm(C @ V - values * U, axis=0) + np.linalg.norm(C.T @ U - values * V, axis=0)
    squares = np.einsum("ij,ij->j", U, tables.x.times(U)) * np.einsum("ij,ij->j", V, tables.y.times(V))
    correlations = values / np.sqrt(np.where(squares > 0, squares, 1.0))
    return replace(
        first_axes(tables, k),
        x_weights=U,
        y_weights=V,
        spectrum=values / max(tables.weight - 1.0, 1.0),
        correlations=np.clip(correlations, 0.0, 1.0),
        residuals=gaps / (float(np.linalg.norm(C)) or 1.0),
    )


def _certify(state: PairedAxes) -> Certificate:
    statement = "Largest |C v - s u| + |C^T u - s v| over the pairs of singular vectors, relative to |C|, C = X^T Y."
    return Certificate.of("residual", float(state.residuals.max(initial=0.0)), 1e-10, statement)
