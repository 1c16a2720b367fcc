"""Selection of columns: by their variance and by scores, in any place; scikit-learn's wrappers beside it."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_selectors": (
            "GenericUnivariateSelect",
            "SelectFdr",
            "SelectFpr",
            "SelectFwe",
            "SelectKBest",
            "SelectPercentile",
        ),
        "_variance_threshold": ("VarianceThreshold",),
    },
    scikit="sklearn.feature_selection",
)
