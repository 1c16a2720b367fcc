"""Read what a user gives as Dask arrays: rows, and targets and weights with the same chunks of rows."""

import math
import operator
import sys
from dataclasses import dataclass
from typing import Any

import dask
import dask.array
import numpy as np
from scipy.sparse import csr_array, issparse

from mercer._source.dask.graph import TaskLayer, active_client, chunk_reference, compute
from mercer._source.dask.keeping import (
    Parts,
    convert_rows,
    convert_values,
    count_chunks,
    keep_arrays,
    state_lengths,
)
from mercer._source.dask.tasks import lay_beside
from mercer._source.file.piece_rule import PieceRule
from mercer._types import Array
from mercer.errors import DataError


@dataclass
class Given:
    """Rows, targets and weights as Dask arrays with the same chunks of rows, and the rule that they were checked by.

    ``n_stored`` counts the stored values of sparse rows, and ``frame`` is the collection that rows were encoded from.
    """

    X: Any
    y: Any
    weight: Any
    rule: PieceRule
    names: list[str] | None = None
    n_stored: int = 0
    frame: Any = None


def read_input(X: Any, y: Any, weight: Any, *, subject: str, targets: str | None, keep: bool = False) -> Given:
    """Turn a Dask array, dataframe, bag, or a list of delayed blocks or futures into arrays.

    Where lengths are unknown they are counted, where the rows are. With `keep` the arrays stay there, if they fit.
    """
    names, frame = None, getattr(X, "given", None)
    if hasattr(X, "partitions") and hasattr(X, "columns"):
        # A frame, an array, or blocks: all become arrays whose chunks are rows.
        description = f"the Dask dataframe of {X.npartitions} partitions"
        names = [str(name) for name in X.columns] if all(isinstance(name, str) for name in X.columns) else None
        X, y, weight, names = _from_frame(X, y, weight, subject, names, keep)
    elif isinstance(X, dask.array.Array):
        description = f"the Dask array of shape {X.shape}"
        y, weight = (_take_column(X, given, subject) for given in (y, weight))
        X = _matrix(X, subject, description)
    else:
        X, y, weight, description, names = _from_blocks(X, y, weight, subject, targets)
    rule = PieceRule(subject, description, targets, part="chunk")
    rule.names = names
    y = None if targets is None else _beside(y, X, "y", rule)
    weight = _beside(weight, X, "sample_weight", rule)
    # Types and shapes are checked on arrays without rows, before any task is sent to the cluster.
    rule.read(0, _nothing(X), _nothing(y), _nothing(weight))
    if X.shape[0] == 0:
        raise DataError(f"{subject}: {description} has no rows; got 0 sample(s), at least 1 is required.")
    if keep:
        X, y, weight = keep_arrays([_convert_chunks(X, rule), y, weight], subject)
    X, y, weight = (_optimise(array) for array in (X, y, weight))
    if weight is not None and not compute((weight != 0).any(), subject):
        raise DataError(
            f"{subject}: sample_weight must have a positive entry; got zeros only for {description}. Raise the weight "
            f"of some rows."
        )
    n_stored = _count_stored(X, subject) if rule.is_sparse else 0
    return Given(X, y, weight, rule, names, n_stored, frame)


def _optimise(array: Any) -> Any:
    """Optimise the graph of an array once, so that it is not done in every pass.

    One that is in the memory of a cluster stays as it is: Dask's optimisation loses the futures that keep it there.
    """
    distributed = sys.modules.get("distributed")
    if array is None or (distributed is not None and distributed.futures_of(array)):
        return array
    return dask.optimize(array)[0]


def _nothing(array: Any) -> Array:
    """Return an array of zero rows of the kind that `array` has."""
    if array is None:
        return None
    empty = np.empty((0, *array.shape[1:]), array.dtype)
    return csr_array(empty) if issparse(getattr(array, "_meta", None)) else empty


def _matrix(X: Any, subject: str, description: str) -> Any:
    """Check a Dask array of rows, and merge its chunks so that each has all columns."""
    if X.ndim != 2:
        raise DataError(
            f"{subject}: {description} must be a matrix with one row per sample; got {X.ndim} dimension(s)."
        )
    _check_lengths(X, "X", subject)
    # A task reads whole rows, so a chunk must have all columns.
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _check_lengths(array: Any, name: str, subject: str) -> None:
    if any(math.isnan(size) for sizes in array.chunks for size in sizes):
        raise DataError(
            f"{subject}: the chunks of {name} must have known sizes; got {array.chunks[0][:3]}... rows. Call "
            f"{name}.compute_chunk_sizes() first."
        )


