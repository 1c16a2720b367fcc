"""Decision trees."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.tree._conditions import Condition
    from mercer.tree._decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
    from mercer.tree._drawing import tree_svg
    from mercer.tree._error_pruning import prune_pessimistic, prune_reduced_error
    from mercer.tree._explanation import PathStep, RowExplanation, explain_rows
    from mercer.tree._export import export_graphviz, export_text
    from mercer.tree._extra_tree import ExtraTreeClassifier, ExtraTreeRegressor
    from mercer.tree._impurity import impurity, split_gain
    from mercer.tree._multiway_classifier import MultiwayTreeClassifier
    from mercer.tree._plot import plot_tree
    from mercer.tree._pruning_choice import PruningChoice, prune_cost_complexity
    from mercer.tree._rules import Rule, RuleSet, leaf_regions, parse_rules, rules
    from mercer.tree._stump import DecisionStump

__all__ = [
    "Condition",
    "DecisionStump",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "MultiwayTreeClassifier",
    "PathStep",
    "PruningChoice",
    "RowExplanation",
    "Rule",
    "RuleSet",
    "explain_rows",
    "export_graphviz",
    "export_text",
    "impurity",
    "leaf_regions",
    "parse_rules",
    "plot_tree",
    "prune_cost_complexity",
    "prune_pessimistic",
    "prune_reduced_error",
    "rules",
    "split_gain",
    "tree_svg",
]

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_conditions": ("Condition",),
        "_decision_tree": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
        "_drawing": ("tree_svg",),
        "_error_pruning": ("prune_pessimistic", "prune_reduced_error"),
        "_explanation": ("PathStep", "RowExplanation", "explain_rows"),
        "_export": ("export_graphviz", "export_text"),
        "_extra_tree": ("ExtraTreeClassifier", "ExtraTreeRegressor"),
        "_impurity": ("impurity", "split_gain"),
        "_multiway_classifier": ("MultiwayTreeClassifier",),
        "_plot": ("plot_tree",),
        "_pruning_choice": ("PruningChoice", "prune_cost_complexity"),
        "_rules": ("Rule", "RuleSet", "leaf_regions", "parse_rules", "rules"),
        "_stump": ("DecisionStump",),
    },
)
