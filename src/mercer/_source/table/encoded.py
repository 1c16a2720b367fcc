"""Tables outside of memory whose rows become numbers as they are read: what a transformer of tables returns for them.

Each pass over the rows reads the table again and encodes it block by block, so that a pipeline holds a few blocks,
whatever the length of the table.
"""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse

from mercer._source.file.block_stream import BlockStream
from mercer._source.file.opening import kind_of, open_file
from mercer._source.file.row_values import open_row_values
from mercer._source.opening import is_query, open_place
from mercer._source.source import Source
from mercer._source.table.cursor import is_database
from mercer._source.table.source import find_description, open_batches, open_table, open_table_path
from mercer._types import Array
from mercer.errors import DataError

# Names a row of a block, by its index there; None where rows have no place to tell.
Locate = Callable[[int], str] | None


class Encoding(Protocol):
    """A function from a frame or an array of some rows to a matrix of numbers, dense or CSR.

    It is also given a function that names a row of the block, and the number of its first row.
    """

    columns: list[str] | None  # of tables, the columns that it needs
    kinds: dict[str, str]  # the kinds as which columns of text files are read
    names: list[str]  # of the columns of the matrix

    def __call__(self, rows: Any, locate: Locate, start: int) -> Any: ...

    def nothing(self, schema: Any) -> Array:
        """Return a matrix of no rows, of the type that a table of an Arrow schema gives."""
        ...


class EncodedTable:
    """A table that is encoded as it is read.

    Iterate over it for matrices of some rows each, or give it to an estimator: ``y`` may then name a column of the
    table. ``numpy.asarray`` reads it whole.

    Parameters
    ----------
    X : path, object of pyarrow, or blocks of rows
    encode : Encoding
    subject : str
        Who encodes, for errors.
    """

    def __init__(self, X: Any, encode: Encoding, place: str, subject: str) -> None:
        self.X = X
        self.encode = encode
        self.place = place
        self.subject = subject

    def __repr__(self) -> str:
        return f"EncodedTable({self.X!r}, {len(self.encode.names)} columns)"

    def open(self, y: Any, weight: Any, *, columns: Any = None, **options: Any) -> Source:
        """Open the rows as a source, with targets and weights from the same table or beside it."""
        if isinstance(self.X, EncodedTable):
            chain = _Chain(self.X.encode, self.encode)
            return EncodedTable(self.X.X, chain, self.place, self.subject).open(y, weight, **options)
        if isinstance(self.X, RowSubset):
            rows = self.X
            return BlockStream(_Encoded(lambda: rows.begin(y, weight), self.encode), **options)
        if isinstance(self.X, TableView):
            # The encoding knows its columns by name.
            return EncodedTable(self.X.X, self.encode, self.place, self.subject).open(y, weight, **options)
        if is_table(self.X):
            if isinstance(self.X, str | os.PathLike):
                return open_table_path(Path(self.X), y, weight, encode=self.encode, **options)
            return open_table(self.X, y, weight, encode=self.encode, **options)
        if self.place == "file" or (hasattr(self.X, "encode") and not isinstance(self.X, str)):
            # Arrays in files, and what a transformer of numbers gives.
            blocks: Any = _Encoded(
                lambda: _read_source(open_place(self.place, self.X, y, weight, **options)), self.encode, None, None
            )
        else:
            blocks = _Encoded(_restart(self.X), self.encode, _name(y, "y"), _name(weight, "sample_weight"))
            # A generator can be read once: BlockStream knows it by being its own iterator.
            blocks = iter(blocks) if isinstance(self.X, Iterator) else blocks
        source = BlockStream(blocks, **options)
        # As of encoded rows in memory, the reader sees no names, and expects none of new rows.
        source.feature_names = None
        return source

    def read(self, blocks: Iterable[tuple[Any, str]]) -> Iterator[tuple[Any, str]]:
        """Yield blocks as they are encoded, and where they are."""
        start = 0
        for rows, where in blocks:
            yield self.encode(rows, partial(_name_row, where), start), where
            start += rows.shape[0]

    def __iter__(self) -> Iterator[Array]:
        source = self.open(None, None, subject=self.subject, targets=None, threads=1)
        source.keep_missing()
        return (block.X for block in source.blocks())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        source = self.open(None, None, subject=self.subject, targets=None, threads=1)
        source.keep_missing()
        rows = source.whole()
        rows = rows.toarray() if issparse(rows) else rows
        return rows if dtype is None else rows.astype(dtype)


