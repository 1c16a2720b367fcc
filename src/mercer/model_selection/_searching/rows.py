"""The rows of each split of a search, taken once for all settings where memory allows, and prepared by a pipeline."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import get_tags

from mercer._base.wrapping import take_rows
from mercer.errors import DataError

# Bytes of all training and test rows together, up to which they are kept between settings: copying them anew for each
# setting takes as long as many small fits.
_KEPT = 2**28


@dataclass(frozen=True)
class Part:
    """Training rows and test rows of one split, with their targets."""

    X: Any
    y: Any
    unseen: Any
    truth: Any


class SplitRows:
    """Gives the rows of each split.

    Parameters
    ----------
    X, y : array-like
        All rows and targets; `y` may be None.
    splits : list of (train, test)
        Row indices.
    pairwise : bool
        Whether `X` holds a value for each pair of rows.
    """

    def __init__(self, X: Any, y: Any, splits: list[tuple[np.ndarray, np.ndarray]], pairwise: bool) -> None:
        self.X, self.y, self.splits, self.pairwise = X, y, splits, pairwise
        self._known: dict[int, Part] = {}
        self._keeps = len(splits) * _count_bytes(X) <= _KEPT

    def get(self, number: int) -> Part:
        """Return the rows of a split."""
        part = self._known.get(number)
        if part is None:
            train, test = self.splits[number]
            part = Part(self._take(train, train), pick(self.y, train), self._take(test, train), pick(self.y, test))
            if self._keeps:
                self._known[number] = part
        return part

    def _take(self, rows: np.ndarray, columns: np.ndarray) -> Any:
        if not self.pairwise:
            return pick(self.X, rows)
        if not hasattr(self.X, "shape"):
            raise ValueError("Precomputed kernels or affinity matrices have to be passed as arrays or sparse matrices.")
        if self.X.shape[0] != self.X.shape[1]:
            raise ValueError(f"X should be a square kernel matrix; got the shape {self.X.shape}.")
        values = self.X.tocsr() if issparse(self.X) else self.X
        if hasattr(values, "iloc"):
            return values.iloc[rows, columns]
        return values[np.ix_(rows, columns)]


def pick(values: Any, rows: np.ndarray) -> Any:
    """Return the rows of a table, or the members of a list; None of None."""
    if values is None:
        return None
    if isinstance(values, list | tuple):
        return [values[row] for row in rows]
    return take_rows(values, rows)


def pick_parameters(parameters: dict[str, Any], rows: np.ndarray, n_rows: int) -> dict[str, Any]:
    """Return keyword arguments for some rows: those with an entry for each row are cut to them."""
    return {name: pick(value, rows) if _count(value) == n_rows else value for name, value in parameters.items()}


def is_pairwise(estimator: Any) -> bool:
    """Return whether the rows of an estimator are values of pairs, such as a kernel."""
    return bool(get_tags(estimator).input_tags.pairwise)


def count_rows(X: Any) -> int:
    """Return the number of rows; raise if there are none."""
    n = _count(X)
    if n == 0:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required. Give rows.")
    if n is None:
        raise DataError(f"a search needs rows that can be counted; got {type(X).__name__}. Give an array or a frame.")
    return n


def _count(value: Any) -> int | None:
    if isinstance(value, str | bytes | dict) or value is None:
        return None
    shape = getattr(value, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    return len(value) if hasattr(value, "__len__") else None


def _count_bytes(X: Any) -> int:
    """Return the bytes that rows take; of lists and frames a guess."""
    if issparse(X):
        return int(X.data.nbytes + X.indices.nbytes) if hasattr(X, "indices") else int(X.data.nbytes)
    size = getattr(X, "nbytes", None)
    if isinstance(size, int):
        return size
    shape = getattr(X, "shape", None) or (len(X), 16)
    return 8 * int(np.prod(shape))
