"""Random rows on which an exported model is compared with the one that it was written from."""

from typing import Any

import numpy as np

from mercer.app.deploy.formula import Formula, list_single

# Rows on which a file is compared with its model.
_ROWS = 256
# Words of a random text.
_WORDS = 8


def list_columns(formula: Formula) -> dict[str, list[Any]]:
    """Return the ways in which the models encode each column; none for a column that no model uses."""
    models = list_single(formula)
    return {
        name: [model.codings[place] for model in models if model.codings[place] is not None]
        for place, name in enumerate(formula.names)
    }


def make_trial_rows(formula: Formula, seed: int = 0) -> Any:
    """Return a frame with random values of every column: numbers of its size, its categories, new ones and gaps."""
    import pandas

    random = np.random.default_rng(seed)
    frame: dict[str, Any] = {}
    for place, (name, codings) in enumerate(list_columns(formula).items()):
        gaps = random.random(_ROWS) < 0.1
        kind = codings[0].kind if codings else "number"
        if kind in ("category", "text"):
            known = codings[0].categories if kind == "category" else codings[0].words
            values = np.array([*known, "a category that is new" if kind == "category" else "unheard"], dtype=object)
            drawn = values[random.integers(0, len(values), _ROWS)]
            if kind == "text":
                texts = values[random.integers(0, len(values), (_ROWS, _WORDS))]
                drawn = np.array([", ".join(words) for words in texts], dtype=object)
            drawn[gaps] = None
            frame[name] = pandas.Series(drawn, dtype=object)
            continue
        # Models that keep gaps have no number to fill them with.
        middle = next((float(coding.fill) for coding in codings if np.isfinite(coding.fill)), 0.0)
        thresholds = [value for model in list_single(formula) for value in _list_thresholds(model, place)]
        around = random.choice([*thresholds, middle], _ROWS)
        numbers = around + random.normal(size=_ROWS) * max(1.0, 0.3 * abs(middle), float(np.std(thresholds or [0.0])))
        numbers[gaps] = np.nan
        if kind == "date":
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


def count_days(frame: Any, name: str) -> np.ndarray:
    """Return a column of dates as days since the start of 1970."""
    from mercer.preprocessing import TableEncoder

    encoder = TableEncoder({name: "date"}, dates=False, missing="keep", sparse_output=False, handle_unknown="ignore")
    days: np.ndarray = np.asarray(encoder.fit_transform(frame[[name]]), dtype=float)[:, 0]
    return days


def write_plain(formula: Formula, frame: Any) -> Any:
    """Return the frame as a scikit-learn pipeline takes it: dates as days, and empty texts for missing ones."""
    kinds = {name: codings[0].kind for name, codings in list_columns(formula).items() if codings}
    columns = {name: count_days(frame, name) for name, kind in kinds.items() if kind == "date"}
    columns |= {name: frame[name].fillna("") for name, kind in kinds.items() if kind == "text"}
    return frame.assign(**columns)


def spell_category(value: Any) -> str:
    """Return the name of a category; a whole number has the same name as integer and as float."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
