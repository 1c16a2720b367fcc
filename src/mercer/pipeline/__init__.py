"""Chains and unions of transformers, over rows in any place; chains are scikit-learn's own."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__, {"_feature_union": ("FeatureUnion", "make_union")}, scikit="sklearn.pipeline"
)
