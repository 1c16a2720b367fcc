# Written by `python -m tools.make_stubs` from the table in mercer.tree.
from sklearn.tree import BaseDecisionTree as BaseDecisionTree

from mercer.tree._conditions import Condition as Condition
from mercer.tree._decision_tree import DecisionTreeClassifier as DecisionTreeClassifier
from mercer.tree._decision_tree import DecisionTreeRegressor as DecisionTreeRegressor
from mercer.tree._drawing import tree_svg as tree_svg
from mercer.tree._error_pruning import prune_pessimistic as prune_pessimistic
from mercer.tree._error_pruning import prune_reduced_error as prune_reduced_error
from mercer.tree._explanation import PathStep as PathStep
from mercer.tree._explanation import RowExplanation as RowExplanation
from mercer.tree._explanation import explain_rows as explain_rows
from mercer.tree._export import export_graphviz as export_graphviz
from mercer.tree._export import export_text as export_text
from mercer.tree._extra_tree import ExtraTreeClassifier as ExtraTreeClassifier
from mercer.tree._extra_tree import ExtraTreeRegressor as ExtraTreeRegressor
from mercer.tree._impurity import impurity as impurity
from mercer.tree._impurity import split_gain as split_gain
from mercer.tree._multiway_classifier import MultiwayTreeClassifier as MultiwayTreeClassifier
from mercer.tree._plot import plot_tree as plot_tree
from mercer.tree._pruning_choice import PruningChoice as PruningChoice
from mercer.tree._pruning_choice import prune_cost_complexity as prune_cost_complexity
from mercer.tree._rules import Rule as Rule
from mercer.tree._rules import RuleSet as RuleSet
from mercer.tree._rules import leaf_regions as leaf_regions
from mercer.tree._rules import parse_rules as parse_rules
from mercer.tree._rules import rules as rules
from mercer.tree._stump import DecisionStump as DecisionStump
