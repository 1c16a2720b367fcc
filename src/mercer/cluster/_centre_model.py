"""What every model made of centres can do once it is fitted: assign, measure, score."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances

from mercer._base import Estimator, fitted_rows
from mercer._solver import Step
from mercer._source import Source, open_source
from mercer._source.block import DenseBlock
from mercer._source.memory import forecast
from mercer._source.threads import n_threads
from mercer.cluster._centres import Centres, nearest

__all__ = ["CentreModel"]

Array = Any
# Up to this many numbers, opening a source and waking its threads costs more than the work.
_FEW = 2**14


class CentreModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):
    """A model whose fitted attribute ``cluster_centers_`` says everything."""

    cluster_centers_: Array
    n_jobs: int | None

    def predict(self, X: Any) -> Array:
        """Return the index of the nearest centre of each row; among equals the lowest.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        labels : ndarray of shape (n,), int32
        """
        X = fitted_rows(self, X, accept_sparse="csr")
        return _label(X, self.cluster_centers_, self.n_jobs)[0]

    def transform(self, X: Any) -> Array:
        """Return the distance of each row to each centre.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        distances : ndarray of shape (n, k)
        """
        X = fitted_rows(self, X, accept_sparse="csr")
        centres = Centres(self.cluster_centers_.astype(X.dtype, copy=False))
        size = X.shape[0] * centres.k * X.dtype.itemsize
        forecast(
            type(self).__name__, size, f"the {X.shape[0]} x {centres.k} distances", "transform fewer rows at a time"
        )
        out = np.empty((X.shape[0], centres.k), dtype=X.dtype)
        source = open_source(X, threads=n_threads(self.n_jobs))
        if issparse(X):
            return source.map(lambda block: euclidean_distances(block.X, centres.centres), out)
        return source.map(lambda block: centres.lengths(block.X), out)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to `X` and return the distance of each row to each centre."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to `X` and return the index of the nearest centre of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the inertia of `X`: the weighted sum of squared distances to the nearest centres."""
        X = fitted_rows(self, X, accept_sparse="csr")
        source = self._open(X, None, sample_weight)
        return -_inertia(source, _label(X, self.cluster_centers_, self.n_jobs)[1])

    def _label_training_rows(self, source: Source, centres: Array) -> tuple[Array, float]:
        """Labels and inertia of the rows of `source`."""
        labels, distances = _label_source(source, Centres(centres))
        return labels, _inertia(source, distances)

    def _describe_step(self, number: int, step: Step) -> str:
        """A line about a step."""
        details = "".join(f", {name} {value:.6g}" for name, value in step.extra.items())
        return f"{type(self).__name__}: Iteration {number}, inertia {step.objective:.6g}{details}"

    @property
    def _n_features_out(self) -> int:
        return self.cluster_centers_.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _label(X: Any, centres: Array, n_jobs: int | None) -> tuple[Array, Array]:
    """Nearest centres and squared distances."""
    ready = Centres(centres if centres.dtype == X.dtype else centres.astype(X.dtype))
    if isinstance(X, np.ndarray) and X.shape[0] * len(centres) <= _FEW:
        return nearest(DenseBlock(X, 0), ready)
    return _label_source(open_source(X, threads=n_threads(n_jobs)), ready)


def _label_source(source: Source, ready: Centres) -> tuple[Array, Array]:
    labels = np.empty(source.n_rows, dtype=np.int32)
    distances = np.empty(source.n_rows)

    def on_block(block: Any) -> Array:
        found, distances[block.start : block.start + block.n] = nearest(block, ready)
        return found

    return source.map(on_block, labels), distances


def _inertia(source: Source, distances: Array) -> float:
    """Weighted sum of squared distances, block by block as the fit sums them."""
    weighted = distances if source.weight is None else distances * source.weight
    return float(np.sum(weighted))
