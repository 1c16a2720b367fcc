"""Which columns a model from a study needs, as which kinds they are read, and what it predicts."""

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_clusterer, is_regressor

from mercer._source.table import Stream
from mercer._source.table.table import quote
from mercer.app.several import TargetModels, list_folders
from mercer.app.study.metrics import choose_positive, find_threshold
from mercer.decision import DecisionClassifier
from mercer.errors import DataError


@dataclass(frozen=True)
class Schema:
    """The columns that a model needs, and the kind as which each is read."""

    kinds: dict[str, str]

    @classmethod
    def of(cls, model: Any, name: str) -> "Schema":
        """Return the schema of a pipeline that begins with a table encoder; `name` is that of its file."""
        from mercer.preprocessing import TableEncoder

        encoder = find_encoder(model)
        if not isinstance(encoder, TableEncoder) or not hasattr(encoder, "feature_names_in_"):
            raise DataError(
                f"{name}: the file holds {type(model).__name__}, which does not know the columns of a table. Give the "
                f"model.mercer that `mercer run` wrote, or use mercer.load in Python."
            )
        return cls(encoder.find_reading_kinds())


def find_encoder(model: Any) -> Any:
    """Return the first step of a pipeline; of stacked models, that of the first one, which reads the same columns."""
    if not hasattr(model, "steps"):
        return None
    first, last = model.steps[0][1], model.steps[-1][1]
    inside = last.estimator_ if isinstance(last, DecisionClassifier) else last
    return find_encoder(inside.estimators_[0]) if isinstance(first, str) else first


def count_new_categories(model: Any, frame: Any) -> dict[str, dict[str, int]]:
    """Return the number of rows of each category that no training row of the model had, by column."""
    models = model.models.values() if isinstance(model, TargetModels) else [model]
    counts: dict[str, dict[str, int]] = {}
    for encoder in filter(None, map(find_encoder, models)):
        counts |= encoder.count_new_categories(frame)
    return counts


def load_models(path: str) -> tuple[Any, Schema]:
    """Return the model in a file or folder, or the models of all targets in the folder of their run, and its schema."""
    folders = list_folders(Path(path).expanduser())
    if not folders:
        return load_model(path)
    found = {target: load_model(str(folder)) for target, folder in folders.items()}
    kinds: dict[str, str] = {}
    for _, schema in found.values():
        kinds |= schema.kinds
    return TargetModels({target: model for target, (model, _) in found.items()}), Schema(kinds)


def load_model(path: str) -> tuple[Any, Schema]:
    """Return the model in a file, or in the folder of a run, and its schema."""
    import mercer

    place = Path(path).expanduser()
    folders = list_folders(place)
    if folders:
        first = next(iter(folders.values()))
        raise DataError(
            f"{path}: the run has models of {quote(*folders)}. Give the folder of one target, such as {first}."
        )
    if place.is_dir():
        studied, place = (place / "run.json").is_file(), place / "model.mercer"
        if studied and not place.exists():
            raise DataError(
                f"{path}: the study has no model; its report says why. Run the study again with another table."
            )
    if not place.exists():
        raise DataError(f"{path}: there is no such file. Give the model.mercer that `mercer run` wrote.")
    model = mercer.load(place)
    return model, Schema.of(model, place.name)


def find_record(path: str) -> Any:
    """Return the record of the study beside a model: in the folder of a run, or in the folder of its model file."""
    from mercer.app.study.record import NAME, read_record

    place = Path(path).expanduser()
    folder = place if place.is_dir() else place.parent
    if not (folder / NAME).exists():
        raise DataError(f"{path}: there is no {NAME} beside the model. Give the folder that `mercer run` wrote.")
    return read_record(folder)


def open_rows(source: Any, schema: Schema, others: list[str], **reading: Any) -> Stream:
    """Return a stream of the columns that the model needs and of `others`; DataError if one is missing."""
    stream = Stream.open(source, **reading)
    lacking = [name for name in schema.kinds if name not in stream.names]
    if lacking:
        noun = "column" if len(lacking) == 1 else "columns"
        raise DataError(
            f"{stream.place.name}: the model needs {noun} {quote(*lacking)}, which the table does not have; its "
            f"columns are {quote(*stream.names)}. Add {'it' if len(lacking) == 1 else 'them'}, or give another table."
        )
    unknown = [name for name in others if name not in stream.names]
    if unknown:
        raise DataError(
            f"{stream.place.name}: there is no column {quote(*unknown)}; the columns are {quote(*stream.names)}."
        )
    return stream.select(schema.kinds, others)


@dataclass(frozen=True)
class Rule:
    """Of two classes, the positive one is predicted from a probability of `threshold` on."""

    positive: str
    threshold: float
    given: bool = False  # whether the user gave the threshold, which then overrules the model

    def decide(self, classes: list[str], shares: np.ndarray) -> np.ndarray:
        """Return the class of each row."""
        place = classes.index(self.positive)
        return np.where(shares[:, place] >= self.threshold, self.positive, classes[1 - place])


def find_rule(model: Any, positive: str | None, threshold: float | None) -> Rule | None:
    """Return the threshold of a model of two classes, as given or as the model has it; None for other models."""
    if isinstance(model, TargetModels):
        if threshold is not None or positive is not None:
            raise DataError("--threshold and --positive belong to one target. Give the folder of that target.")
        return None
    last = model[-1]
    classes = [str(name) for name in last.classes_] if is_classifier(last) and hasattr(last, "predict_proba") else []
    if len(classes) != 2:
        if threshold is not None or positive is not None:
            raise DataError("--threshold and --positive need a model that predicts two classes with probabilities.")
        return None
    shares = getattr(last, "trained_priors_", np.array([0.5, 0.5]))
    chosen = choose_positive(classes, shares, positive)
    if threshold is not None and not 0 < threshold < 1:
        raise DataError(f"--threshold must be a probability between 0 and 1; got {threshold:g}.")
    own = find_threshold(model, chosen)
    if threshold is None and own is None:
        return None
    return Rule(chosen, float(own if threshold is None else threshold), threshold is not None)  # type: ignore[arg-type]


def predict_columns(model: Any, frame: Any, rule: Rule | None = None) -> dict[str, np.ndarray]:
    """Return the predictions for some rows, by name of output column; by a `rule` that was given, if there is one."""
    if isinstance(model, TargetModels):
        return model.predict_columns(frame, predict_columns)
    # Encode the columns once, even if the last step predicts twice.
    rows, last = model[:-1].transform(frame), model[-1]
    if is_classifier(last) and hasattr(last, "predict_proba"):
        shares = last.predict_proba(rows)
        names = [str(name) for name in last.classes_]
        ruled = rule.decide(names, shares) if rule is not None and rule.given else np.asarray(last.predict(rows))
        classes = {"prediction": ruled}
        return classes | {f"probability of {name}": shares[:, k] for k, name in enumerate(last.classes_)}
    if is_regressor(last) and "return_std" in inspect.signature(last.predict).parameters:
        mean, spread = last.predict(rows, return_std=True)
        # 95 % of a normal distribution lie within 1.96 standard deviations of its mean.
        return {"prediction": mean, "low": mean - 1.96 * spread, "high": mean + 1.96 * spread}
    if hasattr(last, "predict"):
        labels = np.asarray(last.predict(rows))
        if is_clusterer(last) or hasattr(last, "n_components"):
            from mercer.app.study.grouping import name_groups

            return {"prediction": np.asarray(name_groups(labels))}
        return {"prediction": labels}
    values = np.asarray(last.transform(rows))
    return {f"component {k + 1}": values[:, k] for k in range(values.shape[1])}
