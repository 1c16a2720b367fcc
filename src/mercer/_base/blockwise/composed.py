"""Composites of transformers over rows outside of memory: each member is fitted where the rows are.

scikit-learn's composites are fitted to the first block of a table, with members that fit themselves to the whole table
instead. So columns, names and the layout of the result are scikit-learn's own, and no row but those of one block is in
memory.
"""

import copy
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from mercer._base.blockwise.frames import encode_elsewhere
from mercer._base.interface import BaseEstimator, TransformerMixin
from mercer._base.scikit_learn import add_places
from mercer._source import place_of
from mercer._source.block import DenseBlock, SparseBlock
from mercer._source.file.mapped_rows import MappedRows
from mercer._source.table.encoded import EncodedTable, Locate, TableBlocks, TableView, refuse_second_pass
from mercer._source.table.source import find_description
from mercer.errors import DataError

# Where the rows are that a member of a composite encodes: each thread encodes a block of its own.
_here = threading.local()


class WholeTable:
    """The table that the members of a composite are fitted to.

    Attributes
    ----------
    head : pandas.DataFrame or array
        The rows of the first block, without targets.
    kinds : dict of str to str
        The kinds as which columns of files of text are read.
    """

    def __init__(self, X: Any, y: Any, place: str, subject: str) -> None:
        self.X, self.y, self.place, self.subject = X, y, place, subject
        targets = [y] if isinstance(y, str) else []
        self.kinds: dict[str, str] = {}
        if place == "dask":
            from mercer._source.dask.frames import find_head

            columns = [name for name in X.columns if name not in targets] if hasattr(X, "columns") else None
            self.head = find_head(X, columns, subject)
            return
        if isinstance(X, Iterator) or hasattr(X, "read_next_batch"):
            raise refuse_second_pass(subject, find_description(X))
        blocks = TableBlocks(X, targets, subject, 1, {})
        self.head = read_frame(blocks.first)
        self.kinds = find_kinds(self.head)

    def view(self, names: list[str] | None) -> tuple[Any, Any]:
        """Return some columns of the table, as a transformer takes them, and the targets."""
        if names is None:
            return self.X, self.y
        if self.place == "dask":
            return self.X[names], self.X[self.y] if isinstance(self.y, str) else self.y
        return TableView(self.X, names, self.place), self.y


class Member(TransformerMixin, BaseEstimator):
    """A transformer that is fitted to a whole table when it is given its first block."""

    def __init__(self, transformer: Any, table: WholeTable) -> None:
        self.transformer = transformer
        self.table = table

    def __sklearn_clone__(self) -> "Member":
        # The table is not copied.
        return Member(clone(self.transformer), self.table)

    def fit(self, X: Any, y: Any = None, **params: Any) -> "Member":
        """Fit the transformer to the columns of the table that `X` has."""
        rows, targets = self.table.view(list(X.columns) if hasattr(X, "columns") else None)
        if hasattr(self.transformer, "fit_transform"):
            # The rows may be encoded in another way than new ones are, as a TargetEncoder does.
            self.training_ = self.transformer.fit_transform(rows, targets, **params)
        else:
            self.training_ = self.transformer.fit(rows, targets, **params).transform(rows)
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit the transformer to the table, and return the first block."""
        return self.fit(X, y, **params).transformer.transform(X)

    def transform(self, X: Any) -> Any:
        """Return a block of the training rows, which begins where this thread says."""
        locate, start = _here.place
        return encode_block(self.training_, X, locate, start)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names that the transformer gives."""
        return self.transformer.get_feature_names_out(input_features)


def encode_block(lazy: Any, rows: Any, locate: Locate, start: int) -> Any:
    """Return a block of frames as `lazy` gives it, which is what transformers make of a table that is elsewhere."""
    if isinstance(lazy, TableView):
        return lazy.select(rows)
    if isinstance(lazy, EncodedTable):
        return lazy.encode(encode_block(lazy.X, rows, locate, start), locate, start)
    if isinstance(lazy, MappedRows):
        numbers = read_numbers(encode_block(lazy.X, rows, locate, start))
        if lazy.finite and not np.isfinite(numbers.data if issparse(numbers) else numbers).all():
            raise DataError(f"{lazy.subject}: Input X contains NaN or infinity, in a block from {_name(locate)} on.")
        return lazy.encode((SparseBlock if issparse(numbers) else DenseBlock)(numbers, start))
    return rows


