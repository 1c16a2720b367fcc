"""Learning theory: what can be said of a model's error before it is seen."""

from mercer.theory._boosting_bounds import edge_error_bound, rounds_to_zero_error, training_error_bound
from mercer.theory._capacity import margin_bound, vc_dimension
from mercer.theory._expected_error import expected_in_sample_error, expected_out_of_sample_error
from mercer.theory._finite_classes import (
    agnostic_error_bound,
    consistent_error_bound,
    consistent_failure_probability,
    consistent_sample_size,
)
from mercer.theory._high_dimensions import ball_fraction, count_cells, relative_contrast
from mercer.theory._hypothesis_counts import count_boolean_functions, log2_tree_count

__all__ = [
    "agnostic_error_bound",
    "ball_fraction",
    "consistent_error_bound",
    "consistent_failure_probability",
    "consistent_sample_size",
    "count_boolean_functions",
    "count_cells",
    "edge_error_bound",
    "expected_in_sample_error",
    "expected_out_of_sample_error",
    "log2_tree_count",
    "margin_bound",
    "relative_contrast",
    "rounds_to_zero_error",
    "training_error_bound",
    "vc_dimension",
]
