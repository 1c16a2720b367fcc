"""The base of encoders of categories: the values of columns are counted in any place, and looked up block by block."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting
from mercer._base.blockwise import BlockTransformer
from mercer._base.blockwise.frames import encode_elsewhere
from mercer._base.parameter import Choice, Instance, parameter
from mercer._solver import Dense, Solver
from mercer._source import open_source, place_of
from mercer._source.table.distinct import (
    Distinct,
    find_all_distinct,
    find_places,
    is_nan,
    list_columns,
    sort_values,
)
from mercer._source.table.encoded import Locate
from mercer._stored import Stored, labels, members
from mercer._types import Array
from mercer.errors import DataError
from mercer.preprocessing._categories.reading import learn_partitions, read_blocks, read_columns, refuse_unknown

_COUNTED = "Categories are counted; nothing is optimised."


@dataclass
class Levels:
    """The values of each column, how many rows have each, and the number of rows.

    ``columns`` are those of rows in memory, so that they need not be read again.
    """

    values: list[Array]
    counts: list[Array]
    n_rows: int
    columns: list[Distinct] | None = None


@dataclass
class LevelCounts:
    """Counts of the values of each column, added block by block."""

    tables: list[dict[Any, int]] = field(default_factory=list)
    types: list[set[np.dtype]] = field(default_factory=list)
    n_rows: int = 0

    def add(self, columns: list[Distinct]) -> None:
        """Add the values of a block of rows."""
        if not self.tables:
            self.tables = [{} for _ in columns]
            self.types = [set() for _ in columns]
        self.n_rows += len(columns[0].codes)
        for column, table, types in zip(columns, self.tables, self.types, strict=True):
            values, counts = column.list_values()
            types.add(values.dtype)
            for value, count in zip(values.tolist(), counts.tolist(), strict=True):
                # NaN is found by identity: all are the same object.
                key = np.nan if value is not None and type(value) is not str and is_nan(value) else value
                table[key] = table.get(key, 0) + count

    def __add__(self, other: "LevelCounts") -> "LevelCounts":
        """Return the counts of both."""
        if not self.tables or not other.tables:
            return other if other.tables else self
        joined = LevelCounts([dict(table) for table in self.tables], [set(one) for one in self.types], self.n_rows)
        joined.n_rows += other.n_rows
        for table, more in zip(joined.tables, other.tables, strict=True):
            for key, count in more.items():
                table[key] = table.get(key, 0) + count
        joined.types = [one | two for one, two in zip(self.types, other.types, strict=True)]
        return joined

    def levels(self) -> Levels:
        """Return the values with the type that all blocks share."""
        values = []
        for table, types in zip(self.tables, self.types, strict=True):
            kinds = {kind.kind for kind in types}
            plain = kinds <= set("iubf") or len(types) == 1
            column = np.empty(len(table), object)
            column[:] = list(table)
            values.append(column.astype(np.result_type(*types)) if plain else column)
        return Levels(values, [np.array(list(table.values()), np.int64) for table in self.tables], self.n_rows)


class CategoryEncoder(BlockTransformer):
    """An encoder whose subclass says what follows from the counts (`_describe`), and encodes columns (`_encode`)."""

    categories: Any = parameter(
        Choice("auto") | Instance(list),
        default="auto",
        doc="The categories of each column, in the order of the outputs; ``'auto'`` takes the sorted values of the "
        "training rows. Numbers must be sorted, with NaN last.",
    )

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _law_exceptions: ClassVar[dict[str, str]] = {
        "float32": "what stands for a category has the type that `dtype` names"
    }
    _takes_gaps = True
    _defined = _COUNTED
    _stored: ClassVar[dict[str, Stored]] = {"categories_": members(labels("*"), "columns")}

    def _describe(self, levels: Levels) -> dict[str, Any]:
        """Return the fitted attributes that follow from the sorted categories and their counts."""
        raise NotImplementedError  # each encoder defines its own

    def _encode(self, columns: list[Distinct], locate: Locate = None, start: int = 0) -> Any:
        """Return the encoded rows of some columns; `start` is the first row of a block of a table."""
        raise NotImplementedError  # each encoder defines its own

    def _accepts_unknown(self) -> bool:
        """Return whether the training rows may have values that are no categories."""
        return True

    @fitting
    def fit(self, X: Any, y: Any = None) -> "CategoryEncoder":
        """Learn the categories of each column."""
        self._learn_levels(X, y, keep=False)
        return self

    @fitting
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn the categories of each column, and encode the rows: in memory they are read once for both."""
        levels = self._learn_levels(X, y)
        return self.transform(X) if levels.columns is None else self._encode(levels.columns)

    def _learn_levels(self, X: Any, y: Any = None, keep: bool = True) -> Levels:
        """Count the values of each column, store what follows from them, and return them.

        With `keep` the code of each row is kept, where the rows are in memory.
        """
        held: list[Levels] = []
        count: Callable[[], Generator[Any, Any, Levels]]
        if (place := place_of(X)) == "memory":
            columns = read_columns(self, X, reset=True)
            count = partial(self._count_columns_once, columns, keep)
        elif place == "dask":
            count = partial(self._count_partitions, X, y)
        else:
            _, blocks = read_blocks(self, X, y, place)
            count = partial(self._count_blocks, blocks)

        def solve(start: Any) -> Solver:
            levels = yield from count()
            held.append(self._settle(levels))
            return (yield from self._end(held[0]))

        # The driver needs a source; what is counted here are columns of any type, which no source holds.
        self._run(solve, open_source(np.zeros((1, 1)), threads=self._threads()))
        return held[0]

    def _count_columns_once(self, columns: list[Any], keep: bool) -> Generator[Any, Any, Levels]:
        n_rows = len(columns[0])
        work = partial(find_all_distinct, columns, self._threads(), keep)
        found = yield Dense(work, heavy=len(columns) * n_rows > 2**18)
        pairs = [column.list_values() for column in found]
        return Levels([values for values, _ in pairs], [counts for _, counts in pairs], n_rows, found if keep else None)

    def _count_blocks(self, blocks: Iterable[tuple[Any, str]]) -> Generator[Any, Any, Levels]:
        sums = LevelCounts()
        for rows, _ in blocks:
            columns = read_columns(self, rows, reset=False)
            yield Dense(partial(self._count_block, sums, columns))
        return sums.levels()

    def _count_block(self, sums: LevelCounts, columns: list[Any]) -> None:
        """Add the values of a block of rows."""
        sums.add(find_all_distinct(columns, self._threads()))

    def _count_partitions(self, X: Any, y: Any) -> Generator[Any, Any, Levels]:
        from mercer._source.dask.frames import list_partitions, sum_partitions

        subject = type(self).__name__
        columns = learn_partitions(self, X, y)
        parts = list_partitions(X, subject)
        sums = yield Dense(lambda: sum_partitions(parts, partial(count_frame, columns), subject), heavy=True)
        return sums.levels()

    def _describe_output(self) -> tuple[Any, bool, dict[str, str]]:
        """Return the type of the result, whether it is sparse, and the kinds as which columns of texts are read."""
        dtype, sparse = getattr(self, "dtype", np.float64), getattr(self, "sparse_output", False)
        names = vars(self).get("feature_names_in_")
        kinds = {} if names is None else dict(zip(names, map(find_kind, self.categories_), strict=True))
        return dtype, sparse, kinds

    def _fitted(self, state: Levels) -> dict[str, Any]:
        return {"categories_": state.values} | self._describe(state)

    def _settle(self, levels: Levels) -> Levels:
        """Return the categories of each column in their order, with their counts."""
        if self.categories == "auto":
            orders = [sort_values(values) for values in levels.values]
            values = [values[order] for values, order in zip(levels.values, orders, strict=True)]
            counts = [counts[order] for counts, order in zip(levels.counts, orders, strict=True)]
            return Levels(values, counts, levels.n_rows, levels.columns)
        if len(self.categories) != len(levels.values):
            raise DataError(
                f"Shape mismatch: if categories is an array, it has to be of shape (n_features,). Got "
                f"{len(self.categories)} for {len(levels.values)} columns."
            )
        pairs = [self._match_given(index, levels) for index in range(len(levels.values))]
        return Levels([one for one, _ in pairs], [counts for _, counts in pairs], levels.n_rows, levels.columns)

    def _match_given(self, index: int, levels: Levels) -> tuple[Array, Array]:
        """Return the categories of a column as the user gave them, and their counts."""
        values = levels.values[index]
        given = check_given(index, self.categories[index], values)
        places = find_places(given, values)
        if not self._accepts_unknown() and (places < 0).any():
            raise refuse_unknown(values, np.arange(len(values)), np.flatnonzero(places < 0), index, None, "fit")
        counts = np.zeros(len(given), np.int64)
        np.add.at(counts, places[places >= 0], levels.counts[index][places >= 0])
        return given, counts

    def transform(self, X: Any) -> Any:
        """Encode rows.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_features_out)
            The encoded rows. Of rows in files and streams an object that an estimator takes in their stead, with the
            names of columns as targets and weights: it reads and encodes the rows block by block in each pass. Of Dask
            dataframes a Dask array.
        """
        check_is_fitted(self)
        if (place := place_of(X)) != "memory":
            return encode_elsewhere(self, X, place)
        return self._encode_frame(X)

    def _encode_frame(self, X: Any, locate: Locate = None, start: int = 0) -> Any:
        """Return the encoded rows of a frame or an array in memory; `locate` names a row of a block of a table."""
        columns = read_columns(self, X, reset=False)
        return self._encode(find_all_distinct(columns, self._threads()), locate, start)

    def _look_up(self, column: Distinct, index: int) -> tuple[Array, Array]:
        """Return for a missing value and each value of a column its category, -1 for none; and whether rows have it."""
        values = column.values
        gap = np.empty(1, object)
        gap[0] = column.gap
        known = find_places(self.categories_[index], gap) if column.counts[0] else np.full(1, -1)
        return np.concatenate([known, find_places(self.categories_[index], values)]), column.counts > 0

    def _refuse_rows(self, column: Distinct, places: Array, index: int, locate: Locate) -> Exception:
        """Return the error about values of new rows that are no categories."""
        gap = np.empty(1, object)
        gap[0] = column.gap
        values = np.concatenate([gap, column.values.astype(object)])
        wrong = np.flatnonzero((places < 0) & (column.counts > 0))
        return refuse_unknown(values, column.codes + 1, wrong, index, locate, "transform")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def count_frame(columns: list[str] | None, rows: Any) -> LevelCounts:
    """Count the values of each column of a partition."""
    sums = LevelCounts()
    if len(rows):
        sums.add(find_all_distinct(list_columns(rows if columns is None else rows[columns]), 1))
    return sums