def _name(locate: Locate) -> str:
    return "some row" if locate is None else locate(0)


def read_frame(rows: Any) -> Any:
    """Return a block of a table as a frame of pandas, which selectors of columns know; other blocks as they are."""
    if type(rows).__module__.startswith("pyarrow"):
        return rows.to_pandas()
    return rows


def read_numbers(rows: Any) -> Any:
    """Return a block of numbers as a matrix of floats."""
    if issparse(rows):
        return rows
    if hasattr(rows, "to_numpy") and hasattr(rows, "dtypes"):
        narrow = all(str(kind) == "float32" for kind in rows.dtypes)
        rows = rows.to_numpy(dtype=np.float32 if narrow else np.float64, na_value=np.nan)
    rows = np.asarray(rows)
    return np.ascontiguousarray(rows, np.float32 if rows.dtype == np.float32 else np.float64)


def find_kinds(frame: Any) -> dict[str, str]:
    """Return the kinds as which columns of files of text are read, by the first rows."""
    if not hasattr(frame, "dtypes") or not hasattr(frame, "items"):
        return {}
    kinds = {"b": "truth", "i": "number", "u": "number", "f": "number", "M": "date"}
    return {str(name): kinds.get(getattr(column.dtype, "kind", "O"), "category") for name, column in frame.items()}


class Streamed:
    """What transformers of scikit-learn share that take rows outside of memory as well."""

    def _fit_to_head(self, X: Any, y: Any, place: str, fit: Any) -> Any:
        """Fit to the first block of a table, where that tells all that is learnt."""
        table = WholeTable(X, y, place, type(self).__name__)
        fit(table.head)
        self._note_output(self.transform(table.head), table)  # type: ignore[attr-defined]
        return self

    def _note_output(self, shown: Any, table: WholeTable) -> None:
        """Store the type of the result, and how the columns of files of text are read."""
        dtype = "float32" if getattr(shown, "dtype", None) == np.float32 else "float64"
        self._table_output = (dtype, bool(issparse(shown)), table.kinds)

    def _describe_output(self) -> tuple[Any, bool, dict[str, str]]:
        """Return the type of the result, whether it is sparse, and how columns of files of text are read."""
        known = vars(self).get("_table_output")
        if known is None:
            # Fitted in memory: nothing is known of files.
            return np.float64, bool(vars(self).get("sparse_output_", False)), {}
        return np.dtype(known[0]), known[1], known[2]

    def __sklearn_tags__(self) -> Any:
        return add_places(super().__sklearn_tags__(), ("memory", "file", "stream", "dask"))  # type: ignore[misc]

    def _encode_frame(self, rows: Any, locate: Locate, start: int) -> Any:
        """Return an encoded block of new rows."""
        return self.transform(read_frame(rows))  # type: ignore[attr-defined]


