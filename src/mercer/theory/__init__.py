"""Learning theory: what can be said of a model's error before it is seen."""

from mercer.theory._boosting_bounds import edge_error_bound, rounds_to_zero_error, training_error_bound
from mercer.theory._capacity import SineFit, find_sine_frequency, fit_sine, margin_bound, vc_dimension
from mercer.theory._dichotomies import (
    ambiguous_fraction,
    count_separable,
    find_shattered,
    growth_function,
    is_shattered,
    list_dichotomies,
    sauer_bound,
    separable_fraction,
)
from mercer.theory._expected_error import expected_in_sample_error, expected_out_of_sample_error
from mercer.theory._finite_classes import (
    agnostic_error_bound,
    consistent_error_bound,
    consistent_failure_probability,
    consistent_sample_size,
    count_boolean_functions,
    log2_tree_count,
)
from mercer.theory._fitted.bounds import bounds
from mercer.theory._fitted.table import Assumption, Bound, BoundTable
from mercer.theory._free_lunch import average_unseen_error
from mercer.theory._generalisation import (
    boosting_margin_term,
    hoeffding_gap,
    hoeffding_probability,
    hoeffding_sample_size,
    margin_error,
    margin_risk_term,
    vc_bound,
    vc_confidence,
)
from mercer.theory._high_dimensions import ball_fraction, count_cells, relative_contrast
from mercer.theory._risk import (
    GapCurve,
    RiskEstimate,
    RiskMinimum,
    empirical_risk,
    estimate_risk,
    integrate_risk,
    minimise_empirical_risk,
    simulate_uniform_gap,
)
from mercer.theory._structural_risk import BallSolution, StructuralRisk, minimise_structural_risk, solve_in_ball

__all__ = [
    "Assumption",
    "BallSolution",
    "Bound",
    "BoundTable",
    "GapCurve",
    "RiskEstimate",
    "RiskMinimum",
    "SineFit",
    "StructuralRisk",
    "agnostic_error_bound",
    "ambiguous_fraction",
    "average_unseen_error",
    "ball_fraction",
    "boosting_margin_term",
    "bounds",
    "consistent_error_bound",
    "consistent_failure_probability",
    "consistent_sample_size",
    "count_boolean_functions",
    "count_cells",
    "count_separable",
    "edge_error_bound",
    "empirical_risk",
    "estimate_risk",
    "expected_in_sample_error",
    "expected_out_of_sample_error",
    "find_shattered",
    "find_sine_frequency",
    "fit_sine",
    "growth_function",
    "hoeffding_gap",
    "hoeffding_probability",
    "hoeffding_sample_size",
    "integrate_risk",
    "is_shattered",
    "list_dichotomies",
    "log2_tree_count",
    "margin_bound",
    "margin_error",
    "margin_risk_term",
    "minimise_empirical_risk",
    "minimise_structural_risk",
    "relative_contrast",
    "rounds_to_zero_error",
    "sauer_bound",
    "separable_fraction",
    "simulate_uniform_gap",
    "solve_in_ball",
    "training_error_bound",
    "vc_bound",
    "vc_confidence",
    "vc_dimension",
]
