"""The settings each estimator is tried with: every solver, every algorithm."""

import numpy as np

_CENTRES = np.random.default_rng(7).normal(size=(4, 5)) * 4

SETTINGS = {
    "KMeans": [
        {"n_clusters": 4, "n_init": 2},
        {"n_clusters": 4, "n_init": 1, "algorithm": "elkan"},
        {"n_clusters": 4, "n_init": 1, "init": "random"},
    ],
    "GrowingKMeans": [{"max_clusters": 4}],
    "MiniBatchKMeans": [{"n_clusters": 4, "n_init": 1, "batch_size": 256, "max_iter": 5}],
    "PCA": [
        {"n_components": 2},
        *({"n_components": 2, "svd_solver": solver} for solver in ("full", "covariance_eigh", "randomized", "power")),
        {"n_components": 1, "svd_solver": "arpack"},
    ],
    "IncrementalPCA": [{"n_components": 2}],
    "LinearRegression": [{}, {"positive": True}],
    "Ridge": [{"solver": solver} for solver in ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga")]
    + [{"solver": "lbfgs", "positive": True}],
    "GeneralizedLinearEstimator": [
        {},
        {"loss": "huber", "penalty": "l1", "alpha": 0.1},
        {"loss": "absolute", "solver": "fista"},
        {"loss": "epsilon_insensitive", "penalty": "elasticnet", "alpha": 0.1},
        {"loss": "hinge", "alpha": 0.01},
        {"loss": "logistic", "penalty": "l1", "alpha": 0.01, "solver": "fista"},
    ],
    "LinearDiscriminantAnalysis": [
        {},
        {"solver": "lsqr"},
        {"solver": "eigen"},
        {"solver": "eigen", "shrinkage": "auto"},
    ],
    "QuadraticDiscriminantAnalysis": [{"reg_param": 0.1}, {}, {"solver": "eigen", "shrinkage": "auto"}],
    "NearestCentroid": [{}, {"metric": "manhattan"}, {"priors": "empirical", "shrink_threshold": 0.1}],
    "BernoulliNB": [{}, {"binarize": 0.5}],
    "QuantileRegressor": [{"alpha": 0.1}],
    "LogisticRegression": [
        {},
        *({"solver": solver} for solver in ("newton-cholesky", "newton-cg", "liblinear", "sag", "saga")),
        {"solver": "saga", "l1_ratio": 1.0, "C": 0.1},
        {"solver": "saga", "l1_ratio": 0.5, "C": 0.1},
        {"solver": "liblinear", "l1_ratio": 1.0, "C": 0.1},
    ],
}
