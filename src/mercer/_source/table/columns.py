"""The roles of the columns of an Arrow table (features, targets, weights), and their conversion to NumPy arrays."""

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from mercer._types import Array
from mercer.errors import DataError


def find_named_columns(given: Any, names: list[str]) -> list[str] | None:
    """Return the columns that `y` or `sample_weight` names; None if it is something else, such as an array."""
    if isinstance(given, str) and (given in names or not given.endswith(".npy")):
        return [given]
    if isinstance(given, list | tuple) and given and all(isinstance(name, str) and name in names for name in given):
        return list(given)
    return None


@dataclass(frozen=True)
class TableColumns:
    """The part that each column of a table has.

    Parameters
    ----------
    features : list of str
    targets, weight : list of str, or None where they are not columns
    flat : bool
        Whether there is one target by its name, and not a list of them.
    labels : bool
        Whether targets are labels.
    dtype : dtype
        Of the rows: float32 if all features are, else float64.
    """

    features: list[str]
    targets: list[str] | None
    weight: list[str] | None
    flat: bool
    labels: bool
    dtype: Any

    @classmethod
    def choose(
        cls,
        schema: Any,
        y: Any,
        weight: Any,
        *,
        targets: str | None,
        wanted: Any,
        subject: str,
        description: str,
        encoded: bool = False,
    ) -> "TableColumns":
        """Divide the columns of `schema` into features, targets and weights; `wanted` are the features if known.

        Features that will be `encoded` may be of any type, others must be numbers.
        """
        refuse = _Refusal(subject, description, list(schema.names))
        refuse.duplicates()
        target_names, weight_names = find_named_columns(y, schema.names), find_named_columns(weight, schema.names)
        beside = [*(target_names or []), *(weight_names or [])]
        refuse.missing([*beside, *(wanted if wanted is not None else [])])
        features = [name for name in schema.names if name not in beside] if wanted is None else list(wanted)
        if not encoded:
            for name in features:
                refuse.unless_numbers(name, schema.field(name).type)
        if targets is not None:
            for name in target_names or []:
                refuse.unless_targets(name, schema.field(name).type, targets)
        kinds = {str(schema.field(name).type) for name in features}
        # float32 only if all features are; anything else becomes float64.
        dtype = np.dtype(np.float32 if kinds == {"float"} else np.float64)
        kept = target_names if targets is not None else None
        return cls(features, kept, weight_names, isinstance(y, str), targets == "labels", dtype)

    @property
    def names(self) -> list[str]:
        """All columns to be read, each once."""
        return list(dict.fromkeys([*self.features, *(self.targets or []), *(self.weight or [])]))

    def nothing(self, schema: Any) -> Any:
        """Return a record batch of no rows."""
        import pyarrow

        arrays = [pyarrow.array([], schema.field(name).type) for name in self.names]
        return pyarrow.RecordBatch.from_arrays(arrays, names=self.names)

    def rows(self, batch: Any) -> Array:
        """Return the features of a record batch as a C-ordered matrix; nulls are NaN."""
        rows = np.empty((batch.num_rows, len(self.features)), self.dtype)
        for number, name in enumerate(self.features):
            rows[:, number] = _numbers(batch.column(name), self.dtype)
        return rows

    def read_targets(self, batch: Any) -> Array:
        """Return the targets of a record batch: labels, or numbers in one or several columns."""
        columns = [batch.column(name) for name in self.targets or []]
        if self.labels:
            columns = [_labels(column) for column in columns]
        else:
            columns = [_numbers(column, np.dtype(np.float64)) for column in columns]
        return columns[0] if self.flat else np.stack(columns, axis=1)

    def nulls(self, batch: Any) -> list[str]:
        """List the columns of targets and weights that have nulls in a record batch."""
        return [name for name in [*(self.targets or []), *(self.weight or [])] if batch.column(name).null_count]

    def read_weight(self, batch: Any) -> Array:
        """Return the weights of a record batch as float64; call it only where a column holds them."""
        (name,) = self.weight or []
        return _numbers(batch.column(name), np.dtype(np.float64))


def _numbers(column: Any, dtype: np.dtype) -> Array:
    """Convert a column to NumPy numbers of the type `dtype`."""
    import pyarrow

    kind = pyarrow.from_numpy_dtype(dtype)
    # Unchecked, as NumPy does it: whole numbers beyond 2**53 are rounded.
    column = column if column.type == kind else column.cast(kind, safe=False)
    return column.to_numpy(zero_copy_only=False)


def _labels(column: Any) -> Array:
    """Convert a column of labels to NumPy: integers, booleans, or text of fixed width."""
    from pyarrow import types

    if _is_numeric(column.type):
        return column.to_numpy(zero_copy_only=False)
    # Only the distinct labels become Python strings, not one for each row.
    column = column if types.is_dictionary(column.type) else column.dictionary_encode()
    names = column.dictionary.to_numpy(zero_copy_only=False)
    names = names.astype(str) if names.dtype == object else names
    return names[column.indices.to_numpy(zero_copy_only=False)]


def _is_numeric(kind: Any) -> bool:
    """Return whether an Arrow type holds numbers, booleans or only nulls."""
    from pyarrow import types

    return any(
        test(kind) for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    )


@dataclass(frozen=True)
class _Refusal:
    """Says which column cannot be used, and what to do."""

    subject: str
    description: str
    names: list[str]

    def duplicates(self) -> None:
        """Raise if two columns have one name."""
        twice = [name for name in self.names if self.names.count(name) > 1]
        if twice:
            self._raise(f"has two columns {twice[0]!r}; rename one")

    def missing(self, wanted: list[str]) -> None:
        """Raise if a wanted column is not in the table."""
        missing = [name for name in wanted if name not in self.names]
        if missing:
            self._raise(f"has no column {missing[0]!r}; its columns are {', '.join(self.names)}")

    def unless_numbers(self, name: str, kind: Any) -> None:
        """Raise, with the cure for its type, if a feature does not hold numbers."""
        from pyarrow import types

        if _is_numeric(kind):
            return
        leave = "leave it out with pyarrow.dataset.dataset(path).scanner(columns=[...])"
        encode = f"encode the table by make_pipeline(mercer.preprocessing.TableEncoder(), {self.subject}(...)), or"
        if types.is_temporal(kind):
            self._raise(f"has times ({kind}) in column {name!r}; {encode} {leave}")
        if types.is_nested(kind):
            self._raise(f"has nested values ({kind}) in column {name!r}; give each of them a column, or {leave}")
        self._raise(f"has text or categories ({kind}) in column {name!r}; {encode} {leave}")

    def unless_targets(self, name: str, kind: Any, targets: str) -> None:
        """Raise if a column cannot hold targets of the kind `targets`."""
        from pyarrow import types

        # A dictionary column stores codes and a list of values; the type of the values decides.
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if _is_numeric(kind):
            return
        text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
        if targets == "numbers":
            self._raise(f"has {kind} for targets in column {name!r}; give numbers, or fit a classifier")
        if not text:
            self._raise(f"has {kind} for labels in column {name!r}; give text or whole numbers")

    def _raise(self, sentence: str) -> NoReturn:
        raise DataError(f"{self.subject}: {self.description} {sentence}.")
