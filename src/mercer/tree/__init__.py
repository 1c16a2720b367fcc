"""Decision trees."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_conditions": ("Condition",),
        "_decision_tree": (
            "DecisionTreeClassifier",
            "DecisionTreeRegressor",
            "ExtraTreeClassifier",
            "ExtraTreeRegressor",
        ),
        "_error_pruning": ("prune_pessimistic", "prune_reduced_error"),
        "_explanation": ("PathStep", "RowExplanation", "explain_rows"),
        "_export": ("export_graphviz", "export_text"),
        "_impurity": ("impurity", "split_gain"),
        "_multiway_classifier": ("MultiwayTreeClassifier",),
        "_plot": ("plot_tree", "tree_svg"),
        "_pruning_choice": ("PruningChoice", "prune_cost_complexity"),
        "_rules": ("Rule", "RuleSet", "leaf_regions", "parse_rules", "rules"),
        "_stump": ("DecisionStump",),
    },
    scikit="sklearn.tree",
)
