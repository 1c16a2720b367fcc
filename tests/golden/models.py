"""The models that golden files are made of: for each, a function that fits it and returns it with rows to predict.

``tools/make_golden.py`` writes one file per model into the folder of the version that made it; the test beside this
module loads every file ever committed and compares what it predicts with what it predicted then.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector

Model = tuple[Any, Any]


def _table() -> tuple[np.ndarray, np.ndarray]:
    """Twelve rows without randomness, so that the file does not depend on a generator's stream."""
    grid = np.arange(36, dtype=float).reshape(12, 3)
    X = np.column_stack([np.sin(grid[:, 0]), np.sqrt(grid[:, 1]), grid[:, 2] % 5])
    return X, (X[:, 0] + X[:, 2] > 2).astype(int)


def _mixed_table() -> tuple[np.ndarray, np.ndarray]:
    X, y = _table()
    mixed = np.empty((12, 3), dtype=object)
    mixed[:, 0] = X[:, 0].tolist()
    mixed[:, 1] = ["red", "green", "blue"] * 4
    mixed[:, 2] = [-1.0, *X[1:, 2].tolist()]
    return mixed, y


def scaled_classifier() -> Model:
    """A chain of scalers and a linear classifier."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

    X, y = _table()
    return make_pipeline(StandardScaler(), RobustScaler(), MinMaxScaler(), LogisticRegression()).fit(X, y), X


def mixed_columns() -> Model:
    """Numeric, text and missing (-1) columns, transformed apart, then regressed on."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    X, y = _mixed_table()
    fill = SimpleImputer(missing_values=-1.0)
    columns = ColumnTransformer([("scale", StandardScaler(), [0]), ("code", OneHotEncoder(), [1]), ("fill", fill, [2])])
    return make_pipeline(columns, Ridge()).fit(X, y.astype(float)), X


def searched_regression() -> Model:
    """A grid search with its results, scorer and splitter."""
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV, KFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    X, y = _table()
    pipeline = make_pipeline(PolynomialFeatures(2), Ridge())
    search = GridSearchCV(pipeline, {"ridge__alpha": [0.1, 1.0]}, cv=KFold(3), scoring="neg_mean_squared_error")
    return search.fit(X, y), X


def calibrated_classifier() -> Model:
    """A calibrated classifier, whose parts have no public class."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.linear_model import LogisticRegression

    X, y = _table()
    return CalibratedClassifierCV(LogisticRegression(), cv=2).fit(X, y), X


def spline_features() -> Model:
    """Splines and univariate selection."""
    from sklearn.feature_selection import SelectKBest
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import SplineTransformer

    X, y = _table()
    return make_pipeline(SplineTransformer(n_knots=4), SelectKBest(k=4)).fit(X, y), X


def clusters() -> Model:
    """k-means from given centres, behind a scaler."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from mercer.cluster import KMeans

    X, _ = _table()
    return make_pipeline(StandardScaler(), KMeans(2, init=np.array([[-1.0, 0, 0], [1.0, 0, 0]]))).fit(X), X


def mini_batch_clusters() -> Model:
    """Mini-batch k-means, which can go on learning after it is loaded."""
    from mercer.cluster import MiniBatchKMeans

    X, _ = _table()
    return MiniBatchKMeans(2, init=X[:2], n_init=1, batch_size=6, random_state=0).fit(X), X


def growing_clusters() -> Model:
    """k-means that grew its centres."""
    from mercer.cluster import GrowingKMeans

    X, _ = _table()
    return GrowingKMeans(target=5.0).fit(X), X


def projection() -> Model:
    """Whitened principal components."""
    from mercer.decomposition import PCA

    X, _ = _table()
    return PCA(2, whiten=True).fit(X), X


def incremental_projection() -> Model:
    """Principal components of two batches."""
    from mercer.decomposition import IncrementalPCA

    X, _ = _table()
    return IncrementalPCA(2, batch_size=6).fit(X), X


def nonnegative_parts() -> Model:
    """Nonnegative parts by coordinate descent, of rows without negative entries."""
    from mercer.decomposition import NMF

    X = np.abs(_table()[0])
    return NMF(2, init="nndsvda", max_iter=50, tol=1e-3).fit(X), X


def independent_components() -> Model:
    """Independent components from a given start."""
    from mercer.decomposition import FastICA

    X, _ = _table()
    return FastICA(whiten="unit-variance", w_init=np.eye(3), tol=1e-3, max_iter=500).fit(X), X


def shortest_paths() -> Model:
    """A map by shortest paths between neighbours."""
    from mercer.manifold import Isomap

    X, _ = _table()
    return Isomap(n_neighbors=4).fit(X), X


