"""The values of each column in any place, and their quantiles."""

import warnings
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np

from mercer._base.blockwise.transformer import refuse_infinite
from mercer._base.randomness import draw_seed
from mercer._solver import Dense
from mercer._source import Source
from mercer._source.block import SparseBlock
from mercer._source.threads import run_numbered
from mercer._statistic.column_values import MOST, ColumnValues, NumberSummary
from mercer._statistic.row_sample import RowSample
from mercer._types import Array

Receive = Callable[[int, NumberSummary], None]
# Values that take longer to sort than 50 ms: their columns are sorted on threads of their own, so that Ctrl-C is heard.
_HEAVY = 2**20


def summarise_columns(estimator: Any, source: Source, receive: Receive, **options: Any) -> Generator[Any, Any, None]:
    """Call ``receive(index, summary)`` with the values of each column, as a solver; `options` are of `ColumnValues`.

    Values are exact in memory, and elsewhere as long as at most `MOST` of them differ in a column; a warning states the
    error of others.
    """
    if source.place == "memory" and not source.is_sparse:
        rows = source.whole()
        each = partial(_each_column, estimator, rows, receive, source.threads, options.get("mark", np.nan))
        yield Dense(each, heavy=rows.size > _HEAVY)
        return
    sums = yield ColumnValues(**options)
    _receive_all(estimator, sums.summaries, receive)


def find_quantiles(
    estimator: Any,
    source: Source,
    shares: Array | Callable[[int], Array],
    *,
    subsample: int | None = None,
    stored_only: bool = False,
) -> Generator[Any, Any, Array]:
    """Find the values below which `shares` of the known values of each column lie, as a solver.

    Parameters
    ----------
    estimator : Estimator
        Who asks; its ``random_state`` draws the sample.
    source : Source
    shares : ndarray or callable
        Shares from 0 to 1, or a function from the number of rows to them.
    subsample : int or None
        Of more rows than this a random sample of as many is taken.
    stored_only : bool
        Whether the zeros that sparse rows do not store are left out.

    Returns
    -------
    ndarray of shape (n_shares, n_features)
        NaN for a column without known values. See :func:`summarise_columns` for their error.
    """
    found: dict[int, Any] = {}
    drawn: Any = None
    if subsample is not None and (source.known_rows is None or source.known_rows > subsample):
        drawn = yield RowSample.of_source(subsample, draw_seed(estimator.random_state), source.known_rows)
    # A stream may know its number of rows only after the pass that sums them.
    n_rows = source.known_rows if drawn is None else drawn.n_rows
    early = None if n_rows is None else _choose(shares, n_rows)

    def write(index: int, summary: NumberSummary) -> None:
        found[index] = summary if early is None else summary.quantiles(early)

    if drawn is None:
        yield from summarise_columns(estimator, source, write, stored_only=stored_only)
    elif source.is_sparse:
        _receive_all(estimator, ColumnValues(stored_only).of(SparseBlock(drawn.rows, 0)).summaries, write)
    else:
        yield Dense(partial(_each_column, estimator, drawn.rows, write, source.threads))
    columns = [found[index] for index in range(source.n_features)]
    if early is None:
        late = _choose(shares, source.n_rows)
        columns = [summary.quantiles(late) for summary in columns]
    return np.stack(columns, axis=1)


def _choose(shares: Array | Callable[[int], Array], n_rows: int) -> Array:
    """Return the shares for `n_rows` rows."""
    return shares(n_rows) if callable(shares) else shares


def _each_column(estimator: Any, rows: Array, receive: Receive, threads: int, mark: float = np.nan) -> None:
    """Call ``receive(index, summary)`` for each column of a dense matrix, on all threads."""

    def summarise(index: int) -> None:
        values = np.ascontiguousarray(rows[:, index])
        summary = NumberSummary()
        summary.add(values if np.isnan(mark) else np.where(values == mark, np.nan, values))
        _receive(estimator, index, summary, receive)

    # Columns of a small table are done before a second thread begins.
    run_numbered(summarise, rows.shape[1], threads if rows.size > _HEAVY // 16 else 1, lambda done: None)


def _receive_all(estimator: Any, summaries: list[NumberSummary], receive: Receive) -> None:
    """Pass on the values of all columns, and warn if some had to be rounded."""
    for index, summary in enumerate(summaries):
        _receive(estimator, index, summary, receive)
    worst = max(summary.error for summary in summaries)
    if worst:
        warnings.warn(
            f"{type(estimator).__name__}: some columns have more than {MOST} different values, so that their quantiles "
            f"are exact to {worst:.1e} of their value.",
            UserWarning,
            stacklevel=2,
        )


def _receive(estimator: Any, index: int, summary: NumberSummary, receive: Receive) -> None:
    """Pass on the values of a column, which must be finite."""
    if summary.n_known and np.isinf(summary.range()).any():
        refuse_infinite(estimator)
    receive(index, summary)
