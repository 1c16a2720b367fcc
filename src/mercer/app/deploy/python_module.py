"""Write a model as a Python module that needs nothing but Python."""

import inspect
from dataclasses import astuple
from pprint import pformat
from typing import Any

import numpy as np

from mercer._source.table import numerals
from mercer._source.table.dialect import MISSING as BLANKS
from mercer.app.deploy.formula import CYCLES, MISSING, OTHER, Formula, list_codes, list_single
from mercer.app.deploy.python_pieces import BODIES, HEAD, RUNTIME
from mercer.app.deploy.trial_rows import make_trial_rows
from mercer.errors import DataError

# Rows on which a module is compared with the model; plain Python takes its time for each.
_ROWS = 64
# The largest difference of a probability or a number, relative to the largest number.
_TOLERANCE = 1e-6


def write_module(formula: Formula) -> str:
    """Return the text of the module."""
    models = [_describe_model(part, member) for part, member in formula.members or [(1.0, formula)]]
    calibration = formula.calibration
    constants = {
        "BLANKS": sorted(BLANKS),
        "OTHER": OTHER,
        "MISSING": MISSING,
        "MODELS": models,
        "CLASSES": formula.classes,
        "ACTIONS": formula.actions,
        "COSTS": None if formula.costs is None else formula.costs.tolist(),
        "CALIBRATION": None if calibration is None else _simplify(astuple(calibration)),
    }
    lines = [
        f"{name} = {pformat(value, width=118, compact=True, sort_dicts=False)}" for name, value in constants.items()
    ]
    kinds = sorted({type(model.body).__name__ for model in list_single(formula) if model.body is not None})
    # Machines have the function of kernels among their own.
    pieces = [BODIES[kind] for kind in kinds if kind != "Kernel" or "Machines" not in kinds]
    table = "".join(f'    "{kind}": _score_{kind.lower()},\n' for kind in kinds)
    scorers = f"\n\n# By kind of model, the function that scores an encoded row.\nBODIES = {{\n{table}}}\n"
    program, start = RUNTIME.split('\n\nif __name__ == "__main__":')
    forms = [
        form for model in models for _, kind, *_, form in model["columns"] if kind == "number" and form is not None
    ]
    head = HEAD + (_quote_numerals() if forms else "")
    return f'{head}{chr(10).join(lines)}\n{program}{"".join(pieces)}{scorers}\n\nif __name__ == "__main__":{start}'


def _quote_numerals() -> str:
    """Return the functions that read numbers with currencies, units and separators, as they are in mercer."""
    source, last = inspect.getsource(numerals), inspect.getsource(numerals.read_numeral)
    quoted = source[source.index("_CURRENCY = ") : source.index(last) + len(last)]
    return f"\n\nfrom typing import NamedTuple\n\n{quoted}\n\n"


def _describe_model(part: float, formula: Formula) -> dict[str, Any]:
    """Return one model as plain lists; its predictions count with the weight `part`."""
    weights = {
        place: [(int(column), float(row[column])) for column in np.flatnonzero(row)]
        for place, row in enumerate(formula.weights)
        if row.any()
    }
    columns = [_describe(name, coding) for name, coding in zip(formula.names, formula.codings) if coding is not None]
    body = formula.body
    return {
        "part": part,
        "columns": columns,
        "shift": formula.shift.tolist(),
        "scale": formula.scale.tolist(),
        "intercept": formula.intercept.tolist(),
        "weights": weights,
        "trees": [(t.feature, t.threshold, t.left, t.right, t.missing_left, t.value) for t in formula.trees],
        "body": None if body is None else (type(body).__name__, _simplify(astuple(body))),
        "link": formula.link,
        "power": None if formula.power is None else astuple(formula.power),
    }


def _simplify(value: Any) -> Any:
    """Return arrays inside tuples and lists as lists, and NumPy's numbers as Python's."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return type(value)(map(_simplify, value)) if isinstance(value, tuple | list) else value


def _describe(name: str, coding: Any) -> tuple[Any, ...]:
    """Return how a column is encoded: name, kind, fill, whether gaps are marked, codes, words or cycles, and form."""
    if coding.kind == "category":
        codes, table = list_codes(coding)
        return name, "category", 0.0, False, (codes, table), None
    if coding.kind == "text":
        weights = None if coding.weights is None else np.asarray(coding.weights, dtype=float).tolist()
        return name, "text", 0.0, False, ([str(word) for word in coding.words], weights), None
    cycles = [CYCLES[cycle] for cycle in getattr(coding, "cycles", ())]
    return name, coding.kind, float(coding.fill), bool(coding.missing), cycles, coding.form


def check_module(text: str, formula: Formula, model: Any) -> float:
    """Return the largest difference between the module and the model on random rows; DataError if they differ."""
    frame = make_trial_rows(formula).iloc[:_ROWS]
    space: dict[str, Any] = {"__name__": "exported"}
    exec(compile(text, "exported", "exec"), space)
    # As a CSV file or JSON would hold them: dates as texts, and None for what is missing.
    rows = [
        {name: None if value is None or value != value else _spell(value) for name, value in row.items()}
        for row in frame.to_dict("records")
    ]
    if formula.classes:
        got = np.array([list(space["predict_proba"](row).values()) for row in rows])
        wanted = np.asarray(model.predict_proba(frame), dtype=float)
    else:
        got = np.array([space["predict"](row) for row in rows])
        wanted = np.asarray(model.predict(frame), dtype=float)
    largest = float(np.abs(got - wanted).max() / max(1.0, float(np.abs(wanted).max())))
    if not largest <= _TOLERANCE:
        raise DataError(
            f"export: the Python module differs from the model by {largest:.2g}, and was not written. Use --onnx."
        )
    return largest


def _spell(value: Any) -> Any:
    """Return a date as a text, and anything else as it is."""
    return value.isoformat() if hasattr(value, "isoformat") else value
