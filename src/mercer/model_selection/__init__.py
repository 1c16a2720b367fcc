"""Choosing models: nested cross-validation, candidates from simple to complex, and what their scores are worth."""

from mercer._base.candidate import Candidate, Shape
from mercer.model_selection._bias_variance import BiasVariance, bias_variance, resampled_bias_variance
from mercer.model_selection._curves import ScoreCurve, complexity_curve, learning_curve
from mercer.model_selection._interval import ScoreInterval, score_interval
from mercer.model_selection._nested import NestedResult, nested_cv
from mercer.model_selection._plan import Trial
from mercer.model_selection._registry import candidates
from mercer.model_selection._rule import one_standard_error
from mercer.model_selection._trial import Contender

__all__ = [
    "BiasVariance",
    "Candidate",
    "Contender",
    "NestedResult",
    "ScoreCurve",
    "ScoreInterval",
    "Shape",
    "Trial",
    "bias_variance",
    "candidates",
    "complexity_curve",
    "learning_curve",
    "nested_cv",
    "one_standard_error",
    "resampled_bias_variance",
    "score_interval",
]
