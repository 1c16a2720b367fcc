"""Decision trees."""

from mercer.tree._decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from mercer.tree._multiway_classifier import MultiwayTreeClassifier
from mercer.tree._stump import DecisionStump

__all__ = [
    "DecisionStump",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "MultiwayTreeClassifier",
]
