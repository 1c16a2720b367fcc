"""The nearest rows of rows in any metric, for detectors that compare a row with its neighbours."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._base.parameter import Choice, Function, Integer, Nothing, Options, Real, Rule, Text
from mercer._solver.neighbours import nearest_rows
from mercer._types import Array, Rows

# The parameters that say who is near whom, with scikit-learn's names.
NEIGHBOUR_PARAMETERS: dict[str, Rule] = {
    "n_neighbors": Integer(1),
    "algorithm": Choice("auto", "ball_tree", "kd_tree", "brute"),
    "leaf_size": Integer(1),
    "metric": Text() | Function(),
    "p": Real(0, closed="neither"),
    "metric_params": Options() | Nothing(),
    "n_jobs": Integer() | Nothing(),
}
# Minkowski's metric by its exponent, where it has another name.
_NAMED_EXPONENTS = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}


@dataclass(frozen=True, eq=False)
class NeighbourSearch:
    """An exact search for nearest rows; of equal distances the lower index comes first.

    The Euclidean metric of dense rows is searched by mercer's own code, other metrics and sparse rows by
    scikit-learn's, where ties at the last neighbour are broken as its trees happen to be built.
    """

    metric: Any = "euclidean"
    p: float = 2
    metric_params: dict[str, Any] = field(default_factory=dict)
    algorithm: str = "auto"
    leaf_size: int = 30
    threads: int = 1

    @classmethod
    def of(cls, model: Any, threads: int) -> "NeighbourSearch":
        """Return the search that the parameters of a detector ask for."""
        given = model.metric_params or {}
        return cls(model.metric, given.get("p", model.p), given, model.algorithm, model.leaf_size, threads)

    @property
    def effective_metric(self) -> Any:
        """The metric under its plainest name."""
        if self.metric == "minkowski" and "w" not in self.metric_params:
            return _NAMED_EXPONENTS.get(float(self.p), "minkowski")
        return "euclidean" if self.metric == "l2" else self.metric

    @property
    def effective_parameters(self) -> dict[str, Any]:
        """The parameters of the metric under its plainest name."""
        given = {name: value for name, value in self.metric_params.items() if name != "p"}
        return given | ({"p": self.p} if self.effective_metric == "minkowski" else {})

    def find(self, queries: Rows, rows: Rows, k: int, leave_out_self: bool = False) -> tuple[Array, Array]:
        """Return distances and indices (m, k) of the nearest `rows` of each query, in rising order.

        With `leave_out_self` the queries are the rows, and no row is its own neighbour.
        """
        from sklearn.neighbors import NearestNeighbors

        if self.effective_metric == "euclidean" and not issparse(rows) and not issparse(queries):
            wide = np.ascontiguousarray(rows, dtype=np.float64)
            points = wide if leave_out_self else np.ascontiguousarray(queries, dtype=np.float64)
            return nearest_rows(points, wide, k, leave_out_self=leave_out_self, threads=self.threads)
        search = NearestNeighbors(
            n_neighbors=k,
            algorithm=self.algorithm,
            leaf_size=self.leaf_size,
            metric=self.metric,
            p=self.p,
            metric_params=self.metric_params or None,
            n_jobs=self.threads,
        ).fit(rows)
        distances, indices = search.kneighbors(None if leave_out_self else queries)
        # The search leaves ties in any order. Sorting by distance and then index makes the answer the same on each run.
        order = np.lexsort((indices, distances), axis=1)
        return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)
