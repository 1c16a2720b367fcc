"""Models inside a formula that are neither weighted sums nor trees: what they need, and how they are read."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Gaussians:
    """Scores ``constants[k] - |(x - means[k]) @ whiteners[k]|² / 2``: log densities of normal distributions."""

    means: np.ndarray  # (classes, columns)
    whiteners: list[np.ndarray]  # (columns, columns) each; their squares are the inverse covariances
    constants: np.ndarray


@dataclass(frozen=True)
class Kernel:
    """Scores ``weights @ exp(-gamma * |x - s|²)`` over the stored rows s; the formula's intercept is added."""

    rows: np.ndarray
    gamma: float
    weights: np.ndarray  # (outputs, rows)


@dataclass(frozen=True)
class Machines:
    """Support vector machines of pairs of classes, with probabilities.

    Each machine has the score ``f = kernel + shift``. Of two classes, a positive one is for the second, and the
    log-odds are ``f`` times the first of the `slopes` where f is positive, else times the second one. Of more classes,
    there is a machine for each pair, whose positive scores are for the first class of the pair; the score of a class is
    the sum of ``log sigmoid(± slopes[0] f)`` over its machines, times ``slopes[1]``. If another class has more votes,
    that class and the one of the highest score exchange their scores.
    """

    kernel: Kernel
    shifts: np.ndarray  # (machines,)
    slopes: tuple[float, float]
    n_classes: int


@dataclass(frozen=True)
class Layers:
    """A perceptron: products with weights, shifts, and an elementwise function after all layers but the last."""

    weights: list[np.ndarray]
    shifts: list[np.ndarray]
    function: str  # "relu", "tanh", "logistic" or "identity"


@dataclass(frozen=True)
class Neighbours:
    """The mean of `values` over the `count` stored rows nearest to x; with `inverse`, weighted by 1 / distance."""

    rows: np.ndarray
    values: np.ndarray  # (rows, outputs): indicators of the classes, or numbers
    count: int
    inverse: bool = False


@dataclass(frozen=True)
class Products:
    """Scores ``weights @ (x, x[i] * x[j], ...)`` with the products of pairs of columns behind the columns."""

    pairs: np.ndarray  # (products, 2)
    weights: np.ndarray  # (outputs, columns + products)


@dataclass(frozen=True)
class Curves:
    """Sums of a curve of each column, which is a cubic polynomial between each two knots and constant outside them.

    Piece i of a column adds ``c[0] u + c[1] u² + c[2] u³`` with ``u = clip(x, knots[i], knots[i + 1]) - knots[i]``.
    """

    knots: np.ndarray  # (knots, columns)
    coefficients: np.ndarray  # (pieces, powers, columns, outputs)


def read_body(model: Any, classes: list[str]) -> tuple[str, np.ndarray, Any] | None:
    """Return link, intercept and body of a fitted model; None if it is of another kind."""
    kind = type(model).__name__
    none = np.zeros(max(1, len(classes)))
    if kind == "GaussianNB":
        variances = np.asarray(model.var_, dtype=float)
        constants = np.log(model.class_prior_) - 0.5 * np.log(2 * np.pi * variances).sum(axis=1)
        return "softmax", none, Gaussians(model.theta_, [np.diag(row**-0.5) for row in variances], constants)
    if kind == "QuadraticDiscriminantAnalysis":
        whiteners = [turn * size**-0.5 for turn, size in zip(model.rotations_, model.scalings_)]
        constants = np.log(model.priors_) - 0.5 * np.array([np.log(size).sum() for size in model.scalings_])
        return "softmax", none, Gaussians(model.means_, whiteners, constants)
    if kind == "GaussianMixture":
        return _read_mixture(model)
    if kind == "KMeans":
        # A row belongs to the group of the nearest centre.
        centres = np.asarray(model.cluster_centers_, dtype=float)
        return "shares", none, Neighbours(centres, np.eye(len(centres)), 1)
    if kind in ("MLPClassifier", "MLPRegressor") and model.input_coding_ is None:
        return _read_perceptron(model, classes)
    if kind in ("KNeighborsClassifier", "KNeighborsRegressor") and _is_plain(model):
        return _read_neighbours(model, classes)
    if kind == "SVR" and model.kernel == "rbf":
        weights = np.atleast_2d(np.asarray(model.dual_coef_, dtype=float))
        return "identity", np.ravel(model.intercept_), Kernel(model.support_vectors_, float(model._gamma), weights)
    if kind == "SVC" and model.kernel == "rbf" and model._is_one_against_one and hasattr(model, "predict_proba"):
        return _read_machines(model)
    if kind == "GaussianProcessRegressor":
        return _read_process(model)
    if hasattr(model, "steps") and len(model.steps) == 2:
        return _read_basis(model[0], model[1], classes)
    return None


