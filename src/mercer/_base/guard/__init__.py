"""Guards at the border: hostile inputs become sentences, a fit warns once, and models that come in are checked."""

from mercer._base.guard.explanation import explain_error
from mercer._base.guard.fits import FitGuard, is_inside_fit
from mercer._base.guard.inputs import (
    NOTED,
    OVERFLOWS,
    are_ordinary,
    check_sparse_rows,
    clean_arguments,
    clean_input,
    describe_extremes,
    is_finite,
    note_extreme,
)

__all__ = [
    "NOTED",
    "OVERFLOWS",
    "FitGuard",
    "are_ordinary",
    "check_sparse_rows",
    "clean_arguments",
    "clean_input",
    "describe_extremes",
    "explain_error",
    "is_finite",
    "is_inside_fit",
    "note_extreme",
]
