"""Selection of columns: by their variance and by scores, in any place, or by what a model makes of them."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_elimination": ("RFE",),
        "_elimination_cv": ("RFECV",),
        "_from_model": ("SelectFromModel",),
        "_selectors": (
            "GenericUnivariateSelect",
            "SelectFdr",
            "SelectFpr",
            "SelectFwe",
            "SelectKBest",
            "SelectPercentile",
        ),
        "_sequential": ("SequentialFeatureSelector",),
        "_variance_threshold": ("VarianceThreshold",),
    },
    scikit="sklearn.feature_selection",
)
