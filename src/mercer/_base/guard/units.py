"""Warn where the units of columns or targets decide what a fit finds, and are far from any that it can be meant for.

Many models compare columns with each other, have a length or a penalty in the units of the rows, or a zero of their
own: nearest rows, ridge regression, a radial kernel of a given width. A column of nanoseconds beside metres then
decides alone, and no rule about the result can tell. This table says which classes that are; what is not here gives
the same answer in any unit. The law of units (``tests/laws/test_units.py``) holds every class to one or the other.
"""

import warnings
from typing import Any

import numpy as np

# What a class depends on: the spreads of columns relative to each other.
_COLUMNS = "columns"
# The common scale of the columns.
_SCALE = "scale"
# A mean of a column that is far from zero.
_PLACE = "place"
# The scale of the targets.
_TARGET = "target"
# A mean of the targets that is far from zero.
_TARGET_PLACE = "target place"
_BY_DEPENDENCE: dict[tuple[str, ...], str] = {
    (_COLUMNS,): """
        AgglomerativeClustering ClassConditionalClassifier ClassicalMDS FastICA GaussianMixture GaussianNB
        GaussianRandomProjection GrowingKMeans HDBSCAN ICA IncrementalPCA Isomap KMeans KMedoids KNeighborsClassifier
        KNeighborsOutlier KNeighborsRegressor KNeighborsTransformer KernelDiscriminantAnalysis
        KernelLogisticRegression KernelPCA Lars LarsCV LassoCV LassoLarsCV LassoLarsIC LedoitWolf LocalOutlierFactor
        LocallyLinearEmbedding OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV
        MiniBatchKMeans NearestCentroid NearestNeighbors NuSVC OAS OnlinePCA PCA PairwiseClustering ProbabilisticPCA
        PrototypeAgglomeration RBFNetworkClassifier RBFNetworkRegressor RadialBasis RobustPCA SVC SelfOrganizingMap
        ShrunkCovariance SoftKMeans SparseRandomProjection StackingClassifier TSNE VotingClassifier""",
    (_COLUMNS, _PLACE): """
        BernoulliMixture KernelKMeans KernelSelfOrganizingMap MDS NMF SVDD TruncatedSVD""",
    (_COLUMNS, _SCALE): """
        QuadraticDiscriminantAnalysis ClusterOutlier ConformalClassifier ConformalRegressor DBSCAN DENCLUE
        DecisionClassifier GMMHMM GaussianHMM
        GaussianProcessClassifier GaussianProcessRegressor GeneralizedLinearEstimator KernelCCA KernelDensity
        LogisticRegression LogisticRegressionCV ModelAveragingClassifier NeighborhoodComponentsAnalysis Nystroem
        OneClassSVM QuantileRegressor RadiusNeighborsClassifier RadiusNeighborsRegressor RadiusNeighborsTransformer
        Ridge RidgeCV RidgeClassifier RidgeClassifierCV SemiMarkovHMM TweedieRegressor VotingRegressor""",
    (_COLUMNS, _SCALE, _PLACE): """
        BernoulliRBM ComplementNB LinearSVC MiniBatchNMF MultinomialHMM MultinomialNB OrthogonalRandomFeatures
        PoissonHMM RBFSampler SGDClassifier SpectralEmbedding Autoencoder MLPClassifier Perceptron""",
    (_COLUMNS, _SCALE, _TARGET): """
        ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lasso LassoLars StackingRegressor""",
    (_COLUMNS, _SCALE, _PLACE, _TARGET): """
        LinearGaussianModel MLPRegressor""",
    (_COLUMNS, _SCALE, _PLACE, _TARGET, _TARGET_PLACE): "LinearSVR SGDRegressor",
    (_COLUMNS, _SCALE, _TARGET, _TARGET_PLACE): "GammaRegressor PoissonRegressor",
    (_COLUMNS, _TARGET): "NuSVR SVR",
    (_COLUMNS, _TARGET_PLACE): "KernelRidge KernelRidgeCV RegularizationNetwork",
    (_PLACE,): "BernoulliNB BoltzmannMachine Hopfield",
    (_SCALE,): "RecurrentRegressor",
}
DEPENDENCES = {name: depends for depends, names in _BY_DEPENDENCE.items() for name in names.split()}
# Rows that are looked at, evenly spaced: they tell orders of magnitude, in some 10 us.
_ROWS = 64
# Spreads of two columns that differ by more are in units that have nothing to do with each other: incomes beside truth
# values differ by 1e5.
_MOST_APART = 5e5
# Usual spreads of columns and targets: from parts per ten thousand to prices of houses.
_USUAL = (1e-4, 2e6)
# Spreads from zero to a mean that is far from it.
_FAR = 1e5
_CURE = "Scale the columns, for example with StandardScaler."


