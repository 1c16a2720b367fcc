"""A gradient summed over workers, each with a part of the rows."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.parameter import Integer, Rule, check_parameters
from mercer._source.source import SumTree
from mercer._source.threads import run_numbered
from mercer.errors import DataError


@dataclass(frozen=True, eq=False)
class GradientSum:
    """A gradient that workers summed, and what dividing the work cost.

    Attributes
    ----------
    gradient : ndarray
        The sum over all rows.
    n_workers, n_blocks : int
        Threads, and parts of the rows.
    seconds : float
        From the call to the sum.
    work_seconds : float
        In the gradients of all blocks, added up over the workers.
    overhead : float
        The share of the workers' time that was not spent in gradients: 1 - work_seconds / (n_workers seconds), at
        least 0. It holds the handing out of blocks, the sums, and workers that wait for the last block.
    """

    gradient: np.ndarray
    n_workers: int
    n_blocks: int
    seconds: float
    work_seconds: float
    overhead: float


def sum_gradient(
    grad: Callable[[Any, np.ndarray], Any],
    x: Any,
    rows: Any,
    *,
    n_workers: int = 1,
    block_size: int = 1024,
    clock: Callable[[], float] = time.perf_counter,
) -> GradientSum:
    """Sum a gradient over rows, block by block, on several workers.

    Blocks are cut and added in an order that does not depend on the number of workers, so that the sum has the same
    bits for any. Workers are threads: gradients whose time is spent in NumPy gain, those in Python loops do not. More
    workers make each step of a method faster; they change none of its steps, so that a badly conditioned problem takes
    as many of them as before.

    Parameters
    ----------
    grad : callable
        From parameters and the indices of some rows to the gradient summed over these rows; for a mean, divide the
        result by the number of rows.
    x : array-like
        Parameters.
    rows : int or array-like of int
        A number n, for the rows from 0 to n - 1, or the indices of a batch.
    n_workers : int, default=1
        Threads.
    block_size : int, default=1024
        Rows in a block.
    clock : callable, default=time.perf_counter
        Seconds.

    Returns
    -------
    GradientSum

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.optim import sum_gradient
    >>> X, y = np.arange(8.0).reshape(4, 2), np.ones(4)
    >>> sum_gradient(lambda w, rows: X[rows].T @ (X[rows] @ w - y[rows]), [1.0, 0.0], 4, n_workers=2).gradient
    array([44., 52.])
    """
    rules: dict[str, Rule] = {"n_workers": Integer(1), "block_size": Integer(1)}
    check_parameters("sum_gradient", rules, {"n_workers": n_workers, "block_size": block_size})
    chosen = np.arange(rows) if np.ndim(rows) == 0 else np.asarray(rows, dtype=np.int64)
    if chosen.ndim != 1 or not len(chosen):
        raise DataError(
            f"sum_gradient: rows must be a positive number of rows, or their indices; got shape {chosen.shape}."
        )
    begin = clock()
    point = np.asarray(x, dtype=np.float64)
    parts = [chosen[first : first + block_size] for first in range(0, len(chosen), block_size)]
    spent = np.zeros(len(parts))
    tree = SumTree()

    def work(index: int) -> np.ndarray:
        start = clock()
        # A copy of its own: the sums are added in place of nobody's array.
        part = np.array(grad(point, parts[index]), dtype=np.float64)
        spent[index] = clock() - start
        return part

    # Sums are added in the order of the blocks along a fixed tree, whichever worker made them.
    run_numbered(work, len(parts), n_workers, tree.add)
    gradient = tree.total()
    seconds, total = clock() - begin, float(spent.sum())
    overhead = max(0.0, 1.0 - total / (n_workers * seconds)) if seconds > 0 else 0.0
    return GradientSum(np.asarray(gradient), n_workers, len(parts), seconds, total, overhead)
