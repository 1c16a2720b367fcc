"""Several targets by estimators of one, each for itself or in a chain."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_chains": ("ClassifierChain", "RegressorChain"),
        "_targets": ("MultiOutputClassifier", "MultiOutputRegressor"),
    },
    scikit="sklearn.multioutput",
)
