"""Transformers composed by columns, over tables in any place."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_column_transformer": ("ColumnTransformer",),
        "_make": ("make_column_transformer",),
        "_transformed_target": ("TransformedTargetRegressor",),
    },
    scikit="sklearn.compose",
)
