"""Metrics by scikit-learn's names: which trees know them, and their arguments."""

import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import BallTree, KDTree

from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array, Rows
from mercer.errors import DataError

TREES = {"kd_tree": KDTree, "ball_tree": BallTree}
# Other names of the same metric.
_SAME = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan", "p": "minkowski", "infinity": "chebyshev"}


class Metric:
    """A metric with its arguments.

    Parameters
    ----------
    name : str or callable
        As the user gave it.
    arguments : dict or None
        The user's ``metric_params``.
    p : float or None
        The power of ``"minkowski"``.
    """

    def __init__(self, name: Any, arguments: dict[str, Any] | None, p: float | None = None) -> None:
        self.given = name
        self.name = _SAME.get(name, name) if isinstance(name, str) else name
        self.arguments = dict(arguments or {})
        if self.name == "minkowski":
            self._settle_power(p)

    def _settle_power(self, p: float | None) -> None:
        if p is not None and "p" in self.arguments:
            warnings.warn(
                "Parameter p is found in metric_params. The corresponding parameter from __init__ is ignored.",
                SyntaxWarning,
                stacklevel=6,
            )
        power = self.arguments.setdefault("p", 2.0 if p is None else p)
        names = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
        if power in names and "w" not in self.arguments:
            self.name = names[power]
            del self.arguments["p"]

    @property
    def is_euclidean(self) -> bool:
        return isinstance(self.name, str) and self.name == "euclidean" and not self.arguments

    def suits_tree(self, tree: str) -> bool:
        """Return whether scikit-learn's tree `tree` knows this metric."""
        return isinstance(self.given, str) and self.given in TREES[tree].valid_metrics

    def settle_scales(self, X: Array) -> "Metric":
        """Return the metric with fixed scales where they depend on `X`, so that distances may be computed in parts."""
        if is_sparse_matrix(X):
            return self
        # scikit-learn takes the variances of the rows given; parts of them would have others.
        if self.name == "seuclidean" and "V" not in self.arguments:
            self.arguments["V"] = np.var(X, axis=0, ddof=1, dtype=np.float64)
        if self.name == "mahalanobis" and not {"V", "VI"} & self.arguments.keys():
            self.arguments["VI"] = np.linalg.inv(np.cov(X.T)).T
        if self.name == "mahalanobis" and "V" in self.arguments:
            self.arguments["VI"] = np.linalg.inv(self.arguments.pop("V"))
        return self

    def distances(self, rows: Array, X: Array) -> Array:
        """Return the distances from `rows` to all rows of `X`, (m, n), as float64.

        Euclidean distances are sums of squared differences: d(x, y) equals d(y, x) to the bit, and ties stay ties.
        """
        from sklearn.metrics import pairwise_distances

        # cdist sums squared differences, without the cancellation of expanded squares.
        if self.is_euclidean and not is_sparse_matrix(rows) and not is_sparse_matrix(X):
            return cdist(rows, X)
        rows, X = _narrow(rows), _narrow(X)
        if hasattr(self.name, "pairwise"):
            return np.ascontiguousarray(self.name.pairwise(rows, X), np.float64)
        if callable(self.name) and rows.shape[0] and X.shape[0]:
            self._check_function(rows[:1], X[:1])
        distances = pairwise_distances(rows, X, metric=self.name, n_jobs=1, **self.arguments)
        return np.ascontiguousarray(distances, np.float64)

    def _check_function(self, row: Rows, other: Rows) -> None:
        """Raise if a function of two rows does not return one number."""
        pair, measure = (
            (row, other) if is_sparse_matrix(row) else (row[0], other[0]),
            cast(Callable[..., Any], self.name),
        )
        value = measure(*pair, **self.arguments)
        if np.ndim(value) != 0 or not np.isreal(value):
            raise DataError(
                f"metric: a function of two rows must return one real number; got {type(value).__name__} of shape "
                f"{np.shape(value)}. Return their distance."
            )

    def tree(self, kind: str, X: Array, leaf_size: int) -> Any:
        """Return scikit-learn's search tree `kind` over `X`."""
        return TREES[kind](X, leaf_size=leaf_size, metric=self.name, **self.arguments)


def _narrow(rows: Rows) -> Array:
    """Return sparse rows with the 32-bit indices that scikit-learn's distances need; other rows unchanged."""
    if not is_sparse_matrix(rows) or rows.indices.dtype == np.int32 or max(rows.nnz, rows.shape[1]) >= 2**31:
        return rows
    return type(rows)((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), rows.shape)
