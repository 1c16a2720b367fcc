"""Guards against hostile inputs: raw errors become sentences, answers are finite, and a fit warns once."""

from mercer._base.guard.answers import guard_answers
from mercer._base.guard.arguments import clean_arguments
from mercer._base.guard.extremes import NOTED, are_ordinary, note_extreme
from mercer._base.guard.fits import FitGuard
from mercer._base.guard.loaded import note_loaded
from mercer._base.guard.state import Noted, note_state

__all__ = [
    "NOTED",
    "FitGuard",
    "Noted",
    "are_ordinary",
    "clean_arguments",
    "guard_answers",
    "note_extreme",
    "note_loaded",
    "note_state",
]
