#!/usr/bin/env python3
"""Write the bundled tables from their generators; a test checks that the files are what this writes."""

import csv
from pathlib import Path

from mercer.datasets import make_fish
from mercer.datasets._fish import FEATURES

FOLDER = Path(__file__).parents[1] / "src" / "mercer" / "datasets" / "data"


def fish_rows():
    """The rows of fish.csv, header first."""
    X, weight, species = make_fish(420, random_state=2)
    yield [*FEATURES, "weight_g", "species"]
    for row, grams, kind in zip(X, weight, species, strict=True):
        yield [*(f"{value:.1f}" for value in row), f"{grams:.0f}", kind]


if __name__ == "__main__":
    with (FOLDER / "fish.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(fish_rows())
