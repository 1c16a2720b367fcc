"""ONNX nodes of predictors: linear models, naive Bayes, machines, processes, centres and mixtures."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer.interop._onnx.writing import (
    INT64,
    Answers,
    add_affine,
    as_column,
    flatten,
    read_scores,
    write_scores,
    writes,
)
from mercer.interop.graph.bodies import add_distances
from mercer.interop.graph.builder import Builder, add_link, add_sigmoid
from mercer.interop.graph.scores import add_scores
from mercer.interop.scores.reading import refuse


def read_linear(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights (outputs, columns) and the intercepts of a linear model."""
    if not hasattr(model, "coef_") or getattr(model, "kernel", "linear") != "linear":
        refuse("it is no weighted sum of its columns")
    weights = np.atleast_2d(
        np.asarray(model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_, float)
    )
    intercept = np.broadcast_to(np.ravel(np.asarray(model.intercept_, dtype=float)), (len(weights),)).copy()
    if type(model).__name__ in ("CCA", "PLSCanonical", "PLSRegression"):
        # These weights belong to centred columns.
        intercept = intercept - weights @ np.asarray(model.x_mean_, dtype=float)
    return weights, intercept


@writes(
    *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "Lars", "LarsCV"),
    *("LassoLars", "LassoLarsCV", "LassoLarsIC", "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV"),
    *("MultiTaskLasso", "MultiTaskLassoCV", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "BayesianRidge"),
    *("ARDRegression", "HuberRegressor", "QuantileRegressor", "TheilSenRegressor", "SGDRegressor", "LinearSVR"),
    *("PassiveAggressiveRegressor",),
)
def _write_linear(builder: Builder, model: Any, x: str) -> Answers:
    return Answers(numbers=add_affine(builder, x, *read_linear(model)))


@writes("CCA", "PLSCanonical", "PLSRegression", "PLSSVD")
def _write_partial(builder: Builder, model: Any, x: str) -> Answers:
    """Write the predictions, and the scores of the columns."""
    rotations = getattr(model, "x_rotations_", getattr(model, "x_weights_", None))
    turned = (np.asarray(rotations) / np.asarray(model.x_scale_)[:, None]).T
    transformed = add_affine(builder, x, turned, -turned @ np.asarray(model.x_mean_))
    numbers = add_affine(builder, x, *read_linear(model)) if hasattr(model, "coef_") else ""
    return Answers(numbers=numbers, transformed=transformed)


@writes("PoissonRegressor", "GammaRegressor", "TweedieRegressor")
def _write_generalised(builder: Builder, model: Any, x: str) -> Answers:
    score = add_affine(builder, x, *read_linear(model))
    link = getattr(model, "link", "log")
    power = getattr(model, "power", 1.0)
    identity = link == "identity" or (link == "auto" and power <= 0)
    return Answers(numbers=score if identity else builder.add("Exp", score))


@writes("RANSACRegressor")
def _write_consensus(builder: Builder, model: Any, x: str) -> Answers:
    from mercer.interop._onnx.writing import write_model

    return write_model(builder, model.estimator_, x)


@writes("IsotonicRegression")
def _write_isotonic(builder: Builder, model: Any, x: str) -> Answers:
    from mercer.interop.graph.builder import add_curve

    if getattr(model, "out_of_bounds", "clip") != "clip":
        refuse(f"out_of_bounds={model.out_of_bounds!r}; only 'clip' is a curve everywhere")
    return Answers(numbers=add_curve(builder, x, np.asarray(model.X_thresholds_), np.asarray(model.y_thresholds_)))


@writes("RidgeClassifier", "RidgeClassifierCV", "LinearSVC", "Perceptron", "PassiveAggressiveClassifier")
def _write_linear_classifier(builder: Builder, model: Any, x: str) -> Answers:
    return Answers(scores=add_affine(builder, x, *read_linear(model)))


@writes("SGDClassifier")
def _write_stochastic(builder: Builder, model: Any, x: str) -> Answers:
    scores = add_affine(builder, x, *read_linear(model))
    if model.loss != "log_loss":
        return Answers(scores=scores)
    if len(model.classes_) == 2:
        return Answers(probabilities=add_link(builder, "sigmoid", scores))
    # One against the rest: the probabilities of all classes are made to sum to one.
    return Answers(probabilities=_share_out(builder, add_sigmoid(builder, scores)))


