"""Choose models: nested cross-validation, candidates from simple to complex, and how certain their scores are."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_bias_variance": ("BiasVariance", "bias_variance", "resampled_bias_variance"),
        "_comparison": ("McNemar", "PairedComparison", "compare_estimators", "compare_scores", "mcnemar_test"),
        "_complexity": ("degrees_of_freedom", "parameter_count", "roughness", "weight_norm"),
        "_curves": ("ScoreCurve", "complexity_curve", "score_by_rows"),
        "_cross_validation": ("cross_val_score", "cross_validate"),
        "_estimates": ("ErrorEstimates", "SelectionOptimism", "compare_estimates", "simulate_selection"),
        "_hold_out": ("HoldOut", "hold_out_split"),
        "_interval": ("ScoreInterval", "score_interval"),
        "_nested": ("NestedResult", "nested_cv"),
        "_plan": ("Trial",),
        "_pooled": ("pool_interval",),
        "_registry": ("Candidate", "Shape", "candidates"),
        "_rule": ("choose_simplest", "one_standard_error"),
        "_scalable": ("Alternative", "ScalableComparison", "compare_alternatives", "scalable_alternatives"),
        "_searching.grid": ("GridSearchCV", "RandomizedSearchCV"),
        "_searching.halving": ("HalvingGridSearchCV", "HalvingRandomSearchCV"),
        "_search": ("SearchResult", "search_settings"),
        "_sources": ("SourceReport", "compare_sources"),
        "_threshold": ("FixedThresholdClassifier", "TunedThresholdClassifierCV"),
        "_trial": ("Contender",),
    },
    scikit="sklearn.model_selection",
)
