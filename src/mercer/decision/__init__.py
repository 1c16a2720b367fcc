"""Bayes decision theory: posteriors, costs, actions, rejection, the error of the best decider, and bounds on it.

:class:`DecisionClassifier` decides by cost over any classifier's probabilities; the functions are its parts.
:class:`ClassDensities` is a world whose densities are known, in which the best decider and its risk can be computed.
"""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_bayes_error": (
            "ClassDensities",
            "Risk",
        ),
        "_bounds": (
            "NeighborBounds",
            "bhattacharyya_bound",
            "chernoff_bound",
            "neighbor_bounds",
            "prior_bounds",
        ),
        "_classifier": ("DecisionClassifier",),
        "_cost": (
            "Decision",
            "accuracy_costs",
            "add_reject",
            "conditional_error",
            "correct_priors",
            "expected_cost",
            "optimal_action",
        ),
        "_threshold": ("ThresholdChoice", "break_even", "choose_threshold", "threshold_costs"),
        "_posterior": (
            "bayes_decision",
            "discriminant_functions",
            "log_joint",
            "posterior",
        ),
    },
)
