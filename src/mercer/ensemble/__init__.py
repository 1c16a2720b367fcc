"""Ensembles: many models that predict together."""

from mercer.ensemble._extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from mercer.ensemble._random_forest import RandomForestClassifier, RandomForestRegressor

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