def warn_of_units(estimator: Any, X: Any, y: Any) -> None:
    """Warn of the first dependence of this class on units that are far off."""
    depends = DEPENDENCES.get(type(estimator).__name__)
    # Without the share of the identity in covariances quadratic discriminants are the same in any unit.
    depends = None if getattr(estimator, "reg_param", 1.0) == 0 else depends
    rows = None if depends is None else _sample(X)
    if depends is None or rows is None or rows.ndim != 2 or len(rows) < 2:
        return
    said = _describe_rows(depends, rows)
    if said is None and (_TARGET in depends or _TARGET_PLACE in depends):
        targets = _sample(y)
        said = None if targets is None or len(targets) < 2 else _describe_targets(depends, targets)
    if said is not None:
        warnings.warn(f"{type(estimator).__name__}: {said}", UserWarning, stacklevel=5)


def _sample(values: Any) -> np.ndarray | None:
    """Return some evenly spaced rows of an array or a frame in memory; None of what holds no numbers."""
    if isinstance(values, np.ndarray):
        some = values[:: max(1, len(values) // _ROWS)][: 2 * _ROWS] if values.ndim else values
        return some.astype(np.float64, copy=False) if values.ndim and values.dtype.kind in "fiu" else None
    if not hasattr(values, "to_numpy") or not hasattr(values, "head"):
        return None
    try:
        # The first rows: frames have no common way to take every tenth.
        return np.asarray(values.head(2 * _ROWS).to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _describe_rows(depends: tuple[str, ...], rows: np.ndarray) -> str | None:
    """Return what is far off about the columns, or None."""
    with np.errstate(all="ignore"):
        spreads = rows.max(axis=0) - rows.min(axis=0)
        # Columns that do not vary among these rows, or hold gaps, say nothing.
        live = np.flatnonzero((spreads > 0) & (spreads < np.inf))
        if not len(live):
            return None
        widest, narrowest = live[spreads[live].argmax()], live[spreads[live].argmin()]
    usual = float(np.sort(spreads[live])[len(live) // 2])
    far = np.abs(rows[:, live].mean(axis=0)) > _FAR * spreads[live] if _PLACE in depends else np.zeros(1, dtype=bool)
    if _COLUMNS in depends and spreads[widest] > _MOST_APART * spreads[narrowest]:
        return (
            f"column {widest} spreads over {spreads[widest]:.2g} and column {narrowest} over "
            f"{spreads[narrowest]:.2g}, so that their units decide what is found. {_CURE}"
        )
    if _PLACE in depends and far.any():
        column = int(live[far.argmax()])
        return (
            f"column {column} lies at {rows[:, column].mean():.2g} and spreads over {spreads[column]:.2g}, which is "
            f"lost in sums of squares, or counts as constant. {_CURE}"
        )
    if _SCALE in depends and not _USUAL[0] <= usual <= _USUAL[1]:
        return f"the columns spread over about {usual:.2g}, in whose units its lengths or penalties are. {_CURE}"
    return None


def _describe_targets(depends: tuple[str, ...], values: np.ndarray) -> str | None:
    """Return what is far off about the targets, or None."""
    with np.errstate(all="ignore"):
        spread = float(values.max() - values.min())
        centre = float(np.abs(values.mean()))
    if not 0 < spread < np.inf:
        return None
    if _TARGET_PLACE in depends and centre > _FAR * spread:
        return f"y lies at {centre:.2g} and spreads over {spread:.2g}, far from its zero. Scale y: subtract its mean."
    if _TARGET in depends and not _USUAL[0] <= spread <= _USUAL[1]:
        return (
            f"y spreads over {spread:.2g}, in whose units its penalties or tolerances are. Scale y, for example with "
            f"TransformedTargetRegressor."
        )
    return None
