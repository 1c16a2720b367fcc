"""Classical multidimensional scaling: coordinates from distances by eigenvectors."""

from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import check_new_rows, fitting
from mercer._base.parameter import Function, Integer, Nothing, Options, Text, parameter
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.manifold._embedding import EigenMap, EigenMapState, centre_squares, largest_eigenvectors, solve_at_once
from mercer.manifold._scaling.dissimilarities import check_dissimilarities, compute_dissimilarities

STATEMENT = (
    "Largest |B v - lambda v| over the eigenvectors v, relative to the largest entry of B, the centred squared "
    "dissimilarities."
)


class ClassicalMDS(EigenMap):
    r"""Classical multidimensional scaling: coordinates whose inner products are nearest to those of the distances.

    Squared distances determine the inner products of centred points, :math:`B = -\frac12 J D^{(2)} J` with
    :math:`J = I - 1 1^T / n`. The coordinates :math:`\sqrt{\lambda_k}\, v_k` of its largest eigenvalues minimise
    :math:`\|B - Y Y^T\|_F`. For Euclidean distances they are the scores of a principal component analysis.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates. The entry of largest magnitude of each column is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        Of B, falling; a negative one says that no points have these distances.
    dissimilarity_matrix_ : ndarray of shape (n_landmarks, n_landmarks)
        The dissimilarities that were decomposed.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        The rows that new ones are compared with; None for given dissimilarities.
    history_ : dict of ndarray
        ``objective``, the share of the squares of B that the coordinates leave.
    certificate_ : Certificate
        ``"residual"`` of the eigenvectors.

    Notes
    -----
    O(n^2) memory and O(n^3) operations for n landmarks, or O(n^2) per iteration of Lanczos' method above 200. New rows
    are placed by Gower's formula: the centred squared distances to the landmarks, projected on the eigenvectors.

    References
    ----------
    W. Torgerson, Multidimensional scaling: theory and method, 1952. J. Gower, Adding a point to vector diagrams in
    multivariate analysis, 1968. V. de Silva and J. Tenenbaum, Sparse multidimensional scaling using landmark points,
    2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import ClassicalMDS
    >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> Y = ClassicalMDS(metric="precomputed").fit_transform(D)
    >>> float(np.linalg.norm(Y[1] - Y[2]).round(6))
    5.0
    """

    n_components: int = parameter(Integer(1), default=2, kw_only=False)
    metric: Any = parameter(
        Text() | Function(),
        default="euclidean",
        doc='The distance between rows, as scikit-learn\'s ``pairwise_distances`` takes it, or ``"precomputed"``.',
    )
    metric_params: dict[str, Any] | None = parameter(
        Options() | Nothing(), default=None, doc="Further arguments of the metric."
    )
    n_landmarks: int | None = parameter(
        Integer(2) | Nothing(),
        default=None,
        doc="Rows between which distances are decomposed, evenly spaced among all rows; the others are placed by "
        'their distances to these. None means all rows. Not with ``metric="precomputed"``.',
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "dissimilarity_matrix_": floats("rows, rows"),
        "landmarks_": floats("rows, columns | none", finite=True),
        "_square_means": floats("rows"),
        "_directions": floats("rows, components"),
    }
    _depends_on_units = ("columns",)

    @fitting
    @one_blas_thread()
    def fit(self, X: Any, y: Any = None) -> "ClassicalMDS":
        """Find the coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) with ``metric="precomputed"``
            Rows, or dissimilarities.
        """
        source = self._open(X)
        rows, given = source.whole(), self.metric == "precomputed"
        if given and self.n_landmarks is not None:
            raise ParameterError(
                "ClassicalMDS: n_landmarks needs rows; got metric='precomputed'. Set n_landmarks=None."
            )
        if given:
            landmarks, D = None, check_dissimilarities("ClassicalMDS", rows)
        else:
            landmarks = rows
            if self.n_landmarks is not None and self.n_landmarks < rows.shape[0]:
                landmarks = rows[np.linspace(0, rows.shape[0] - 1, self.n_landmarks).round().astype(int)]
            D = compute_dissimilarities("ClassicalMDS", landmarks, self.metric, self.metric_params)
        dtype = source.host_dtype
        known = {
            "dissimilarity_matrix_": D.astype(dtype, copy=False),
            "landmarks_": None if landmarks is None else landmarks.copy(),
        }
        find = partial(_decompose, D, self.n_components)
        solve = solve_at_once(find, lambda state: float(state.extra[-1]), STATEMENT, len(D))
        outcome = self._drive(solve, source, fitted=partial(self._describe, dtype=dtype), attributes=known)
        if landmarks is not None and len(landmarks) < rows.shape[0]:
            self.embedding_ = self._place(rows)
        self._conclude(outcome)
        return self

    def _describe(self, state: EigenMapState, dtype: Any) -> dict[str, Any]:
        return {
            "embedding_": state.embedding.astype(dtype),
            "eigenvalues_": state.values.astype(dtype),
            "_square_means": state.extra[:-1],
            "_directions": state.embedding / np.where(state.values > 0, state.values, np.inf),
        }

    @one_blas_thread()
    def transform(self, X: Any) -> Array:
        """Place rows by their distances to the landmarks.

        Parameters
        ----------
        X : array-like of shape (m, n_features), or (m, n_samples) with ``metric="precomputed"``
            Rows, or their dissimilarities to the rows of the fit.
        """
        return self._place(check_new_rows(self, X))

    def _place(self, rows: Array) -> Array:
        if self.landmarks_ is None:
            D = np.asarray(rows, dtype=np.float64)
            if D.min(initial=0.0) < 0:
                raise DataError(
                    f"ClassicalMDS: dissimilarities must not be negative; got {D.min():.3g}. Give distances."
                )
        else:
            D = compute_dissimilarities("ClassicalMDS", rows, self.metric, self.metric_params, self.landmarks_)
        # Gower's formula for new points, with the means of the squared distances of the fit.
        gaps = -0.5 * (D**2 - self._square_means)
        return (gaps @ self._directions).astype(self.embedding_.dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def _decompose(D: Array, k: int) -> EigenMapState:
    """Return coordinates from dissimilarities; ``extra`` has the mean square of each column, and what is left of B."""
    B, means = centre_squares(D)
    values, vectors, residual = largest_eigenvectors(B, k)
    total = float(np.vdot(B, B))
    # The share of B that the kept coordinates do not explain.
    left = max(0.0, 1.0 - float(np.sum(np.maximum(values, 0.0) ** 2)) / total) if total > 0 else 0.0
    embedding = vectors * np.sqrt(np.maximum(values, 0.0))
    if embedding.shape[1] < k:
        embedding = np.pad(embedding, ((0, 0), (0, k - embedding.shape[1])))
        values = np.pad(values, (0, k - len(values)))
    return EigenMapState(embedding, values, residual, np.append(means, left))
