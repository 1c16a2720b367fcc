"""Predictors that ignore their inputs, for rows in any place: what any model should beat."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__, {"_dummies": ("DummyClassifier", "DummyRegressor")}, scikit="sklearn.dummy"
)
