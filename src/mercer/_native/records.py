"""The NumPy types of native records, and arrays of them.

The records are those of ``space.space``, ``tree.growth_records``, ``tree.packed_nodes`` and ``boosting.leaves``.
"""

from typing import Any

import numpy as np

from mercer._native.loading import level

BOX_NODE = np.dtype([("first", "i4"), ("leaves", "i4")])
QUAD = np.dtype([(name, "f8") for name in ("one", "weight", "amount", "target")])
GROWN_NODE = np.dtype(
    [
        *((name, "i4") for name in ("left", "feature", "greatest_left", "least_right")),
        *((name, "i4") for name in ("side", "rows", "pure", "depth")),
        *((name, "f8") for name in ("threshold", "weight")),
    ]
)
WAITING = np.dtype([(name, "i8") for name in ("node", "start", "stop", "seed", "depth")])
BEST_SPLIT = np.dtype(
    [
        *((name, "f8") for name in ("gain", "threshold")),
        *((name, "i8") for name in ("feature", "cut", "side", "is_coarse")),
    ]
)
DIVIDED_SPAN = np.dtype([(name, "i8") for name in ("start", "stop", "place")])
DIVISION = np.dtype([(name, "i8") for name in ("left_rows", "greatest_left", "least_right")])
CATEGORY = np.dtype([(name, "f8") for name in ("rows", "weight", "key")])
PACKED_NODE = np.dtype([("threshold", "f8"), ("mark", "i4"), ("skip", "i4")])
WORDS = np.dtype([("gradient", "i8"), ("rest", "i8")])
NODE = np.dtype(
    [
        *((name, "i8") for name in ("left", "depth", "slot", "count")),
        ("words", WORDS),
        *((name, "i8") for name in ("feature", "last", "missing_left")),
        ("left_words", WORDS),
        *((name, "f8") for name in ("value", "gain", "gradient", "curvature", "lower", "upper")),
    ]
)
RULES = np.dtype(
    [
        *((name, "f8") for name in ("l2", "min_rows", "min_curvature", "min_category_rows", "max_depth", "max_leaves")),
        *((name, "f8") for name in ("category_price", "gradient_scale", "curvature_scale", "gradient_unit")),
        *(("curvature_unit", "f8"), ("count_bits", "i8"), ("bounded", "i8")),
    ]
)
COLUMN = np.dtype([("categorical", "i4"), ("direction", "i4")])
SPLIT = np.dtype([("saving", "f8"), ("last", "i4"), ("way", "i4")])
SPAN = np.dtype([("first", "i4"), ("last", "i4")])
TASK = np.dtype(
    [
        *((name, "i8") for name in ("kind", "items", "cost", "node", "child", "build", "side", "built", "whole")),
        *((name, "i8") for name in ("search_left", "search_right", "output", "loss", "nodes")),
    ]
)


def make_records(shape: Any, dtype: np.dtype[Any], fill: bool = True) -> Any:
    """Return an array of records, of zeros if `fill`; ``records[i].field`` reads and writes as it does natively."""
    return (np.zeros if fill else np.empty)(shape, dtype).view(np.recarray)


def lend(records: Any) -> Any:
    """Return records as native code takes them: uncompiled it reads fields as attributes, at ten times the cost."""
    return records.view(np.recarray) if level() == "interpreted" else records


def list_fields(records: Any) -> np.ndarray[Any, Any]:
    """Return the same records as a plain array: ``fields["name"]`` is ten times as fast as ``records.name``."""
    return records.view(np.ndarray)
