"""Scores of rows: linear maps of them, their correlations, and how many components two tables can have."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source import Block
from mercer._source.namespace import namespace_of, to_numpy
from mercer._types import Array
from mercer.errors import ParameterError


@dataclass(frozen=True, eq=False)
class LinearMap:
    """``((x - mean) / scale) @ matrix + offset`` for the rows of a block; sparse rows stay sparse."""

    mean: Any
    scale: Any
    matrix: Any
    offset: Any = 0.0

    def __call__(self, block: Block) -> Any:
        if block.is_sparse:
            matrix = self.matrix / self.scale[:, None]
            return block.matmul(matrix) - self.mean @ matrix + self.offset
        return block.xp.matmul((block.X - self.mean) / self.scale, self.matrix) + self.offset

    def of_rows(self, rows: Any) -> Any:
        """Map rows in memory, or on a device, at once."""
        return namespace_of(rows).matmul((rows - self.mean) / self.scale, self.matrix) + self.offset


def check_components(subject: str, n_components: int, bound: int) -> None:
    """Raise if more components are asked for than the tables can have."""
    if n_components > bound:
        raise ParameterError(
            f"{subject}: `n_components` upper bound is {bound}. Got {n_components} instead. Reduce `n_components`."
        )


def correlate_scores(t: Any, u: Any) -> Array:
    """Return the correlation between two tables of scores, column by column; zero where one is constant."""
    t, u = (np.asarray(to_numpy(scores), dtype=np.float64) for scores in (t, u))
    t, u = t - t.mean(axis=0), u - u.mean(axis=0)
    sizes = np.sqrt(np.sum(t * t, axis=0) * np.sum(u * u, axis=0))
    return np.sum(t * u, axis=0) / np.where(sizes > 0, sizes, 1.0)
