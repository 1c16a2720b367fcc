"""Decision trees."""

from mercer.tree._decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from mercer.tree._extra_tree import ExtraTreeClassifier, ExtraTreeRegressor
from mercer.tree._impurity import impurity, split_gain

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "impurity",
    "split_gain",
]
