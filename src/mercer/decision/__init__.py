"""Bayes decision theory: posteriors, costs, actions, rejection, the error of the best decider, and bounds on it.

:class:`DecisionClassifier` decides by cost over any classifier's probabilities; the functions are its parts.
:class:`ClassDensities` is a world whose densities are known, in which the best decider and its risk can be computed.
"""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use
from mercer._renaming import forward_old_names

if TYPE_CHECKING:
    from mercer.decision._bayes_error import ClassDensities, Risk
    from mercer.decision._bounds import (
        NeighborBounds,
        bhattacharyya_bound,
        chernoff_bound,
        neighbor_bounds,
        prior_bounds,
    )
    from mercer.decision._classifier import DecisionClassifier
    from mercer.decision._cost import (
        Decision,
        accuracy_costs,
        add_reject,
        conditional_error,
        correct_priors,
        expected_cost,
        optimal_action,
    )
    from mercer.decision._posterior import bayes_decision, discriminant_functions, log_joint, posterior

__all__ = [
    "ClassDensities",
    "Decision",
    "DecisionClassifier",
    "NeighborBounds",
    "Risk",
    "accuracy_costs",
    "add_reject",
    "bayes_decision",
    "bhattacharyya_bound",
    "chernoff_bound",
    "conditional_error",
    "correct_priors",
    "discriminant_functions",
    "expected_cost",
    "log_joint",
    "neighbor_bounds",
    "optimal_action",
    "posterior",
    "prior_bounds",
]

__getattr__, __dir__ = load_on_use(
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
        "_posterior": (
            "bayes_decision",
            "discriminant_functions",
            "log_joint",
            "posterior",
        ),
    },
    forward_old_names(__name__, stacklevel=3),
)
