"""The estimator skeleton, declared parameter ranges, input checks, random streams and model files."""

from mercer._base.estimator import Estimator, fitting
from mercer._base.randomness import generators, seed_sequence
from mercer._base.validation import checked_rows, checked_rows_and_targets, fitted_rows

__all__ = [
    "Estimator",
    "checked_rows",
    "checked_rows_and_targets",
    "fitted_rows",
    "fitting",
    "generators",
    "seed_sequence",
]
