"""Selection of columns: by their variance in any place; scikit-learn's own selectors beside it."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_variance_threshold": ("VarianceThreshold",),
    },
    scikit="sklearn.feature_selection",
)
