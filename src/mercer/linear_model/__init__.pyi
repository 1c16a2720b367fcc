# Written by `python -m tools.make_stubs` from the table in mercer/linear_model/__init__.py.
from mercer.linear_model._generalized import GeneralizedLinearEstimator as GeneralizedLinearEstimator
from mercer.linear_model._huber import HuberRegressor as HuberRegressor
from mercer.linear_model._inference.inference import Inference as Inference
from mercer.linear_model._inference.inference import inference as inference
from mercer.linear_model._lasso.elastic_net import ElasticNet as ElasticNet
from mercer.linear_model._lasso.elastic_net_cv import ElasticNetCV as ElasticNetCV
from mercer.linear_model._lasso.elastic_net_path import enet_path as enet_path
from mercer.linear_model._lasso.elastic_net_path import lasso_path as lasso_path
from mercer.linear_model._lasso.lasso import Lasso as Lasso
from mercer.linear_model._lasso.lasso_budget import alpha_for_l1_norm as alpha_for_l1_norm
from mercer.linear_model._lasso.lasso_cv import LassoCV as LassoCV
from mercer.linear_model._least_squares.bayesian_ridge import BayesianRidge as BayesianRidge
from mercer.linear_model._least_squares.gaussian_conditional import (
    GaussianConditionalRegressor as GaussianConditionalRegressor,
)
from mercer.linear_model._least_squares.least_squares import LinearRegression as LinearRegression
from mercer.linear_model._least_squares.leverage import hat_matrix as hat_matrix
from mercer.linear_model._least_squares.leverage import leave_one_out_residuals as leave_one_out_residuals
from mercer.linear_model._least_squares.leverage import leverages as leverages
from mercer.linear_model._least_squares.ridge import Ridge as Ridge
from mercer.linear_model._least_squares.ridge_classifier import RidgeClassifier as RidgeClassifier
from mercer.linear_model._least_squares.ridge_classifier import RidgeClassifierCV as RidgeClassifierCV
from mercer.linear_model._least_squares.ridge_cv import RidgeCV as RidgeCV
from mercer.linear_model._least_squares.ridge_path import alpha_for_norm as alpha_for_norm
from mercer.linear_model._least_squares.ridge_path import alpha_from_variances as alpha_from_variances
from mercer.linear_model._least_squares.ridge_path import alpha_per_sample as alpha_per_sample
from mercer.linear_model._least_squares.ridge_path import penalised_condition_number as penalised_condition_number
from mercer.linear_model._least_squares.ridge_path import ridge_degrees_of_freedom as ridge_degrees_of_freedom
from mercer.linear_model._least_squares.ridge_path import ridge_path as ridge_path
from mercer.linear_model._logistic.logistic import LogisticRegression as LogisticRegression
from mercer.linear_model._logistic.logistic_cv import LogisticRegressionCV as LogisticRegressionCV
from mercer.linear_model._quantile import QuantileRegressor as QuantileRegressor
from mercer.linear_model._stochastic.perceptron import Perceptron as Perceptron
from mercer.linear_model._stochastic.sgd_classifier import SGDClassifier as SGDClassifier
from mercer.linear_model._stochastic.sgd_regressor import SGDRegressor as SGDRegressor
