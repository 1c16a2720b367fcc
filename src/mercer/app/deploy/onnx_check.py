"""Compare an ONNX file with the model that it was written from, row by row."""

from typing import Any

import numpy as np

from mercer.app.deploy.formula import Formula
from mercer.errors import DataError

__all__ = ["check_graph", "feed_rows", "make_trial_rows"]

# Rows on which a file is compared with its model, and the largest difference of a probability or a number, relative to
# the largest number. Double precision leaves 1e-12; sums in another order may differ by more.
_ROWS = 256
_TOLERANCE = 1e-6


def make_trial_rows(formula: Formula, seed: int = 0) -> Any:
    """Return a frame with random values of every column: numbers of its size, its categories, new ones and gaps."""
    import pandas

    random = np.random.default_rng(seed)
    frame: dict[str, Any] = {}
    for place, (name, coding) in enumerate(zip(formula.names, formula.codings)):
        gaps = random.random(_ROWS) < 0.1
        if coding is not None and coding.kind == "category":
            values = np.array([*coding.categories, "a category that is new"], dtype=object)
            drawn = values[random.integers(0, len(values), _ROWS)]
            drawn[gaps] = None
            frame[name] = pandas.Series(drawn, dtype=object)
            continue
        middle = float(coding.fill) if coding is not None and np.isfinite(coding.fill) else 0.0
        thresholds = _list_thresholds(formula, place)
        around = random.choice([*thresholds, middle], _ROWS)
        numbers = around + random.normal(size=_ROWS) * max(1.0, 0.3 * abs(middle), float(np.std(thresholds or [0.0])))
        numbers[gaps] = np.nan
        if coding is not None and coding.kind == "date":
            frame[name] = pandas.to_datetime(np.round(numbers), unit="D", origin="unix")
        else:
            frame[name] = numbers
    return pandas.DataFrame(frame)


def _list_thresholds(formula: Formula, place: int) -> list[float]:
    """Return some thresholds of the trees at the first encoded column of a column."""
    widths = [0 if coding is None else len(coding.names("")) for coding in formula.codings[:place]]
    column = sum(widths)
    return [
        threshold
        for tree in formula.trees[:20]
        for feature, threshold, left in zip(tree.feature, tree.threshold, tree.left)
        if left >= 0 and feature == column and np.isfinite(threshold)
    ][:200]


def feed_rows(formula: Formula, frame: Any) -> dict[str, np.ndarray]:
    """Return the inputs of the graph for the rows of a frame."""
    from mercer.preprocessing import TableEncoder

    feeds = {}
    for name, coding in zip(formula.names, formula.codings):
        if coding is None:
            continue
        column = frame[name]
        if coding.kind == "category":
            texts = ["" if value is None or value != value else _spell(value) for value in column.tolist()]
            feeds[name] = np.array(texts, dtype=object)[:, None]
        elif coding.kind == "date":
            encoder = TableEncoder({name: "date"}, dates=False, missing="keep", sparse_output=False)
            feeds[name] = np.asarray(encoder.fit_transform(frame[[name]]), dtype=float)[:, :1]
        else:
            feeds[name] = column.to_numpy(dtype=float)[:, None]
    return feeds


def _spell(value: Any) -> str:
    """Return the name of a category; a whole number has the same name as integer and as float."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def check_graph(graph: Any, formula: Formula, model: Any, frame: Any) -> float | None:
    """Return the largest difference between the graph and the model on some rows; None without onnxruntime.

    Raises
    ------
    DataError
        If they differ.
    """
    try:
        import onnxruntime
    except ImportError:
        return None
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    found = dict(zip([output.name for output in session.get_outputs()], session.run(None, feed_rows(formula, frame))))
    wanted = np.asarray(model.predict_proba(frame) if formula.classes else model.predict(frame), dtype=float)
    got = found["probabilities" if formula.classes else "prediction"]
    largest = float(np.abs(got - wanted).max() / max(1.0, float(np.abs(wanted).max())))
    if not largest <= _TOLERANCE:
        message = f"export: the ONNX file differs from the model by {largest:.2g}. Please report it."
        raise DataError(message)
    return largest
