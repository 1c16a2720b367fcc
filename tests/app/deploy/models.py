"""Models of every kind that exports hold, and small tables to fit them to."""

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from mercer.app.study.recipe import make_log_transformer, make_range_transformer
from mercer.cross_decomposition import PLSRegression
from mercer.decision import DecisionClassifier
from mercer.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mercer.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mercer.gaussian_process import GaussianProcessRegressor
from mercer.kernels import RBF, Constant, White
from mercer.linear_model import Lasso, LogisticRegression, Ridge
from mercer.naive_bayes import GaussianNB
from mercer.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid
from mercer.neural_network import MLPClassifier, MLPRegressor
from mercer.preprocessing import PolynomialBasis, SplineBasis, StandardScaler, TableEncoder
from mercer.svm import SVC, SVR
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.app.deploy.studies import make_rows

# Costs of three actions, where each of three classes is true.
COSTS = [[0.0, 1.0, 5.0], [2.0, 0.0, 3.0], [4.0, 1.0, 0.0]]
MODELS = {
    "logistic": (DecisionClassifier(LogisticRegression(), costs="balanced"), "two"),
    "logistic of three": (LogisticRegression(), "three"),
    "discriminant": (LinearDiscriminantAnalysis(), "two"),
    "discriminant of three": (LinearDiscriminantAnalysis(), "three"),
    "centroid": (NearestCentroid(), "two"),
    "centroid of three": (DecisionClassifier(NearestCentroid(), costs="balanced"), "three"),
    "weighed centroid": (NearestCentroid(priors="empirical"), "three"),
    "balanced logistic of three": (DecisionClassifier(LogisticRegression(), costs="balanced"), "three"),
    "costly logistic of three": (DecisionClassifier(LogisticRegression(), costs=COSTS), "three"),
    "declining logistic": (DecisionClassifier(LogisticRegression(), reject_cost=0.2), "two"),
    "actions": (DecisionClassifier(LogisticRegression(), costs=COSTS[:2], actions=["stop", "go"]), "three"),
    "balanced tree": (DecisionClassifier(DecisionTreeClassifier(max_leaf_nodes=8), costs="balanced"), "three"),
    "ridge": (Ridge(), "value"),
    "partial least squares": (PLSRegression(2), "value"),
    "lasso": (Lasso(alpha=0.1), "value"),
    "tree": (DecisionTreeClassifier(max_leaf_nodes=8, random_state=0), "three"),
    "tree of numbers": (DecisionTreeRegressor(max_leaf_nodes=8, random_state=0), "value"),
    "forest": (RandomForestClassifier(5, random_state=0), "three"),
    "forest of numbers": (RandomForestRegressor(5, random_state=0), "value"),
    "boosting": (HistGradientBoostingClassifier(max_iter=10, random_state=0), "two"),
    "boosting of three": (HistGradientBoostingClassifier(max_iter=10, random_state=0), "three"),
    "boosting of numbers": (HistGradientBoostingRegressor(max_iter=10, random_state=0), "value"),
}
TREES = ("tree", "forest", "boosting", "balanced tree")
# Models that are neither weighted sums nor trees.
BODIES = {
    "naive Bayes": (DecisionClassifier(GaussianNB(var_smoothing=0.1), costs="balanced"), "two"),
    "naive Bayes of three": (GaussianNB(var_smoothing=0.1), "three"),
    "quadratic": (QuadraticDiscriminantAnalysis(reg_param=0.1), "three"),
    "perceptron": (MLPClassifier((4,), max_iter=5, random_state=0), "two"),
    "perceptron of three": (MLPClassifier((4, 3), activation="tanh", max_iter=5, random_state=0), "three"),
    "perceptron of numbers": (
        MLPRegressor(hidden_layer_sizes=(4,), activation="logistic", max_iter=5, random_state=0),
        "value",
    ),
    "neighbours": (KNeighborsClassifier(4), "three"),
    "neighbours of numbers": (KNeighborsRegressor(4), "value"),
    "neighbours by distance": (KNeighborsClassifier(4, weights="distance"), "three"),
    "neighbours by distance of numbers": (KNeighborsRegressor(4, weights="distance"), "value"),
    "vectors of three": (SVC(probability=True, random_state=0), "three"),
    "vectors": (DecisionClassifier(SVC(probability=True, random_state=0), costs="balanced"), "two"),
    "vectors of numbers": (SVR(C=10.0), "value"),
    "process of numbers": (
        GaussianProcessRegressor(Constant(1.0) * RBF(2.0) + White(0.1), normalize_y=True, random_state=0),
        "value",
    ),
    "products": (make_pipeline(PolynomialBasis(2), LogisticRegression(max_iter=300)), "three"),
    "products of numbers": (make_pipeline(PolynomialBasis(2), Ridge()), "value"),
    "curves": (make_pipeline(SplineBasis(6, knots="quantile"), LogisticRegression(max_iter=300)), "two"),
    "curves of numbers": (make_pipeline(SplineBasis(6, knots="quantile"), Ridge()), "value"),
    "numbers within a range": (
        TransformedTargetRegressor(
            Ridge(), transformer=make_range_transformer(np.linspace(1.5, 3.0, 50)), check_inverse=False
        ),
        "positive",
    ),
    "logarithm within a range": (
        TransformedTargetRegressor(
            Ridge(), transformer=make_log_transformer(np.geomspace(1.5, 9.0, 50)), check_inverse=False
        ),
        "positive",
    ),
    "logarithm": (
        TransformedTargetRegressor(Ridge(), transformer=FunctionTransformer(np.log, np.exp), check_inverse=False),
        "positive",
    ),
}


def fit_model(name):
    """Return the pipeline of a model, fitted to the rows of `make_rows`."""
    model, target = (MODELS | BODIES)[name]
    rows = make_rows()
    classes = np.where(rows["value"] > 12, "high", np.where(rows["value"] > 8, "middle", "low"))
    y = {"two": rows["failure"].to_numpy(), "three": classes, "value": rows["value"].to_numpy()}
    y["positive"] = np.exp(0.1 * y["value"])
    y = y[target]
    codes = name.startswith(TREES)
    options = {"categories": "code", "missing": "keep"} if codes else {}
    steps = [("table", TableEncoder(sparse_output=False, **options)), ("model", model)]
    if not codes:
        steps.insert(1, ("scale", StandardScaler()))
    return Pipeline(steps).fit(rows.drop(columns=["failure", "value"]), y)
