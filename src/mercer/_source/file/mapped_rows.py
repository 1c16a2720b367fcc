"""Rows outside of memory that are transformed as they are read: what a transformer returns for them.

Each pass reads the rows again and transforms them block by block, so that a pipeline holds a few blocks, whatever the
length of the file.
"""

from collections.abc import Callable, Iterator
from typing import Any

from scipy.sparse import issparse

from mercer._source.block import Block, check_block
from mercer._source.file.block_stream import BlockStream
from mercer._source.opening import open_place
from mercer._source.source import Source
from mercer._types import Array


class MappedRows:
    """Rows that are transformed as they are read.

    Iterate over it for arrays of some rows each, or give it to an estimator: ``y`` may then name a column of the table
    that is read. ``numpy.asarray`` reads it whole.

    Parameters
    ----------
    X : path, object of pyarrow, blocks of rows, or rows that another transformer transforms
    place : {"file", "stream"}
        Where they are.
    encode : callable
        From a block of rows to an array of as many rows.
    columns : list of str or None
        Of a table, the columns that are transformed.
    check : callable
        Is given the source of the rows, and raises if its columns are not those of the fit.
    finite : bool
        Whether the rows must be finite.
    dtype : type or None
        Of the arrays, where it is not that of the rows; an estimator gets floats.
    subject : str
        Who transforms, for errors.
    """

    def __init__(
        self,
        X: Any,
        place: str,
        encode: Callable[[Block], Array],
        *,
        columns: list[str] | None,
        check: Callable[[Source], None],
        finite: bool,
        dtype: Any,
        subject: str,
    ) -> None:
        self.X = X
        self.place = place
        self.encode = encode
        self.columns = columns
        self.check = check
        self.finite = finite
        self.dtype = dtype
        self.subject = subject

    def __repr__(self) -> str:
        return f"MappedRows({self.X!r}, by {self.subject})"

    def open(self, y: Any, weight: Any, *, columns: Any = None, **options: Any) -> Source:
        """Open the rows as a source, with targets and weights from the same place."""
        rows = open_place(self.place, self.X, y, weight, columns=self.columns, **options)
        self.check(rows)
        rows.keep_missing()
        passes: Any = _Passes(rows, self.encode, self.finite)
        # Rows that can be read once only are an iterator, which is how a stream knows them.
        source = BlockStream(passes if getattr(rows, "restartable", True) else iter(passes), **options)
        source.description = rows.description
        # As an array that a transformer returns has no names of columns, so that models of both can be exchanged.
        return source

    def __iter__(self) -> Iterator[Array]:
        return (self._convert(block.X) for block in self._open_alone().blocks())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        rows = self._open_alone().whole()
        rows = self._convert(rows.toarray() if issparse(rows) else rows)
        return rows if dtype is None else rows.astype(dtype)

    def _convert(self, rows: Any) -> Any:
        return rows if self.dtype is None else rows.astype(self.dtype)

    def _open_alone(self) -> Source:
        source = self.open(None, None, subject=self.subject, targets=None, threads=1)
        source.keep_missing()
        return source


class _Passes:
    """Blocks of transformed rows, with their targets and weights; each iteration is a new pass."""

    def __init__(self, rows: Source, encode: Callable[[Block], Array], finite: bool) -> None:
        self.rows, self.encode, self.finite = rows, encode, finite

    def __iter__(self) -> Iterator[Any]:
        for block in self.rows.blocks():
            if self.finite:
                check_block(block, self.rows)
            values = self.encode(block)
            beside = () if block.y is None and block.weight is None else (block.y,)
            yield (values, *beside) if block.weight is None else (values, *beside, block.weight)
