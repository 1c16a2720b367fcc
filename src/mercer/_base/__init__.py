"""The estimator skeleton, declared parameter ranges, input checks, random streams and model files."""

from mercer._base.estimator import Estimator, LimitedEstimator, fitting
from mercer._base.opening import open_new_rows, open_rows
from mercer._base.randomness import draw_seed, generators, seed_sequence
from mercer._base.validation import accept_rows, check_new_rows, check_rows, check_rows_and_targets, few_rows

__all__ = [
    "Estimator",
    "LimitedEstimator",
    "accept_rows",
    "check_new_rows",
    "check_rows",
    "check_rows_and_targets",
    "draw_seed",
    "few_rows",
    "fitting",
    "generators",
    "open_new_rows",
    "open_rows",
    "seed_sequence",
]
