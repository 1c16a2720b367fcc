"""Ensembles: many models that answer as one."""

from mercer.ensemble._ada_boost import AdaBoostClassifier
from mercer.ensemble._ada_boost_regressor import AdaBoostRegressor
from mercer.ensemble._bagging import BaggingClassifier, BaggingRegressor
from mercer.ensemble._combination import combine_labels, combine_numbers, member_correlation, variance_of_average
from mercer.ensemble._extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from mercer.ensemble._gradient_classifier import GradientBoostingClassifier
from mercer.ensemble._gradient_regressor import GradientBoostingRegressor
from mercer.ensemble._hist_classifier import HistGradientBoostingClassifier
from mercer.ensemble._hist_regressor import HistGradientBoostingRegressor
from mercer.ensemble._lp_boost import LPBoostClassifier
from mercer.ensemble._margin_program import MarginSolution, maximize_margin
from mercer.ensemble._margins import best_step, exponential_loss, margin_distribution, margins, member_labels
from mercer.ensemble._random_forest import RandomForestClassifier, RandomForestRegressor
from mercer.ensemble._soft_ada_boost import RegularizedAdaBoost
from mercer.ensemble._stacking import StackingClassifier
from mercer.ensemble._stacking_regressor import StackingRegressor
from mercer.ensemble._voting import VotingClassifier
from mercer.ensemble._voting_regressor import VotingRegressor

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
    "LPBoostClassifier",
    "MarginSolution",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RegularizedAdaBoost",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "best_step",
    "combine_labels",
    "combine_numbers",
    "exponential_loss",
    "margin_distribution",
    "margins",
    "maximize_margin",
    "member_correlation",
    "member_labels",
    "variance_of_average",
]
