"""The meaning of the parameters of a PCA for given rows: solver, number of components, number of iterations."""

from typing import Any

from mercer._source import Source
from mercer._statistic.labels import Rows
from mercer.errors import DataError, ParameterError

# Solvers that find all components, so that n_components may be chosen from the spectrum.
EXACT = ("full", "covariance_eigh", "gram")
# Solvers that leave sparse rows sparse.
SPARSE = ("auto", "covariance_eigh", "arpack", "randomized", "power")
# Number of rows that a stream of unknown length is assumed to have until it has been read.
_MANY = 2**40


def choose_solver(asked: str, wish: Any, n_rows: int, n_features: int, *, is_sparse: bool) -> str:
    """Return the solver that ``"auto"`` means: scikit-learn's choice, and ``"gram"`` for few wide rows."""
    if asked != "auto":
        return asked
    if is_sparse:
        return "arpack"
    # One pass for the covariance, then a small eigenproblem.
    if n_features <= 1000 and n_rows >= 10 * n_features:
        return "covariance_eigh"
    small = min(n_rows, n_features)
    wish = small if wish is None else wish
    # Small tables and shares of the variance need all singular values.
    if max(n_rows, n_features) <= 500 or isinstance(wish, str) or not 1 <= wish < 0.8 * small:
        return "full"
    return "gram" if n_rows <= 1000 and n_features >= 10 * n_rows else "randomized"


def check_count(wish: Any, solver: str, n_rows: int, n_features: int) -> Any:
    """Return ``n_components`` with None resolved; raise if the solver cannot give that number."""
    limit = min(n_rows, n_features)
    shape = f"(n_samples={n_rows}, n_features={n_features})"
    if wish is None:
        wish = limit - 1 if solver == "arpack" else limit
    if solver not in EXACT and isinstance(wish, str):
        raise ParameterError(
            f"PCA: n_components={wish!r} cannot be a string with svd_solver={solver!r}; use svd_solver='full'."
        )
    if wish == "mle" and n_rows < n_features:
        raise DataError(
            f"PCA: n_components='mle' is only supported if n_samples >= n_features; got {shape}. "
            f"Give a number, a share, or 'elbow'."
        )
    low = 0 if solver in EXACT else 1
    if not isinstance(wish, str) and not low <= wish <= limit:
        raise DataError(
            f"PCA: n_components={wish} must be between {low} and min(n_samples, n_features)={limit} with "
            f"svd_solver={solver!r}; lower it {shape}."
        )
    if solver == "arpack" and wish == limit:
        raise DataError(
            f"PCA: n_components={wish} must be strictly less than min(n_samples, n_features)={limit} with "
            f"svd_solver='arpack'; lower it, or use svd_solver='full' {shape}."
        )
    return wish


def count_iterations(asked: Any, solver: str, wish: Any, limit: int) -> int:
    """Return the power iterations of the randomised solver, or the most per component of the power method."""
    if asked != "auto":
        return max(1, asked) if solver == "power" else asked
    if solver == "power":
        return 1000
    # As in scikit-learn: a few of many components are harder to separate from those left out.
    return 7 if not isinstance(wish, str) and wish < 0.1 * limit else 4


def works_from_sums(estimator: Any) -> bool:
    """Return True if the model depends on the moments only, so that batches can be added; else raise."""
    if estimator.svd_solver in ("auto", "covariance_eigh"):
        return True
    raise ParameterError(
        f"PCA: partial_fit works from sums, which svd_solver='auto' or 'covariance_eigh' can use; got "
        f"{estimator.svd_solver!r}. Set svd_solver='auto', or call fit."
    )


def count_effective_rows(source: Source) -> int:
    """Return the number of rows as repetitions count them, and at least those of positive weight."""
    if source.known_rows is None and source.place == "stream":
        return _MANY
    if not source.has_weight:
        return source.n_rows
    counts = source.reduce(Rows())
    return max(int(counts.weight), counts.n_positive)