def _share_out(builder: Builder, parts: str) -> str:
    """Return shares of positive numbers in the sum of their row."""
    axis = builder.hold(np.array([1], dtype=np.int64))
    return builder.add("Div", parts, builder.add("ReduceSum", parts, axis, keepdims=1))


@writes("LogisticRegression", "LogisticRegressionCV")
def _write_logistic(builder: Builder, model: Any, x: str) -> Answers:
    scores = add_affine(builder, x, *read_linear(model))
    link = "sigmoid" if len(model.classes_) == 2 else "softmax"
    if link == "softmax" and getattr(model, "solver", "") == "liblinear":
        return Answers(probabilities=_share_out(builder, add_sigmoid(builder, scores)))
    return Answers(probabilities=add_link(builder, link, scores))


@writes("LinearDiscriminantAnalysis")
def _write_discriminant(builder: Builder, model: Any, x: str) -> Answers:
    link = "sigmoid" if len(model.classes_) == 2 else "softmax"
    probabilities = add_link(builder, link, add_affine(builder, x, *read_linear(model)))
    transformed = ""
    if hasattr(model, "scalings_"):
        axes = np.asarray(model.scalings_)[:, : model.transform(np.zeros((1, model.n_features_in_))).shape[1]].T
        centre = np.asarray(getattr(model, "xbar_", np.zeros(model.n_features_in_)))
        transformed = add_affine(builder, x, axes, -axes @ centre)
    return Answers(probabilities=probabilities, transformed=transformed)


@writes("QuadraticDiscriminantAnalysis", "GaussianNB", "MLPClassifier", "MLPRegressor")
def _write_body(builder: Builder, model: Any, x: str) -> Answers:
    return write_scores(builder, model, x)


@writes("MultinomialNB", "ComplementNB")
def _write_counts(builder: Builder, model: Any, x: str) -> Answers:
    prior = np.asarray(model.class_log_prior_)
    if type(model).__name__ == "ComplementNB" and len(model.classes_) > 1:
        prior = np.zeros_like(prior)
    scores = add_affine(builder, x, np.asarray(model.feature_log_prob_), prior)
    return Answers(probabilities=add_link(builder, "softmax", scores))


@writes("BernoulliNB")
def _write_indicators(builder: Builder, model: Any, x: str) -> Answers:
    logs = np.asarray(model.feature_log_prob_)
    absent = np.log1p(-np.exp(logs))
    if model.binarize is not None:
        above = builder.add("Greater", x, builder.hold(float(model.binarize)))
        x = builder.add("Cast", above, to=11)
    scores = add_affine(builder, x, logs - absent, np.asarray(model.class_log_prior_) + absent.sum(axis=1))
    return Answers(probabilities=add_link(builder, "softmax", scores))


@writes("CategoricalNB")
def _write_categories(builder: Builder, model: Any, x: str) -> Answers:
    from mercer.interop._onnx.writing import take_columns

    total = builder.hold(np.asarray(model.class_log_prior_)[None, :])
    for column, logs in enumerate(model.feature_log_prob_):
        place = builder.add("Cast", flatten(builder, take_columns(builder, x, [column])), to=INT64)
        total = builder.add("Add", total, builder.add("Gather", builder.hold(np.asarray(logs).T.copy()), place, axis=0))
    return Answers(probabilities=add_link(builder, "softmax", total))


@writes("NearestCentroid")
def _write_centroids(builder: Builder, model: Any, x: str) -> Answers:
    scores = read_scores(model)
    return Answers(probabilities=add_link(builder, scores.link, add_scores(builder, scores, x)))


@writes("KNeighborsClassifier", "KNeighborsRegressor")
def _write_neighbours(builder: Builder, model: Any, x: str) -> Answers:
    if not is_classifier(model) and np.ndim(model._targets) > 1 and np.shape(model._targets)[1] > 1:
        refuse("it predicts several numbers at a time")
    return write_scores(builder, model, x)


