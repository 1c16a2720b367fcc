"""The bookkeeping of ``partial_fit`` where the model is a function of sums: each call adds its rows to those kept."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NoReturn

import numpy as np

from mercer._plain import plain
from mercer._source.block import Block
from mercer._source.memory import require_memory
from mercer._source.source import Source
from mercer._statistic.labels import RowCounts, Rows
from mercer._statistic.moments import Moments, MomentSums
from mercer._statistic.statistic import Statistic, Sums
from mercer._types import Array
from mercer.errors import DataError


@plain
@dataclass(frozen=True)
class BatchSums(Sums):
    """Moments of rows (and targets), and how many rows there were."""

    moments: MomentSums
    counts: RowCounts

    def plainly(self) -> "BatchSums":
        """Return the sums with moments as plain arrays, also where native code left them packed."""
        parts = (getattr(self.moments, part.name) for part in fields(MomentSums))
        return BatchSums(MomentSums(*parts), self.counts)


@dataclass(frozen=True)
class Batch(Statistic):
    """Centred moments and counts in one pass, so that an iterator that can be read only once will do."""

    def of(self, block: Block) -> BatchSums:
        return BatchSums(Moments().of(block), Rows().of(block))

    def on(self, block: Block) -> BatchSums:
        return BatchSums(Moments().on(block), Rows().of(block))

    def on_run(self, block: Block, unit: int) -> BatchSums:
        return BatchSums(Moments().on_run(block, unit), Rows().of(block))


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


@plain
@dataclass(frozen=True)
class Seen:
    """What is kept of all batches: their sums, the type they would have joined, and the shape of one row's target."""

    sums: BatchSums
    dtype: str
    targets: list[int] | None


def forget_batches(estimator: Any) -> None:
    """Begin afresh, as ``fit`` does."""
    for name in ("_seen", "n_samples_seen_"):
        vars(estimator).pop(name, None)


def open_batch(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, *, centre: bool = True, **options: Any
) -> Source:
    """Add rows to those that `estimator` has seen, and open the sums of all as a source.

    Parameters
    ----------
    estimator : Estimator
        Its ``_seen`` and ``n_samples_seen_`` are brought up to date.
    X, y, sample_weight
        As the user gave them, in any place; one pass is made.
    centre : bool
        Whether the source answers ``Moments(True)`` or ``Moments(False)``. Centred sums are kept either way, so that
        parameters may change between calls.
    **options
        What :func:`mercer._base.opening.open_rows` takes.
    """
    seen = vars(estimator).get("_seen")
    if seen is None and "n_features_in_" in vars(estimator):
        _warn_of_beginning(estimator)
    source = estimator._open(X, y, sample_weight, reset=seen is None, **options)
    shape = None if source.target_shape is None else list(source.target_shape)
    if seen is not None and seen.targets != shape:
        raise DataError(
            f"{type(estimator).__name__}: y must have the shape it had in the first batch, {seen.targets} for a row; "
            f"got {shape}. Reshape it, or call fit to start afresh."
        )
    purpose = f"the sums of {source.n_features} x {source.n_features} products"
    # The sums so far, those of the batch, and their total, each of d^2 float64.
    require_memory(type(estimator).__name__, 24 * source.n_features**2, purpose, "select columns")
    sums, dtype = source.reduce(Batch()).plainly(), source.host_dtype
    if seen is not None:
        # The model has the widest type of all batches, whatever their order.
        sums, dtype = seen.sums + sums, np.promote_types(dtype, seen.dtype)
    estimator._seen = Seen(sums, dtype.name, shape)
    return _sum_batch(estimator, centre)


def _warn_of_beginning(estimator: Any) -> None:
    name = type(estimator).__name__
    warnings.warn(
        f"{name}: partial_fit adds to sums that fit does not keep, so the rows given to fit are forgotten and these "
        f"are the first; give all rows to partial_fit, or begin with a new {name}.",
        UserWarning,
        stacklevel=6,
    )


def _sum_batch(estimator: Any, centre: bool) -> Source:
    seen = estimator._seen
    moments, counts = seen.sums.moments, seen.sums.counts
    weight = moments.weight
    estimator.n_samples_seen_ = int(weight) if weight == int(weight) else weight
    return SummedSource(
        Moments(centre),
        moments if centre else moments.about_zero(),
        # The number of rows counted by weight, but at least the rows of positive weight: fractions may sum to less.
        n_rows=max(int(weight), counts.n_positive),
        n_features=len(moments.mean),
        weight=weight,
        dtype=np.dtype(seen.dtype),
        target_shape=None if seen.targets is None else tuple(seen.targets),
    )
