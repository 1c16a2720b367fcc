"""What a model from a study wants of a table: which columns, of which kinds; and what it can say of rows."""

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_clusterer, is_regressor

from mercer.app.table import Stream
from mercer.app.table.table import named
from mercer.errors import DataError

__all__ = ["Schema", "answers", "load_model", "open_rows"]

_NUMERALS = frozenset("0123456789.+-e")


@dataclass(frozen=True)
class Schema:
    """The columns that a model takes, and the kind that each is read as."""

    kinds: dict[str, str]

    @classmethod
    def of(cls, model: Any, name: str) -> "Schema":
        """The schema of a pipeline that begins with a table encoder."""
        from mercer.preprocessing import TableEncoder

        encoder = model.steps[0][1] if hasattr(model, "steps") else None
        if not isinstance(encoder, TableEncoder) or not hasattr(encoder, "feature_names_in_"):
            message = (
                f"{name}: the file holds {type(model).__name__}, not a model of `mercer run`, which knows the columns "
                f"of its table. Give the model.mercer of a run, or use mercer.load in Python."
            )
            raise DataError(message)
        return cls({str(one): _kind(encoder, number) for number, one in enumerate(encoder.feature_names_in_)})


def _kind(encoder: Any, number: int) -> str:
    """The kind of a column; categories that were numbers or truth values in the table are read as such again."""
    kind = encoder.kinds_[number]
    if kind == "date":
        # As in the table that the model learned from: a day such as 3/4 says nothing of its own order.
        form = encoder._codings[number].form
        return f"date {form}" if form else kind
    if kind != "category":
        return kind
    names = set(encoder.categories_[number])
    if names and names <= {"True", "False"}:
        return "truth"
    return "numeral" if names and all(set(name) <= _NUMERALS and name[-1:].isdigit() for name in names) else kind


def load_model(path: str) -> tuple[Any, Schema]:
    """The model in a file and its schema."""
    import mercer

    place = Path(path).expanduser()
    if place.is_dir():
        place /= "model.mercer"
    if not place.exists():
        message = f"{path}: there is no such file. Give the model.mercer that `mercer run` wrote."
        raise DataError(message)
    model = mercer.load(place)
    return model, Schema.of(model, place.name)


def open_rows(source: Any, schema: Schema, others: list[str], **reading: Any) -> Stream:
    """The table with the columns that the model takes; DataError if one is lacking."""
    stream = Stream.open(source, **reading)
    lacking = [name for name in schema.kinds if name not in stream.names]
    if lacking:
        verb = "column" if len(lacking) == 1 else "columns"
        message = (
            f"{stream.place.name}: the model needs {verb} {named(*lacking)}, which the table lacks; its columns are "
            f"{named(*stream.names)}. Add {'it' if len(lacking) == 1 else 'them'}, or give another table."
        )
        raise DataError(message)
    unknown = [name for name in others if name not in stream.names]
    if unknown:
        message = f"{stream.place.name}: there is no column {named(*unknown)}; there are {named(*stream.names)}."
        raise DataError(message)
    return stream.select(schema.kinds, others)


def answers(model: Any, frame: Any) -> dict[str, np.ndarray]:
    """What the model says of rows, by name of output column."""
    # The columns are made into numbers once, whatever is asked of the last step.
    rows, last = model[:-1].transform(frame), model[-1]
    if is_classifier(last) and hasattr(last, "predict_proba"):
        said = {"prediction": np.asarray(last.predict(rows))}
        shares = last.predict_proba(rows)
        return said | {f"probability of {name}": shares[:, k] for k, name in enumerate(last.classes_)}
    if is_regressor(last) and "return_std" in inspect.signature(last.predict).parameters:
        mean, spread = last.predict(rows, return_std=True)
        # The normal distribution has 95 % within this many standard deviations.
        return {"prediction": mean, "low": mean - 1.96 * spread, "high": mean + 1.96 * spread}
    if hasattr(last, "predict"):
        found = np.asarray(last.predict(rows))
        # Groups are counted from 1, as in the report; what belongs to none is -1.
        named = [f"group {label + 1}" if label >= 0 else "none" for label in found] if is_clusterer(last) else found
        return {"prediction": np.asarray(named)}
    values = np.asarray(last.transform(rows))
    return {f"component {k + 1}": values[:, k] for k in range(values.shape[1])}
