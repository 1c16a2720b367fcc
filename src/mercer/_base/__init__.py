"""The estimator skeleton, declared parameter ranges, input checks, random streams and model files."""

from mercer._base.estimator import Estimator, fitting
from mercer._base.opening import fitted_source, open_rows
from mercer._base.randomness import generators, seed_sequence
from mercer._base.validation import checked_rows, checked_rows_and_targets, few_rows, fitted_rows

__all__ = [
    "Estimator",
    "checked_rows",
    "checked_rows_and_targets",
    "few_rows",
    "fitted_rows",
    "fitted_source",
    "fitting",
    "generators",
    "open_rows",
    "seed_sequence",
]
