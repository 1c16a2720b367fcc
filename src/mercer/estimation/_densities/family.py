"""What densities of numbers and conjugate beliefs share: parameters with ranges, and a support of observations."""

from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from mercer._base.reading import read_numbers
from mercer.errors import DataError, ParameterError


class Family:
    """A frozen dataclass whose fields are parameters: numbers or arrays that broadcast."""

    # Per parameter: the least value, the largest, and which ends belong to the range.
    _ranges: ClassVar[dict[str, tuple[float, float, str]]] = {}
    # The least and the largest observation, and whether observations are whole numbers.
    _support: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    _whole: ClassVar[bool] = False
    # Fields that are known and not estimated, such as a number of trials.
    _known: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name, (low, high, closed) in self._ranges.items():
            value = read_numbers(
                type(self).__name__, name, getattr(self, name), low, high, closed=closed, error=ParameterError
            )
            object.__setattr__(self, name, value if value.ndim else float(value))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name: what an estimate determines, without what is known.

        Returns
        -------
        dict of str to float or ndarray
        """
        names = [part.name for part in fields(self) if part.name not in self._known]  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names}

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the parameters, broadcast."""
        return np.broadcast_shapes(*(np.shape(getattr(self, part.name)) for part in fields(self)))  # type: ignore[arg-type]

    def _inside(self, x: np.ndarray) -> np.ndarray:
        """Return a mask of the observations that the support holds."""
        low, high = self._support
        inside = (x >= low) & (x <= high)
        return inside & (x == np.floor(x)) if self._whole else inside


def read_rows(subject: str, X: Any, n_columns: int | None = None) -> np.ndarray:
    """Return rows as a matrix of float64, or raise where they are none or do not have `n_columns` columns."""
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2:
        raise DataError(f"{subject}: rows must be a matrix of shape (n, d); got shape {rows.shape}. Reshape them.")
    if n_columns is not None and rows.shape[1] != n_columns:
        raise DataError(f"{subject}: rows must have {n_columns} columns; got {rows.shape[1]}.")
    return rows
