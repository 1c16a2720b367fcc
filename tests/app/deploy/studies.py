"""Two small studies that the tests of this folder share, each fitted once."""

from functools import cache

import numpy as np
import pandas

import mercer


def make_rows(n_rows=120, seed=0):
    """Return a table with numbers, gaps, categories, dates, two classes and a value."""
    random = np.random.default_rng(seed)
    heat, load = random.normal(size=n_rows), random.normal(10, 3, size=n_rows)
    site = random.choice(["north", "south", "west"], n_rows)
    value = 3 * heat + load + 2 * (site == "south") + random.normal(size=n_rows)
    load[::9] = np.nan
    return pandas.DataFrame(
        {
            "heat": heat,
            "load": load,
            "site": np.where(random.random(n_rows) < 0.1, None, site),
            "day": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(random.integers(0, 900, n_rows), "D"),
            "failure": np.where(value > 11, "yes", "no"),
            "value": value,
        }
    )


def _study(target, other, candidate):
    rows = make_rows().drop(columns=other)
    return mercer.run(rows, target, quick=True, folds=3, inner=2, candidates=[candidate], splits="random")


@cache
def study_classes(candidate="logistic regression"):
    """Return a study of the two classes."""
    return _study("failure", "value", candidate)


@cache
def study_numbers(candidate="ridge regression"):
    """Return a study of the value."""
    return _study("value", "failure", candidate)