def _from_frame(X: Any, y: Any, weight: Any, subject: str, names: Any, keep: bool) -> tuple[Any, Any, Any, Any]:
    """Return a dataframe's columns as arrays; targets and weights may be column names or series."""
    chosen = [name for name in (y, weight) if isinstance(name, str)]
    for name in chosen:
        if name not in X.columns:
            raise DataError(
                f"{subject}: the Dask dataframe has no column {name!r}; its columns are {', '.join(map(str, names))}."
            )
    features = [name for name in X.columns if name not in chosen]
    # The letters are NumPy's kinds: floats, integers, unsigned integers and booleans.
    kinds = {name: X.dtypes[name] for name in features}
    odd = [str(name) for name, kind in kinds.items() if getattr(kind, "kind", "O") not in "fiub"]
    if odd:
        raise DataError(
            f"{subject}: the columns of a Dask dataframe must hold numbers; {odd[0]!r} does not. Encode it."
        )
    dtype = np.dtype(np.float32 if {str(kind).lower() for kind in kinds.values()} == {"float32"} else np.float64)
    parts, types = Parts(X), X.dtypes
    rows = parts.array(convert_rows, features, dtype, shape=(len(features),), dtype=dtype)
    arrays = [rows]
    for given in (y, weight):
        if isinstance(given, str):
            arrays.append(parts.array(convert_values, given, shape=(), dtype=_find_dtype(types[given])))
        elif _is_series(given):
            arrays.append(Parts(given).array(convert_values, None, shape=(), dtype=_find_dtype(given.dtype)))
        else:
            arrays.append(None)
    if keep:
        arrays = keep_arrays(arrays, subject)
    lengths = [parts.count(subject) if arrays[0] is rows else count_chunks(arrays[0], subject)]
    for given, array in zip((y, weight), arrays[1:], strict=True):
        own = array is not None and not isinstance(given, str)
        lengths.append(count_chunks(array, subject) if own else lengths[0])
    known = [None if array is None else state_lengths(array, one) for array, one in zip(arrays, lengths, strict=True)]
    y, weight = (given if array is None else array for given, array in zip((y, weight), known[1:], strict=True))
    return known[0], y, weight, [name for name in names if name not in chosen] if names else None


def _take_column(X: Any, given: Any, subject: str) -> Any:
    """Return the column that `given` names of the collection that rows were encoded from; other values as they are."""
    frame: Any = getattr(X, "given", None)
    if not isinstance(given, str) or not hasattr(frame, "columns"):
        return given
    if given not in frame.columns:
        names = ", ".join(map(str, frame.columns))
        raise DataError(f"{subject}: the Dask dataframe has no column {given!r}; its columns are {names}.")
    return frame[given]


def _find_dtype(kind: Any) -> np.dtype:
    """Return the NumPy type of a column of pandas."""
    return kind if isinstance(kind, np.dtype) else getattr(kind, "numpy_dtype", np.dtype(object))


def _convert_chunks(X: Any, rule: PieceRule) -> Any:
    """Return rows whose chunks are of the type and layout that sums read, so that no pass converts them again."""
    if rule.is_sparse or X.dtype == rule.dtype:
        return X
    return X.astype(rule.dtype)


def _count_rows(values: Any, subject: str) -> Any:
    """Turn a series into an array of known lengths, counted where they are."""
    array = Parts(values).array(convert_values, None, shape=(), dtype=_find_dtype(values.dtype))
    return state_lengths(array, count_chunks(array, subject))


def _is_series(thing: Any) -> bool:
    return hasattr(thing, "map_partitions") and hasattr(thing, "to_dask_array")


def _from_blocks(X: Any, y: Any, weight: Any, subject: str, targets: str | None) -> tuple[Any, Any, Any, str, Any]:
    """Read a bag, delayed values or futures, each of them ``X``, ``(X, y)`` or ``(X, y, weight)``."""
    if hasattr(X, "to_delayed"):
        # A partition of a bag may be an iterator, which can be read only once and has no length.
        parts = X.map_partitions(list).to_delayed()
        counts = compute(dask.delayed([dask.delayed(len)(part) for part in parts]), subject)
        items = [part[i] for part, count in zip(parts, counts, strict=True) for i in range(count)]
        description = f"the Dask bag of {len(items)} blocks"
    else:
        items = [dask.delayed(item) for item in (X if isinstance(X, list | tuple) else [X])]
        description = f"the list of {len(items)} blocks on the cluster"
    if not items:
        raise DataError(f"{subject}: {description} yielded nothing; got 0 sample(s), at least 1 is required.")
    rule = PieceRule(subject, description, targets, part="chunk")
    # One computation for all blocks: shapes and types travel, rows stay on the workers.
    looks = compute(dask.delayed([dask.delayed(_look)(item, rule, n) for n, item in enumerate(items)]), subject)
    columns = [_column(items, looks, part, rule) for part in range(3)]
    for position, (name, given) in enumerate((("y", y), ("sample_weight", weight)), start=1):
        if given is not None and columns[position] is not None:
            raise DataError(f"{subject}: {name} must come with the blocks or beside them; got both. Leave one out.")
        columns[position] = given if columns[position] is None else columns[position]
    return columns[0], columns[1], columns[2], description, looks[0]["names"]


