"""Explanations: why any model answers as it does, exactly where that is possible and with an error where it is not.

The models are mercer's, scikit-learn's, LightGBM's, or functions of rows. Results are plain arrays with names, and draw
themselves as displays of :mod:`mercer.inspection`.
"""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_counterfactuals": ("Counterfactuals", "find_counterfactuals"),
        "_dependence": ("Dependence", "InteractionStrengths", "dependence", "interaction_strengths"),
        "_explanation": ("ShapleyValues",),
        "_importance": ("Importances", "column_importance"),
        "_influence": ("Influence", "influence"),
        "_shapley": ("shapley",),
        "_surrogate": ("Prototypes", "Surrogate", "find_prototypes", "surrogate_tree"),
    },
)
