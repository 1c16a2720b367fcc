"""Linear models: least squares, ridge and logistic regression, and what can be said of them in closed form."""

from mercer.linear_model._expected_error import expected_in_sample_error, expected_out_of_sample_error
from mercer.linear_model._least_squares import LinearRegression
from mercer.linear_model._leverage import hat_matrix, leave_one_out_residuals, leverages
from mercer.linear_model._logistic import LogisticRegression
from mercer.linear_model._ridge import Ridge
from mercer.linear_model._ridge_path import (
    alpha_for_norm,
    alpha_from_variances,
    alpha_per_sample,
    effective_degrees_of_freedom,
    penalised_condition_number,
    ridge_path,
)

__all__ = [
    "LinearRegression",
    "LogisticRegression",
    "Ridge",
    "alpha_for_norm",
    "alpha_from_variances",
    "alpha_per_sample",
    "effective_degrees_of_freedom",
    "expected_in_sample_error",
    "expected_out_of_sample_error",
    "hat_matrix",
    "leave_one_out_residuals",
    "leverages",
    "penalised_condition_number",
    "ridge_path",
]
