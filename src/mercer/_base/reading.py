"""Read the numbers that users give into arrays, and check that they are in the range that a formula needs."""

from numbers import Real
from typing import Any

import numpy as np

from mercer.errors import DataError, ParameterError

# How far from one a sum of probabilities in double precision may be: far above the rounding of a thousand summands.
_SUM_TOLERANCE = 1e-6
# The tolerance for probabilities in single precision.
_SINGLE_TOLERANCE = 1e-3


def read_numbers(
    subject: str,
    name: str,
    value: Any,
    low: float = -np.inf,
    high: float = np.inf,
    *,
    closed: str = "both",
    cure: str = "",
    error: type[Exception] = DataError,
) -> np.ndarray:
    """Read an array of float64 whose entries lie in a range; `closed` says which ends belong to it."""
    numbers = _as_floats(subject, name, value, error)
    # An open end at infinity excludes infinite entries, a closed one lets them pass.
    above = numbers >= low if closed in ("both", "left") else numbers > low
    below = numbers <= high if closed in ("both", "right") else numbers < high
    if not (above & below).all():
        worst = numbers[~(above & below)].flat[0]
        left, right = "[" if closed in ("both", "left") else "(", "]" if closed in ("both", "right") else ")"
        message = f"{subject}: {name} must be in {left}{low:g}, {high:g}{right}; got {worst:g}."
        raise error(f"{message} {cure}".rstrip())
    return numbers


def read_probabilities(subject: str, name: str, value: Any, length: int | None = None) -> np.ndarray:
    """Read probabilities that sum to one along the last axis."""
    numbers = read_numbers(subject, name, value, 0.0, 1.0, error=ParameterError)
    if numbers.ndim == 0 or (length is not None and numbers.shape[-1] != length):
        wanted = "at least one dimension" if length is None else f"{length} entries, one for each class"
        raise ParameterError(f"{subject}: {name} must have {wanted}; got shape {numbers.shape}.")
    sums = numbers.sum(axis=-1)
    # Probabilities that a model rounded to single precision sum to one less exactly than doubles do.
    single = getattr(value, "dtype", None) in (np.float32, np.float16)
    if not np.allclose(sums, 1.0, rtol=0, atol=_SINGLE_TOLERANCE if single else _SUM_TOLERANCE):
        worst = np.asarray(sums).flat[np.abs(np.asarray(sums) - 1).argmax()]
        raise ParameterError(f"{subject}: {name} must sum to 1; got {worst:g}. Divide by the sum.")
    return numbers


def read_weight(subject: str, sample_weight: Any, n: int) -> np.ndarray:
    """Read a weight per observation; ones where none is given."""
    if sample_weight is None:
        return np.ones(n)
    weight = read_numbers(subject, "sample_weight", sample_weight, 0.0, cure="Drop the rows to be left out.")
    if weight.shape != (n,):
        raise DataError(f"{subject}: sample_weight must have one entry per observation, {n}; got shape {weight.shape}.")
    if not weight.any():
        raise DataError(f"{subject}: sample_weight must have a positive entry; got zeros only. Raise some weights.")
    return weight


def read_covariance(subject: str, name: str, value: Any, d: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Read a symmetric positive definite matrix; returns it with its lower Cholesky factor."""
    matrix = _as_floats(subject, name, value, ParameterError)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or (d is not None and matrix.shape[0] != d):
        size = "a square matrix" if d is None else f"of shape ({d}, {d})"
        raise ParameterError(f"{subject}: {name} must be {size}; got shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        raise ParameterError(f"{subject}: {name} must be finite; got infinite entries. Scale the columns down.")
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-12 * np.abs(matrix).max(initial=0.0)):
        raise ParameterError(f"{subject}: {name} must be symmetric; got entries that differ. Give (A + A.T) / 2.")
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        factor = None
    # A factor may exist by rounding alone; columns that lose all their digits mean that the matrix is singular.
    if factor is None or (np.diag(factor) ** 2 <= 1e-14 * np.diag(matrix)).any():
        rank = np.linalg.matrix_rank(matrix, hermitian=True)
        raise ParameterError(
            f"{subject}: {name} must be positive definite; got rank {rank} of {matrix.shape[0]}. "
            f"Add a small multiple of the identity, or drop columns that depend on others."
        )
    return matrix, factor


def _as_floats(subject: str, name: str, value: Any, error: type[Exception]) -> np.ndarray:
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise error(f"{subject}: {name} must hold numbers; got {value!r}.") from None
    if np.isnan(numbers).any():
        raise error(f"{subject}: {name} must not hold NaN; got {np.isnan(numbers).sum()} of them. Drop or impute them.")
    return numbers


def read_costs(subject: str, costs: Any, n_classes: int | None = None) -> np.ndarray:
    """Read a cost matrix of shape (n_actions, n_classes), or one such matrix for each row; errors name `subject`."""
    # Both ends open at infinity: a cost may be negative (a gain), but not infinite.
    matrix = read_numbers(subject, "costs", costs, closed="neither", error=ParameterError)
    # Axis -2 is the action and axis -1 the class; a third axis in front is the row.
    if matrix.ndim not in (2, 3) or matrix.shape[-2] == 0 or (n_classes not in (None, matrix.shape[-1])):
        columns = "n_classes" if n_classes is None else n_classes
        raise ParameterError(
            f"{subject}: costs must have shape (n_actions, {columns}), a row for each action and a column for each "
            f"class, or one such matrix a row; got shape {matrix.shape}."
        )
    return matrix


def read_integer(subject: str, name: str, value: Any, low: int, high: int | None = None, *, cure: str = "") -> int:
    """Read a whole number in a range; a float that is whole is one."""
    whole = isinstance(value, Real) and not isinstance(value, bool | np.bool_) and float(value).is_integer()
    if not whole or value < low or (high is not None and value > high):
        interval = f"[{low}, inf)" if high is None else f"[{low}, {high}]"
        raise DataError(f"{subject}: {name} must be an integer in {interval}; got {value!r}. {cure}".rstrip())
    return int(value)