def _read_mixture(model: Any) -> tuple[str, np.ndarray, Any]:
    """Return link, intercept and body of a Gaussian mixture: its components are normal distributions with shares."""
    means = np.asarray(model.means_, dtype=float)
    n_groups, width = means.shape
    factors = np.asarray(model.precisions_cholesky_, dtype=float)
    whiteners = {
        "full": lambda: list(factors),
        "tied": lambda: [factors] * n_groups,
        "diag": lambda: [np.diag(row) for row in factors],
        "spherical": lambda: [np.eye(width) * factor for factor in factors],
    }[model.covariance_type]()
    constants = np.log(model.weights_) + np.array([np.linalg.slogdet(whitener)[1] for whitener in whiteners])
    return "softmax", np.zeros(n_groups), Gaussians(means, whiteners, constants)


def _is_plain(model: Any) -> bool:
    """Return whether neighbours are near in the Euclidean sense and count alike, or by the inverse of the distance."""
    known = isinstance(model.weights, str) and model.weights in ("uniform", "distance")
    return known and model.effective_metric_ == "euclidean" and model._row_weight is None


def _read_neighbours(model: Any, classes: list[str]) -> tuple[str, np.ndarray, Any] | None:
    """Return link, intercept and body of nearest neighbours; None for several targets."""
    rows = np.asarray(model._fit_X, dtype=float)
    values = np.eye(len(classes))[np.ravel(model._codes)] if classes else np.reshape(model._targets, (len(rows), -1))
    n_outputs = max(1, len(classes))
    if values.shape[1] != n_outputs:
        return None
    body = Neighbours(rows, values, model.n_neighbors, model.weights == "distance")
    return "shares" if classes else "identity", np.zeros(n_outputs), body


def _read_perceptron(model: Any, classes: list[str]) -> tuple[str, np.ndarray, Any]:
    """Return link, intercept and layers of a perceptron."""
    weights = [np.asarray(layer, dtype=float) for layer in model.coefs_]
    shifts = [np.asarray(layer, dtype=float) for layer in model.intercepts_]
    # Dividing the last scores by the temperature is the same as dividing the last layer by it.
    cooling = float(getattr(model, "temperature_", 1.0) or 1.0) if classes else 1.0
    weights[-1], shifts[-1] = weights[-1] / cooling, shifts[-1] / cooling
    n_scores = len(shifts[-1])
    link = "identity" if not classes else "sigmoid" if n_scores == 1 else "softmax"
    return link, np.zeros(n_scores), Layers(weights, shifts, model.activation)


