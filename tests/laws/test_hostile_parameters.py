"""Parameters from outside have a bound: odd values are refused in words, or the model answers with finite numbers.

``python -m tools.fuzzing parameters`` tries some 80 values on each parameter of each class. Here are those that got
through once, one or two for each cause.
"""

import pytest

from tests.laws.subjects import first_settings
from tools.fuzzing.parameters import try_value

SUBJECTS = {subject.name: subject for subject in first_settings()}
# Class, parameter and the name of the value in `tools.fuzzing.parameters.VALUES`.
CASES = [
    # Numbers whose squares overflow or vanish, and those that overflow in a power.
    *(("LogisticRegression", "tol", "1e155"), ("PoissonRegressor", "tol", "1e155"), ("DBSCAN", "eps", "1e155")),
    *(("DENCLUE", "bandwidth", "5e-324"), ("HDBSCAN", "alpha", "1e-160"), ("RBFNetworkRegressor", "width", "5e-324")),
    *(("KernelDiscriminantAnalysis", "mu", "1e308"), ("GradientBoostingRegressor", "learning_rate", "1e140")),
    *(("HistGradientBoostingRegressor", "learning_rate", "1e140"), ("MLPRegressor", "learning_rate_init", "1e140")),
    *(("RandomForestRegressor", "max_samples", "1e140"), ("KernelDensity", "rtol", "2**31")),
    ("LocalOutlierFactor", "p", "1000"),
    # Infinity where no formula takes it.
    *(("Lars", "jitter", "inf"), ("EmpiricalCovariance", "ridge", "inf"), ("TSNE", "early_exaggeration", "inf")),
    *(("HistogramDensity", "smoothing", "inf"), ("GradientBoostingClassifier", "learning_rate", "inf")),
    *(("QuantileRegressor", "alpha", "inf"), ("ARDRegression", "alpha_2", "inf"), ("MiniBatchNMF", "beta_loss", "inf")),
    # Numbers of NumPy with few bits.
    *(
        ("ARDRegression", "alpha_1", "float16"),
        ("GaussianHMM", "n_components", "int8"),
        ("SplineBasis", "degree", "int8"),
    ),
    *(
        ("BernoulliRBM", "batch_size", "int8"),
        ("KernelKMeans", "n_init", "int8"),
        ("MiniBatchNMF", "batch_size", "int8"),
    ),
    *(("MiniBatchKMeans", "batch_size", "int8"), ("SoftKMeans", "n_levels", "int8")),
    # Numbers of NumPy in the place of lists, lists of unequal lengths, tables in the place of lists.
    *(("RidgeCV", "alphas", "float16"), ("LassoCV", "alphas", "date"), ("LassoCV", "alphas", "list of huge integers")),
    *(("ElasticNetCV", "l1_ratio", "column"), ("LogisticRegressionCV", "Cs", "column")),
    *(
        ("DecisionTreeClassifier", "categorical_features", "ragged"),
        ("DecisionTreeRegressor", "monotonic_cst", "ragged"),
    ),
    *(("MultiwayTreeClassifier", "categorical_features", "column"), ("DecisionClassifier", "actions", "ragged")),
    *(("BayesNetLearner", "required_edges", "column"), ("BayesNetLearner", "tiers", "list of zeros")),
    *(("RadiusNeighborsClassifier", "outlier_label", "ragged"), ("AgglomerativeClustering", "connectivity", "ragged")),
    *(("LinearGaussianModel", "learn", "int8"), ("RadiusNeighborsRegressor", "radius", "2**63")),
    # Arguments of a metric, and what functions of the user's give.
    *(
        ("KNeighborsClassifier", "metric_params", "unknown key"),
        ("KNeighborsClassifier", "metric_params", "key with None"),
    ),
    *(("DBSCAN", "metric_params", "unknown key"), ("KernelDensity", "metric_params", "unknown key")),
    *(("MDS", "metric_params", "key that is no name"), ("KMedoids", "metric_params", "unknown key")),
    *(("KMedoids", "metric", "function to text"), ("ClassicalMDS", "metric", "function to None")),
    *(("KernelPCA", "kernel", "function to None"), ("KernelRidge", "kernel", "function to text")),
    *(("SVC", "kernel", "function to text"), ("KMeans", "init", "function to text")),
    *(
        ("SpectralEmbedding", "affinity", "function to text"),
        ("GaussianProcessRegressor", "optimizer", "function to NaN"),
    ),
    *(("RidgeCV", "scoring", "function to None"), ("RandomForestClassifier", "oob_score", "function to text")),
    # Members, weights, names and places.
    *(
        ("VotingRegressor", "estimators", "pairs of text and None"),
        ("DecisionTreeClassifier", "class_weight", "list of texts"),
    ),
    *(
        ("LinearDiscriminantAnalysis", "class_weight", "key with None"),
        ("TableEncoder", "kinds", "key that is no name"),
    ),
    *(("AgglomerativeClustering", "memory", "surrogate"), ("HistGradientBoostingClassifier", "random_state", "2**63")),
    *(("MiniBatchKMeans", "reassignment_ratio", "3"), ("LocallyLinearEmbedding", "reg", "0")),
    *(("MinMaxScaler", "feature_range", "empty tuple"), ("SpectralClustering", "n_init", "int8")),
    # Work without end or forecast.
    *(("OrthogonalRandomFeatures", "n_components", "2**31"), ("LinearGaussianModel", "n_components", "2**31")),
    *(
        ("RecurrentRegressor", "n_layers", "2**31"),
        ("SparseRandomProjection", "density", "1e-40"),
        ("FourierBasis", "n_frequencies", "2**31"),
    ),
]


@pytest.mark.parametrize(("name", "parameter", "value"), CASES, ids=lambda part: str(part))
def test_an_odd_parameter_is_refused_in_words_or_the_model_answers(name, parameter, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a text may be the name of a folder that keeps what was computed
    subject = SUBJECTS[name]
    outcome, fault = try_value(subject, parameter, value, *subject.data(40, 5))
    assert outcome != "raw", fault
