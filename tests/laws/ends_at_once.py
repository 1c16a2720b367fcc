"""Settings whose fits end in one or two steps: laws about what happens between steps leave them out.

``test_control`` checks that this list is complete and that each entry is needed.
"""

# Classes whose every setting ends so on the 500 rows of the laws.
# fmt: off
CLASSES = (
    "AdditiveChi2Sampler", "AgglomerativeClustering", "BaggingClassifier", "BaggingRegressor", "BernoulliNB",
    "Binarizer", "CCA", "CategoricalNB", "ClassConditionalClassifier", "ClassicalMDS", "ClusterOutlier",
    "ComplementNB", "ConformalClassifier", "ConformalRegressor", "DBSCAN", "DecisionClassifier", "DecisionStump",
    "DensityOutlier", "EmpiricalCovariance", "FastICA", "FeatureAgglomeration",
    "FixedThresholdClassifier", "FourierBasis", "TunedThresholdClassifierCV",
    "GaussianConditionalRegressor", "GaussianNB", "GaussianRandomProjection", "GenericUnivariateSelect", "HDBSCAN",
    "HistogramDensity", "Hopfield", "IsolationForest", "Isomap", "KBinsDiscretizer", "KNNImputer",
    "KNeighborsClassifier", "KNeighborsOutlier", "KNeighborsRegressor", "KNeighborsTransformer", "KernelCCA",
    "KernelCenterer", "KernelDiscriminantAnalysis", "KernelRidge", "KernelRidgeCV", "LabelPropagation", "LarsCV",
    "LassoLarsCV", "LedoitWolf", "LinearDiscriminantAnalysis", "LinearRegression", "LocalOutlierFactor",
    "LocallyLinearEmbedding", "MahalanobisOutlier", "MaxAbsScaler", "MinMaxScaler", "MissingIndicator",
    "ModelAveragingClassifier", "ModelAveragingRegressor", "MultiOutputRegressor", "MultinomialNB",
    "MultiwayTreeClassifier", "NearestCentroid", "NearestNeighbors", "Normalizer", "NuSVC", "NuSVR", "Nystroem",
    "OAS", "OPTICS", "OneClassSVM", "OneHotEncoder", "OrdinalEncoder", "OrthogonalMatchingPursuitCV",
    "OrthogonalRandomFeatures", "PLSCanonical", "PLSRegression", "PLSSVD", "PolynomialBasis",
    "PolynomialCountSketch", "ProbabilisticPCA", "QuadraticDiscriminantAnalysis", "QuantileRegressor",
    "QuantileTransformer", "RBFNetworkClassifier", "RBFNetworkRegressor", "RBFSampler", "RadialBasis",
    "RadiusNeighborsClassifier", "RadiusNeighborsRegressor", "RadiusNeighborsTransformer", "ReconstructionOutlier",
    "RegressorChain", "SelfTrainingClassifier",
    "RegularizationNetwork", "RidgeCV", "RidgeClassifierCV", "RobustScaler", "SVC", "SVDD", "SVR", "SelectFdr",
    "SelectFpr", "SelectFromModel", "SelectFwe", "SelectKBest", "SelectPercentile", "ShrunkCovariance", "SimpleImputer",
    "SkewedChi2Sampler", "SparseRandomProjection", "SpectralBiclustering", "SpectralCoclustering",
    "SpectralEmbedding", "SplineBasis", "StandardScaler", "TSNE", "TableEncoder", "TargetEncoder", "TruncatedSVD",
    "VarianceThreshold", "Whitening",
)
# fmt: on
# Single settings of other classes, as the laws name them.
SETTINGS = (
    "BayesNetClassifier()",
    "BayesNetClassifier(structure='naive')",
    "BayesNetLearner(structure='chow_liu')",
    "CalibratedClassifierCV(estimator=GaussianNB(), cv=3, method='temperature', ensemble=False)",
    "BayesianRidge(maximise_evidence=False, alpha_init=0.01, lambda_init=0.1)",
    "ElasticNet(alpha=0.1, l1_ratio=0.0)",
    "GaussianMixture(n_components=4)",
    "GaussianMixture(n_components=4, covariance_type='tied', n_init=2)",
    "GaussianMixture(n_components=4, covariance_type='spherical', assignment='hard')",
    "GeneralizedLinearEstimator()",
    "KMedoids(n_clusters=4, method='alternate', init='random')",
    "KernelDensity()",
    "KernelDensity(bandwidth='normal_reference')",
    "KernelDensity(bandwidth='scott', kernel='exponential', algorithm='brute')",
    "KernelDensity(bandwidth=9.0, kernel='cosine', rtol=1e-08)",
    "KernelDensity(bandwidth=3.0, metric='manhattan')",
    "KernelPCA(n_components=3, kernel='rbf', gamma=0.01, eigen_solver='dense', fit_inverse_transform=True)",
    "MultiTaskElasticNet(alpha=0.1)",
    "MultiTaskLasso()",
    "PCA(n_components=2)",
    "PCA(n_components=2, svd_solver='full')",
    "PCA(n_components=2, svd_solver='covariance_eigh')",
    "PCA(n_components=2, svd_solver='randomized')",
    "PCA(n_components=1, svd_solver='arpack')",
    "ProjectionPursuit()",
    "Ridge(solver='auto')",
    "Ridge(solver='svd')",
    "Ridge(solver='cholesky')",
    "Ridge(solver='lbfgs', positive=True)",
    "RidgeClassifier()",
    "TweedieRegressor()",
)
ENDS_AT_ONCE = frozenset((*CLASSES, *SETTINGS))