class StreamedTransformer(Streamed):
    """What transformers share that learn the first block of a table alone."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn what the columns of the result are.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or rows elsewhere
            Rows.
        y : None or the name of a column
            The column of the targets of a table elsewhere, which is left out.

        Returns
        -------
        self
            The fitted transformer.
        """
        self.__dict__.pop("_table_output", None)
        fit = super().fit  # type: ignore[misc]
        place = place_of(X)
        return fit(X, y) if place == "memory" else self._fit_to_head(X, y, place, fit)

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit to rows, and transform them.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or rows elsewhere
            Rows.
        y : None or the name of a column
            The column of the targets of a table elsewhere, which is left out.
        **params : dict
            Parameters of ``fit``.

        Returns
        -------
        ndarray, sparse matrix or frame of shape (n_samples, n_features_out)
            The result; of rows elsewhere an object that an estimator takes in their stead.
        """
        return self.fit(X, y, **params).transform(X)

    def transform(self, X: Any) -> Any:
        """Transform rows by what the fit has learnt.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or rows elsewhere
            Rows.

        Returns
        -------
        ndarray, sparse matrix or frame of shape (n_samples, n_features_out)
            The result; of rows elsewhere an object that an estimator takes in their stead.
        """
        place = place_of(X)
        return super().transform(X) if place == "memory" else encode_elsewhere(self, X, place)  # type: ignore[misc]


class StreamedComposite(Streamed):
    """What composites share: members that are fitted to the whole table."""

    # The attribute that lists members as (name, transformer) or (name, transformer, columns).
    _members: str

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit all transformers, and join what they make of the training rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or a table elsewhere
            Rows.
        y : array-like of shape (n_samples,), column name or None, default=None
            Targets.
        **params : dict
            Parameters of the transformers, through scikit-learn's metadata routing.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features_out)
            The joined results; of a table elsewhere an object that an estimator takes in its stead.
        """
        fit = super().fit_transform  # type: ignore[misc]
        place = place_of(X, y)
        if place != "memory":
            return self._fit_elsewhere(X, y, place, fit, params)
        self.__dict__.pop("_table_output", None)
        return fit(X, y, **params)

    def transform(self, X: Any, **params: Any) -> Any:
        """Join what the transformers make of rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or a table elsewhere
            Rows.
        **params : dict
            Parameters of the transformers, through scikit-learn's metadata routing.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features_out)
            The joined results; of a table elsewhere an object that an estimator takes in its stead.
        """
        place = place_of(X)
        if place == "memory":
            return super().transform(X, **params)  # type: ignore[misc]
        return encode_elsewhere(self, X, place)

    def _fit_elsewhere(self, X: Any, y: Any, place: str, fit: Any, params: dict[str, Any]) -> Any:
        """Fit the members to the whole table, and return the training rows as they are encoded block by block."""
        table = WholeTable(X, y, place, type(self).__name__)
        given = {name: getattr(self, name) for name in (self._members, "remainder") if hasattr(self, name)}
        try:
            for name, value in given.items():
                setattr(self, name, wrap_members(value, table))
            shown = fit(table.head, None, **params)
            training = copy.copy(self)
            # A fit may store its members in the parameter itself.
            fitted = getattr(self, self._members)
        finally:
            for name, value in given.items():
                setattr(self, name, value)
        if "transformers_" in vars(self):
            setattr(self, "transformers_", unwrap_members(vars(self)["transformers_"]))  # noqa: B010
        else:
            setattr(self, self._members, unwrap_members(fitted))
        self._note_output(shown, table)
        if place == "dask":
            # Partitions are encoded where they are, by what is learnt of all of them.
            refuse_cross_fits(unwrap_members(getattr(training, "transformers_", fitted)), type(self).__name__)
            return encode_elsewhere(self, X, place)
        return encode_elsewhere(self, X, place, encode=_Training(training))


def refuse_cross_fits(members: list[Any], subject: str) -> None:
    """Raise if a member encodes its training rows in another way than new ones."""
    for name, one, *_ in members:
        if hasattr(one, "encodings_"):
            raise DataError(
                f"{subject}: {name!r} is cross-fitted, which the members of a composite are not on Dask; the encoded "
                f"rows would leak their targets. Fit it alone to its columns, or write the rows to a file."
            )


class _Training:
    """Encodes blocks of training rows by a composite of members that know their place."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, rows: Any, locate: Locate, start: int) -> Any:
        _here.place = locate, start
        return self.model.transform(read_frame(rows))


def wrap_members(value: Any, table: WholeTable) -> Any:
    """Return members that fit themselves to a table; words such as "drop" stay."""
    if isinstance(value, list | tuple):
        return [(name, wrap_members(one, table), *rest) for name, one, *rest in value]
    return value if value is None or isinstance(value, str | Member) else Member(value, table)


def unwrap_members(members: Any) -> list[Any]:
    """Return the transformers that members hold."""
    return [(name, one.transformer if isinstance(one, Member) else one, *rest) for name, one, *rest in members]
