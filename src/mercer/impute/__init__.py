"""Values in the place of missing ones: by column, by the other columns, by the nearest rows."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_iterative_imputer": ("IterativeImputer",),
        "_knn_imputer": ("KNNImputer",),
        "_missing_indicator": ("MissingIndicator",),
        "_simple_imputer": ("SimpleImputer",),
    },
    scikit="sklearn.impute",
)