def local_weights() -> Model:
    """A map that keeps the weights by which neighbours make a row."""
    from mercer.manifold import LocallyLinearEmbedding

    X, _ = _table()
    return LocallyLinearEmbedding(n_neighbors=5).fit(X), X


def latent_regression() -> Model:
    """Partial least squares of two targets."""
    from mercer.cross_decomposition import PLSRegression

    X, _ = _table()
    return PLSRegression(2).fit(X, np.column_stack([X[:, 0] + X[:, 2], X[:, 1] ** 2])), X


def canonical_variates() -> Model:
    """Canonical correlations with two other columns."""
    from mercer.cross_decomposition import CCA

    X, _ = _table()
    return CCA(1).fit(X, np.column_stack([X[:, 0] + X[:, 2], X[:, 1] ** 2])), X


def random_directions() -> Model:
    """A dense random projection."""
    from mercer.random_projection import GaussianRandomProjection

    X, _ = _table()
    return GaussianRandomProjection(2, random_state=0).fit(X), X


def sparse_directions() -> Model:
    """A sparse random projection."""
    from mercer.random_projection import SparseRandomProjection

    X, _ = _table()
    return SparseRandomProjection(2, random_state=0).fit(X), X


def linear_pipeline() -> Model:
    """Scaled rows and least squares."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from mercer.linear_model import LinearRegression

    X, y = _table()
    return make_pipeline(StandardScaler(), LinearRegression()).fit(X, y.astype(float)), X


def ridge() -> Model:
    """Ridge regression of two targets, each with its own penalty."""
    from mercer.linear_model import Ridge

    X, y = _table()
    return Ridge(alpha=[0.5, 2.0]).fit(X, np.column_stack([y, X[:, 0]])), X


def logistic_search() -> Model:
    """A grid search over mercer's logistic regression, with named classes."""
    from sklearn.model_selection import GridSearchCV, KFold

    from mercer.linear_model import LogisticRegression

    X, y = _table()
    names = np.array(["no", "yes"])[y]
    return GridSearchCV(LogisticRegression(), {"C": [0.5, 1.0]}, cv=KFold(2, shuffle=True, random_state=0)).fit(
        X, names
    ), X


def linear_discriminant() -> Model:
    """Linear discriminant analysis of two batches, with named classes."""
    from mercer.discriminant_analysis import LinearDiscriminantAnalysis

    X, y = _table()
    names = np.array(["no", "yes"])[y]
    model = LinearDiscriminantAnalysis().partial_fit(X[:6], names[:6], classes=["no", "yes"])
    return model.partial_fit(X[6:], names[6:]), X


def quadratic_discriminant() -> Model:
    """Quadratic discriminant analysis, regularised."""
    from mercer.discriminant_analysis import QuadraticDiscriminantAnalysis

    X, y = _table()
    return QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X, y), X


def categories() -> Model:
    """Naive Bayes of categories."""
    from mercer.naive_bayes import CategoricalNB

    X, y = _table()
    X = np.floor(np.abs(X))
    return CategoricalNB(min_categories=7).fit(X, y), X


def shrunken_centroids() -> Model:
    """The nearest of shrunken centroids."""
    from mercer.neighbors import NearestCentroid

    X, y = _table()
    return NearestCentroid(shrink_threshold=0.2).fit(X, y), X


def dense_clusters() -> Model:
    """DBSCAN, which labels new rows by its core rows."""
    from mercer.cluster import DBSCAN

    X, _ = _table()
    return DBSCAN(eps=2.0, min_samples=2).fit(X), X


def nested_clusters() -> Model:
    """HDBSCAN, whose hierarchy new rows join."""
    from mercer.cluster import HDBSCAN

    X, _ = _table()
    return HDBSCAN(min_cluster_size=2, copy=True).fit(X), X


def hills() -> Model:
    """DENCLUE, whose density new rows climb."""
    from mercer.cluster import DENCLUE

    X, _ = _table()
    return DENCLUE(bandwidth=1.0).fit(X), X


def network() -> Model:
    """A Bayesian network, with rows of evidence about it."""
    from mercer.bayesnet import load_burglary

    return load_burglary(), np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def neighbour_votes() -> Model:
    """The votes of three neighbours, weighted by distance and by the rows' own weights."""
    from mercer.neighbors import KNeighborsClassifier

    X, y = _table()
    model = KNeighborsClassifier(3, weights="distance", metric="manhattan")
    return model.fit(X, y, sample_weight=np.arange(12) + 1.0), X + 0.1


def radius_votes() -> Model:
    """The votes of the rows within a radius; rows without neighbours get the label of most rows."""
    from mercer.neighbors import RadiusNeighborsClassifier

    X, y = _table()
    return RadiusNeighborsClassifier(1.5, outlier_label="most_frequent").fit(X, y), X + 0.1


