"""Inner products of single columns with all: read from their scatter, or computed when a column is first used."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._statistic import Moments, MomentSums
from mercer._types import Array
from mercer.linear_model._lasso.descent_regressor import suits_gram
from mercer.linear_model._solvers.lasso.column_store import OpenColumns
from mercer.linear_model._solvers.lasso.coordinate_descent import Targets, check_gram, check_sums


@dataclass(frozen=True, eq=False)
class ProductPlan:
    """Whose products, about which means, and how they are had.

    Attributes
    ----------
    subject : str
        Who asks, for errors.
    centre : bool
        Whether there is an intercept.
    on_gram : bool
        Whether to sum up the scatter of all columns; otherwise columns in memory are multiplied when they are used.
    gram : ndarray or None
        The scatter, where the user knows it.
    single : bool
        Whether the rows, and so perhaps that scatter, are float32.
    """

    subject: str
    centre: bool
    on_gram: bool
    gram: Array = None
    single: bool = False


def plan_products(model: Any, source: Source, takes_gram: bool = True) -> ProductPlan:
    """Choose how a model gets the products of columns, by its ``precompute`` and the shape of the rows."""
    precompute, name, gram = model.precompute, type(model).__name__, None
    if not takes_gram and not isinstance(precompute, bool | str | None):
        precompute = "auto"
    if not isinstance(precompute, bool | str | None):
        # As in scikit-learn, the matrix belongs to weights that sum to the number of rows.
        share = source.total_weight() / source.n_rows if source.has_weight else 1.0
        gram = np.ascontiguousarray(precompute, dtype=np.float64) * share
    # With more rows than columns one product of all columns is cheaper than many passes, one a column.
    tall = source.known_rows is not None and source.known_rows > source.n_features
    on_gram = suits_gram(source, True if tall else precompute, name)
    return ProductPlan(name, model.fit_intercept, on_gram, gram, source.host_dtype == np.float32)


def sum_products(plan: ProductPlan) -> Generator[Any, Any, MomentSums]:
    """Sum the moments that a plan begins with."""
    moments = yield Moments(plan.centre, diagonal=not plan.on_gram or plan.gram is not None)
    check_sums(plan.subject, moments)
    if plan.gram is None:
        return moments
    return (yield from check_gram(plan.subject, plan.gram, moments, plan.centre, plan.single))


class ColumnProducts:
    """Products of columns with all: row ``place[j]`` of ``rows`` holds those of column j, where it is not -1."""

    def __init__(self, rows: Array, place: Array, store: Any = None, subject: str = "") -> None:
        self.rows, self.place, self.store, self.subject = rows, place, store, subject

    @classmethod
    def of_scatter(cls, scatter: Array) -> "ColumnProducts":
        """Return the products of all columns."""
        return cls(np.ascontiguousarray(scatter), np.arange(len(scatter), dtype=np.intp))

    @classmethod
    def of_store(cls, store: Any, n_features: int, subject: str) -> "ColumnProducts":
        """Return products that are computed when they are asked for."""
        return cls(np.empty((0, n_features)), np.full(n_features, -1, dtype=np.intp), store, subject)

    def list_fetched(self) -> Array:
        """Return the columns whose products were computed, in the order in which they were."""
        if self.store is None:
            return np.empty(0, dtype=np.intp)
        fetched = np.flatnonzero(self.place >= 0)
        return fetched[np.argsort(self.place[fetched])]

    def fetch_again(self, columns: Array) -> Generator[Any, Any, None]:
        """Compute the products of columns that a resumed run had, unless they are there."""
        for column in columns:
            if self.place[column] < 0:
                yield from self.fetch(int(column))

    def fetch(self, column: int) -> Generator[Any, Any, None]:
        """Compute the products of a column with all others, in one pass over the rows."""
        count, store = self.store.size, self.store
        yield from store.take(np.array([column], dtype=np.intp))
        if count == len(self.rows):
            # Doubling keeps the copies of all extensions together linear in the final size.
            size = max(64, 2 * count)
            n_bytes = 8 * size * len(self.place) + store.bytes_for(size)
            require_memory(self.subject, n_bytes, f"products of {size} columns", "allow fewer coefficients")
            wider = np.empty((size, len(self.place)))
            wider[:count] = self.rows
            self.rows = wider
        unit = np.zeros(count + 1)
        unit[count] = 1.0
        self.rows[count] = yield from store.all_products(store.combine(unit))
        self.place[column] = count


def open_products(plan: ProductPlan, moments: MomentSums, weight: Any = None) -> Generator[Any, Any, ColumnProducts]:
    """Open the products of the columns that some moments belong to."""
    if plan.on_gram:
        return ColumnProducts.of_scatter(moments.scatter)
    if weight is None:
        _, weight = yield Targets()
    [store] = yield OpenColumns([moments.mean], [weight])
    return ColumnProducts.of_store(store, len(moments.mean), plan.subject)