@writes("KMeans", "MiniBatchKMeans", "BisectingKMeans")
def _write_centres(builder: Builder, model: Any, x: str) -> Answers:
    if hasattr(model, "node_children_"):
        refuse("rows go down a tree of centres")
    squares = add_distances(builder, np.asarray(model.cluster_centers_, dtype=float), x)
    labels = builder.add("ArgMin", squares, axis=1, keepdims=0)
    return Answers(labels=labels, transformed=builder.add("Sqrt", squares))


@writes("GaussianMixture", "BayesianGaussianMixture")
def _write_mixture(builder: Builder, model: Any, x: str) -> Answers:
    if type(model).__name__ != "GaussianMixture":
        refuse("its densities hold digamma functions of what was found")
    shares = add_link(builder, "softmax", add_scores(builder, read_scores(model), x))
    return Answers(labels=builder.add("ArgMax", shares, axis=1, keepdims=0), probabilities=shares)


def add_kernel(builder: Builder, name: str, rows: Any, x: str, **given: Any) -> str:
    """Return the values of a kernel between rows and stored ones."""
    rows = np.asarray(rows, dtype=float)
    gamma, degree, coef0 = (float(given.get(one) or 0.0) for one in ("gamma", "degree", "coef0"))
    if name == "rbf":
        return builder.add("Exp", builder.add("Mul", add_distances(builder, rows, x), builder.hold(-gamma)))
    if name not in ("linear", "poly", "polynomial", "sigmoid"):
        refuse(f"kernel={name!r}")
    # The factor is part of the product: onnxruntime rounds a factor behind one to single precision.
    product = add_affine(builder, x, rows if name == "linear" else gamma * rows)
    if name == "linear":
        return product
    inner = builder.add("Add", product, builder.hold(coef0))
    return builder.add("Tanh", inner) if name == "sigmoid" else builder.add("Pow", inner, builder.hold(degree))


def _read_kernel(model: Any, gamma: Any) -> dict[str, Any]:
    return {"gamma": gamma, "degree": getattr(model, "degree", 3), "coef0": getattr(model, "coef0", 0.0)}


@writes("SVR", "NuSVR", "OneClassSVM")
def _write_machine(builder: Builder, model: Any, x: str) -> Answers:
    values = add_kernel(builder, model.kernel, model.support_vectors_, x, **_read_kernel(model, model._gamma))
    numbers = add_affine(builder, values, np.asarray(model.dual_coef_), np.ravel(model.intercept_))
    if type(model).__name__ != "OneClassSVM":
        return Answers(numbers=numbers)
    return Answers(scores=numbers, labels=_tell_sides(builder, numbers))


def _tell_sides(builder: Builder, scores: str) -> str:
    """Return 1 for scores that are not negative, else -1."""
    inside = builder.add("Cast", builder.add("GreaterOrEqual", flatten(builder, scores), builder.hold(0.0)), to=INT64)
    one, two = builder.hold(np.int64(1)), builder.hold(np.int64(2))
    return builder.add("Sub", builder.add("Mul", inside, two), one)


