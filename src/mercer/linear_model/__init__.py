"""Linear models under any loss and penalty, and what can be said of them in closed form."""

from mercer.linear_model._agreement import correlation, empirical_error, population_error
from mercer.linear_model._expected_error import expected_in_sample_error, expected_out_of_sample_error
from mercer.linear_model._generalized import GeneralizedLinearEstimator
from mercer.linear_model._huber import HuberRegressor
from mercer.linear_model._least_squares import LinearRegression
from mercer.linear_model._leverage import hat_matrix, leave_one_out_residuals, leverages
from mercer.linear_model._logistic import LogisticRegression
from mercer.linear_model._perceptron import Perceptron
from mercer.linear_model._quantile import QuantileRegressor
from mercer.linear_model._ridge import Ridge
from mercer.linear_model._ridge_path import (
    alpha_for_norm,
    alpha_from_variances,
    alpha_per_sample,
    effective_degrees_of_freedom,
    penalised_condition_number,
    ridge_path,
)
from mercer.linear_model._sgd_classifier import SGDClassifier
from mercer.linear_model._sgd_regressor import SGDRegressor

__all__ = [
    "GeneralizedLinearEstimator",
    "HuberRegressor",
    "LinearRegression",
    "LogisticRegression",
    "Perceptron",
    "QuantileRegressor",
    "Ridge",
    "SGDClassifier",
    "SGDRegressor",
    "alpha_for_norm",
    "alpha_from_variances",
    "alpha_per_sample",
    "correlation",
    "effective_degrees_of_freedom",
    "empirical_error",
    "expected_in_sample_error",
    "expected_out_of_sample_error",
    "hat_matrix",
    "leave_one_out_residuals",
    "leverages",
    "penalised_condition_number",
    "population_error",
    "ridge_path",
]
