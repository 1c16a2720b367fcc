"""Ensembles: many models whose predictions are combined."""

from mercer._renaming import forward_old_names
from mercer.ensemble._committee.bagging import BaggingClassifier, BaggingRegressor
from mercer.ensemble._committee.combination import (
    combine_labels,
    combine_numbers,
    variance_of_average,
)
from mercer.ensemble._committee.stacking import StackingClassifier
from mercer.ensemble._committee.stacking_regressor import StackingRegressor
from mercer.ensemble._committee.voting import VotingClassifier
from mercer.ensemble._committee.voting_regressor import VotingRegressor
from mercer.ensemble._forest.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from mercer.ensemble._forest.random_forest import RandomForestClassifier, RandomForestRegressor
from mercer.ensemble._gradient.classifier import GradientBoostingClassifier
from mercer.ensemble._gradient.regressor import GradientBoostingRegressor
from mercer.ensemble._histogram.classifier import HistGradientBoostingClassifier
from mercer.ensemble._histogram.regressor import HistGradientBoostingRegressor
from mercer.ensemble._isolation.isolation_forest import IsolationForest
from mercer.ensemble._isolation.trees import average_path_length
from mercer.ensemble._reweighting.ada_boost import AdaBoostClassifier
from mercer.ensemble._reweighting.ada_boost_regressor import AdaBoostRegressor
from mercer.ensemble._reweighting.lp_boost import LPBoostClassifier
from mercer.ensemble._reweighting.margin_program import MarginSolution, maximize_margin
from mercer.ensemble._reweighting.margins import (
    best_step,
    exponential_loss,
    margin_distribution,
    margins,
    member_labels,
)
from mercer.ensemble._reweighting.soft_ada_boost import RegularizedAdaBoost

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "LPBoostClassifier",
    "MarginSolution",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RegularizedAdaBoost",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "average_path_length",
    "best_step",
    "combine_labels",
    "combine_numbers",
    "exponential_loss",
    "margin_distribution",
    "margins",
    "maximize_margin",
    "member_labels",
    "variance_of_average",
]

__getattr__ = forward_old_names(__name__)
