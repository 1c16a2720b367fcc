"""The settings each estimator is tried with: every solver, every algorithm."""

import numpy as np
import sklearn
from sklearn.feature_selection import f_regression

from mercer.discriminant_analysis import LinearDiscriminantAnalysis
from mercer.kernels import RBF
from mercer.linear_model import LinearRegression, Ridge
from mercer.naive_bayes import GaussianNB

_CENTRES = np.random.default_rng(7).normal(size=(4, 5)) * 4

# Members ask for weights, so that these reach them where a law routes them.
with sklearn.config_context(enable_metadata_routing=True):
    _CLASSIFIERS = [
        (name, member.set_fit_request(sample_weight=True))
        for name, member in (
            ("bayes", GaussianNB()),
            ("smooth", GaussianNB(var_smoothing=0.1)),
            ("smoother", GaussianNB(var_smoothing=0.5)),
        )
    ]
    _REGRESSORS = [
        (name, member.set_fit_request(sample_weight=True))
        for name, member in (("plain", LinearRegression()), ("ridge", Ridge()), ("strong", Ridge(alpha=100.0)))
    ]

    # Its decisions are compared with zero, as scikit-learn's checks do.
    _DECIDES = LinearDiscriminantAnalysis()
    _CONSENSUS = LinearRegression().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)

# What searches look through.
_WIDTHS = {"var_smoothing": [1e-9, 0.1, 0.5]}

# Settings of classifiers that the laws try with two classes, since two take another way than three.
TWO_CLASSES = {
    "LogisticRegression": [{"solver": "lbfgs"}],
}

