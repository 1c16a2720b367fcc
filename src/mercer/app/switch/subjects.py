"""Which classes a test module of scikit-learn is about: the way from a difference that a test shows to the class."""

import re

from mercer.app.switch.differences import DIFFERENCES, REPLACED

# The words are whole families, or names of one family.
_SUBJECTS = {
    "affinity_propagation": "AffinityPropagation affinity_propagation",
    "bagging": "BaggingClassifier BaggingRegressor",
    "bayes": "ARDRegression BayesianRidge",
    "bayesian_mixture": "BayesianGaussianMixture",
    "bicluster": "SpectralBiclustering SpectralCoclustering",
    "calibration": "calibration",
    "classification_threshold": "FixedThresholdClassifier TunedThresholdClassifierCV",
    "column_transformer": "ColumnTransformer make_column_transformer",
    "coordinate_descent": "ElasticNet ElasticNetCV Lasso LassoCV MultiTaskElasticNet MultiTaskElasticNetCV "
    "MultiTaskLasso MultiTaskLassoCV enet_path lasso_path",
    "data": "Binarizer MaxAbsScaler MinMaxScaler Normalizer QuantileTransformer RobustScaler StandardScaler",
    "dbscan": "DBSCAN dbscan",
    "common": "MaxAbsScaler MinMaxScaler PowerTransformer QuantileTransformer RobustScaler StandardScaler",
    "dict_vectorizer": "DictVectorizer",
    "dict_learning": "DictionaryLearning MiniBatchDictionaryLearning SparseCoder dict_learning dict_learning_online "
    "sparse_encode",
    "discretization": "KBinsDiscretizer",
    "discriminant_analysis": "discriminant_analysis",
    "dummy": "dummy",
    "encoders": "OneHotEncoder OrdinalEncoder",
    "export": "export_graphviz export_text plot_tree",
    "fastica": "FastICA fastica",
    "feature_select": "GenericUnivariateSelect SelectFdr SelectFpr SelectFwe SelectKBest SelectPercentile",
    "from_model": "SelectFromModel",
    "forest": "ExtraTreesClassifier ExtraTreesRegressor RandomForestClassifier RandomForestRegressor "
    "RandomTreesEmbedding",
    "gaussian_mixture": "GaussianMixture",
    "glm": "GammaRegressor PoissonRegressor TweedieRegressor",
    "gpc": "GaussianProcessClassifier",
    "gpr": "GaussianProcessRegressor",
    "gradient_boosting": "GradientBoostingClassifier GradientBoostingRegressor HistGradientBoostingClassifier "
    "HistGradientBoostingRegressor",
    "hdbscan": "HDBSCAN",
    "hierarchical": "AgglomerativeClustering FeatureAgglomeration",
    "iforest": "IsolationForest",
    "impute": "impute",
    "isomap": "Isomap",
    "isotonic": "isotonic",
    "k_means": "KMeans MiniBatchKMeans k_means kmeans_plusplus",
    "kde": "KernelDensity",
    "kernel_approximation": "kernel_approximation",
    "kernel_pca": "KernelPCA",
    "label_propagation": "LabelPropagation LabelSpreading",
    "least_angle": "Lars LarsCV LassoLars LassoLarsCV LassoLarsIC lars_path lars_path_gram",
    "lof": "LocalOutlierFactor",
    "logistic": "LogisticRegression LogisticRegressionCV",
    "mlp": "MLPClassifier MLPRegressor",
    "multioutput": "multioutput",
    "naive_bayes": "naive_bayes",
    "nca": "NeighborhoodComponentsAnalysis",
    "neighbors": "KNeighborsClassifier KNeighborsRegressor KNeighborsTransformer NearestNeighbors "
    "RadiusNeighborsClassifier RadiusNeighborsRegressor RadiusNeighborsTransformer kneighbors_graph",
    "nmf": "MiniBatchNMF NMF non_negative_factorization",
    "online_lda": "LatentDirichletAllocation",
    "passive_aggressive": "PassiveAggressiveClassifier PassiveAggressiveRegressor",
    "pca": "PCA",
    "perceptron": "Perceptron",
    "pipeline": "FeatureUnion Pipeline make_pipeline make_union",
    "pls": "cross_decomposition",
    "ransac": "RANSACRegressor",
    "rbm": "BernoulliRBM",
    "ridge": "Ridge RidgeCV RidgeClassifier RidgeClassifierCV",
    "robust_covariance": "MinCovDet EllipticEnvelope fast_mcd",
    "search": "GridSearchCV RandomizedSearchCV",
    "self_training": "SelfTrainingClassifier",
    "sgd": "SGDClassifier SGDOneClassSVM SGDRegressor",
    "sparse": "svm",
    "sparse_pca": "MiniBatchSparsePCA SparsePCA",
    "spectral_embedding": "SpectralEmbedding",
    "successive_halving": "HalvingGridSearchCV HalvingRandomSearchCV",
    "svm": "svm",
    "t_sne": "TSNE trustworthiness",
    "target": "TransformedTargetRegressor",
    "text": "CountVectorizer HashingVectorizer TfidfTransformer TfidfVectorizer",
    "tree": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor",
    "voting": "VotingClassifier VotingRegressor",
    "warm_start": "HistGradientBoostingClassifier HistGradientBoostingRegressor",
    "weight_boosting": "AdaBoostClassifier AdaBoostRegressor",
}
# Of two scikit-learn test modules with this name, of cluster and of linear models, only one shows differences.
_SUBJECTS["base"] = "LinearRegression"


def list_differences(name: str) -> list[str]:
    """Return in which points a class or function, such as "svm.SVC", differs from scikit-learn's on purpose.

    Tests that read or call what is private to scikit-learn's class are left out. A test that names classes shows a
    difference of these alone.
    """
    family, _, own = name.rpartition(".")
    found: dict[str, None] = {}
    for pattern, reason in DIFFERENCES.items():
        words = set(_SUBJECTS.get(pattern.partition("::")[0].removeprefix("test_"), "").split())
        subjects = words | {name for home, names in REPLACED.items() if home.split(".")[0] in words for name in names}
        named = {name for name in subjects if re.search(rf"\b{name}\b", f"{pattern} {reason}")}
        if own in (named or subjects) and (own in words or own in named or family in words) and "private" not in reason:
            found[reason.rstrip(".")] = None
    return list(found)