def _look(item: Any, rule: PieceRule, number: int) -> dict[str, Any]:
    """Return what one block is, without its rows: shapes and types of its parts, and whether it is sparse."""
    parts = tuple(item) if isinstance(item, tuple | list) else (item,)
    X = parts[0]
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if len(getattr(X, "shape", ())) != 2:
        raise DataError(
            f"{rule.subject}: chunk {number} of {rule.description} must be a matrix of rows, or a tuple that begins "
            f"with one; got {type(X).__name__}."
        )
    # Parts that are no arrays, such as frames, become arrays here so that shape and type are known.
    arrays = [part if issparse(part) else np.asarray(part) for part in parts if part is not None]
    return {
        "shapes": [array.shape for array in arrays],
        "types": [array.dtype for array in arrays],
        "sparse": issparse(X),
        "single": not isinstance(item, tuple | list),
        "names": names,
    }


def _column(items: list[Any], looks: list[dict[str, Any]], part: int, rule: PieceRule) -> Any:
    """Join one part of all blocks (rows, targets or weights) into a Dask array; None where the blocks have none."""
    counts = {len(look["shapes"]) for look in looks}
    if part >= max(counts):
        return None
    if len(counts) > 1 or len({look["shapes"][part][1:] for look in looks}) > 1:
        numbers = [number for number, look in enumerate(looks) if look["shapes"][part:] != looks[0]["shapes"][part:]]
        other = next(n for n in numbers if _kind(looks[n]) != _kind(looks[0]))
        raise DataError(
            f"{rule.subject}: chunk {other} of {rule.description} has parts of shapes {looks[other]['shapes']}, "
            f"chunk 0 has {looks[0]['shapes']}; give it the same columns, targets and weights."
        )
    kind = looks[0]["types"][part]
    # Dask tells sparse from dense arrays by the type of `meta` alone.
    meta = csr_array(np.empty((0, 0), kind)) if part == 0 and looks[0]["sparse"] else np.empty((0,), kind)
    arrays = []
    for item, look in zip(items, looks, strict=True):
        chosen = item if look["single"] else dask.delayed(operator.itemgetter(part))(item)
        arrays.append(dask.array.from_delayed(chosen, look["shapes"][part], dtype=kind, meta=meta))
    return arrays[0] if len(arrays) == 1 else dask.array.concatenate(arrays)


def _kind(look: dict[str, Any]) -> list[Any]:
    """Return the shapes of one row of rows, targets and weights."""
    return [shape[1:] for shape in look["shapes"]]


def _beside(values: Any, X: Any, name: str, rule: PieceRule) -> Any:
    """Return targets or weights as a Dask array with the chunks of `X`."""
    if values is None:
        return None
    if isinstance(values, str):
        raise DataError(
            f"{rule.subject}: {name}={values!r} names a column, which {rule.description} does not have; give values."
        )
    if name == "sample_weight" and np.isscalar(values):
        values = np.full(X.shape[0], values, dtype=np.float64)
    if _is_series(values):
        values = _count_rows(values, rule.subject)
    known = isinstance(values, dask.array.Array)
    if not known:
        values = np.asarray(values)
    else:
        _check_lengths(values, name, rule.subject)
    if values.ndim == 0 or values.shape[0] != X.shape[0]:
        got = values.shape[0] if values.ndim else "a scalar"
        raise DataError(
            f"{rule.subject}: {rule.description} has {X.shape[0]} rows and {name} {got}; give one value per row."
        )
    chunks = (X.chunks[0], *((size,) for size in values.shape[1:]))
    if known:
        return values if values.chunks == chunks else values.rechunk(chunks)
    # `name=False`: Dask would otherwise hash all values to make a name.
    return _place_with_rows(dask.array.from_array(values, chunks=chunks, name=False), X)


def _place_with_rows(values: Any, X: Any) -> Any:
    """Place values of this process on the workers that hold the matching rows, in a form that Dask can restore."""
    client = active_client()
    if client is None:
        return values
    # A task that takes both chunks runs where the larger one is: the rows, so the values move and the rows do not.
    layer = TaskLayer(X, values)
    name = f"mercer-beside-{layer.token}"
    for number in range(X.numblocks[0]):
        # Targets of several columns lie in one chunk of columns, whose number is 0.
        key = (name, number, *[0] * (values.ndim - 1))
        layer.put(lay_beside, chunk_reference(X, number), chunk_reference(values, number), key=key)
    return client.persist(dask.array.Array(layer.graph(name), name, values.chunks, dtype=values.dtype))


def _count_stored(X: Any, subject: str) -> int:
    """Count the stored values of sparse rows, which decide the size of blocks."""
    count = dask.delayed(operator.attrgetter("nnz"))
    return int(sum(compute(dask.delayed([count(chunk) for chunk in X.to_delayed().ravel()]), subject)))
