"""Joint log-likelihoods of naive Bayes: sums over columns, by matrix products where they are linear in the row."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base import _crossovers
from mercer._native.sums import class_scores
from mercer._plain import plain
from mercer._source import Block
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.errors import DataError, ModelFileError


@dataclass(frozen=True, eq=False)
class GaussianScores:
    """offset_k - sum_j (x_j - m_kj)^2 / (2 v_kj) for each row and class."""

    means: Array
    variances: Array
    offsets: Array

    def __call__(self, block: Block) -> Array:
        xp, wide = block.xp, block.wide
        means = xp.astype(self.means, wide, copy=False)
        # Differences are taken before squares: rows far from zero keep their digits.
        scales = 1.0 / xp.sqrt(2.0 * xp.astype(self.variances, wide, copy=False))
        if block.is_native:
            scores = np.empty((block.n, len(means)))
            means, scales, offsets = (np.ascontiguousarray(part, np.float64) for part in (means, scales, self.offsets))
            class_scores.score_gaps(block.X, means, scales, offsets, scores)
            return scores
        columns = []
        # A square that overflows is a row that the class cannot explain: its log-density is minus infinity.
        with np.errstate(over="ignore"):
            for k in range(means.shape[0]):
                gaps = block.centre(means[k, :]) * scales[k, :]
                columns.append(self.offsets[k] - xp.sum(gaps * gaps, axis=1))
        return xp.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class LinearScores:
    """x . weights_k + offset_k for each row and class; minus infinity where x . barred_k + barred_offset_k is positive.

    Logarithms of zero do not take part in products, where zero times infinity would be NaN: they bar a class.

    Parameters
    ----------
    weights, offsets : array of shape (k, d) and (k,)
    barred, barred_offsets : array of shape (k, d) and (k,), or None
    threshold : float or None
        Rows are 1 where they are above it, else 0; None takes them as they are.
    """

    weights: Array
    offsets: Array
    barred: Array = None
    barred_offsets: Array = None
    threshold: float | None = None

    def __call__(self, block: Block) -> Array:
        rows, xp = self._rows(block), block.xp
        scores = _product(rows, self.weights, xp) + self.offsets
        if self.barred is None:
            return scores
        impossible = _product(rows, self.barred, xp) + self.barred_offsets > 0
        return xp.where(impossible, xp.full_like(scores, -xp.inf), scores)

    def _rows(self, block: Block) -> Array:
        xp = block.xp
        if block.is_sparse:
            if self.threshold is None:
                return block.X
            rows = block.X.copy()
            # Zeros that are not stored stay zeros, which is right for a threshold of 0 or more.
            rows.data = (rows.data > self.threshold).astype(np.float64)
            return rows
        if self.threshold is None:
            return xp.astype(block.X, block.wide, copy=False)
        return xp.astype(self.threshold < block.X, block.wide)


def _product(rows: Array, weights: Array, xp: Any) -> Array:
    return rows @ weights.T if xp is np else xp.matmul(rows, weights.T)


@plain
@dataclass(frozen=True, eq=False)
class CategoryScores:
    """offset_k + sum_j table_kj[x_j] for each row and class.

    Parameters
    ----------
    table : array of shape (k, d, m)
    sizes : array of shape (d,)
        How many categories each column has.
    offsets : array of shape (k,)
    """

    table: Array
    sizes: Array
    offsets: Array

    _stored: ClassVar[dict[str, Stored]] = {
        "table": floats("classes, columns, categories"),
        "sizes": integers("columns", low=0),
        "offsets": floats("classes"),
    }

    def check_fields(self) -> None:
        """Raise ModelFileError if a column has more categories than the table."""
        if self.sizes.max(initial=0) > self.table.shape[2]:
            raise ModelFileError(
                f"CategoryScores.sizes must be at most {self.table.shape[2]}; the file has {self.sizes.max()}."
            )

    def __call__(self, block: Block) -> Array:
        xp = block.xp
        k, d, m = self.table.shape
        rows = self._categories(block)
        # The cell of column j and category x in a flat table (d, m).
        places = rows + m * xp.arange(d, dtype=xp.int64, device=block.device)[None, :]
        flat = xp.reshape(places, (-1,))
        if k * flat.shape[0] < _crossovers.SPLIT_SCORES:
            values = xp.take(xp.reshape(self.table, (k, d * m)), flat, axis=1)
            return self.offsets + xp.sum(xp.reshape(values, (k, *rows.shape)), axis=2).T
        columns = []
        # Class by class, so that memory is that of the rows and not k times as much.
        for label in range(k):
            values = xp.take(xp.reshape(self.table[label, :, :], (-1,)), flat)
            columns.append(xp.sum(xp.reshape(values, rows.shape), axis=1) + self.offsets[label])
        return xp.stack(columns, axis=1)

    def _categories(self, block: Block) -> Array:
        xp = block.xp
        if bool(xp.any(block.X < 0)):
            raise DataError(
                "CategoricalNB: Negative values in data passed to CategoricalNB (input X); categories are whole "
                "numbers from 0 on."
            )
        above = xp.any(xp.astype(self.sizes, block.X.dtype)[None, :] <= block.X, axis=0)
        if bool(xp.any(above)):
            column = int(xp.argmax(xp.astype(above, xp.int64)))
            value, size = float(xp.max(block.X[:, column])), int(self.sizes[column])
            raise UnknownCategoryError(
                f"CategoricalNB: column {column} must be a category below {size}, as many as fit has met; index "
                f"{value:g} is out of bounds for axis 1 with size {size}. Set min_categories to allow for categories "
                f"that the rows of fit do not have."
            )
        return xp.astype(block.X, xp.int64)


class UnknownCategoryError(DataError, IndexError):
    """A category that fit has not met."""


def finite_logarithms(logarithms: Array) -> tuple[Array, Array]:
    """Replace minus infinity by zero, and return the logarithms and a mask of the replaced ones."""
    infinite = np.isneginf(logarithms)
    return np.where(infinite, 0.0, logarithms), infinite


def log_of_rest(logarithms: Array) -> Array:
    """Compute log(1 - p) from log p without loss of digits where p is near one."""
    # 1 - p = -(e^l - 1) with l = log p.
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(logarithms))
