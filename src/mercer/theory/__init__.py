"""Learning theory: what can be said of a model's error before it is seen."""

from mercer.theory._boosting_bounds import edge_error_bound, rounds_to_zero_error, training_error_bound
from mercer.theory._finite_classes import agnostic_error_bound, consistent_error_bound, consistent_sample_size
from mercer.theory._hypothesis_counts import count_boolean_functions, log2_tree_count

__all__ = [
    "agnostic_error_bound",
    "consistent_error_bound",
    "consistent_sample_size",
    "count_boolean_functions",
    "edge_error_bound",
    "log2_tree_count",
    "rounds_to_zero_error",
    "training_error_bound",
]