def learnt_metric() -> Model:
    """Neighbourhood components."""
    from mercer.neighbors import NeighborhoodComponentsAnalysis

    X, y = _table()
    return NeighborhoodComponentsAnalysis(2, tol=0.1).fit(X, y), X


def local_outliers() -> Model:
    """Local outlier factors of new rows."""
    from mercer.neighbors import LocalOutlierFactor

    X, _ = _table()
    return LocalOutlierFactor(4, novelty=True, contamination=0.2).fit(X), X + 0.1


def isolation_trees() -> Model:
    """Isolation trees."""
    from mercer.ensemble import IsolationForest

    X, _ = _table()
    return IsolationForest(n_estimators=5, random_state=0).fit(X), X + 0.1


def robust_ellipse() -> Model:
    """A robust covariance with a threshold."""
    from mercer.covariance import EllipticEnvelope

    X, _ = _table()
    return EllipticEnvelope(random_state=0, contamination=0.2).fit(X), X


def perceptron_classifier() -> Model:
    """A multilayer perceptron with batch norm and named classes, calibrated, which can go on learning."""
    from mercer.neural_network import MLPClassifier

    X, y = _table()
    names = np.array(["no", "yes"])[y]
    model = MLPClassifier((4,), batch_norm=True, learning_rate_init=0.05, max_iter=12, random_state=0).fit(X, names)
    return model.calibrate(X, names), X


def perceptron_regressor() -> Model:
    """A multilayer perceptron of two targets, with averaged weights and a method of ``mercer.optim``."""
    from mercer.neural_network import MLPRegressor
    from mercer.optim import Momentum

    X, y = _table()
    model = MLPRegressor(hidden_layer_sizes=(3, 2), solver=Momentum(0.01), average_from=4, max_iter=8, random_state=0)
    return model.fit(X, np.column_stack([y, X[:, 0]])), X


def restricted_machine() -> Model:
    """A restricted Boltzmann machine with momentum, whose chains go on."""
    from mercer.neural_network import BernoulliRBM

    X, _ = _table()
    X = (X.mean(axis=0) < X).astype(float)
    return BernoulliRBM(4, batch_size=4, momentum=0.5, n_iter=5, random_state=0).fit(X), X


def associative_memory() -> Model:
    """A Hopfield network that completes patterns."""
    from mercer.neural_network import Hopfield

    X = np.where(np.sin(np.arange(36.0)).reshape(3, 12) > 0, 1.0, -1.0)
    return Hopfield().fit(X), X


def autoencoder() -> Model:
    """An autoencoder, which can go on learning after it is loaded."""
    from mercer.neural_network import Autoencoder

    X, _ = _table()
    return Autoencoder(2, hidden_layer_sizes=(4,), max_iter=3, batch_size=6, random_state=0).fit(X), X


def image_classifier() -> Model:
    """A convolutional network with batch norm."""
    from mercer.neural_network import ConvClassifier

    X, y = _table()
    images = np.tile(X, (1, 4))
    network = ConvClassifier((3, 4), filters=(2,), hidden_layer_sizes=(3,), batch_norm=True, max_iter=2, random_state=0)
    return network.fit(images, y), images


def sequence_classifier() -> Model:
    """A recurrent network of LSTM cells with words as classes."""
    from mercer.neural_network import RecurrentClassifier

    X, y = _table()
    network = RecurrentClassifier(3, cell="lstm", max_iter=2, batch_size=6, random_state=0)
    return network.fit(X, np.where(y == 1, "high", "low")), X


def support_vectors() -> Model:
    """A support vector machine with balanced classes and a Gaussian kernel."""
    from mercer.svm import SVC

    X, y = _table()
    return SVC(C=2.0, class_weight="balanced").fit(X, y), X + 0.1


def linear_margin() -> Model:
    """A linear support vector machine."""
    from mercer.svm import LinearSVC

    X, y = _table()
    return LinearSVC(C=0.5).fit(X, y), X


def support_regression() -> Model:
    """Support vector regression."""
    from mercer.svm import SVR

    X, _ = _table()
    return SVR(epsilon=0.05).fit(X, X[:, 0] + X[:, 2]), X + 0.1


def sparse_coefficients() -> Model:
    """An elastic net."""
    from mercer.linear_model import ElasticNet

    X, _ = _table()
    return ElasticNet(alpha=0.1).fit(X, X[:, 0] + X[:, 2]), X


def decision_tree() -> Model:
    """A decision tree with missing values."""
    from mercer.tree import DecisionTreeClassifier

    X, y = _table()
    X = X.copy()
    X[3, 1] = np.nan
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y), X


