"""Ensembles: many models whose predictions are combined."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use
from mercer._renaming import forward_old_names

if TYPE_CHECKING:
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

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_committee.bagging": ("BaggingClassifier", "BaggingRegressor"),
        "_committee.combination": ("combine_labels", "combine_numbers", "variance_of_average"),
        "_committee.stacking": ("StackingClassifier",),
        "_committee.stacking_regressor": ("StackingRegressor",),
        "_committee.voting": ("VotingClassifier",),
        "_committee.voting_regressor": ("VotingRegressor",),
        "_forest.extra_trees": ("ExtraTreesClassifier", "ExtraTreesRegressor"),
        "_forest.random_forest": ("RandomForestClassifier", "RandomForestRegressor"),
        "_gradient.classifier": ("GradientBoostingClassifier",),
        "_gradient.regressor": ("GradientBoostingRegressor",),
        "_histogram.classifier": ("HistGradientBoostingClassifier",),
        "_histogram.regressor": ("HistGradientBoostingRegressor",),
        "_isolation.isolation_forest": ("IsolationForest",),
        "_isolation.trees": ("average_path_length",),
        "_reweighting.ada_boost": ("AdaBoostClassifier",),
        "_reweighting.ada_boost_regressor": ("AdaBoostRegressor",),
        "_reweighting.lp_boost": ("LPBoostClassifier",),
        "_reweighting.margin_program": ("MarginSolution", "maximize_margin"),
        "_reweighting.margins": ("best_step", "exponential_loss", "margin_distribution", "margins", "member_labels"),
        "_reweighting.soft_ada_boost": ("RegularizedAdaBoost",),
    },
    forward_old_names(__name__, stacklevel=3),
)
