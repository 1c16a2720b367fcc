"""Prediction, distances and scores of every fitted model that consists of centres."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, few_rows, open_new_rows
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from mercer._base.parameter import Boolean, Integer, Real, attribute, parameter
from mercer._solver import Step
from mercer._solver.centres.assignment import Assignment
from mercer._solver.centres.centres import Centres
from mercer._source import Block, Source
from mercer._source.block import DenseBlock
from mercer._source.memory import require_memory
from mercer._source.namespace import namespace_of
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError, ModelFileError


class CentreModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, LimitedEstimator):
    """A model that its fitted centres, ``cluster_centers_``, describe completely."""

    max_iter: int = parameter(Integer(1), default=300)
    tol: float = parameter(Real(0), default=1e-4)
    verbose: int = parameter(Integer(0) | Boolean(), default=0)

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    cluster_centers_: Array = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "inertia_": floats(),
    }
    _absences: ClassVar[dict[str, str]] = {
        "labels_": "labels_ is kept only of rows in memory or on a device; call predict with the rows to be labelled."
    }
    _takes_sparse = True
    _depends_on_units = ("columns",)

    def _check_structure(self) -> None:
        if not len(vars(self).get("cluster_centers_", "-")):
            raise ModelFileError(f"{type(self).__name__}.cluster_centers_ must have a row; the file has none.")

    def predict(self, X: Any) -> Array:
        """Return the index of the nearest centre of each row; among equals the lowest."""
        if (rows := few_rows(self, X)) is not None:
            centres = self._ready(rows.dtype)
            # Distances in lanes take neither the threads of a source nor the BLAS, which a source holds to one thread.
            if centres.suits_lanes(len(rows)):
                return centres.find_nearest(DenseBlock(rows, 0))[0]
        source = open_new_rows(self, X, accept_sparse="csr")
        return source.map(_NearestLabels(self._ready(source.dtype)))

    def transform(self, X: Any) -> Array:
        """Return the distance of each row to each centre.

        Returns
        -------
        distances : array of shape (n, k)
            Where the rows are.
        """
        source = open_new_rows(self, X, accept_sparse="csr")
        centres = self._ready(source.dtype)
        if source.place in ("memory", "file") and source.known_rows is not None:
            size = source.n_rows * centres.k * source.host_dtype.itemsize
            what = f"the {source.n_rows} x {centres.k} distances"
            require_memory(type(self).__name__, size, what, "transform fewer rows at a time")
        return source.map(Lengths(centres))

    def _ready(self, dtype: Any) -> Centres:
        """Return the centres in `dtype`, the type of the rows."""
        centres = self.cluster_centers_
        # NumPy lets anybody set the shape of an array in place, and native code takes the columns of the rows.
        if centres.shape[1] != self.n_features_in_:
            raise ModelFileError(
                f"{type(self).__name__}.cluster_centers_ must have {self.n_features_in_} columns; its shape is now "
                f"{centres.shape}. Fit the model again."
            )
        if centres.dtype == dtype:
            return Centres(centres)
        return Centres(namespace_of(centres).astype(centres, dtype))

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to `X` and return the distance of each row to each centre."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to `X` and return the index of the nearest centre of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the inertia of `X`: the weighted sum of squared distances to the nearest centres."""
        check_is_fitted(self)
        source = self._open(X, None, sample_weight, accept_sparse="csr", reset=False)
        return -source.reduce(Assignment(self._ready(source.dtype))).cost

    def _store_labels(self, source: Source, centres: Array, memory: Any = None) -> Array:
        """Set ``inertia_``, and ``labels_`` if rows are in memory or on a device; return the clusters' weights, (k,).

        A `memory` whose last pass used these centres has all of that already.
        """
        self.__dict__.pop("labels_", None)
        known = memory is not None and memory.holds(centres)
        sums = memory.sums if known else source.reduce(Assignment(Centres(centres)))
        self._check_inertia(sums.cost)
        self.inertia_ = sums.cost
        # Labels of rows elsewhere would not fit in memory.
        if source.place in ("memory", "device"):
            remembered = known and memory.rows is not None
            self.labels_ = memory.rows.labels if remembered else source.map(_NearestLabels(Centres(centres)))
        return sums.weights

    def _check_inertia(self, inertia: float) -> None:
        if not np.isfinite(inertia):
            raise DataError(
                f"{type(self).__name__}: squared distances between rows must be finite; those of X overflow. Scale the "
                f"columns, for example with StandardScaler."
            )

    def _describe_step(self, number: int, step: Step) -> str:
        """Return the line that verbose fits print for a step: its number, the inertia and the step's extra values."""
        details = "".join(f", {name} {value:.6g}" for name, value in step.extra.items())
        return f"{type(self).__name__}: Iteration {number}, inertia {step.objective:.6g}{details}"

    @property
    def _n_features_out(self) -> int:
        return self.cluster_centers_.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(frozen=True, eq=False)
class _NearestLabels:
    """The nearest centre of each row of a block."""

    centres: Centres

    def __call__(self, block: Block) -> Array:
        return self.centres.find_labels(block)


@dataclass(frozen=True, eq=False)
class Lengths:
    """The distance of each row of a block to each centre."""

    centres: Centres

    def __call__(self, block: Block) -> Array:
        from sklearn.metrics.pairwise import euclidean_distances

        if block.is_sparse:
            return euclidean_distances(block.X, self.centres.centres)
        return self.centres.lengths(block.X) if block.is_native else self.centres.lengths_by_array(block)
