"""Rows that are gone: of all that were seen, only one sum is left, and a solver that asks for no other can use it."""

from collections.abc import Callable
from typing import Any, NoReturn

from mercer._source.block import Block
from mercer._source.source import Source
from mercer._types import Array
from mercer.errors import DataError


class SummedSource(Source):
    """Answers one statistic with a sum that is known already; there are no rows to answer anything else with.

    Parameters
    ----------
    statistic : Statistic
        The one that can be asked for.
    total : object
        Its sum over all rows.
    n_rows, n_features, dtype, target_shape
        Of the rows, when there were any.
    weight : float
        Their total weight.
    """

    place = "sums"
    random_access = False
    description = "the sums of the batches so far"
    n_rows = 0

    def __init__(
        self,
        statistic: Any,
        total: Any,
        *,
        n_rows: int,
        n_features: int,
        weight: float,
        dtype: Any,
        target_shape: tuple[int, ...] | None,
    ) -> None:
        self.statistic = statistic
        self.total = total
        self.n_rows = n_rows
        self.n_features = n_features
        self.summed_weight = weight
        self.dtype = dtype
        self.target_shape = target_shape
        self.block_rows = max(1, n_rows)

    def reduce(self, statistic: Any) -> Any:
        if type(statistic) is not type(self.statistic) or statistic != self.statistic:
            self._refuse(type(statistic).__name__)
        return self.total

    def total_weight(self) -> float:
        return self.summed_weight

    def fingerprint(self) -> dict[str, Any]:
        return {
            "shape": [self.n_rows, self.n_features],
            "dtype": str(self.dtype),
            "data": f"{self.description}, of weight {self.summed_weight!r}",
        }

    def block(self, number: int) -> Block:
        self._refuse(f"block {number}")

    def on_rows(self, start: int, stop: int, function: Callable[[Block], Any]) -> Any:
        self._refuse(f"rows {start} to {stop - 1}")

    def whole(self) -> Array:
        self._refuse("all rows")

    def _refuse(self, wanted: str) -> NoReturn:
        raise DataError(
            f"partial_fit keeps {type(self.statistic).__name__} of the rows it has seen, and not the rows; got a "
            f"request for {wanted}. Call fit with all rows."
        )
