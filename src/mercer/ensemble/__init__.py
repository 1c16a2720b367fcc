"""Ensembles: many models that vote, or add up."""

from mercer.ensemble._hist_gradient_boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor

__all__ = [
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
]
