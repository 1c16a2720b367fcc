"""Rows that early stopping judges by, drawn from those of the fit."""

from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from mercer._source import Source
from mercer._source.namespace import to_numpy
from mercer.errors import DataError


def draw_held_out(model: Any, source: Source, stratified: bool) -> tuple[np.ndarray, np.ndarray]:
    """Draw the rows to learn from and the rows to judge by; one label for each row may stratify them."""
    seed = model.random_state
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(2**31))
    y = to_numpy(source.y)
    kind = StratifiedShuffleSplit if stratified and y.ndim == 1 else ShuffleSplit
    split = kind(test_size=model.validation_fraction, random_state=seed)
    try:
        training, held_out = next(split.split(np.zeros((source.n_rows, 1)), y))
    except ValueError as error:
        raise DataError(f"{type(model).__name__}: early_stopping cannot split the rows: {error}") from error
    if len(held_out) < 2:
        raise DataError(
            f"{type(model).__name__}: The validation set is too small. Increase 'validation_fraction' or the size "
            f"of your dataset; it has {len(held_out)} rows, and at least 2 are needed."
        )
    # Sorted: the order of visits comes from the epochs alone.
    return np.sort(training), np.sort(held_out)
