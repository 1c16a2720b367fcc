"""Whitening: rows of covariance I, by a linear map that can be undone."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from mercer._base import LimitedEstimator, fitting
from mercer._base.batches import forget_batches, open_batch
from mercer._base.linear_map import CentredMap
from mercer._base.parameter import Choice, Integer, Real, attribute, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.graded import decompose_rows_of_any_size
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._source.namespace import namespace_of
from mercer._statistic import Moments
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.decomposition._axes import fix_signs
from mercer.errors import DataError

_CERTIFICATE = Certificate.none("The map is a closed form of mean and covariance, exact to rounding.")


@plain
@dataclass(frozen=True, eq=False)
class WhiteningState:
    """Mean, the map, and its inverse."""

    mean: Array
    matrix: Array
    inverse: Array


class Whitening(CentredMap, LimitedEstimator):
    r"""Whiten rows: centre them and map them so that their covariance is the identity.

    With the covariance :math:`C = V \Lambda V^\top`, the rows u = B (x - m) are white for
    :math:`B = \Lambda^{-1/2} V^\top` (``"pca"``), for :math:`B = V \Lambda^{-1/2} V^\top` (``"zca"``, the white rows
    nearest to the given ones), for the inverse of the Cholesky factor of C (``"cholesky"``), and for any rotation of
    these.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        B, the map.
    mixing_ : ndarray of shape (n_features, n_features)
        Its inverse, by which ``inverse_transform`` restores rows.
    mean_ : ndarray of shape (n_features,)
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    One pass, O(n d^2 + d^3); ``partial_fit`` adds rows. Rows: NumPy, frames, files, streams, Dask, devices.

    References
    ----------
    Kessy, Lewin and Strimmer (2018), Optimal whitening and decorrelation.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import Whitening
    >>> from sklearn.datasets import load_iris
    >>> rows = Whitening("zca").fit_transform(load_iris().data)
    >>> bool(np.allclose(np.cov(rows.T), np.eye(4)))
    True
    """

    method: str = parameter(Choice("pca", "zca", "cholesky"), default="pca", kw_only=False, doc="Which map.")
    floor: float = parameter(
        Real(0, 1),
        default=1e-10,
        doc="Eigenvalues of the correlations below this share of the largest are raised to it, so that rounding is "
        "not blown up; such directions come out with less variance than one. Units of the columns do not "
        "matter. With 0 rows without full rank are an error.",
    )
    ddof: int = parameter(Integer(0, 1), default=1, doc="The covariance divides by the total weight less this.")

    _documents = {
        "max_time": "Has no effect: one pass ends by itself.",
    }

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _objective_moves: ClassVar[str | None] = None
    mean_: Any = attribute()
    mixing_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": floats("components, columns"),
        "mixing_": floats("columns, components"),
        "mean_": floats("columns"),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Whitening":
        """Find the map for the covariance of `X`."""
        forget_batches(self)
        self._learn(self._open(X, sample_weight=sample_weight))
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Whitening":
        """Find the map for these rows and all that earlier calls were given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows in any other place
            Rows; read once, and not kept.
        """
        self._learn(open_batch(self, X, None, sample_weight))
        return self

    def _learn(self, source: Source) -> None:
        d = source.n_features
        require_memory("Whitening", 48.0 * d * d, f"the covariance of {d} columns", "select columns")
        fitted = partial(self._attributes_of, dtype=source.host_dtype)
        self._conclude(self._drive(self._solve, source, fitted=fitted, max_steps=1))

    def _solve(self, start: WhiteningState | None) -> Solver:
        state: WhiteningState
        if start is None:
            moments = yield Moments()
            if moments.weight <= self.ddof:
                raise DataError(
                    f"Whitening: a covariance needs a total weight above ddof={self.ddof}; got "
                    f"n_samples={moments.weight:g}. Give more rows."
                )
            covariance = moments.scatter / (moments.weight - self.ddof)
            if not np.isfinite(covariance).all():
                raise DataError("Whitening: the squares of the rows overflow float64; divide the rows by a constant.")
            matrix = yield Dense(lambda: _find_map(covariance, self.method, self.floor), heavy=len(covariance) > 200)
            state = WhiteningState(np.array(moments.mean), matrix, np.linalg.inv(matrix))
            yield Step(0.0, state, _CERTIFICATE)
        else:
            state = start
        return Solution(state, True, _CERTIFICATE)

    def _attributes_of(self, state: WhiteningState, dtype: Any) -> dict[str, Any]:
        return {
            "components_": state.matrix.astype(dtype),
            "mixing_": state.inverse.astype(dtype),
            "mean_": state.mean.astype(dtype),
        }

    def _restore(self, scores: Array) -> Array:
        return namespace_of(scores).matmul(scores, self.mixing_.T) + self.mean_


def _find_map(covariance: np.ndarray, method: str, floor: float) -> np.ndarray:
    """Return the map. The floor is taken of the correlations C, so that it does not depend on the units of the columns.

    With D the spreads of the columns and C = V L V^T, whose least eigenvalues are raised, the covariance is F F^T with
    F = D V L^(1/2) = U diag(s) W^T, and the map diag(1/s) U^T is W^T F^-1 = W^T L^(-1/2) V^T D^-1, which divides each
    column by its own unit.
    """
    spreads = np.sqrt(np.diagonal(covariance))
    if not spreads.max() > 0:
        raise DataError("Whitening: the rows must differ; all columns are constant (rank 0). Give rows that vary.")
    units = np.where(spreads > 0, spreads, spreads.max())
    values, vectors = np.linalg.eigh(covariance / units[:, None] / units)
    raised = np.maximum(values, floor * values[-1])
    least = len(values) * np.finfo(np.float64).eps * values[-1]
    if raised[0] <= least:
        raise DataError(
            f"Whitening: the columns must have full rank to be whitened; got rank {int((values > least).sum())} of "
            f"{len(values)}. Give floor, or drop columns that others determine."
        )
    low = (values < raised) & (values > least)
    if low.any():
        warnings.warn(
            f"Whitening: floor={floor:g} raises the variances of {int(low.sum())} of {len(values)} directions, which "
            f"come out below one: column {int(np.argmax(np.abs(vectors[:, np.argmax(low)])))} is nearly determined by "
            f"others. Lower floor to {values[low].min() / values[-1] / 2:.1g}, or drop the column.",
            UserWarning,
            stacklevel=2,
        )
    roots = np.sqrt(raised)
    if method == "cholesky":
        return solve_triangular(np.linalg.cholesky(vectors * raised @ vectors.T), np.diag(1 / units), lower=True)
    axes, _, turns = decompose_rows_of_any_size(vectors * roots * units[:, None])
    matrix = turns @ (vectors / roots / units[:, None]).T
    return axes.T @ matrix if method == "zca" else fix_signs(matrix)