def find_kind(categories: Array) -> str:
    """Return the kind as which a file of text is read for a column of some categories."""
    if categories.dtype.kind == "b" or (len(categories) and all(type(one) is bool for one in categories.tolist())):
        return "truth"
    return "numeral" if categories.dtype.kind in "iuf" else "category"


def check_given(index: int, given: Any, values: Array) -> Array:
    """Return the categories that a user gave for a column as an array; raise if they are not fit to be looked up."""
    kind = object if values.dtype.kind == "U" else values.dtype
    categories = np.array(given, dtype=kind)
    if categories.dtype == object and isinstance(categories[0], bytes) and values.dtype.kind != "S":
        raise DataError(
            f"In column {index}, the predefined categories have type 'bytes' which is incompatible with values of type "
            f"'{type(values[0]).__name__}'. Give categories of the type of the rows."
        )
    entries = categories.tolist()
    if any(one is not None and is_nan(one) for one in entries[:-1]):
        raise DataError(
            f"Nan should be the last element in user provided categories, see categories {categories} in column "
            f"#{index}"
        )
    if len(set(entries)) < len(entries):
        raise DataError(f"In column {index}, the predefined categories contain duplicate elements. Give each once.")
    if categories.dtype.kind in "iubf":
        known = categories[:-1] if np.isnan(categories[-1]) else categories
        if (np.sort(known) != known).any():
            raise DataError("Unsorted categories are not supported for numerical categories. Sort them.")
    return categories
