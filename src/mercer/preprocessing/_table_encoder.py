"""Encode a table of mixed columns as numbers: the first step of a model that takes whole tables."""

import warnings
from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting
from mercer._base.parameter import Boolean, Choice, Instance, Integer, Nothing, parameter
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._source import open_source
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._source.table.numerals import FORMS
from mercer._source.threads import run_numbered
from mercer._stored import Stored, flags, integers, labels, members, part, texts
from mercer.errors import DataError
from mercer.preprocessing._basis import Basis
from mercer.preprocessing._coding import CategoryCoding, DateCoding, NumberCoding, TextCoding, summarise
from mercer.preprocessing._columns import Columns, open_columns
from mercer.preprocessing._summaries import MOST, start_summary

# Rows are sparse if they have at least this many columns and a smaller share of nonzero entries: they are then smaller
# and faster.
_SPARSE_SHARE = 0.1
_SPARSE_COLUMNS = 64
_DEFINED = "Categories, words and middle numbers are counted; nothing is optimised."
_KINDS = ("number", "category", "date", "text", "ignored")


class TableEncoder(Basis):
    """Turn a table of mixed columns into numbers.

    Each column gives output columns by its kind. A *number* stays a number. A *category* gets one indicator per
    category, :math:`x_k = 1` for category k and 0 for the others. A *date* gives the day, and its position in the year,
    the week and the day. A *text* gives one column for each of the most frequent words, of two letters or more; a
    list of words in a cell is taken as it is. Missing values are replaced
    by the median of the training rows, and marked in a column of their own. Categories that are rare or absent in the
    training rows share one column.

    Parameters
    ----------
    kinds : one of 'auto' or an instance of dict, default='auto'
        ``"number"``, ``"category"``, ``"date"``, ``"text"`` or ``"ignored"`` for columns by name (of an array: by
        index). Other columns have the kind of their type: text is a category. A date may come with its format, as
        ``datetime.strptime`` takes it: ``"date %d/%m/%Y"``. Numbers that are texts may come with an example of how they
        are written: ``"number 1,234.5"``; currencies, units and per cent signs are skipped.
    categories : one of 'indicator', 'code', default='indicator'
        One column for each category, or one column with the index of the category, which trees can split.
    min_frequency : an integer in [1, inf), default=5
        Least number of rows of a category or a word with a column of its own; 2 in a column where none has as many.
    max_categories : an integer in [1, inf), default=30
        Largest number of categories of a column with a column of their own; the most frequent ones get it.
    dates : a boolean, default=True
        Whether dates give the cycles of year, week and day, beside the number of days.
    texts : an integer in [0, inf), default=100
        Largest number of words of a text column.
    text_values : one of 'presence', 'tfidf', default='presence'
        A word of a text gives 1, or how often it is in the text times the logarithm of how rare it is among the
        training texts, each text scaled to length 1 (TF-IDF, as in scikit-learn's ``TfidfVectorizer``).
    missing : one of 'indicator', 'fill', 'keep', default='indicator'
        Replace missing values and mark them in a column; only replace them; or keep NaN for missing numbers.
    sparse_output : one of 'auto' or a boolean, default='auto'
        Whether the output is a CSR matrix; ``"auto"`` means if there are many columns and few nonzero entries.
    dtype : one of 'float32', 'float64' or None, default=None
        Type of the output; None means float32 if all numeric columns have it, else float64.
    max_time : a number in [0, inf) or None, default=None
        Has no effect: one pass ends by itself. Kept so that estimators can be exchanged.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all that are free. Never changes a result.

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
    history_, converged_, n_iter_, certificate_
        As every estimator has them; nothing is optimised.
    n_features_in_, feature_names_in_
        Number and names of the columns.

    Notes
    -----
    Frames of pandas, polars and Arrow, and arrays of numbers or of objects, in memory. Cost: each value is read
    once; a median takes linear time. The indicators of a category, with those of rare and missing ones, sum to one. A
    whole number has the same name as integer and as float, so that a missing value elsewhere in the column, which turns
    integers into floats, does not change its category. Numbers are not scaled.

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
        "_codings": members(part("NumberCoding", "CategoryCoding", "DateCoding", "TextCoding", "none"), "columns"),
    }
    kinds: str | dict[str, str] = parameter(Choice("auto") | Instance(dict), default="auto", kw_only=False)
    categories: str = parameter(Choice("indicator", "code"), default="indicator")
    min_frequency: int = parameter(Integer(1), default=5)
    max_categories: int = parameter(Integer(1), default=30)
    dates: bool = parameter(Boolean(), default=True)
    texts: int = parameter(Integer(0), default=100)
    text_values: str = parameter(Choice("presence", "tfidf"), default="presence")
    missing: str = parameter(Choice("indicator", "fill", "keep"), default="indicator")
    sparse_output: str | bool = parameter(Choice("auto") | Boolean(), default="auto")
    dtype: str | None = parameter(Choice("float32", "float64") | Nothing(), default=None)

    # Version 2 has `text_values`.
    _file_version: ClassVar[int] = 2

    @classmethod
    def _migrate(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        return {"text_values": "presence", **state}

    @fitting
    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Learn categories, words and medians of the training rows.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored; there for pipelines.

        Returns
        -------
        self
            The fitted transformer.
        """
        columns = open_columns(self, X, reset=True)
        kinds = self._find_kinds(columns)
        # The driver needs a source. A frame is not one, so that a column of row indices stands in for it.
        source = open_source(np.arange(columns.n_rows, dtype=np.float64)[:, None], threads=self._threads())
        outcome = self._drive(lambda start: self._learn([columns], kinds), source)
        if outcome.interrupt is None:
            outcome.converged, outcome.reason, self.converged_ = True, "converged", True
        self._conclude(outcome)
        return self

    def _find_kinds(self, columns: Columns) -> dict[str, str]:
        """Return the kind of each column, as given or by its type."""
        chosen = self.kinds if isinstance(self.kinds, dict) else {}
        given = {self._find_name(columns, key): kind for key, kind in chosen.items()}
        for name, kind in given.items():
            written = kind.startswith("date %") or kind.removeprefix("number ") in FORMS
            if kind not in _KINDS and not written:
                raise DataError(f"TableEncoder: kinds[{name!r}] must be one of {', '.join(_KINDS)}; got {kind!r}.")
        return {name: given.get(name) or columns.kind(index) for index, name in enumerate(columns.names)}

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

    def _learn(self, blocks: Iterable[Columns], kinds: dict[str, str]) -> Solver:
        """Summarise every column block by block, and learn its coding, as a solver."""
        summaries = [start_summary(kind) for kind in kinds.values()]
        for columns in blocks:
            yield Dense(partial(self._summarise, summaries, columns, list(kinds.values())))
        codings = tuple(
            self._learn_coding(summary, kind) for summary, kind in zip(summaries, kinds.values(), strict=True)
        )
        self._tell_errors(kinds, summaries)
        certificate = Certificate.none(_DEFINED)
        state = (tuple(kinds.values()), codings)
        yield Step(0.0, state, certificate)
        return Solution(state, True, certificate)

    def _summarise(self, summaries: list[Any], columns: Columns, kinds: list[str]) -> None:
        """Add the columns of a block to their summaries, on all threads."""

        def add(index: int) -> None:
            if summaries[index] is not None:
                summarise(summaries[index], columns, index, kinds[index])

        run_numbered(add, len(kinds), self._threads(), lambda done: None)

    def _learn_coding(self, summary: Any, kind: str) -> Any:
        """Learn the coding of one column from its summary; None if it is ignored."""
        name, _, form = kind.partition(" ")
        match name:
            case "number":
                return NumberCoding.learn(summary, self.missing, form or None)
            case "date":
                return DateCoding.learn(summary, self.missing, self.dates, form or None)
            case "text":
                return TextCoding.learn(summary, self.texts, self.min_frequency, self.text_values == "tfidf")
            case "category":
                coded = self.categories == "code"
                return CategoryCoding.learn(summary, self.missing, coded, self.min_frequency, self.max_categories)
        return None

    def _tell_errors(self, kinds: dict[str, str], summaries: list[Any]) -> None:
        """Warn of columns with more different values than are counted exactly."""
        for (name, kind), summary in zip(kinds.items(), summaries, strict=True):
            error = 0 if summary is None else summary.error
            if not error or (kind.split()[0] in ("number", "date") and self.missing == "keep"):
                continue
            what = f"the median is exact to {error:.1e} of its value"
            if kind.split()[0] in ("category", "text"):
                what = f"counts of its categories or words may be {error} too small; raise min_frequency above that"
            message = f"TableEncoder: column {name!r} has more than {MOST} different values, so that {what}."
            warnings.warn(message, UserWarning, stacklevel=4)

    def _fitted(self, state: Any) -> dict[str, Any]:
        kinds, codings = state
        widths = [0 if coding is None else len(coding.names("")) for coding in codings]
        return {
            "kinds_": [kind.split()[0] for kind in kinds],
            "categories_": [getattr(coding, "categories", None) for coding in codings],
            "words_": [getattr(coding, "words", None) for coding in codings],
            "feature_columns_": np.repeat(np.arange(len(codings)), widths),
            "sparse_output_": self._is_sparse(codings, sum(widths)),
            "_codings": list(codings),
        }

    def _is_sparse(self, codings: list[Any], width: int) -> bool:
        """Return whether the output is sparse."""
        if self.sparse_output != "auto":
            return bool(self.sparse_output)
        entries = sum(coding.density for coding in codings if coding is not None)
        return width >= _SPARSE_COLUMNS and entries < _SPARSE_SHARE * width

    def transform(self, X: Any) -> Any:
        """Turn rows into numbers.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Rows, with the columns of the fit; a frame may have others too.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_features_out)
            The numbers.
        """
        check_is_fitted(self)
        columns = open_columns(self, X, reset=False)
        dtype = np.dtype(self.dtype or columns.dtype)
        if self.sparse_output_:
            return self._make_sparse(columns, dtype)
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

    def _make_sparse(self, columns: Columns, dtype: np.dtype) -> csr_array:
        """Return the encoded rows as a CSR array."""
        parts = []
        for index, coding in enumerate(self._codings):
            if coding is None:
                continue
            shape = (columns.n_rows, len(coding.names("")))
            if coding.kind == "text" or (coding.kind == "category" and not coding.codes):
                rows, places, values = _list_entries(coding, columns, index)
                parts.append(csr_array((values.astype(dtype), (rows, places)), shape=shape))
            else:
                # Numbers, dates and codes fill every row of a few columns: write them densely, then convert.
                dense = np.empty(shape, dtype=dtype)
                coding.write(columns, index, dense)
                parts.append(csc_array(dense))
        return csr_array(hstack(parts, format="csr", dtype=dtype))

    def _list_names(self, columns: list[str]) -> list[str]:
        used = zip(columns, self._codings)
        return [name for column, coding in used if coding is not None for name in coding.names(column)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def _list_entries(coding: Any, columns: Columns, index: int) -> tuple[Any, Any, np.ndarray]:
    """Return the rows, output columns and values of the indicators of a category or the words of a text."""
    if coding.kind == "text":
        return coding.list_entries(columns, index)
    places = coding.find_places(columns, index)
    rows = np.flatnonzero(places >= 0)
    return rows, places[rows], np.ones(len(rows))
