"""Values in the place of missing ones: by column in any place; scikit-learn's own imputers beside it."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_missing_indicator": ("MissingIndicator",),
        "_simple_imputer": ("SimpleImputer",),
    },
    scikit="sklearn.impute",
)
