"""Answers of fitted models: every class that scikit-learn has too, every method that both have, on one thread.

``python -m benchmarks.predictions`` measures all of them and stores ``benchmarks/results/predictions_all.json``;
``python -m benchmarks.predictions --only Ridge,PCA`` prints some. ``python -m benchmarks --report`` renders the table.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.class_pairs import (
    LIBRARIES,
    make_estimator,
    make_small_table,
    measure_classes,
    pair_table,
    time_in_turns,
)

RESULT = Path(__file__).parent / "results" / "predictions_all.json"
METHODS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")
# Rows and columns of the table that models are fitted to.
TRAINING = (1000, 20)
# Rows, type and order of the rows that are asked about, by the name of the size.
QUESTIONS: dict[str, tuple[int, str, str]] = {
    "1 row": (1, "float64", "C"),
    "100 rows": (100, "float64", "C"),
    "10 000 rows": (10_000, "float64", "C"),
    "10 000 float32": (10_000, "float32", "C"),
    "10 000 Fortran": (10_000, "float64", "F"),
    "100 000 rows": (100_000, "float64", "C"),
}
# Parameters of classes whose defaults give no answer in 20 columns, where most rows have no neighbour within one.
PARAMETERS: dict[str, dict[str, Any]] = {
    "RadiusNeighborsClassifier": {"radius": 5.0, "outlier_label": "most_frequent"},
    "RadiusNeighborsRegressor": {"radius": 5.0},
}
# A question that would take longer than this many processor seconds, by what a shorter one took, is not asked.
LONGEST = 1.0
# The most values in the rows of a question: 128 MiB of float64.
MOST_VALUES = 2**24
# Processor seconds for the repeats of one question, both libraries together.
BUDGET = 0.1
# Calls are repeated between two looks at the clock until they take this many seconds: a look takes a microsecond.
SHORTEST = 2e-4
# The seed of the rows that are asked about: another one than that of the training rows.
SEED = 1


def measure_answers(name: str, family: str, questions: dict[str, tuple[int, str, str]] = QUESTIONS) -> list[Any]:
    """Return a row for each method that both libraries have: the best milliseconds of each, at each size.

    Models are fitted to rows of the type that they are asked about. The first answer of each is not counted.
    """
    fitted = {dtype: _fit_both(name, family, dtype) for dtype in sorted({dtype for _, dtype, _ in questions.values()})}
    rows = []
    for method in METHODS:
        if not all(hasattr(model, method) for models in fitted.values() for model in models.values()):
            continue
        row: dict[str, Any] = {"class": name, "family": family, "method": method}
        seconds_per_row = 0.0
        for question, (count, dtype, order) in questions.items():
            models = fitted[dtype]
            columns = models["mercer"].n_features_in_
            if seconds_per_row * count > LONGEST or count * columns > MOST_VALUES:
                continue
            X = _ask_rows(name, family, count, columns, dtype, order)
            row[question] = _time_method(models, method, X)
            seconds_per_row = max(times["cpu"] for times in row[question].values()) / 1e3 / count
        rows.append(row)
    return rows


def _fit_both(name: str, family: str, dtype: str) -> dict[str, Any]:
    """Return a fitted model of each library."""
    table = make_small_table(name, family, *TRAINING)
    rows = table[0].astype(dtype) if table[0].dtype.kind == "f" else table[0]
    others = PARAMETERS.get(name, {})
    return {library: make_estimator(library, family, name, **others).fit(rows, *table[1:]) for library in LIBRARIES}


def _ask_rows(name: str, family: str, count: int, columns: int, dtype: str, order: Any) -> np.ndarray:
    """Return rows that a model was not fitted to."""
    if name == "KernelCenterer":
        rows = np.random.default_rng(SEED).normal(size=(count, columns))
    else:
        rows = make_small_table(name, family, count, columns, SEED)[0]
    return np.asarray(rows, dtype=dtype if rows.dtype.kind == "f" else None, order=order)


def _time_method(models: dict[str, Any], method: str, X: np.ndarray) -> dict[str, dict[str, float]]:
    """Return the best milliseconds of a method of both models about the same rows."""
    calls = dict.fromkeys(models, 1)

    def time_once(library: str) -> tuple[float, float]:
        answer, count = getattr(models[library], method), calls[library]
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(count):
            answer(X)
        return (time.process_time() - cpu) / count, (time.perf_counter() - wall) / count

    # The first answer may import; the second tells how many calls a look at the clock is worth.
    first = sum(time_once(library)[0] for library in models)
    for library in models:
        calls[library] = 1 + int(SHORTEST / max(time_once(library)[0], 1e-7))
    return time_in_turns(time_once, BUDGET, first)


def predictions_table(result: dict[str, Any]) -> str:
    """Return a Markdown table: the milliseconds of both libraries and their ratio, one row for each method."""
    training = " x ".join(map(str, TRAINING))
    title = f"**predictions_all**: answers of models with default parameters, fitted to {training} rows, one thread"
    return pair_table(result, "answers", title, lambda row: f"{row['class']}.{row['method']}")


def main(arguments: list[str] | None = None) -> None:
    """Measure all classes and store them, or some and print them."""
    measure_classes(
        "benchmarks.predictions", list(QUESTIONS), measure_answers, ("answers", RESULT), predictions_table, arguments
    )


if __name__ == "__main__":
    main()
