"""Compare an ONNX file with the model that it was written from, row by row."""

from typing import Any

import numpy as np

from mercer.app.deploy.formula import Formula
from mercer.app.deploy.trial_rows import count_days, list_columns, spell_category
from mercer.errors import DataError

# The largest difference of a probability or a number, relative to the largest number. Double precision leaves 1e-12;
# sums in another order may differ by more.
_TOLERANCE = 1e-6


def feed_rows(formula: Formula, frame: Any) -> dict[str, np.ndarray]:
    """Return the inputs of the graph for the rows of a frame."""
    feeds = {}
    for name, codings in list_columns(formula).items():
        if not codings:
            continue
        column, coding = frame[name], codings[0]
        if coding.kind == "category":
            texts = ["" if value is None or value != value else spell_category(value) for value in column.tolist()]
            feeds[name] = np.array(texts, dtype=object)[:, None]
        elif coding.kind == "date":
            feeds[name] = count_days(frame, name)[:, None]
        else:
            feeds[name] = column.to_numpy(dtype=float)[:, None]
    return feeds


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
        raise DataError(f"export: the ONNX file differs from the model by {largest:.2g}. Please report it.")
    return largest