# scikit-learn's checks standardise their rows: parameters that are lengths are other ones there.
STANDARDISED = {
    "ClusterOutlier": {"eps": 0.5},
    "DBSCAN": {"eps": 0.5},
    "DENCLUE": {"bandwidth": 0.3},
    "MeanShift": {"bandwidth": 0.7},
    # Some checks have ten rows.
    "Isomap": {"n_neighbors": 5},
    "LocallyLinearEmbedding": {"n_neighbors": 5},
    # Some checks call partial_fit, which refuses what needs all rows.
    "MLPClassifier": {"class_weight": None},
    "MLPRegressor": {"early_stopping": False},
    # Some checks have one column.
    "OrthogonalMatchingPursuit": {"n_nonzero_coefs": None},
    "RadiusNeighborsClassifier": {"radius": 1.0},
    "RadiusNeighborsRegressor": {"radius": 1.0},
}
# Where laws fit to several blocks of rows: 200 centres add them up as 2000 do, in a tenth of the time.
OF_MANY_ROWS = {"KernelRidge": {"n_centres": 200}}
SETTINGS = {
    # The laws give numbers as targets to what must have targets and transforms.
    **{
        name: [{"score_func": f_regression, **rule}]
        for name, rule in (
            ("GenericUnivariateSelect", {"mode": "k_best", "param": 2}),
            ("SelectFdr", {"alpha": 0.9}),
            ("SelectFpr", {"alpha": 0.9}),
            ("SelectFwe", {"alpha": 0.9}),
            ("SelectKBest", {"k": 2}),
            ("SelectPercentile", {"percentile": 50}),
        )
    },
    "SelectFromModel": [{"estimator": _REGRESSORS[1][1]}],
    "RFE": [{"estimator": _REGRESSORS[1][1]}],
    "RFECV": [{"estimator": _REGRESSORS[1][1], "cv": 3}],
    "SequentialFeatureSelector": [{"estimator": _REGRESSORS[1][1], "n_features_to_select": 0.7, "cv": 3}],
    "KNeighborsClassifier": [{}, {"weights": "distance", "metric": "l1"}],
    "KNeighborsRegressor": [{}, {"weights": "distance", "algorithm": "kd_tree"}],
    "RadiusNeighborsClassifier": [{"radius": 3.0, "outlier_label": "most_frequent"}],
    "RadiusNeighborsRegressor": [{"radius": 4.0}],
    "RadiusNeighborsTransformer": [{"radius": 3.0}],
    "NeighborhoodComponentsAnalysis": [{"n_components": 2}],
    "BayesNetClassifier": [{}, {"structure": "naive"}, {"structure": "hill_climb", "n_bins": 3}],
    "BayesNetLearner": [{}, {"structure": "chow_liu"}],
    "KMeans": [
        {"n_clusters": 4, "n_init": 2},
        {"n_clusters": 4, "n_init": 1, "algorithm": "elkan"},
        {"n_clusters": 4, "n_init": 1, "init": "random"},
    ],
    "BisectingKMeans": [
        {"n_clusters": 4},
        {"n_clusters": 4, "init": "k-means++", "n_init": 2, "bisecting_strategy": "largest_cluster"},
    ],
    "AgglomerativeClustering": [
        {"n_clusters": 4},
        {"n_clusters": 4, "linkage": "single"},
        {"n_clusters": 4, "linkage": "average", "compute_distances": True},
        {"n_clusters": 4, "linkage": "centroid"},
    ],
    "KMedoids": [
        {"n_clusters": 4},
        {"n_clusters": 4, "method": "alternate", "init": "random"},
    ],
    "PrototypeAgglomeration": [{"n_prototypes": 20}],
    "BernoulliMixture": [{"n_components": 3}, {"n_components": 3, "assignment": "hard", "n_init": 2}],
    "MeanShift": [{}, {"bandwidth": 4.0, "bin_seeding": True, "cluster_all": False}],
    "SpectralClustering": [
        {"n_clusters": 4, "gamma": 0.01},
        {"n_clusters": 4, "gamma": 0.01, "assign_labels": "discretize"},
    ],
    "BayesianGaussianMixture": [
        {"n_components": 4},
        {"n_components": 6, "covariance_type": "diag", "weight_concentration_prior_type": "dirichlet_distribution"},
        {"n_components": 3, "covariance_type": "tied", "n_init": 2},
        {"n_components": 6, "covariance_type": "spherical", "init_params": "k-means++"},
    ],
    "GaussianMixture": [
        {"n_components": 4},
        {"n_components": 4, "covariance_type": "tied", "n_init": 2},
        {"n_components": 4, "covariance_type": "diag", "init_params": "k-means++"},
        {"n_components": 4, "covariance_type": "spherical", "assignment": "hard"},
    ],
    "CCA": [{"n_components": 1}, {"n_components": 1, "shrinkage": "auto"}, {"n_components": 1, "algorithm": "nipals"}],
    "PLSSVD": [{"n_components": 1}],
    "PLSCanonical": [{"n_components": 1}, {"n_components": 1, "algorithm": "svd"}],
    "PLSRegression": [{}],
    "KernelCCA": [{"n_components": 1, "gamma": 0.01, "y_kernel": "linear"}],
    "RANSACRegressor": [{"estimator": _CONSENSUS, "min_samples": 7, "residual_threshold": 8.0}],
    "GraphicalLasso": [{"alpha": 0.5, "tol": 1e-6}],
    "GraphicalLassoCV": [{"alphas": 3, "n_refinements": 2, "cv": 3, "tol": 1e-6}],
    "CalibratedClassifierCV": [
        {"estimator": _CLASSIFIERS[0][1], "cv": 3},
        {"estimator": _CLASSIFIERS[0][1], "cv": 3, "method": "isotonic"},
        {"estimator": _CLASSIFIERS[0][1], "cv": 3, "method": "temperature", "ensemble": False},
        {"estimator": _CLASSIFIERS[0][1], "cv": 3, "method": "beta"},
        {"estimator": _CLASSIFIERS[0][1], "cv": 3, "method": "dirichlet"},
        {"estimator": _CLASSIFIERS[0][1], "cv": 3, "method": "venn_abers"},
    ],
    "GridSearchCV": [{"estimator": _CLASSIFIERS[0][1], "param_grid": _WIDTHS, "cv": 3}],
    "RandomizedSearchCV": [
        {"estimator": _REGRESSORS[1][1], "param_distributions": {"alpha": [0.1, 1.0, 10.0]}, "n_iter": 3, "cv": 3}
    ],
    "HalvingGridSearchCV": [{"estimator": _CLASSIFIERS[0][1], "param_grid": _WIDTHS, "cv": 2}],
    "HalvingRandomSearchCV": [
        {
            "estimator": _REGRESSORS[1][1],
            "param_distributions": {"alpha": [0.1, 1.0, 10.0]},
            "n_candidates": 3,
            "min_resources": "exhaust",
            "cv": 2,
        }
    ],
    "OneVsOneClassifier": [{"estimator": _DECIDES}],
    "OneVsRestClassifier": [{"estimator": _CLASSIFIERS[0][1]}, {"estimator": _DECIDES}],
    "OutputCodeClassifier": [{"estimator": _CLASSIFIERS[0][1], "code_size": 4}],
    "MultiOutputRegressor": [{"estimator": _REGRESSORS[1][1]}],
    "SelfTrainingClassifier": [{"estimator": _CLASSIFIERS[0][1]}],
    "RegressorChain": [{"estimator": _REGRESSORS[1][1]}],
    "ClassifierChain": [{"estimator": _CLASSIFIERS[0][1]}],
    "MultiOutputClassifier": [{"estimator": _CLASSIFIERS[0][1]}],
    "ClassicalMDS": [{}],
    "Isomap": [{"n_neighbors": 12}],
    "LocallyLinearEmbedding": [{"n_neighbors": 12}],
    "MDS": [{}, {"metric_mds": False, "max_iter": 30}],
    "SpectralEmbedding": [{"affinity": "rbf", "gamma": 0.01}],
    # Two to the power of the units are the states that are summed over: few steps, so that checks take seconds.
    "BoltzmannMachine": [{"max_iter": 20}],
    "BernoulliRBM": [
        {"n_components": 6, "n_iter": 3, "learning_rate": 0.01},
        {"n_components": 6, "n_iter": 3, "learning_rate": 0.001, "visible": "gaussian", "persistent": False},
    ],
    "Autoencoder": [{"max_iter": 4, "hidden_layer_sizes": (8,), "noise": 0.1}],
    "ConvClassifier": [
        {"max_iter": 15, "filters": (4,), "hidden_layer_sizes": (8,), "learning_rate_init": 0.03, "batch_size": 100}
    ],
    "RecurrentClassifier": [{"max_iter": 8, "n_units": 6, "learning_rate_init": 0.05, "batch_size": 100}],
    "RecurrentRegressor": [
        {"max_iter": 15, "n_units": 6, "cell": "simple", "learning_rate_init": 0.05, "batch_size": 100}
    ],
    "CategoricalHMM": [{"n_components": 3}],
    "DensityHMM": [{"n_components": 3}],
    "GMMHMM": [{"n_components": 3, "n_mix": 2}],
    "GaussianHMM": [
        {"n_components": 3},
        {"n_components": 3, "covariance_type": "full", "training": "viterbi"},
        {"n_components": 3, "covariance_type": "tied", "n_init": 2, "topology": "banded"},
    ],
    "MultinomialHMM": [{"n_components": 3}],
    "SemiMarkovHMM": [{"n_components": 3, "max_duration": 12}],
    "PoissonHMM": [{"n_components": 3}],
    "GaussianProcessClassifier": [{"kernel": RBF(2.0)}],
    "GaussianProcessRegressor": [
        {"kernel": RBF(2.0), "alpha": 0.1, "normalize_y": True},
        {"kernel": RBF(2.0), "alpha": 0.1, "normalize_y": True, "solver": "inducing", "n_inducing": 20},
    ],
    "IsolationForest": [{"n_estimators": 10}, {"n_estimators": 10, "contamination": 0.1, "max_features": 0.6}],
    "ClusterOutlier": [{"eps": 3.0}],
    "KNeighborsOutlier": [{}, {"method": "mean"}],
    "LocalOutlierFactor": [{"novelty": True}, {"contamination": 0.1}, {"novelty": True, "metric": "manhattan"}],
    "DecisionTreeClassifier": [{}],
    "DecisionTreeRegressor": [{}, {"splitter": "histogram"}],
    "ExtraTreesClassifier": [{"n_estimators": 4}],
    "ExtraTreesRegressor": [{"n_estimators": 4}],
    "RandomTreesEmbedding": [{"n_estimators": 4}, {"n_estimators": 3, "max_depth": None, "sparse_output": False}],
    "RandomForestClassifier": [{"n_estimators": 4}],
    "RandomForestRegressor": [{"n_estimators": 4}],
    "GrowingKMeans": [{"max_clusters": 4}],
    "DBSCAN": [{"eps": 3.0}],
    "DENCLUE": [{"bandwidth": 1.5}],
    "HDBSCAN": [{"store_centers": "both", "copy": True}],
    "MiniBatchKMeans": [
        {"n_clusters": 4, "n_init": 1, "batch_size": 256, "max_iter": 5},
        {"n_clusters": 4, "n_init": 1, "batch_size": 64, "max_iter": 3, "learning_rate": 0.3},
    ],
    "SoftKMeans": [{"n_clusters": 4, "n_levels": 8}],
    "KernelKMeans": [{"n_clusters": 8, "kernel": "linear", "n_init": 2}],
    "KernelSelfOrganizingMap": [{"n_rows": 2, "n_columns": 4, "kernel": "linear"}],
    "KernelRidge": [
        {"kernel": "rbf", "solver": "cholesky"},
        {"kernel": "rbf", "gamma": 0.01, "solver": "falkon", "n_centres": 2000, "tol": 1e-10},
    ],
    "KernelCenterer": [{"kernel": "rbf", "gamma": 0.01}],
    "KernelRidgeCV": [{"kernel": "rbf"}],
    "KernelPCA": [
        {"n_components": 3, "kernel": "rbf", "gamma": 0.01},
        {"n_components": 3, "kernel": "rbf", "gamma": 0.01, "eigen_solver": "dense", "fit_inverse_transform": True},
    ],
    "KernelLogisticRegression": [{}, {"solver": "lbfgs", "tol": 1e-6}],
    "Nystroem": [{"n_components": 20, "gamma": 0.01}],
    "RBFSampler": [{"n_components": 20}, {"n_components": 20, "gamma": "scale", "kernel": "laplacian"}],
    "TheilSenRegressor": [{"max_subpopulation": 400}],
    "AffinityPropagation": [{"preference": -400.0}],
    "FeatureAgglomeration": [{"pooling_func": None}],
    "SpectralCoclustering": [{"n_init": 2}],
    "SpectralBiclustering": [{"n_clusters": 2, "n_init": 2, "n_components": 3, "n_best": 1}],
    "LabelPropagation": [{"gamma": 0.05}, {"kernel": "knn"}],
    "LabelSpreading": [{"gamma": 0.05}, {"kernel": "knn", "alpha": 0.8}],
    "PolynomialCountSketch": [{"n_components": 20}, {"n_components": 16, "degree": 3, "coef0": 1.0, "gamma": 0.1}],
    "SkewedChi2Sampler": [{"n_components": 20}],
    "OrthogonalRandomFeatures": [{"n_components": 20}],
    "RBFNetworkClassifier": [{"n_centres": 20}],
    "RBFNetworkRegressor": [{"n_centres": 20, "width": "spread", "alpha": 0.1}],
    "PairwiseClustering": [{"n_clusters": 8}],
    "SelfOrganizingMap": [
        {"n_rows": 3, "n_columns": 3},
        {"n_rows": 2, "n_columns": 4, "topology": "hexagonal", "torus": True, "init": "random"},
    ],
    "PCA": [
        {"n_components": 2},
        *({"n_components": 2, "svd_solver": solver} for solver in ("full", "covariance_eigh", "randomized", "power")),
        {"n_components": 1, "svd_solver": "arpack"},
    ],
    "IncrementalPCA": [{"n_components": 2}],
    "FastICA": [{"n_components": 2}, {"n_components": 2, "algorithm": "deflation"}],
    "ProjectionPursuit": [{}, {"index": "kurtosis", "orthogonalisation": "symmetric"}],
    "SecondOrderSeparation": [{"lags": 3}, {"lags": (1, 4), "diagonaliser": "ffdiag"}],
    "ICA": [
        {"n_components": 3},
        {"n_components": 3, "constraint": "orthogonal", "score_function": "exp"},
        {"n_components": 2, "solver": "natural_gradient", "max_iter": 2000, "tol": 1e-6},
    ],
    "PolynomialBasis": [
        {},
        {"degree": 3, "basis": "chebyshev", "interactions": False},
        {"basis": "orthonormal", "interactions": False, "include_bias": True},
    ],
    "RadialBasis": [{"n_centres": 4}, {"n_centres": 4, "normalise": True}],
    "SplineBasis": [{}, {"knots": "quantile", "extrapolation": "continue"}],
    "KBinsDiscretizer": [
        {"encode": "ordinal"},
        {"strategy": "uniform", "encode": "onehot-dense"},
        {"strategy": "kmeans", "n_bins": 3},
    ],
    "MissingIndicator": [{"features": "all"}],
    "SimpleImputer": [
        {},
        {"strategy": "median", "add_indicator": True},
        {"strategy": "most_frequent"},
        {"strategy": "constant", "fill_value": 2},
    ],
    "MinMaxScaler": [{}, {"feature_range": (-1, 2), "clip": True}],
    "Normalizer": [{}, {"norm": "l1"}, {"norm": "max"}],
    "PowerTransformer": [{}, {"standardize": False}],
    "QuantileTransformer": [
        {"n_quantiles": 50},
        {"n_quantiles": 20, "output_distribution": "normal", "subsample": None},
    ],
    "RobustScaler": [{}, {"with_centering": False, "quantile_range": (10.0, 80.0), "unit_variance": True}],
    "StandardScaler": [{}, {"with_mean": False}],
    "LatentDirichletAllocation": [{"n_components": 3, "max_iter": 4, "max_doc_update_iter": 20}],
    "DictionaryLearning": [{"n_components": 3, "alpha": 0.5, "tol": 1e-4, "transform_algorithm": "lasso_cd"}],
    "MiniBatchDictionaryLearning": [{"n_components": 3, "alpha": 0.5, "batch_size": 100, "max_iter": 5}],
    "SparsePCA": [{"n_components": 2, "alpha": 5.0}],
    "MiniBatchSparsePCA": [{"n_components": 2, "alpha": 0.5, "max_iter": 5}],
    "NMF": [{"n_components": 3}, {"n_components": 2, "solver": "mu", "beta_loss": "kullback-leibler", "alpha_W": 0.01}],
    "MiniBatchNMF": [{"n_components": 3, "batch_size": 100}],
    "FactorAnalysis": [{"n_components": 2}, {"n_components": 1, "rotation": "varimax", "tol": 1e-6}],
    "ProbabilisticPCA": [{"n_components": 1}],
    "OnlinePCA": [{"n_components": 2, "n_epochs": 5}],
    # Of rows without full rank the other maps follow rounding in the directions without variance.
    "Whitening": [{"method": "zca"}],
    "RobustPCA": [{}],
    "TruncatedSVD": [{}, {"n_components": 1, "algorithm": "arpack"}],
    "GaussianRandomProjection": [{"n_components": 3}],
    "SparseRandomProjection": [{"n_components": 3, "density": 0.5, "dense_output": True}],
    "TSNE": [{"perplexity": 2.0, "max_iter": 20}],
    "UMAP": [{"n_neighbors": 4, "n_epochs": 20}],
    "GradientBoostingClassifier": [{"n_estimators": 8}],
    "GradientBoostingRegressor": [{"n_estimators": 8}],
    "HistGradientBoostingClassifier": [{"max_iter": 20, "min_samples_leaf": 5}],
    "HistGradientBoostingRegressor": [{"max_iter": 20, "min_samples_leaf": 5}],
    "BayesianRidge": [{}, {"maximise_evidence": False, "alpha_init": 0.01, "lambda_init": 0.1}],
    "Lasso": [{}, {"positive": True}, {"selection": "random", "precompute": True}],
    "ElasticNet": [{"alpha": 0.1}, {"alpha": 0.1, "l1_ratio": 0.0}],
    "Lars": [{}, {"n_nonzero_coefs": 4, "precompute": False}],
    "LassoLars": [{}, {"positive": True, "alpha": 0.1}],
    "OrthogonalMatchingPursuit": [{"n_nonzero_coefs": 4}],
    "MultiTaskElasticNet": [{"alpha": 0.1}, {"alpha": 0.1, "selection": "random"}],
    "MultiTaskElasticNetCV": [{"alphas": 5, "eps": 1e-2, "cv": 3, "l1_ratio": [0.5, 0.9]}],
    "MultiTaskLassoCV": [{"alphas": 12, "eps": 1e-2}],
    "LassoCV": [{"alphas": 12, "eps": 1e-2}],
    "ElasticNetCV": [{"alphas": 5, "eps": 1e-2, "cv": 3, "l1_ratio": [0.5, 0.9]}],
    "HistogramDensity": [{}, {"bins": 4, "strategy": "quantile", "smoothing": 0.5}],
    "KernelDensity": [
        {},
        {"bandwidth": "cross_validation", "n_held_out": 600},
        {"bandwidth": "normal_reference"},
        {"bandwidth": "scott", "kernel": "exponential", "algorithm": "brute"},
        {"bandwidth": 9.0, "kernel": "cosine", "rtol": 1e-8},
        {"bandwidth": 3.0, "metric": "manhattan"},
    ],
    "LinearRegression": [{}, {"positive": True}],
    "Ridge": [{"solver": solver} for solver in ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga")]
    + [{"solver": "lbfgs", "positive": True}],
    "GeneralizedLinearEstimator": [
        {},
        {"loss": "huber", "penalty": "l1", "alpha": 0.1},
        {"loss": "absolute", "solver": "fista"},
        {"loss": "epsilon_insensitive", "penalty": "elasticnet", "alpha": 0.1},
        {"loss": "hinge", "alpha": 0.01},
        {"loss": "hinge", "alpha": 0.01, "solver": "dual"},
        {"loss": "squared_hinge", "alpha": 0.01},
        {"loss": "epsilon_insensitive", "alpha": 0.1, "solver": "dual"},
        {"loss": "logistic", "penalty": "l1", "alpha": 0.01, "solver": "fista"},
    ],
    "PoissonRegressor": [{"alpha": 0.1}],
    "GammaRegressor": [{"alpha": 0.1}],
    "TweedieRegressor": [{}, {"power": 1.5, "alpha": 0.1}],
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
    "RidgeCV": [{}, {"gcv_mode": "svd"}, {"cv": 5}],
    "RidgeClassifier": [{}, {"solver": "sparse_cg"}, {"solver": "saga"}],
    # Of penalties this far apart every way to fold the rows chooses the same.
    "RidgeClassifierCV": [{}, {"cv": 5, "class_weight": "balanced", "alphas": (0.01, 1e6)}],
    "Perceptron": [{}, {"penalty": "elasticnet", "alpha": 0.001}],
    "FixedThresholdClassifier": [{"estimator": _CLASSIFIERS[0][1], "threshold": 0.5}],
    "TunedThresholdClassifierCV": [{"estimator": _CLASSIFIERS[0][1], "cv": 3}],
    "PassiveAggressiveClassifier": [{"C": 0.01}],
    "PassiveAggressiveRegressor": [{"C": 0.01}],
    "SGDClassifier": [
        {},
        {"loss": "log_loss", "penalty": "l1", "alpha": 0.01, "learning_rate": "invscaling", "eta0": 0.1},
        {"average": True, "shuffle": False},
    ],
    "SGDOneClassSVM": [{}, {"nu": 0.2, "learning_rate": "invscaling", "eta0": 0.1, "average": True}],
    "SGDRegressor": [
        {},
        {"loss": "huber", "epsilon": 50.0, "penalty": "elasticnet", "learning_rate": "adaptive", "shuffle": False},
        {"loss": "epsilon_insensitive", "average": True, "batch_size": 4, "max_iter": 60},
    ],
    "MLPClassifier": [
        {"hidden_layer_sizes": (8,), "learning_rate_init": 0.05, "max_iter": 20},
        {"hidden_layer_sizes": (8,), "learning_rate_init": 0.05, "max_iter": 3, "dropout": 0.2, "batch_norm": True},
        {
            "hidden_layer_sizes": (8,),
            "learning_rate_init": 0.05,
            "max_iter": 8,
            "solver": "sgd",
            "clip_norm": 1.0,
            "class_weight": "balanced",
        },
        {"hidden_layer_sizes": (8,), "learning_rate_init": 0.05, "max_iter": 8, "average_from": 4},
        {"hidden_layer_sizes": (4,), "activation": "tanh", "solver": "lbfgs", "alpha": 1.0},
    ],
    "MLPRegressor": [
        {"hidden_layer_sizes": (8,), "learning_rate_init": 0.1, "max_iter": 20},
        {"hidden_layer_sizes": (8,), "learning_rate_init": 0.1, "max_iter": 8, "early_stopping": True},
    ],
    "NuSVC": [{"nu": 0.3}],
    "SVC": [{}, {"multi_class": "ovr"}, {"multi_class": "joint"}],
    "LogisticRegression": [
        {},
        {"solver": "lbfgs"},
        *({"solver": solver} for solver in ("newton-cholesky", "newton-cg", "liblinear", "sag", "saga")),
        {"solver": "saga", "l1_ratio": 1.0, "C": 0.1},
        {"solver": "saga", "l1_ratio": 0.5, "C": 0.1},
        {"solver": "liblinear", "l1_ratio": 1.0, "C": 0.1},
    ],
    "AdaBoostClassifier": [{"n_estimators": 20}, {"n_estimators": 5, "algorithm": "real"}],
    "AdaBoostRegressor": [{"n_estimators": 5}],
    "BaggingClassifier": [{"n_estimators": 4}],
    "BaggingRegressor": [{"n_estimators": 4, "max_features": 0.8}],
    "LPBoostClassifier": [{"n_estimators": 4, "nu": 0.5}],
    "MultiwayTreeClassifier": [{"max_depth": 4}],
    "RegularizedAdaBoost": [{"n_estimators": 10}],
    "StackingClassifier": [{"estimators": _CLASSIFIERS[:2], "cv": 2}],
    "StackingRegressor": [{"estimators": _REGRESSORS[:2], "cv": 2}],
    "VotingClassifier": [{"estimators": _CLASSIFIERS, "voting": "soft", "weights": [2, 1, 1]}],
    "VotingRegressor": [{"estimators": _REGRESSORS}],
    "LogisticRegressionCV": [
        {"Cs": (1e-5, 1.0), "l1_ratios": (0.0,), "cv": 3, "scoring": None, "use_legacy_attributes": False},
        {"Cs": (1e-5, 1.0), "cv": 3, "scoring": None, "solver": "newton-cholesky"},
        # A stronger penalty leaves the classes of scikit-learn's check of weights with nothing but equal intercepts.
        {"Cs": (1.0,), "l1_ratios": (1.0,), "cv": 3, "scoring": None, "solver": "auto"},
    ],
}
