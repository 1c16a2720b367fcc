"""What single models of scikit-learn keep beside their public attributes: linear ones, machines, networks, centres."""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np

from mercer.interop._scikit.conversion import completes, convert, refuse
from mercer.interop.scores.scikit_calibration import join_calibrated

# Rows of each class to which a model is fitted once, to get what scikit-learn's class keeps in private.
_TRIAL_ROWS = 3


def make_trial_rows(labels: Any, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows to fit a model to before it gets its attributes: some of each label, all different."""
    targets = np.repeat(np.asarray(labels), _TRIAL_ROWS)
    return np.random.default_rng(0).normal(size=(len(targets), width)), targets


def fit_first(model: Any, made: Any, labels: Any = None, **settings: Any) -> Any:
    """Fit `made` to trial rows with quick settings, and give it its attributes and settings again."""
    given = made.get_params(deep=False)
    fresh = type(made)(**{**given, **settings})
    rows, targets = make_trial_rows(np.arange(1.0, 3.0) if labels is None else labels, model.n_features_in_)
    with warnings.catch_warnings():
        # What this fit finds is replaced.
        warnings.simplefilter("ignore")
        fresh.fit(rows, targets)
    vars(fresh).update(vars(made))
    return fresh


@completes("PoissonRegressor", "GammaRegressor", "TweedieRegressor")
def _complete_generalised(model: Any, made: Any) -> None:
    made._base_loss = made._get_loss()


@completes("RidgeClassifier", "RidgeClassifierCV")
def _complete_ridge(model: Any, made: Any) -> Any:
    if model._multilabel:
        refuse(model, "it predicts several labels at a time")
    return fit_first(model, made, model.classes_, **({"cv": None} if hasattr(made, "cv") else {"solver": "auto"}))


@completes("MLPClassifier", "MLPRegressor")
def _complete_perceptron(model: Any, made: Any) -> Any:
    if model.input_coding_ is not None:
        refuse(model, "its inputs are coded")
    labels: Any = None
    if hasattr(model, "classes_"):
        if model._several_labels:
            refuse(model, "it predicts several labels at a time")
        labels = model.classes_
    quick = {"max_iter": 1, "early_stopping": False, "solver": "adam", "batch_size": "auto"}
    if labels is None and model.n_outputs_ > 1:
        made.n_outputs_ = model.n_outputs_
        labels = None
    made = fit_first(model, made, labels, **quick)
    cooling = float(getattr(model, "temperature_", None) or 1.0)
    made.coefs_[-1], made.intercepts_[-1] = made.coefs_[-1] / cooling, made.intercepts_[-1] / cooling
    return made


@completes("LinearDiscriminantAnalysis")
def _complete_discriminant(model: Any, made: Any) -> None:
    made._max_components = model._most_axes
    if made.solver == "lsqr" and hasattr(made, "scalings_"):
        del made.scalings_


@completes("KMeans", "MiniBatchKMeans", "BisectingKMeans")
def _complete_centres(model: Any, made: Any) -> None:
    made._n_threads, made._n_features_out = 1, len(made.cluster_centers_)
    if hasattr(model, "node_children_"):
        made._bisecting_tree = _join_nodes(
            model.node_centers_, model.node_children_, 0, iter(range(len(model.labels_)))
        )


def _join_nodes(centres: np.ndarray, children: np.ndarray, place: int, labels: Any) -> Any:
    """Return the tree of centres below a node; leaves are counted from the left."""
    left, right = children[place]
    if left < 0:
        return SimpleNamespace(center=centres[place], left=None, right=None, label=next(labels))
    below = [_join_nodes(centres, children, int(child), labels) for child in (left, right)]
    return SimpleNamespace(center=centres[place], left=below[0], right=below[1], label=None)


@completes("NearestCentroid")
def _complete_centroids(model: Any, made: Any) -> None:
    # Predictions are the same; mercer's probabilities count priors in another way, as the table of differences says.
    made.deviations_ = model.deviations_


@completes("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
def _complete_machine(model: Any, made: Any) -> None:
    if getattr(model, "multi_class", "ovo") != "ovo" and len(model.classes_) > 2:
        refuse(model, f"scikit-learn's takes pairs of classes, and this one has multi_class={model.multi_class!r}")
    if getattr(model, "_calibration", None) is not None:
        refuse(model, "its probabilities are calibrated otherwise; fit with probability=False, or use mercer.to_onnx")
    if callable(model.kernel) or model.kernel not in ("linear", "poly", "rbf", "sigmoid", "precomputed"):
        refuse(model, f"kernel={model.kernel!r} is none that LIBSVM has")
    made._sparse, made._gamma, made.probability = False, float(model._gamma), False
    made._effective_probability = False
    made._probA = made._probB = np.empty(0)
    two = len(getattr(model, "classes_", ())) == 2
    made.dual_coef_ = np.atleast_2d(np.asarray(made.dual_coef_, dtype=np.float64))
    made.intercept_ = np.atleast_1d(np.asarray(made.intercept_, dtype=np.float64))
    # LIBSVM's own scores of two classes are for the first one.
    made._dual_coef_ = -made.dual_coef_ if two else made.dual_coef_.copy()
    made._intercept_ = -made.intercept_ if two else made.intercept_.copy()
    made.support_ = np.asarray(made.support_, dtype=np.int32)
    made.support_vectors_ = np.ascontiguousarray(made.support_vectors_, dtype=np.float64)
    counts = model.n_support_ if hasattr(model, "classes_") else [len(made.support_)] * 2
    made._n_support = np.asarray(counts, dtype=np.int32)
    made._num_iter = np.ravel(model.n_iter_).astype(np.int32)


@completes("SGDClassifier", "Perceptron")
def _complete_stochastic(model: Any, made: Any) -> None:
    if hasattr(made, "_get_loss_function"):
        made._loss_function_ = made._get_loss_function(made.loss)


@completes("GaussianProcessRegressor")
def _complete_process(model: Any, made: Any) -> Any:
    if model.solver_used_ == "inducing":
        refuse(model, "it is an approximation by inducing points")
    made._y_train_mean, made._y_train_std = model._y_train_mean, model._y_train_std


@completes("GaussianProcessClassifier")
def _complete_process_classifier(model: Any, made: Any) -> Any:
    """Fit scikit-learn's class with the kernel that was found: what is left is a maximum, which is unique."""
    from sklearn.base import clone

    labels = np.empty(len(model.X_train_), dtype=model.classes_.dtype)
    if model.n_classes_ > 2 and made.multi_class != "one_vs_rest":
        refuse(model, "its classes are compared in pairs")
    for one, which in zip(model.models_, range(model.n_classes_)):
        second = np.asarray(one.y_train_) > 0.5
        if model.n_classes_ == 2:
            labels[one.rows] = model.classes_[second.astype(int)]
        else:
            labels[one.rows[second]] = model.classes_[which]
    fitted = clone(made).set_params(optimizer=None, kernel=convert(model.kernels_[0])).fit(model.X_train_, labels)
    if model.n_classes_ > 2:
        for member, kernel, name in zip(fitted.base_estimator_.estimators_, model.kernels_, model.classes_):
            member.set_params(kernel=convert(kernel)).fit(model.X_train_, labels == name)
    made.base_estimator_ = fitted.base_estimator_


@completes("OneVsRestClassifier", "OneVsOneClassifier", "OutputCodeClassifier")
def _complete_codes(model: Any, made: Any) -> None:
    """Exchange members that always give one answer for those that scikit-learn has for them."""
    from sklearn.dummy import DummyClassifier
    from sklearn.multiclass import OneVsRestClassifier

    for place, member in enumerate(made.estimators_):
        if type(member).__module__.startswith("mercer."):
            # scikit-learn's member is private; a model of a label that all rows have holds one.
            one = int(bool(member.target))
            fitted = OneVsRestClassifier(DummyClassifier()).fit(np.zeros((2, 1)), np.array([[one, 0], [one, 1]]))
            made.estimators_[place] = fitted.estimators_[0]


@completes("StackingClassifier", "VotingClassifier")
def _complete_committee(model: Any, made: Any) -> None:
    from sklearn.preprocessing import LabelEncoder

    name = "le_" if type(model).__name__ == "VotingClassifier" else "_label_encoder"
    setattr(made, name, LabelEncoder().fit(model.classes_))


@completes("LabelPropagation", "LabelSpreading")
def _complete_labels(model: Any, made: Any) -> None:
    """Give the model the neighbours of its rows, if its kernel takes them."""
    from sklearn.neighbors import NearestNeighbors

    made.X_ = np.asarray(model.X_)
    if model.kernel == "knn":
        made.nn_fit = NearestNeighbors(n_neighbors=model.n_neighbors, n_jobs=model.n_jobs).fit(made.X_)


@completes("CalibratedClassifierCV")
def _complete_calibration(model: Any, made: Any) -> None:
    if model.method not in ("sigmoid", "isotonic", "temperature"):
        refuse(model, f"scikit-learn has no method={model.method!r}")
    made.calibrated_classifiers_ = [
        join_calibrated(convert(one.estimator), one.calibrators, one.classes, one.method)
        for one in model.calibrated_classifiers_
    ]


@completes("IsotonicRegression")
def _complete_curve(model: Any, made: Any) -> None:
    # It makes its function of the thresholds as it is unpickled.
    made.__setstate__(made.__getstate__())


@completes("TunedThresholdClassifierCV")
def _complete_threshold(model: Any, made: Any) -> None:
    made._curve_scorer = made._get_curve_scorer()
