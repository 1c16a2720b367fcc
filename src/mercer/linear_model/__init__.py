"""Linear models under any loss and penalty, and what can be said of them in closed form."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
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
        "_tweedie": ("GammaRegressor", "PoissonRegressor", "TweedieRegressor"),
    },
    scikit="sklearn.linear_model",
)
