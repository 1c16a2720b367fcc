"""Ensembles: many models that vote, or add up."""

from mercer.ensemble._hist_classifier import HistGradientBoostingClassifier
from mercer.ensemble._hist_regressor import HistGradientBoostingRegressor

__all__ = [
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
]
