"""Several targets by estimators of one; chains are scikit-learn's own."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {"_targets": ("MultiOutputClassifier", "MultiOutputRegressor")},
    scikit="sklearn.multioutput",
)
