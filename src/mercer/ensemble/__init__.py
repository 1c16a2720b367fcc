"""Ensembles: many models whose predictions are combined."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_committee.bagging": ("BaggingClassifier", "BaggingRegressor"),
        "_committee.stacking": ("StackingClassifier", "StackingRegressor"),
        "_committee.voting": (
            "VotingClassifier",
            "VotingRegressor",
            "combine_labels",
            "combine_numbers",
            "variance_of_average",
        ),
        "_forest.embedding": ("RandomTreesEmbedding",),
        "_forest.forests": (
            "ExtraTreesClassifier",
            "ExtraTreesRegressor",
            "RandomForestClassifier",
            "RandomForestRegressor",
        ),
        "_gradient.estimators": ("GradientBoostingClassifier", "GradientBoostingRegressor"),
        "_histogram.estimators": ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
        "_isolation.isolation_forest": ("IsolationForest",),
        "_isolation.trees": ("average_path_length",),
        "_reweighting.ada_boost": ("AdaBoostClassifier",),
        "_reweighting.ada_boost_regressor": ("AdaBoostRegressor",),
        "_reweighting.lp_boost": ("LPBoostClassifier", "MarginSolution", "maximize_margin"),
        "_reweighting.margins": ("best_step", "exponential_loss", "margin_distribution", "margins", "member_labels"),
        "_reweighting.soft_ada_boost": ("RegularizedAdaBoost",),
    },
    scikit="sklearn.ensemble",
)
