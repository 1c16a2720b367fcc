"""The models that golden files are made of: for each, a function that fits it and returns it with rows to predict.

``tools/make_golden.py`` writes one file per model into the folder of the version that made it; the test beside this
module loads every file ever committed and compares what it predicts with what it predicted then.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["MODELS", "predict"]

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
    nonnegative_parts,
    independent_components,
    shortest_paths,
    local_weights,
    latent_regression,
    canonical_variates,
    random_directions,
    sparse_directions,
)
MODELS: dict[str, Callable[[], Model]] = {factory.__name__: factory for factory in (*THEIRS, *OURS)}


def predict(model: Any, X: Any) -> np.ndarray:
    """What a model says about rows: probabilities, predictions, or the transformed rows, whichever it has first."""
    if hasattr(model, "marginals"):
        cases = [{"john": "yes" if john else "no", "mary": "yes" if mary else "no"} for john, mary in X]
        return np.array([model.query("burglary", case).values for case in cases])
    for method in ("predict_proba", "predict", "transform"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X), dtype=float)
    message = f"predict: a model must predict or transform; {type(model).__name__} does neither."
    raise TypeError(message)