def _read_machines(model: Any) -> tuple[str, np.ndarray, Any]:
    """Return link, intercept and machines of a support vector classifier."""
    n_classes, table = len(model.classes_), np.asarray(model.dual_coef_, dtype=float)
    rows = np.asarray(model.support_vectors_, dtype=float)
    weights = table
    if n_classes > 2:
        # LIBSVM's layout: a row of class i has its coefficient against class j in line j - 1 if j > i, else in line j.
        ends = np.cumsum([0, *model.n_support_])
        weights = np.zeros((n_classes * (n_classes - 1) // 2, len(rows)))
        for machine, (i, j) in enumerate(combinations(range(n_classes), 2)):
            first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            weights[machine, first], weights[machine, second] = table[j - 1, first], table[i, second]
    slopes = (float(model._calibration.first), float(model._calibration.second))
    kernel = Kernel(rows, float(model._gamma), weights)
    body = Machines(kernel, np.ravel(np.asarray(model.intercept_, dtype=float)), slopes, n_classes)
    return ("sigmoid", np.zeros(1), body) if n_classes == 2 else ("softmax", np.zeros(n_classes), body)


def _read_process(model: Any) -> tuple[str, np.ndarray, Any] | None:
    """Return link, intercept and body of a Gaussian process; None if its kernel is no multiple of one Gaussian."""
    found = _read_gaussian(model.kernel_)
    alpha = np.asarray(model.alpha_, dtype=float)
    if found is None or alpha.ndim != 1 or model.solver_used_ == "inducing":
        return None
    size, gamma = found
    mean, spread = (float(np.ravel(value)[0]) for value in (model._y_train_mean, model._y_train_std))
    rows = np.asarray(model.X_train_, dtype=float)
    return "identity", np.array([mean]), Kernel(rows, gamma, (spread * size * alpha)[None, :])


def _read_gaussian(kernel: Any) -> tuple[float, float] | None:
    """Return factor and gamma of ``factor * exp(-gamma |x - y|²) + noise``; None if a kernel is something else."""
    kind = type(kernel).__name__
    if kind == "RBF" and np.ndim(kernel.length_scale) == 0:
        return 1.0, 0.5 / float(kernel.length_scale) ** 2
    parts = list(getattr(kernel, "kernels", ()))
    if kind == "Sum":
        # Noise is only in the covariance of a row with itself, so that it adds nothing for a new row.
        parts = [part for part in parts if type(part).__name__ != "White"]
        return _read_gaussian(parts[0]) if len(parts) == 1 else None
    if kind == "Product":
        factor = float(np.prod([part.constant_value for part in parts if type(part).__name__ == "Constant"]))
        others = [part for part in parts if type(part).__name__ != "Constant"]
        inside = _read_gaussian(others[0]) if len(others) == 1 else None
        return None if inside is None else (factor * inside[0], inside[1])
    return None


def _read_basis(basis: Any, linear: Any, classes: list[str]) -> tuple[str, np.ndarray, Any] | None:
    """Return link, intercept and body of a linear model behind products or curves of the columns."""
    if not hasattr(linear, "coef_"):
        return None
    weights = np.atleast_2d(np.asarray(linear.coef_, dtype=float))
    intercept = np.broadcast_to(np.ravel(np.asarray(linear.intercept_, dtype=float)), (len(weights),)).copy()
    link = "identity" if not classes else "sigmoid" if len(weights) == 1 else "softmax"
    kind = type(basis).__name__
    if kind == "PolynomialBasis" and (basis.degree, basis.basis) == (2, "power") and not basis.include_bias:
        exponents = np.asarray(basis.exponents_)
        products = exponents[exponents.sum(axis=1) == 2]
        # The columns themselves come first, then their products; a square is the product of a column with itself.
        pairs = np.array([np.repeat(np.arange(len(row)), row) for row in products])
        return link, intercept, Products(pairs.reshape(-1, 2), weights)
    if kind == "SplineBasis" and basis.degree == 3 and basis.extrapolation == "constant":
        curves, constants = _read_curves(np.asarray(basis.knots_, dtype=float), weights)
        return link, intercept + constants, curves
    return None


def _read_curves(knots: np.ndarray, weights: np.ndarray) -> tuple[Curves, np.ndarray]:
    """Return the curves of splines with `weights`, and the sum of their values at the first knots."""
    from scipy.interpolate import BSpline

    n_knots, n_columns = knots.shape
    width = n_knots + 2
    coefficients = np.zeros((n_knots - 1, 3, n_columns, len(weights)))
    constants = np.zeros(len(weights))
    for column in range(n_columns):
        own = knots[:, column]
        vector = np.concatenate([np.repeat(own[0], 3), own, np.repeat(own[-1], 3)])
        spline = BSpline(vector, weights[:, column * width : (column + 1) * width].T, 3)
        for power, factorial in ((1, 1.0), (2, 2.0), (3, 6.0)):
            # Taylor's formula at the start of each piece; a piece of no length adds nothing.
            slopes = spline(own[:-1], nu=power) / factorial
            coefficients[:, power - 1, column] = np.where((np.diff(own) > 0)[:, None], slopes, 0.0)
        constants += spline(own[0])
    return Curves(knots, coefficients), constants
