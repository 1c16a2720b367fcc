"""Choose models: nested cross-validation, candidates from simple to complex, and how certain their scores are."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use
from mercer._renaming import forward_old_names

if TYPE_CHECKING:
    from mercer._base.candidate import Candidate, Shape
    from mercer.model_selection._bias_variance import BiasVariance, bias_variance, resampled_bias_variance
    from mercer.model_selection._complexity import (
        degrees_of_freedom,
        parameter_count,
        roughness,
        weight_norm,
    )
    from mercer.model_selection._curves import ScoreCurve, complexity_curve, learning_curve
    from mercer.model_selection._estimates import (
        ErrorEstimates,
        SelectionOptimism,
        compare_estimates,
        simulate_selection,
    )
    from mercer.model_selection._hold_out import HoldOut, hold_out_split
    from mercer.model_selection._interval import ScoreInterval, score_interval
    from mercer.model_selection._nested import NestedResult, nested_cv
    from mercer.model_selection._plan import Trial
    from mercer.model_selection._pooled import pool_interval
    from mercer.model_selection._registry import candidates
    from mercer.model_selection._rule import choose_simplest, one_standard_error
    from mercer.model_selection._scalable import (
        Alternative,
        ScalableComparison,
        compare_alternatives,
        scalable_alternatives,
    )
    from mercer.model_selection._search import SearchResult, search_settings
    from mercer.model_selection._sources import SourceReport, compare_sources
    from mercer.model_selection._trial import Contender

__all__ = [
    "Alternative",
    "BiasVariance",
    "Candidate",
    "Contender",
    "ErrorEstimates",
    "HoldOut",
    "NestedResult",
    "ScalableComparison",
    "ScoreCurve",
    "ScoreInterval",
    "SearchResult",
    "SelectionOptimism",
    "Shape",
    "SourceReport",
    "Trial",
    "bias_variance",
    "candidates",
    "choose_simplest",
    "compare_alternatives",
    "compare_estimates",
    "compare_sources",
    "complexity_curve",
    "degrees_of_freedom",
    "hold_out_split",
    "learning_curve",
    "nested_cv",
    "one_standard_error",
    "parameter_count",
    "pool_interval",
    "resampled_bias_variance",
    "roughness",
    "scalable_alternatives",
    "score_interval",
    "search_settings",
    "simulate_selection",
    "weight_norm",
]

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_bias_variance": ("BiasVariance", "bias_variance", "resampled_bias_variance"),
        "_complexity": ("degrees_of_freedom", "parameter_count", "roughness", "weight_norm"),
        "_curves": ("ScoreCurve", "complexity_curve", "learning_curve"),
        "_estimates": ("ErrorEstimates", "SelectionOptimism", "compare_estimates", "simulate_selection"),
        "_hold_out": ("HoldOut", "hold_out_split"),
        "_interval": ("ScoreInterval", "score_interval"),
        "_nested": ("NestedResult", "nested_cv"),
        "_plan": ("Trial",),
        "_pooled": ("pool_interval",),
        "_registry": ("Candidate", "Shape", "candidates"),
        "_rule": ("choose_simplest", "one_standard_error"),
        "_scalable": ("Alternative", "ScalableComparison", "compare_alternatives", "scalable_alternatives"),
        "_search": ("SearchResult", "search_settings"),
        "_sources": ("SourceReport", "compare_sources"),
        "_trial": ("Contender",),
    },
    forward_old_names(__name__, stacklevel=3),
)
