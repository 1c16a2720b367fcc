"""Linear models under any loss and penalty, and what can be said of them in closed form."""

from mercer._renaming import forward_old_names
from mercer.linear_model._generalized import GeneralizedLinearEstimator
from mercer.linear_model._huber import HuberRegressor
from mercer.linear_model._inference.inference import Inference, inference
from mercer.linear_model._lasso.elastic_net import ElasticNet
from mercer.linear_model._lasso.elastic_net_cv import ElasticNetCV
from mercer.linear_model._lasso.elastic_net_path import enet_path, lasso_path
from mercer.linear_model._lasso.lasso import Lasso
from mercer.linear_model._lasso.lasso_budget import alpha_for_l1_norm
from mercer.linear_model._lasso.lasso_cv import LassoCV
from mercer.linear_model._least_squares.bayesian_ridge import BayesianRidge
from mercer.linear_model._least_squares.gaussian_conditional import GaussianConditionalRegressor
from mercer.linear_model._least_squares.least_squares import LinearRegression
from mercer.linear_model._least_squares.leverage import hat_matrix, leave_one_out_residuals, leverages
from mercer.linear_model._least_squares.ridge import Ridge
from mercer.linear_model._least_squares.ridge_classifier import RidgeClassifier, RidgeClassifierCV
from mercer.linear_model._least_squares.ridge_cv import RidgeCV
from mercer.linear_model._least_squares.ridge_path import (
    alpha_for_norm,
    alpha_from_variances,
    alpha_per_sample,
    penalised_condition_number,
    ridge_degrees_of_freedom,
    ridge_path,
)
from mercer.linear_model._logistic.logistic import LogisticRegression
from mercer.linear_model._logistic.logistic_cv import LogisticRegressionCV
from mercer.linear_model._quantile import QuantileRegressor
from mercer.linear_model._stochastic.perceptron import Perceptron
from mercer.linear_model._stochastic.sgd_classifier import SGDClassifier
from mercer.linear_model._stochastic.sgd_regressor import SGDRegressor

__all__ = [
    "BayesianRidge",
    "ElasticNet",
    "ElasticNetCV",
    "GaussianConditionalRegressor",
    "GeneralizedLinearEstimator",
    "HuberRegressor",
    "Inference",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Perceptron",
    "QuantileRegressor",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "SGDClassifier",
    "SGDRegressor",
    "alpha_for_l1_norm",
    "alpha_for_norm",
    "alpha_from_variances",
    "alpha_per_sample",
    "enet_path",
    "hat_matrix",
    "inference",
    "lasso_path",
    "leave_one_out_residuals",
    "leverages",
    "penalised_condition_number",
    "ridge_degrees_of_freedom",
    "ridge_path",
]

__getattr__ = forward_old_names(__name__)
