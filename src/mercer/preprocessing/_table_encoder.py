"""Encode a table of mixed columns as numbers: the first step of a model that takes whole tables."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting
from mercer._base.opening import check_place
from mercer._base.parameter import Boolean, Choice, Instance, Integer, Nothing, parameter
from mercer._base.scikit_learn import copy_without_callbacks
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._source import open_source, place_of
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._source.table.encoded import EncodedTable, TableBlocks
from mercer._source.table.numerals import FORMS
from mercer._source.threads import run_numbered
from mercer._stored import Stored, flags, integers, labels, members, part, texts
from mercer.errors import DataError
from mercer.preprocessing._basis import Basis
from mercer.preprocessing._coding import CategoryCoding, learn_coding, summarise
from mercer.preprocessing._columns import Columns, FloatColumns, open_columns
from mercer.preprocessing._schema import TableSchema, find_differences, list_stored_kinds, make_schema
from mercer.preprocessing._summaries import start_summary, warn_of_errors
from mercer.preprocessing._table_encoding import (
    SummarisePartition,
    TableEncoding,
    divide_columns,
    find_reading_kind,
    make_sparse,
    take_features,
    telling_place,
)

# Rows are sparse if they have at least this many columns and a smaller share of nonzero entries: they are then smaller
# and faster.
_SPARSE_SHARE = 0.1
_SPARSE_COLUMNS = 64
_DEFINED = "Categories, words and middle numbers are counted; nothing is optimised."
_KINDS = ("number", "category", "date", "text", "ignored")


class TableEncoder(Basis):
    r"""Turn a table of mixed columns into numbers.

    Each column gives output columns by its kind. A *number* stays a number, and a duration is one, in seconds. A
    *category* gets one indicator per category, :math:`x_k = 1` for category k and 0 for the others. A *date* gives the
    day, and its position in the year, the week and the day. A *text* gives one column for each of the most frequent
    words, of two letters or more; a list of words in a cell is taken as it is. Missing values are replaced by the
    median of the training rows, and marked in a column of their own. Categories that are rare or absent in the training
    rows share one column.

    Attributes
    ----------
    kinds_ : list of str
        The kind of each column.
    categories_ : list
        For each column the categories with a column of their own; None for other kinds.
    words_ : list
        For each column its vocabulary; None for other kinds.
    feature_columns_ : ndarray of int of shape (n_features_out,)
        The index of the column from which each output column comes.
    sparse_output_ : bool
        Whether the output is a CSR matrix.
    schema_ : TableSchema
        What the columns of the training rows held: kinds, ranges, categories and gaps. New rows are held to it: a
        column whose values have another type is an error, and new categories are told, with the file and the first row.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.

    Notes
    -----
    Frames of pandas, polars and Arrow, and arrays of numbers or of objects, in memory; text files, Parquet and Arrow
    files, folders of them, objects of pyarrow, blocks of frames or arrays, a few of them in memory at a time, and Dask
    dataframes, which are encoded where their partitions are:
    ``make_pipeline(TableEncoder(), LogisticRegression()).fit("cars.csv", "sold")`` reads a file of any length. Cost:
    each value is read once; a median takes linear time. Outside of memory, columns with more than 2\ :sup:`20`
    different values are counted with an error that a warning states. The indicators of a category, with those of rare
    and missing ones, sum to one. A whole number has the same name as integer and as float, so that a missing value
    elsewhere in the column, which turns integers into floats, does not change its category. Numbers are not scaled.

    Examples
    --------
    >>> import pandas
    >>> from mercer.preprocessing import TableEncoder
    >>> cars = pandas.DataFrame({"maker": ["Audi", "BMW", "VW", "Audi"], "age": [3.0, None, 7.0, 5.0]})
    >>> encoder = TableEncoder(min_frequency=1).fit(cars)
    >>> encoder.get_feature_names_out().tolist()
    ['maker=Audi', 'maker=BMW', 'maker=VW', 'age', 'age is missing']
    >>> encoder.transform(cars)[1]
    array([0., 1., 0., 5., 1.])
    """

    _stored: ClassVar[dict[str, Stored]] = {
        "kinds_": members(texts(), "columns"),
        "categories_": members(labels("* | none"), "columns"),
        "words_": members(texts("* | none"), "columns"),
        "feature_columns_": integers("*", low=0, below="columns"),
        "sparse_output_": flags(),
        "schema_": part("TableSchema"),
        "_codings": members(part("NumberCoding", "CategoryCoding", "DateCoding", "TextCoding", "none"), "columns"),
    }
    kinds: str | dict[str, str] = parameter(
        Choice("auto") | Instance(dict),
        default="auto",
        kw_only=False,
        doc='``"number"``, ``"category"``, ``"date"``, ``"text"`` or ``"ignored"`` for columns by name (of an '
        "array: by index). Other columns have the kind of their type: text is a category. Dates that are texts are "
        "read as ISO 8601 writes them, or by a format that stands with the kind, as ``datetime.strptime`` takes it: "
        '``"date %d/%m/%Y"``. Numbers that are texts may come with an example of how they are written: '
        '``"number 1,234.5"``; currencies, units and per cent signs are skipped.',
    )
    categories: str = parameter(
        Choice("indicator", "code"),
        default="indicator",
        doc="One column for each category, or one column with the index of the category, which trees can split.",
    )
    min_frequency: int = parameter(
        Integer(1),
        default=5,
        doc="Least number of rows of a category or a word with a column of its own; 2 in a column where none has as "
        "many, and 1 where there are fewer rows.",
    )
    max_categories: int = parameter(
        Integer(1),
        default=30,
        doc="Largest number of categories of a column with a column of their own; the most frequent ones get it.",
    )
    dates: bool = parameter(
        Boolean(), default=True, doc="Whether dates give the cycles of year, week and day, beside the number of days."
    )
    texts: int = parameter(Integer(0), default=100, doc="Largest number of words of a text column.")
    text_values: str = parameter(
        Choice("presence", "tfidf"),
        default="presence",
        doc="A word of a text gives 1, or how often it is in the text times the logarithm of how rare it is among "
        "the training texts, each text scaled to length 1 (TF-IDF, as in scikit-learn's ``TfidfVectorizer``).",
    )
    missing: str = parameter(
        Choice("indicator", "fill", "keep"),
        default="indicator",
        doc="Replace missing values and mark them in a column; only replace them; or keep NaN for missing numbers.",
    )
    sparse_output: str | bool = parameter(
        Choice("auto") | Boolean(),
        default="auto",
        doc='Whether the output is a CSR matrix; ``"auto"`` means if there are many columns and few nonzero entries.',
    )
    dtype: str | None = parameter(
        Choice("float32", "float64") | Nothing(),
        default=None,
        doc="Type of the output; None means float32 if all numeric columns have it, else float64.",
    )
    handle_unknown: str = parameter(
        Choice("warn", "ignore", "error"),
        default="warn",
        doc="What to do about a category that no training row had: name it, with its first row and file, in a warning "
        "or an error, or encode it as rare ones are without a word.",
    )

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _takes_gaps = True

    @fitting
    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Learn categories, words and medians of the training rows.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Rows.
        """
        blocks: Iterable[tuple[Columns, str]]
        X = divide_columns(X, y)
        place, named = place_of(X), y if isinstance(y, list) else [y]
        if place == "memory":
            columns = open_columns(self, X, reset=True)
            blocks, kinds = [(columns, "")], self._find_kinds(columns, {})
        elif place == "dask":
            from mercer._source.dask.frames import find_head

            partitions = take_features(X, named)
            columns = open_columns(self, find_head(partitions, None, "TableEncoder"), reset=True)
            kinds = self._find_kinds(columns, {})
            stored = list_stored_kinds(columns, kinds.values())
        else:
            check_place(self, place)
            given = {name: kind for name, kind in self._list_chosen().items() if isinstance(name, str)}
            table = TableBlocks(
                X, [name for name in named if isinstance(name, str)], "TableEncoder", self._threads(), given
            )
            columns = open_columns(self, table.first, reset=True)
            blocks, kinds = self._read_blocks(table), self._find_kinds(columns, table.kinds)
        # The driver needs a source: a column of row indices stands in for a frame, which is none.
        source = open_source(np.arange(columns.n_rows, dtype=np.float64)[:, None], threads=self._threads())
        if place == "dask":
            outcome = self._drive(lambda start: self._learn_partitions(partitions, kinds, stored), source)
        else:
            outcome = self._drive(lambda start: self._learn_codings(blocks, kinds), source)
        if outcome.interrupt is None:
            outcome.converged, outcome.reason, self.converged_ = True, "converged", True
        self._conclude(outcome)
        return self

    def _list_chosen(self) -> dict[Any, str]:
        """Return the kinds that the user chose."""
        return self.kinds if isinstance(self.kinds, dict) else {}

    def _read_blocks(self, table: TableBlocks) -> Iterator[tuple[Columns, str]]:
        """Yield the columns of each block of a table outside of memory, and its place."""
        for rows, where in table:
            with telling_place(where):
                columns = open_columns(self, rows, reset=False)
            yield columns, where

    def _find_kinds(self, columns: Columns, found: dict[str, str]) -> dict[str, str]:
        """Return the kind of each column: as given, as `found` in its texts, or by its type."""
        given = {self._find_name(columns, key): kind for key, kind in self._list_chosen().items()}
        for name, kind in given.items():
            known = isinstance(kind, str) and (
                kind in _KINDS or kind.startswith("date %") or kind.removeprefix("number ") in FORMS
            )
            if not known:
                raise DataError(f"TableEncoder: kinds[{name!r}] must be one of {', '.join(_KINDS)}; got {kind!r}.")
        kinds = found | given
        return {name: kinds.get(name) or columns.kind(index) for index, name in enumerate(columns.names)}

    def _find_name(self, columns: Columns, key: Any) -> str:
        """Return the name of the column that a key of `kinds` means."""
        if isinstance(key, int) and 0 <= key < len(columns.names):
            return columns.names[key]
        if key not in columns.names:
            known = ", ".join(columns.names[:8])
            raise DataError(
                f"TableEncoder: kinds must name columns of the table; got {key!r}, and the columns are {known}."
            )
        return str(key)

    def _learn_codings(self, blocks: Iterable[tuple[Columns, str]], kinds: dict[str, str]) -> Solver:
        """Summarise every column block by block, and learn its coding, as a solver."""
        stored: list[str] = []
        summaries, n_rows = [start_summary(kind) for kind in kinds.values()], 0
        for columns, where in blocks:
            stored = stored or list_stored_kinds(columns, kinds.values())
            n_rows += columns.n_rows
            yield Dense(partial(self._summarise, summaries, columns, where, list(kinds.values())))
        return (yield from self._learn_schema(kinds, summaries, stored, n_rows))

    def _learn_partitions(self, X: Any, kinds: dict[str, str], stored: list[str]) -> Solver:
        """Summarise every column where the partitions of a Dask collection are, and learn its coding, as a solver."""
        from mercer._source.dask.frames import list_partitions, sum_partitions

        parts = list(enumerate(list_partitions(X, "TableEncoder")))
        work = SummarisePartition(copy_without_callbacks(self), list(kinds.values()))
        found = yield Dense(lambda: sum_partitions([part[::-1] for part in parts], work, "TableEncoder"), heavy=True)
        return (yield from self._learn_schema(kinds, found.summaries, stored, found.n_rows))

    def _learn_schema(self, kinds: dict[str, str], summaries: list[Any], stored: list[str], n_rows: int) -> Solver:
        """Learn the coding of every column from its summary, as a solver; `stored` are the kinds of the values."""
        codings = tuple(
            learn_coding(self, summary, kind) for summary, kind in zip(summaries, kinds.values(), strict=True)
        )
        warn_of_errors(kinds, summaries, self.missing == "keep")
        certificate = Certificate.none(_DEFINED)
        schema = make_schema(list(kinds), list(kinds.values()), stored, summaries, n_rows)
        state = (tuple(kinds.values()), codings, schema)
        yield Step(0.0, state, certificate)
        return Solution(state, True, certificate)

    def _summarise(self, summaries: list[Any], columns: Columns, where: str, kinds: list[str]) -> None:
        """Add the columns of a block to their summaries, on all threads; `where` is the place of the block, if any."""

        def add(index: int) -> None:
            if summaries[index] is not None:
                summarise(summaries[index], columns, index, kinds[index])

        with telling_place(where):
            run_numbered(add, len(kinds), self._threads(), lambda done: None)

    def _fitted(self, state: Any) -> dict[str, Any]:
        kinds, codings, schema = state
        widths = [0 if coding is None else len(coding.names("")) for coding in codings]
        return {
            "kinds_": [kind.split()[0] for kind in kinds],
            "categories_": [getattr(coding, "categories", None) for coding in codings],
            "words_": [getattr(coding, "words", None) for coding in codings],
            "feature_columns_": np.repeat(np.arange(len(codings)), widths),
            "sparse_output_": self._is_sparse(codings, sum(widths)),
            "schema_": schema,
            "_codings": list(codings),
        }

    def _is_sparse(self, codings: list[Any], width: int) -> bool:
        """Return whether the output is sparse."""
        if self.sparse_output != "auto":
            return bool(self.sparse_output)
        entries = sum(coding.density for coding in codings if coding is not None)
        return width >= _SPARSE_COLUMNS and entries < _SPARSE_SHARE * width

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from rows and turn them into numbers.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Rows; where `y` names columns of a frame, these are no features, and an estimator behind finds them by name.
        """
        X = divide_columns(X, y)
        return self.fit(X, y).transform(X)

    def transform(self, X: Any) -> Any:
        """Turn rows into numbers.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Rows, with the columns of the fit; a frame may have others too.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_features_out)
            The numbers. Of rows outside of memory an object that an estimator takes in their stead, with the names of
            columns as targets and weights: it reads and encodes the rows block by block in each pass.
        """
        check_is_fitted(self)
        if (place := place_of(X)) == "memory":
            columns = open_columns(self, X, reset=False)
            self._check_schema(columns, lambda row: f"row {row}", set())
            return self._encode(columns)
        check_place(self, place)
        if place == "dask":
            from mercer._source.dask.frames import encode_partitions

            return encode_partitions(X, TableEncoding(self, X), "TableEncoder")
        return EncodedTable(X, TableEncoding(self), place, "TableEncoder")

    def _check_schema(self, columns: Columns, locate: Callable[[int], str], told: set[str]) -> None:
        """Tell how some rows differ from those of the fit; `told` are the columns that were named before."""
        # A model file of an earlier version has none.
        schema = vars(self).get("schema_")
        if schema is None or isinstance(columns, FloatColumns):
            return
        for found in find_differences(schema, columns, self._codings):
            where = f"; the first is in {locate(found.row)}"
            if found.what == "kind":
                raise DataError(f"TableEncoder: {found}{where}. Correct the table, or fit to rows such as these.")
            if self.handle_unknown == "error":
                raise DataError(
                    f"TableEncoder: {found}{where}. Correct the rows, or set handle_unknown='warn' or 'ignore'."
                )
            if self.handle_unknown == "warn" and found.column not in told:
                told.add(found.column)
                warnings.warn(
                    f"TableEncoder: {found}{where}. They are encoded as rare ones are; handle_unknown='ignore' says "
                    f"nothing.",
                    UserWarning,
                    stacklevel=3,
                )

    def _encode(self, columns: Columns) -> Any:
        """Return the numbers of some rows."""
        dtype = np.dtype(self.dtype or columns.dtype)
        if self.sparse_output_:
            return make_sparse(self._codings, columns, dtype)
        width = self._n_features_out
        purpose = f"{width} columns of {columns.n_rows} rows"
        require_memory(
            "TableEncoder", float(dtype.itemsize) * columns.n_rows * width, purpose, "set sparse_output=True"
        )
        out = np.empty((columns.n_rows, width), dtype=dtype)
        places = self._find_starts()

        def write(index: int) -> None:
            if self._codings[index] is not None:
                self._codings[index].write(columns, index, out[:, places[index] : places[index + 1]])

        # Columns write into separate slices of `out`: threads need no lock.
        run_numbered(write, len(self._codings), self._threads(), lambda done: None)
        return out

    def find_reading_kinds(self) -> dict[str, str]:
        """Return the kind as which each column of a file of text is read.

        Returns
        -------
        dict of str to str
            The kinds of the fit, with the format of dates and numbers that were texts. Categories that were numbers or
            booleans have the kind ``"numeral"`` or ``"truth"``.

        Examples
        --------
        >>> import pandas
        >>> from mercer.preprocessing import TableEncoder
        >>> cars = pandas.DataFrame({"maker": ["Audi", "BMW"], "sold": ["3.1.2024", "4.2.2024"]})
        >>> TableEncoder(kinds={"sold": "date %d.%m.%Y"}).fit(cars).find_reading_kinds()
        {'maker': 'category', 'sold': 'date %d.%m.%Y'}
        """
        check_is_fitted(self)
        names = vars(self).get("feature_names_in_", [f"x{index}" for index in range(self.n_features_in_)])
        return {str(name): find_reading_kind(self, place) for place, name in enumerate(names)}

    def count_new_categories(self, X: Any) -> dict[str, dict[str, int]]:
        """Count the rows whose category no training row had.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Rows, with the columns of the fit; a frame may have others too.

        Returns
        -------
        dict of str to dict of str to int
            For each column with new categories, the number of rows of each. Columns whose training rows had rare
            categories are left out: the names of rare categories are not kept, so that a name may be one of them.

        Examples
        --------
        >>> from mercer.preprocessing import TableEncoder
        >>> encoder = TableEncoder(min_frequency=1).fit([["Audi"], ["BMW"], ["VW"]])
        >>> encoder.count_new_categories([["BMW"], ["Fiat"], ["Fiat"]])
        {'x0': {'Fiat': 2}}
        """
        check_is_fitted(self)
        columns = open_columns(self, X, reset=False)
        found = {
            columns.names[index]: coding.count_new(columns, index)
            for index, coding in enumerate(self._codings)
            if isinstance(coding, CategoryCoding)
        }
        return {name: counts for name, counts in found.items() if counts}

    def inverse_transform(self, X: Any) -> Any:
        """Return the table that numbers stand for.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features_out)
            Numbers as :meth:`transform` returns them; of indicators the highest counts, so that probabilities of the
            categories can be given too.

        Returns
        -------
        dict of ndarray of shape (n_samples,)
            Columns by name, without ignored ones, as ``pandas.DataFrame`` and ``polars.DataFrame`` take them. Numbers
            are NaN where they were missing; categories are texts, and None where they were missing, rare or new; dates
            are moments of NumPy; of a text the known words are left, in the order of the alphabet.

        Examples
        --------
        >>> from mercer.preprocessing import TableEncoder
        >>> encoder = TableEncoder(min_frequency=1).fit([["Audi"], ["BMW"], ["VW"]])
        >>> encoder.inverse_transform([[1, 0, 0], [0.1, 0.2, 0.7]])["x0"].tolist()
        ['Audi', 'VW']
        """
        check_is_fitted(self)
        rows = X.toarray() if is_sparse_matrix(X) else np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self._n_features_out:
            raise DataError(
                f"TableEncoder: inverse_transform needs the {self._n_features_out} columns that transform returns; got "
                f"shape {rows.shape}."
            )
        known = vars(self).get("feature_names_in_")
        names = [f"x{index}" for index in range(self.n_features_in_)] if known is None else known
        starts = self._find_starts()
        return {
            str(name): coding.read_back(rows[:, starts[index] : starts[index + 1]])
            for index, (name, coding) in enumerate(zip(names, self._codings, strict=True))
            if coding is not None
        }

    def _find_starts(self) -> np.ndarray:
        """Return the index of the first output column of each column, and their total."""
        widths = [0 if coding is None else len(coding.names("")) for coding in self._codings]
        return np.concatenate([[0], np.cumsum(widths)])

    def _list_names(self, columns: list[str]) -> list[str]:
        used = zip(columns, self._codings)
        return [name for column, coding in used if coding is not None for name in coding.names(column)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


def read_schema(X: Any, y: Any = None, *, kinds: Any = "auto") -> TableSchema:
    """Read what the columns of a table hold, in one pass over it.

    Parameters
    ----------
    X : frame, path, object of pyarrow, blocks of frames or Dask dataframe
        The table, in any place.
    y : str or list of str or None, default=None
        Columns to leave out, such as the target.
    kinds : "auto" or dict, default="auto"
        Kinds of columns by name, as :class:`TableEncoder` takes them.

    Returns
    -------
    TableSchema
        Name, kind, range, categories and share of missing values of each column.

    Examples
    --------
    >>> import pandas
    >>> from mercer.preprocessing import read_schema
    >>> schema = read_schema(pandas.DataFrame({"age": [3.0, None, 7.0, 5.0]}))
    >>> schema["age"].high, schema["age"].missing_share
    (7.0, 0.25)
    """
    return TableEncoder(kinds=kinds).fit(X, y).schema_