def forest() -> Model:
    """A random forest with rows out of the bag."""
    from mercer.ensemble import RandomForestClassifier

    X, y = _table()
    return RandomForestClassifier(12, oob_score=True, random_state=0).fit(X, y), X + 0.1


def boosted_histograms() -> Model:
    """Gradient boosting by histograms."""
    from mercer.ensemble import HistGradientBoostingRegressor

    X, _ = _table()
    return HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=2).fit(X, X[:, 0] + X[:, 2]), X + 0.1


def boosted_trees() -> Model:
    """Gradient boosting by exact cuts."""
    from mercer.ensemble import GradientBoostingClassifier

    X, y = _table()
    return GradientBoostingClassifier(n_estimators=4, random_state=0).fit(X, y), X + 0.1


def boosted_stumps() -> Model:
    """AdaBoost over stumps."""
    from mercer.ensemble import AdaBoostClassifier

    X, y = _table()
    return AdaBoostClassifier(n_estimators=4, random_state=0).fit(X, y), X + 0.1


def gaussian_process() -> Model:
    """A Gaussian process with a kernel object."""
    from mercer.gaussian_process import GaussianProcessRegressor
    from mercer.kernels import RBF, White

    X, _ = _table()
    kernel = RBF(1.5) + White(0.1)
    return GaussianProcessRegressor(kernel, optimizer=None).fit(X, X[:, 0] + X[:, 2]), X + 0.1


def kernel_regression() -> Model:
    """Kernel ridge regression."""
    from mercer.kernel_ridge import KernelRidge

    X, _ = _table()
    return KernelRidge(alpha=0.5, kernel="rbf", gamma=0.3).fit(X, X[:, 0] + X[:, 2]), X + 0.1


def random_features() -> Model:
    """Random features of the Gaussian kernel."""
    from mercer.kernel_approximation import RBFSampler

    X, _ = _table()
    return RBFSampler(gamma=0.3, n_components=5, random_state=0).fit(X), X


def mixture() -> Model:
    """A mixture of two Gaussians from given means."""
    from mercer.mixture import GaussianMixture

    X, _ = _table()
    return GaussianMixture(2, means_init=X[[0, 5]], reg_covar=0.1).fit(X), X


def hidden_states() -> Model:
    """A hidden Markov model with Gaussian emissions."""
    from mercer.hmm import GaussianHMM

    X, _ = _table()
    return GaussianHMM(2, n_iter=3, tol=1.0, random_state=0).fit(X), X


def encoded_table() -> Model:
    """Texts, gaps and numbers as blocks of numbers."""
    from mercer.preprocessing import TableEncoder

    X, _ = _mixed_table()
    return TableEncoder(sparse_output=False).fit(X), X


THEIRS = (scaled_classifier, mixed_columns, searched_regression, calibrated_classifier, spline_features)
OURS = (
    clusters,
    mini_batch_clusters,
    growing_clusters,
    dense_clusters,
    nested_clusters,
    hills,
    projection,
    incremental_projection,
    linear_pipeline,
    ridge,
    logistic_search,
    linear_discriminant,
    quadratic_discriminant,
    categories,
    shrunken_centroids,
    network,
    neighbour_votes,
    radius_votes,
    learnt_metric,
    local_outliers,
    isolation_trees,
    robust_ellipse,
    perceptron_classifier,
    perceptron_regressor,
    restricted_machine,
    associative_memory,
    autoencoder,
    image_classifier,
    sequence_classifier,
    nonnegative_parts,
    independent_components,
    shortest_paths,
    local_weights,
    latent_regression,
    canonical_variates,
    random_directions,
    sparse_directions,
    support_vectors,
    linear_margin,
    support_regression,
    sparse_coefficients,
    decision_tree,
    forest,
    boosted_histograms,
    boosted_trees,
    boosted_stumps,
    gaussian_process,
    kernel_regression,
    random_features,
    mixture,
    hidden_states,
    encoded_table,
)
MODELS: dict[str, Callable[[], Model]] = {factory.__name__: factory for factory in (*THEIRS, *OURS)}


def predict(model: Any, X: Any) -> np.ndarray:
    """What a model says about rows: scores, probabilities, predictions, or the transformed rows."""
    if hasattr(model, "marginals"):
        cases = [{"john": "yes" if john else "no", "mary": "yes" if mary else "no"} for john, mary in X]
        return np.array([model.query("burglary", case).values for case in cases])
    if is_outlier_detector(model):
        return np.concatenate([model.score_samples(X), model.predict(X)])
    for method in ("predict_proba", "predict", "transform"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X), dtype=float)
    raise TypeError(f"predict: a model must predict or transform; {type(model).__name__} does neither.")