def is_table(X: Any) -> bool:
    """Return whether rows are a table of named columns: a file, a folder, a query or an object of pyarrow."""
    if is_query(X):
        return True
    if isinstance(X, str | os.PathLike):
        path = Path(X)
        return is_database(path) or path.is_dir() or not path.exists() or kind_of(path, "mercer") not in ("npy", "npz")
    return type(X).__module__.split(".")[0] == "pyarrow"


class _Chain:
    """Two encodings, the second of what the first one gives."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second
        self.columns, self.kinds = first.columns, first.kinds
        self.names = second.names

    def __call__(self, rows: Any, locate: Locate, start: int) -> Any:
        return self.second(self.first(rows, locate, start), locate, start)

    def nothing(self, schema: Any) -> Array:
        """Return a matrix of no rows."""
        return self.second.nothing(schema)


class TableView:
    """Some columns of rows outside of memory, for a transformer or an estimator that takes no others.

    Parameters
    ----------
    X : path, object of pyarrow, or blocks of frames
    columns : list of str
    place : {"file", "stream"}
    """

    # Estimators know by this name that the rows are elsewhere.
    encode = None

    def __init__(self, X: Any, columns: list[str], place: str) -> None:
        self.X = X
        self.columns = columns
        self.place = place

    def __repr__(self) -> str:
        return f"TableView({self.X!r}, {len(self.columns)} columns)"

    def select(self, rows: Any) -> Any:
        """Return the columns of a frame."""
        return take_columns(rows, self.columns)

    def read(self, blocks: Iterable[tuple[Any, str]]) -> Iterator[tuple[Any, str]]:
        """Yield the columns of blocks, and where they are."""
        return ((self.select(rows), where) for rows, where in blocks)

    def open(self, y: Any, weight: Any, *, columns: Any = None, **options: Any) -> Source:
        """Open the columns as a source of numbers, with targets and weights from the same table or beside it."""
        wanted = self.columns if columns is None else columns
        if isinstance(self.X, RowSubset):
            return self.X.open(y, weight, columns=wanted, **options)
        if is_table(self.X):
            return open_place(self.place, self.X, y, weight, columns=wanted, **options)
        blocks: Any = _Encoded(
            _restart(self.X), lambda rows, locate, start: self.select(rows), _name(y, "y"), _name(weight, "weight")
        )
        return BlockStream(iter(blocks) if isinstance(self.X, Iterator) else blocks, **options)


class RowSubset(TableView):
    """Some rows of a table outside of memory, in its order: what a split of a search trains on, or is tested on.

    It is indexed as a frame is, by ``iloc`` and ``take``, by sorted indices. Targets and weights stand beside it, one
    for each of its rows.

    Parameters
    ----------
    X : path, object of pyarrow, or blocks of frames or arrays
    columns : list of str or None
        None for rows without names.
    place : {"file", "stream"}
    rows : ndarray of int
        Sorted.
    """

    def __init__(self, X: Any, columns: list[str] | None, place: str, rows: Array, width: int) -> None:
        super().__init__(X, columns, place)  # type: ignore[arg-type]
        self.rows, self.shape = rows, (len(rows), width)

    def __repr__(self) -> str:
        return f"RowSubset({self.X!r}, {len(self.rows)} rows)"

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def iloc(self) -> "RowSubset":
        """The rows, to be taken by index."""
        return self

    def __getitem__(self, indices: Any) -> "RowSubset":
        rows = self.rows[indices]
        if len(rows) > 1 and (np.diff(rows) <= 0).any():
            # Targets beside the rows would be those of others.
            raise DataError(
                "rows of a table outside of memory are read in its order; give sorted rows without repeats."
            )
        return RowSubset(self.X, self.columns, self.place, rows, self.shape[1])

    def take(self, indices: Any, axis: int = 0) -> "RowSubset":
        """Return some rows."""
        return self[indices]

    def read(self, blocks: Iterable[tuple[Any, str]]) -> Iterator[tuple[Any, str]]:
        """Yield the rows of blocks of the whole table that are among these, and where they are."""
        start = 0
        for rows, where in blocks:
            stop = start + len(rows)
            first, last = np.searchsorted(self.rows, (start, stop))
            if last - first == len(rows):
                yield self.select(rows), where
            elif last > first:
                yield _take_rows(self.select(rows), self.rows[first:last] - start), where
            start = stop

    def begin(self, y: Any, weight: Any = None) -> Iterator[tuple[tuple[Any, ...], str]]:
        """Begin a pass: yield rows with their targets and weights, and where they are."""
        start = 0
        for rows, where in self.read(TableBlocks(self.X, [], "mercer", 1, {})):
            stop = start + len(rows)
            yield (rows, *(None if one is None else np.asarray(one)[start:stop] for one in (y, weight))), where
            start = stop

    def open(self, y: Any, weight: Any, *, columns: Any = None, **options: Any) -> Source:
        """Open the rows as a source of numbers, with the targets and weights beside them."""
        wanted = self.columns if columns is None else list(columns)

        def encode(rows: Any, locate: Locate, start: int) -> Any:
            return _to_numbers(take_columns(rows, wanted))

        return BlockStream(_Encoded(lambda: self.begin(y, weight), encode), **options)


def _take_rows(rows: Any, indices: Array) -> Any:
    """Return some rows of an array or a frame."""
    if isinstance(rows, np.ndarray):
        return rows[indices]
    import narwhals

    return narwhals.from_native(rows, eager_only=True)[indices.tolist()].to_native()


def _to_numbers(rows: Any) -> Any:
    """Return an array as it is, and a frame with its columns as one."""
    if isinstance(rows, np.ndarray):
        return rows
    import narwhals

    return narwhals.from_native(rows, eager_only=True).to_pandas()


def can_be_split(X: Any) -> bool:
    """Return whether splits of rows outside of memory can be read: of tables, dense arrays in files, and blocks."""
    if hasattr(X, "encode") and not isinstance(X, str):
        return False
    is_file = isinstance(X, str | os.PathLike) and not is_table(X)
    return not (is_file and kind_of(Path(X), "mercer") == "npz")


def _has_targets(X: Any, subject: str) -> bool:
    """Return whether the blocks of a stream are rows with their targets."""
    if is_table(X) or isinstance(X, str | os.PathLike) or hasattr(X, "encode") or isinstance(X, Iterator):
        return False
    first = next(iter(X() if callable(X) else X), None)
    if isinstance(first, tuple) and len(first) > 2:
        raise DataError(
            f"{subject}: blocks must be rows, or rows and targets; got {len(first)} parts. Leave out weights."
        )
    return isinstance(first, tuple) and len(first) == 2


def open_subset(X: Any, y: Any, groups: Any, place: str, subject: str) -> tuple[RowSubset, Array, Any]:
    """Return all rows of a table outside of memory, their targets and groups, both read in one pass.

    `y` and `groups` may name columns, which are then no features.
    """
    if isinstance(X, Iterator) or hasattr(X, "read_next_batch"):
        raise refuse_second_pass(subject, find_description(X))
    named = [one for one in (y, groups) if isinstance(one, str) and not one.endswith(".npy")]
    targets, members, n = [], [], 0
    blocks: Iterator[Any]
    if y is None and not _has_targets(X, subject):
        blocks = ((rows, None, where) for rows, where in TableBlocks(X, [], subject, 1, {}))
    else:
        blocks = read_with_targets(X, y, subject, 1)
    for rows, values, where in blocks:
        n += len(rows)
        if values is not None:
            targets.append(values)
        if isinstance(groups, str):
            members.append(_take(rows, groups, where))
    table = TableBlocks(X, named, subject, 1, {})
    width = len(table.names) if table.names is not None else table.first.shape[1]
    found = RowSubset(X, table.names, place, np.arange(n), width)
    return (
        found,
        np.concatenate(targets) if targets else None,
        np.concatenate(members) if isinstance(groups, str) else groups,
    )


class TableBlocks:
    """The rows of a table outside of memory in frames or arrays, to learn from.

    Attributes
    ----------
    names : list of str or None
        Of the columns, without those of targets; None for arrays.
    kinds : dict of str to str
        How texts of columns are written: ``"number 1,234.5"``, ``"date %d.%m.%Y"``.
    first : frame or array
        Some rows.
    """

    def __init__(self, X: Any, targets: list[str], subject: str, threads: int, kinds: dict[str, str]) -> None:
        self.kinds: dict[str, str] = {}
        self.names: list[str] | None = None
        rows: Iterator[tuple[Any, str]]
        if isinstance(X, TableView | EncodedTable):
            # What another transformer gives, block by block, or some columns of a table.
            inner = TableBlocks(X.X, targets, subject, threads, kinds)
            self.kinds = inner.kinds
            rows = X.read(inner)
        elif is_table(X):
            table = open_batches(X, subject, kinds)
            self.kinds = table.kinds
            self.names = [name for name in table.schema.names if name not in targets]
            rows = _read_table(table, self.names, threads > 1)
        elif isinstance(X, str | os.PathLike) or hasattr(X, "encode"):
            place = "file" if isinstance(X, str | os.PathLike) else X.place
            source = open_place(place, X, None, None, **_plain(subject, threads))
            _refuse_sparse(source, subject)
            rows = ((block[0], where) for block, where in _read_source(source))
        else:
            rows = ((_without(parts[0], targets), where) for parts, where in _restart(X)())
        first = next(rows, None)
        if first is None:
            raise DataError(f"{subject}: {find_description(X)} has no rows; got 0 sample(s), at least 1 is required.")
        self.first = first[0]
        self._rows = itertools.chain([first], rows)
        if self.names is None:
            names = getattr(self.first, "column_names", getattr(self.first, "columns", None))
            self.names = None if names is None else [str(name) for name in names]

    def __iter__(self) -> Iterator[tuple[Any, str]]:
        return self._rows


def _name_row(where: str, row: int) -> str:
    """Return the name of a row of a block."""
    return f"row {row} of {where}"


def _refuse_sparse(source: Source, subject: str) -> None:
    """Raise if rows in a file are sparse."""
    if source.is_sparse:
        raise DataError(f"{subject}: Sparse data was passed, but dense data is required; load and densify it.")


def refuse_second_pass(subject: str, description: str) -> Exception:
    """Return the error that rows cannot be read again."""
    return DataError(
        f"{subject}: {description} can be read only once and a further pass is needed; give a list of blocks, or a "
        f"function without arguments that returns a fresh iterator."
    )


def _plain(subject: str, threads: int) -> dict[str, Any]:
    """Return the options of a source of rows without targets."""
    return {"subject": subject, "targets": None, "threads": threads}


def read_with_targets(X: Any, y: Any, subject: str, threads: int) -> Iterator[tuple[Any, Array, str]]:
    """Begin a pass over rows outside of memory: yield frames or arrays without their targets, targets, and the place.

    `y` names a column, or is an array beside a file; blocks of a stream may be tuples of rows and targets.
    """
    named = [y] if isinstance(y, str) and not y.endswith(".npy") else []
    if isinstance(X, RowSubset):
        for (rows, values, _), where in X.begin(y):
            yield rows, values, where
        return
    if isinstance(X, TableView | EncodedTable):
        inner, sides = itertools.tee(read_with_targets(X.X, y, subject, threads))
        rows = X.read((rows, where) for rows, _, where in inner)
        yield from ((one, y, where) for (one, where), (_, y, _) in zip(rows, sides, strict=True))
        return
    blocks: Iterator[tuple[tuple[Any, ...], str]]
    if is_table(X):
        table = open_batches(X, subject, {})
        if not table.restartable:
            raise refuse_second_pass(subject, find_description(X))
        if named and y not in table.schema.names:
            raise DataError(
                f"{subject}: the table has no column {y!r}; its columns are {', '.join(table.schema.names)}."
            )
        blocks = (((rows,), where) for rows, where in _read_table(table, table.schema.names, threads > 1))
    elif isinstance(X, str | os.PathLike):
        source = open_file(X, None, None, subject=subject, targets=None, threads=threads)
        _refuse_sparse(source, subject)
        blocks = _read_source(source)
    elif isinstance(X, Iterator):
        raise refuse_second_pass(subject, find_description(X))
    else:
        blocks = _restart(X)()
    given = None if named or y is None else open_row_values(y, "y", subject)
    start = 0
    for (rows, *beside), where in blocks:
        stop = start + len(rows)
        if named:
            values, rows = _take(rows, y, where), _without(rows, named)
        elif given is not None:
            values = given.read(start, stop)
        else:
            values = beside[0] if beside else None
        if values is None or len(values) != len(rows):
            got = "none" if values is None else str(len(values))
            raise DataError(f"{subject}: requires y to be passed, one target for each row; got {got} for {where}.")
        yield rows, np.asarray(values), where
        start = stop


def _read_table(table: Any, names: list[str], threads: bool) -> Iterator[tuple[Any, str]]:
    """Yield frames of Arrow with some rows, and where they are."""
    import pyarrow

    start = 0
    for file, batch in table.batches(names, threads):
        if batch.num_rows:
            yield pyarrow.Table.from_batches([batch]), f"{file or 'the table'}, rows {start} on"
        start += batch.num_rows


def _read_source(source: Source) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield rows, targets and weights of a source of numbers, and where they are."""
    source.keep_missing()
    for block in source.blocks():
        yield (block.dense(), block.y, block.weight), source.locate(block.start)


