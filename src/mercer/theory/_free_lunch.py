"""No free lunch: over all Boolean functions, every learner has the same error on the inputs it has not seen."""

from typing import Any

import numpy as np

from mercer._base.reading import read_integer, read_numbers
from mercer._types import Array
from mercer.errors import DataError

# Four bits have 2^16 = 65 536 functions; five bits have four thousand millions.
_MOST_BITS = 4


def average_unseen_error(learner: Any, n_bits: int, training_rows: Any, *, prior: Any = None) -> float:
    """Average a learner's error on unseen inputs over all Boolean functions of some bits.

    With all functions equally likely, the labels of unseen inputs are coin tosses that the training labels say nothing
    about: the average is one half for every learner. A learner is better than another only for a prior that is not
    uniform.

    Parameters
    ----------
    learner : classifier or callable
        Unfitted, with ``fit`` and ``predict``; or a function ``learner(X, y, X_new)`` that returns predictions.
    n_bits : int
        Bits of an input, at most four. Input i has the binary digits of i, the most significant first.
    training_rows : array-like of int
        Inputs that are seen, by number.
    prior : callable or None, default=None
        A function of the labels of all inputs, an array (2^n_bits,) of 0 and 1, that returns the weight of that Boolean
        function; None means that all are equal.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import average_unseen_error
    >>> average_unseen_error(lambda X, y, X_new: [0] * len(X_new), 3, [0, 1, 2, 3, 4])
    0.5
    """
    bits = read_integer("average_unseen_error", "n_bits", n_bits, 1)
    if bits > _MOST_BITS:
        raise DataError(
            f"average_unseen_error: n_bits must be at most {_MOST_BITS}; got {bits}. There are 2^(2^n) functions."
        )
    inputs = _list_bits(bits)
    seen = np.unique(
        read_numbers("average_unseen_error", "training_rows", training_rows, 0, len(inputs) - 1).astype(int)
    )
    unseen = np.setdiff1d(np.arange(len(inputs)), seen)
    if not len(seen) or not len(unseen):
        raise DataError(
            f"average_unseen_error: training_rows must be some of the {len(inputs)} inputs, not none and not all."
        )
    functions = _list_bits(len(inputs))
    weights = np.ones(len(functions)) if prior is None else np.array([float(prior(labels)) for labels in functions])
    errors = np.empty(len(functions))
    # A learner sees the training labels only: it is trained once for each of them.
    patterns, group = np.unique(functions[:, seen], axis=0, return_inverse=True)
    for number, labels in enumerate(patterns):
        predicted = np.asarray(_predict(learner, inputs[seen], labels, inputs[unseen]))
        members = group.ravel() == number
        errors[members] = np.sum(functions[members][:, unseen] != predicted, axis=1)
    # Errors are counted before they are divided: sums of whole numbers are exact.
    return float(np.average(errors, weights=weights) / len(unseen))


def _list_bits(n_bits: int) -> Array:
    """List the binary digits of 0, 1, ..., 2^n - 1."""
    return (np.arange(2**n_bits)[:, None] >> np.arange(n_bits)[::-1]) & 1


def _predict(learner: Any, X: Array, y: Array, X_new: Array) -> Any:
    """Train a learner and return its predictions; a classifier that sees one label only predicts it."""
    if not hasattr(learner, "fit"):
        return learner(X, y, X_new)
    if len(np.unique(y)) == 1:
        return np.full(len(X_new), y[0])
    return learner.fit(X, y).predict(X_new)
