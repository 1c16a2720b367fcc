"""Chains and unions of transformers, over rows in any place."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {"_feature_union": ("FeatureUnion", "make_union"), "_pipeline": ("Pipeline", "make_pipeline")},
    scikit="sklearn.pipeline",
)