def _restart(blocks: Any) -> Callable[[], Iterator[tuple[tuple[Any, ...], str]]]:
    """Return a function that begins a pass over the user's blocks: tuples of rows and what stands beside them."""

    def begin() -> Iterator[tuple[tuple[Any, ...], str]]:
        for number, block in enumerate(blocks() if callable(blocks) else blocks):
            yield block if isinstance(block, tuple) else (block,), f"block {number}"

    return begin


class _Encoded:
    """Blocks of encoded rows, with their targets and weights; each iteration is a new pass."""

    def __init__(self, begin: Any, encode: Any, y: str | None = None, weight: str | None = None) -> None:
        self.begin, self.encode, self.y, self.weight = begin, encode, y, weight

    def __iter__(self) -> Iterator[Any]:
        start = 0
        for (rows, *beside), where in self.begin():
            y, weight = (*beside, None, None)[:2]
            y = y if self.y is None else _take(rows, self.y, where)
            weight = weight if self.weight is None else _take(rows, self.weight, where)
            encoded = self.encode(rows, partial(_name_row, where), start)
            start += encoded.shape[0]
            yield (
                (encoded,) if y is None and weight is None else (encoded, y) if weight is None else (encoded, y, weight)
            )


def _name(given: Any, what: str) -> str | None:
    """Return the column that targets or weights are in; blocks have nothing beside them."""
    if given is None or isinstance(given, str):
        return given
    raise DataError(f"{what} must come with the blocks, or name a column of them; got it beside them.")


def take_columns(rows: Any, columns: list[str] | None) -> Any:
    """Return some columns of a frame; arrays as they are."""
    if columns is None or not hasattr(rows, "columns"):
        return rows
    return rows.select(columns) if hasattr(rows, "select") else rows[columns]


def _take(frame: Any, name: str, where: str) -> Array:
    """Return a column of a frame as an array."""
    import narwhals

    frame = narwhals.from_native(frame, eager_only=True)
    if name not in frame.columns:
        raise DataError(f"{where} has no column {name!r}; its columns are {', '.join(frame.columns)}.")
    values = frame[name].to_numpy()
    return values.astype(str) if values.dtype == object and isinstance(values[0], str) else np.asarray(values)


def _without(frame: Any, names: list[str]) -> Any:
    """Return a frame without the columns `names`; arrays as they are."""
    if not names or not hasattr(frame, "columns"):
        return frame
    import narwhals

    frame = narwhals.from_native(frame, eager_only=True)
    return frame.drop([name for name in names if name in frame.columns]).to_native()