@writes("SVC", "NuSVC")
def _write_machines(builder: Builder, model: Any, x: str) -> Answers:
    """Write machines of pairs of classes by their votes, and those with probabilities by these."""
    if getattr(model, "_calibration", None) is not None:
        if model.kernel != "rbf" or not model._is_one_against_one:
            refuse("its probabilities are calibrated; only those of kernel='rbf' and pairs of classes are written")
        return write_scores(builder, model, x)
    if getattr(model, "multi_class", "ovo") != "ovo" and len(model.classes_) > 2:
        refuse(f"multi_class={model.multi_class!r}")
    count, table = len(model.classes_), np.atleast_2d(np.asarray(model.dual_coef_, dtype=float))
    values = add_kernel(builder, model.kernel, model.support_vectors_, x, **_read_kernel(model, model._gamma))
    if count == 2:
        return Answers(scores=add_affine(builder, values, table, np.ravel(model.intercept_)))
    first, second = np.triu_indices(count, 1)
    ends, weights = np.cumsum([0, *model.n_support_]), np.zeros((len(first), table.shape[1]))
    for machine, (i, j) in enumerate(zip(first, second)):
        # LIBSVM's layout: a row of class i has its coefficient against class j in line j - 1 if j > i, else in line j.
        one, two = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        weights[machine, one], weights[machine, two] = table[j - 1, one], table[i, two]
    pairs = add_affine(builder, values, weights, np.ravel(model.intercept_))
    won = builder.add("Cast", builder.add("Greater", pairs, builder.hold(0.0)), to=11)
    for_first, for_second = np.eye(count)[first], np.eye(count)[second]
    lost = builder.add("Sub", builder.hold(1.0), won)
    votes = builder.add("Add", add_affine(builder, won, for_first.T), add_affine(builder, lost, for_second.T))
    places = builder.add("ArgMax", votes, axis=1, keepdims=0)
    if getattr(model, "decision_function_shape", "ovr") == "ovo":
        return Answers(places=places, probabilities="", scores="")
    # scikit-learn's scores of classes: votes, moved by less than a half by the sum of the machines' scores.
    sums = add_affine(builder, pairs, for_first.T - for_second.T)
    size = builder.add("Mul", builder.hold(3.0), builder.add("Add", builder.add("Abs", sums), builder.hold(1.0)))
    return Answers(places=places, scores=builder.add("Add", votes, builder.add("Div", sums, size)))


@writes("KernelRidge")
def _write_kernel_ridge(builder: Builder, model: Any, x: str) -> Answers:
    if callable(model.kernel) or not isinstance(model.kernel, str):
        refuse(f"kernel={model.kernel!r}")
    rows = getattr(model, "X_fit_", None)
    if rows is None or len(np.asarray(rows)) != len(np.asarray(model.dual_coef_)):
        refuse("its rows are not stored")
    gamma = model.gamma if model.gamma is not None else 1.0 / model.n_features_in_
    given = {"gamma": gamma, "degree": model.degree, "coef0": model.coef0}
    values = add_kernel(builder, model.kernel, rows, x, **given)
    dual = np.asarray(model.dual_coef_, dtype=float).reshape(len(np.asarray(rows)), -1)
    return Answers(numbers=add_affine(builder, values, dual.T))


@writes("GaussianProcessRegressor")
def _write_process(builder: Builder, model: Any, x: str) -> Answers:
    return write_scores(builder, model, x)


@writes("DummyRegressor")
def _write_constant(builder: Builder, model: Any, x: str) -> Answers:
    zero = add_affine(builder, x, np.zeros((len(np.ravel(model.constant_)), model.n_features_in_)))
    return Answers(numbers=builder.add("Add", zero, builder.hold(np.ravel(model.constant_).astype(float))))


@writes("DummyClassifier")
def _write_prior(builder: Builder, model: Any, x: str) -> Answers:
    if model.strategy not in ("prior", "most_frequent"):
        refuse(f"strategy={model.strategy!r}")
    prior = np.asarray(model.class_prior_, dtype=float)
    shares = prior if model.strategy == "prior" else np.eye(len(prior))[prior.argmax()]
    zero = add_affine(builder, x, np.zeros((len(prior), model.n_features_in_)))
    return Answers(probabilities=builder.add("Add", zero, builder.hold(shares)))


@writes("EllipticEnvelope")
def _write_ellipse(builder: Builder, model: Any, x: str) -> Answers:
    centred = builder.add("Sub", x, builder.hold(np.asarray(model.location_, dtype=float)))
    turned = add_affine(builder, centred, np.asarray(model.precision_, dtype=float))
    axis = builder.hold(np.array([1], dtype=np.int64))
    squares = builder.add("ReduceSum", builder.add("Mul", turned, centred), axis, keepdims=1)
    scores = builder.add("Sub", builder.add("Neg", squares), builder.hold(float(model.offset_)))
    return Answers(scores=scores, labels=_tell_sides(builder, scores))


@writes("SGDOneClassSVM")
def _write_one_class(builder: Builder, model: Any, x: str) -> Answers:
    weights = np.atleast_2d(np.asarray(model.coef_, dtype=float))
    scores = add_affine(builder, x, weights, -np.ravel(np.asarray(model.offset_, dtype=float)))
    return Answers(scores=as_column(builder, flatten(builder, scores)), labels=_tell_sides(builder, scores))
