"""Fits of small tables: every class that scikit-learn has too, with its defaults, on one thread.

``python -m benchmarks.small_fits`` measures all of them and stores ``benchmarks/results/small_fits_all.json``;
``python -m benchmarks.small_fits --only KMeans,PCA`` prints some. ``python -m benchmarks --report`` renders the table.
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

RESULT = Path(__file__).parent / "results" / "small_fits_all.json"
# Rows and columns.
SIZES = ((50, 3), (150, 8), (1000, 20))
# Processor seconds for the repeats of one class at one size, both libraries together.
BUDGET = 0.25


def measure_class(name: str, family: str, sizes: tuple[tuple[int, int], ...] = SIZES) -> dict[str, Any]:
    """Return the best milliseconds of a fit in each library at each size, by processor time and by the clock.

    The first fit of each is not counted: it imports and opens pools.
    """
    record: dict[str, Any] = {"class": name, "family": family}
    for rows, columns in sizes:
        table = make_small_table(name, family, rows, columns)

        def time_once(library: str, table: tuple[np.ndarray, ...] = table) -> tuple[float, float]:
            return _time_fit(library, family, name, table)

        first = sum(time_once(library)[0] for library in LIBRARIES)
        record[f"{rows} x {columns}"] = time_in_turns(time_once, BUDGET, first)
    return record


def _time_fit(library: str, family: str, name: str, table: tuple[np.ndarray, ...]) -> tuple[float, float]:
    """Return the seconds, of the processor and of the clock, that a fit takes."""
    estimator = make_estimator(library, family, name)
    cpu, wall = time.process_time(), time.perf_counter()
    estimator.fit(*table)
    return time.process_time() - cpu, time.perf_counter() - wall


def small_fits_table(result: dict[str, Any]) -> str:
    """Return a Markdown table: the milliseconds of both libraries and their ratio, one row for each class."""
    title = "**small_fits_all**: fits with default parameters, one thread"
    return pair_table(result, "classes", title, lambda row: row["class"])


def main(arguments: list[str] | None = None) -> None:
    """Measure all classes and store them, or some and print them."""
    measure_classes(
        "benchmarks.small_fits",
        [f"{rows} x {columns}" for rows, columns in SIZES],
        lambda name, family: [measure_class(name, family)],
        ("classes", RESULT),
        small_fits_table,
        arguments,
    )


if __name__ == "__main__":
    main()
