"""The protocol of densities, and values of several densities side by side."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mercer.errors import DataError


@runtime_checkable
class Density(Protocol):
    """What a density can do.

    The densities of :mod:`mercer.estimation`, mixtures, kernel and histogram densities have these methods;
    :func:`as_density` gives them to SciPy's distributions and to scikit-learn's estimators. A density of one number
    works elementwise on arrays; a density of rows takes matrices (n, d) and gives a number for each row.

    Weights of observations are passed by name, ``sample_weight=``: the second argument of an estimator's ``fit`` is y.
    Code that fits a density uses what ``fit`` returns: a frozen density returns a new one and stays as it was, an
    estimator returns itself, and a known distribution returns itself unchanged.
    """

    def fit(self, X: Any, sample_weight: Any = None) -> Any:
        """Return the density of this kind under which the observations `X` are most likely."""

    def logpdf(self, X: Any) -> np.ndarray:
        """Return the log of the density (or probability) of each observation."""

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw `n` independent observations."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name: what a fit determines."""


def stack_logs(subject: str, densities: Sequence[Any], X: Any, axis: int) -> np.ndarray:
    """Return the log-densities of observations under several densities, along a new axis.

    Beside densities of rows, a density of numbers is that of independent columns: its logarithms add up.
    """
    logs = [np.asarray(density.logpdf(X), dtype=np.float64) for density in densities]
    # A density of numbers answers (n, d) for n rows, a density of rows (n,).
    # Their sum over columns is log prod_j p(x_j).
    if len({values.shape for values in logs}) > 1 and np.ndim(X) == 2:
        logs = [values.sum(axis=-1) if values.ndim == 2 else values for values in logs]
    shapes = sorted({values.shape for values in logs})
    if len(shapes) > 1:
        raise DataError(
            f"{subject}: all densities must be of numbers, or all of rows; for observations of shape {np.shape(X)} "
            f"they give shapes {', '.join(map(str, shapes))}. Give a matrix of rows."
        )
    return np.stack(logs, axis=axis)


def stack_draws(subject: str, draws: Sequence[np.ndarray], chosen: np.ndarray) -> np.ndarray:
    """Return draws of several densities in one array, those of density k at the places where `chosen` is k."""
    draws = [np.asarray(values) for values in draws]
    if len({values.ndim for values in draws}) > 1:
        # A density of numbers draws (n,), one of rows (n, d): numbers become rows of one column.
        draws = [values[:, None] if values.ndim == 1 else values for values in draws]
    shapes = sorted({values.shape[1:] for values in draws})
    if len(shapes) > 1:
        raise DataError(
            f"{subject}: all densities must draw observations of one shape; got {', '.join(map(str, shapes))}. Give "
            f"each as many columns."
        )
    mixed = np.empty((len(chosen), *shapes[0]))
    for k, values in enumerate(draws):
        mixed[chosen == k] = values
    return mixed
