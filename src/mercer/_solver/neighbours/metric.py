"""Metrics by scikit-learn's names: which trees know them, and their arguments."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import BallTree, KDTree

from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array, Rows
from mercer.errors import DataError, ParameterError

# With ordinary differences of columns a larger power overflows or vanishes.
_MOST_POWER = 100.0
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
        known = isinstance(power, int | float | np.integer | np.floating)
        if not known or not power > 0 or _MOST_POWER < power < np.inf:
            raise ParameterError(
                f"metric='minkowski': p must be a number in (0, {_MOST_POWER:g}] or inf; got {power!r}. Larger powers "
                f"overflow: inf takes the largest difference."
            )
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
        # cdist sums squared differences, without the cancellation of expanded squares.
        if self.is_euclidean and not is_sparse_matrix(rows) and not is_sparse_matrix(X):
            return cdist(rows, X)
        rows, X = _narrow(rows), _narrow(X)
        if hasattr(self.name, "pairwise"):
            return np.ascontiguousarray(self.name.pairwise(rows, X), np.float64)
        return np.ascontiguousarray(measure_pairs(rows, X, self.name, self.arguments, n_jobs=1), np.float64)

    def tree(self, kind: str, X: Array, leaf_size: int) -> Any:
        """Return scikit-learn's search tree `kind` over `X`."""
        with explain_arguments(self.given, self.arguments):
            return TREES[kind](X, leaf_size=leaf_size, metric=self.name, **self.arguments)


def measure_pairs(X: Any, Y: Any, metric: Any, arguments: dict[str, Any] | None, **options: Any) -> Array:
    """Return scikit-learn's distances of all pairs of rows, of `X` alone if `Y` is None, by a checked metric."""
    from sklearn.metrics import pairwise_distances

    check_function(metric, X, X if Y is None else Y, arguments)
    with explain_arguments(metric, arguments):
        return pairwise_distances(X, Y, metric=metric, **options, **(arguments or {}))


@contextmanager
def explain_arguments(metric: Any, arguments: dict[str, Any] | None) -> Iterator[None]:
    """Name the arguments of a metric where a call fails by their names or types."""
    try:
        yield
    except TypeError as error:
        # What a function of the user's raises is the user's to see.
        if not arguments or callable(metric):
            raise
        raise ParameterError(
            f"metric={metric!r}: it does not take the arguments {arguments!r}. See the metric's function in "
            f"scipy.spatial.distance or sklearn.metrics."
        ) from error


def check_function(metric: Any, X: Rows, Y: Rows, arguments: dict[str, Any] | None) -> None:
    """Raise if a metric is a function of two rows that does not return one number."""
    if not callable(metric) or not X.shape[0] or not Y.shape[0]:
        return
    pair = (X[:1], Y[:1]) if is_sparse_matrix(X) else (X[0], Y[0])
    value = metric(*pair, **(arguments or {}))
    if np.ndim(value) != 0 or np.asarray(value).dtype.kind not in "biuf":
        raise DataError(
            f"metric: a function of two rows must return one real number; got {type(value).__name__} of shape "
            f"{np.shape(value)}. Return their distance."
        )
    if np.isnan(value):
        raise refuse_distances("metric", value)


def refuse_distances(subject: str, least: float) -> DataError:
    """Return the error about a metric that returns NaN or a number below zero."""
    return DataError(
        f"{subject}: the metric must return numbers of at least 0; got {least:g}. Return distances, not similarities."
    )


def _narrow(rows: Rows) -> Array:
    """Return sparse rows with the 32-bit indices that scikit-learn's distances need; other rows unchanged."""
    if not is_sparse_matrix(rows) or rows.indices.dtype == np.int32 or max(rows.nnz, rows.shape[1]) >= 2**31:
        return rows
    return type(rows)((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), rows.shape)
