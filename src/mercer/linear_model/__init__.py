"""Linear models under any loss and penalty, and what can be said of them in closed form."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use
from mercer._renaming import forward_old_names

if TYPE_CHECKING:
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

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_generalized": ("GeneralizedLinearEstimator",),
        "_huber": ("HuberRegressor",),
        "_inference.inference": ("Inference", "inference"),
        "_lasso.elastic_net": ("ElasticNet",),
        "_lasso.elastic_net_cv": ("ElasticNetCV",),
        "_lasso.elastic_net_path": ("enet_path", "lasso_path"),
        "_lasso.lasso": ("Lasso",),
        "_lasso.lasso_budget": ("alpha_for_l1_norm",),
        "_lasso.lasso_cv": ("LassoCV",),
        "_least_squares.bayesian_ridge": ("BayesianRidge",),
        "_least_squares.gaussian_conditional": ("GaussianConditionalRegressor",),
        "_least_squares.least_squares": ("LinearRegression",),
        "_least_squares.leverage": ("hat_matrix", "leave_one_out_residuals", "leverages"),
        "_least_squares.ridge": ("Ridge",),
        "_least_squares.ridge_classifier": ("RidgeClassifier", "RidgeClassifierCV"),
        "_least_squares.ridge_cv": ("RidgeCV",),
        "_least_squares.ridge_path": (
            "alpha_for_norm",
            "alpha_from_variances",
            "alpha_per_sample",
            "penalised_condition_number",
            "ridge_degrees_of_freedom",
            "ridge_path",
        ),
        "_logistic.logistic": ("LogisticRegression",),
        "_logistic.logistic_cv": ("LogisticRegressionCV",),
        "_quantile": ("QuantileRegressor",),
        "_stochastic.perceptron": ("Perceptron",),
        "_stochastic.sgd_classifier": ("SGDClassifier",),
        "_stochastic.sgd_regressor": ("SGDRegressor",),
    },
    forward_old_names(__name__, stacklevel=3),
)
