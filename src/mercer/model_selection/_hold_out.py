"""Training, validation and test rows, drawn at random."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from mercer._base.randomness import seed_sequence
from mercer.errors import DataError, ParameterError


@dataclass(frozen=True, eq=False)
class HoldOut:
    """Rows of a hold-out split, each in one part.

    Attributes
    ----------
    train, validation, test : ndarray of int
        Indices of rows, rising.
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def hold_out_split(
    n_samples: int, *, test: float = 0.1, validation: float = 0.0, stratify: Any = None, random_state: Any = None
) -> HoldOut:
    """Split rows at random into training, validation and test rows.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    test, validation : int or float, default=0.1 and 0.0
        Rows held out: a number, or a share in [0, 1), rounded to the nearest number.
    stratify : array-like of shape (n_samples,) or None, default=None
        Classes; every part has their shares, as nearly as whole rows allow.
    random_state : None, int, RandomState or Generator, default=None
        The seed.

    Returns
    -------
    HoldOut
        Disjoint parts that together are all rows.

    Examples
    --------
    >>> from mercer.model_selection import hold_out_split
    >>> parts = hold_out_split(10, test=0.2, validation=3, random_state=0)
    >>> len(parts.train), len(parts.validation), len(parts.test)
    (5, 3, 2)
    """
    held = [_count_rows(name, size, n_samples) for name, size in (("test", test), ("validation", validation))]
    if n_samples < 1 or sum(held) >= n_samples:
        raise DataError(
            f"hold_out_split: at least one row must be left for training; got {n_samples} rows, {held[0]} of them for "
            f"test and {held[1]} for validation."
        )
    random = np.random.default_rng(seed_sequence(random_state))
    order = random.permutation(n_samples)
    labels = np.zeros(n_samples, dtype=np.intp)
    if stratify is not None:
        classes = column_or_1d(stratify)
        if len(classes) != n_samples:
            raise DataError(f"hold_out_split: stratify must have one class per row, {n_samples}; got {len(classes)}.")
        labels = np.unique(classes, return_inverse=True)[1]
    parts = np.zeros(n_samples, dtype=np.intp)
    left = np.bincount(labels)
    for part, size in enumerate(held, start=1):
        # The rows of a class that no part has yet, in the drawn order; each part takes the first of them.
        for label, count in enumerate(_share_out(size, left)):
            rows = order[(labels[order] == label) & (parts[order] == 0)][:count]
            parts[rows] = part
        left = np.bincount(labels[parts == 0], minlength=len(left))
    # Parts are numbered 0 for training, 1 for test, 2 for validation; HoldOut lists training, validation, test.
    return HoldOut(*(np.flatnonzero(parts == part) for part in (0, 2, 1)))


def _count_rows(name: str, size: Any, n_samples: int) -> int:
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
    if whole and 0 <= size < n_samples:
        return int(size)
    if not whole and isinstance(size, float | np.floating) and 0 <= size < 1:
        return round(float(size) * n_samples)
    raise ParameterError(
        f"hold_out_split: {name} must be a share in [0, 1) or a number of rows below {n_samples}; got {size!r}."
    )


def _share_out(size: int, counts: np.ndarray) -> np.ndarray:
    """Return how many rows of each class make `size` rows: by the largest remainders, so that shares are kept."""
    exact = size * counts / counts.sum()
    taken = np.floor(exact).astype(np.intp)
    # A stable sort gives equal remainders to the first classes, so that the draw alone is random.
    most = np.argsort(-(exact - taken), kind="stable")[: size - int(taken.sum())]
    taken[most] += 1
    return taken
