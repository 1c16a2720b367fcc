"""Orders of rows: a new one in each epoch, cut into batches."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Seed, check_parameters
from mercer._base.randomness import seed_sequence


def iterate_batches(
    n_samples: int,
    batch_size: int,
    *,
    n_epochs: int | None = 1,
    shuffle: bool = True,
    last: str = "keep",
    random_state: Any = None,
) -> Iterator[np.ndarray]:
    """Yield the rows of each batch, epoch after epoch, each epoch in a newly drawn order.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    batch_size : int
        Rows in a batch.
    n_epochs : int or None, default=1
        Passes over the rows; None never ends.
    shuffle : bool, default=True
        Whether to draw the order anew in each epoch; otherwise rows come as they are.
    last : {"keep", "drop", "fill"}, default="keep"
        What becomes of the rows that do not fill a batch at the end of an epoch: a smaller batch; nothing; or a batch
        filled up with the first rows of the same epoch.
    random_state : None, int, RandomState or Generator, default=None
        The seed. Each epoch has a random stream of its own.

    Yields
    ------
    ndarray of int
        Indices of rows.

    Examples
    --------
    >>> from mercer.optim import iterate_batches
    >>> [len(rows) for rows in iterate_batches(10, 4, random_state=0)]
    [4, 4, 2]
    >>> [len(rows) for rows in iterate_batches(10, 4, last="drop", n_epochs=2)]
    [4, 4, 4, 4]
    """
    rules = {
        "n_samples": Integer(1),
        "batch_size": Integer(1),
        "n_epochs": Integer(0) | Nothing(),
        "shuffle": Boolean(),
        "last": Choice("keep", "drop", "fill"),
        "random_state": Seed(),
    }
    values = {"n_samples": n_samples, "batch_size": batch_size, "n_epochs": n_epochs, "shuffle": shuffle, "last": last}
    check_parameters("iterate_batches", rules, values | {"random_state": random_state})
    seed = tuple(int(word) for word in seed_sequence(random_state).generate_state(4))
    # The checks above run at the call; the generator runs when it is asked for rows.
    return _iterate(n_samples, batch_size, n_epochs, shuffle, last, seed)


def _iterate(
    n_samples: int, batch_size: int, n_epochs: int | None, shuffle: bool, last: str, seed: tuple[int, ...]
) -> Iterator[np.ndarray]:
    epoch = 0
    while n_epochs is None or epoch < n_epochs:
        # The order depends on the seed and the number of the epoch alone.
        random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(epoch,)))
        order = random.permutation(n_samples) if shuffle else np.arange(n_samples)
        full = n_samples - n_samples % batch_size
        for first in range(0, full, batch_size):
            yield order[first : first + batch_size]
        rest = order[full:]
        if len(rest) and last == "keep":
            yield rest
        elif len(rest) and last == "fill":
            # np.resize repeats the order where a batch is larger than all rows.
            yield np.concatenate([rest, np.resize(order, batch_size - len(rest))])
        epoch += 1
