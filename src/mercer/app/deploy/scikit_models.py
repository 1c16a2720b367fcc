"""Write the model of a formula as steps of scikit-learn's own classes, which get their fitted attributes by name.

Only documented attributes are set. A kernel machine is scikit-learn's ``Nystroem``, whose ``components_`` are the
stored rows and whose ``normalization_`` holds the weights, before a linear model or a small perceptron.
"""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.special import log_expit
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, RandomTreesEmbedding
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mercer.app.deploy.formula import Formula, refuse
from mercer.interop.scores.bodies import Curves, Gaussians, Kernel, Layers, Machines, Neighbours, Products
from mercer.interop.scores.reading import Tree
from mercer.interop.scores.scikit_trees import fill_tree

# A tolerance at which a fit ends with its first step: what it finds is replaced.
_AT_ONCE = 1e9


def make_model_steps(formula: Formula) -> tuple[list[tuple[str, Any]], Any]:
    """Return the steps between the scaler and the model, and the model."""
    body, width = formula.body, len(formula.shift)
    classes = np.array(formula.classes, dtype=object)
    if formula.trees and formula.classes and formula.link in ("sigmoid", "softmax"):
        return make_boosting_steps(formula)
    if isinstance(body, Gaussians):
        return [], _make_gaussians(body, classes, width)
    if isinstance(body, Layers):
        return [], _make_perceptron(body, classes, width)
    if isinstance(body, Neighbours):
        return [], _make_neighbours(body, classes)
    if isinstance(body, Kernel):
        return [("kernel", _make_kernel(body))], _make_linear(np.eye(len(body.weights)), formula.intercept, classes)
    if isinstance(body, Machines):
        return _make_machines(body, classes)
    if isinstance(body, Products):
        products = PolynomialFeatures(2, include_bias=False).fit(np.zeros((2, width)))
        return [("products", products)], _make_linear(body.weights, formula.intercept, classes)
    if isinstance(body, Curves):
        return _make_curves(body, formula.intercept, classes)
    if formula.trees:
        return [], _make_forest(formula)
    if formula.link == "shares":
        refuse("it is the constant guess, which needs no model")
    return [], _make_linear(formula.weights, formula.intercept, classes)


def make_rows(classes: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows to fit a model to before it gets its attributes: three of each class, all different."""
    labels = np.repeat(classes, 3)
    return np.random.default_rng(0).normal(size=(len(labels), width)), labels


def _make_linear(weights: np.ndarray, intercept: np.ndarray, classes: np.ndarray) -> Any:
    """Return a linear model: a logistic regression if there are classes."""
    width = weights.shape[1]
    if not len(classes):
        linear = LinearRegression().fit(np.zeros((2, width)), np.zeros(2))
        linear.coef_, linear.intercept_ = weights[0].copy(), float(intercept[0])
        return linear
    logistic = LogisticRegression(tol=_AT_ONCE).fit(*make_rows(classes, width))
    logistic.coef_, logistic.intercept_ = weights.copy(), intercept.copy()
    return logistic


def _make_gaussians(body: Gaussians, classes: np.ndarray, width: int) -> Any:
    """Return naive Bayes where the columns are independent, else a quadratic discriminant."""
    squares = [whitener @ whitener.T for whitener in body.whiteners]
    diagonal = all(np.array_equal(square, np.diag(np.diag(square))) for square in squares)
    # The constants hold the logarithms of prior and determinant.
    volumes = np.array([np.linalg.slogdet(whitener)[1] for whitener in body.whiteners])
    joined = body.constants - volumes
    priors = np.exp(joined - joined.max())
    priors /= priors.sum()
    if diagonal:
        bayes = GaussianNB().fit(*make_rows(classes, width))
        bayes.theta_, bayes.class_prior_ = body.means.copy(), priors
        bayes.var_ = np.array([1 / np.diag(square) for square in squares])
        return bayes
    rows, labels = make_rows(np.repeat(classes, width), width)
    quadratic = QuadraticDiscriminantAnalysis().fit(rows, labels)
    quadratic.means_, quadratic.priors_ = body.means.copy(), priors
    found = [np.linalg.svd(whitener, full_matrices=False) for whitener in body.whiteners]
    quadratic.rotations_ = [left for left, _, _ in found]
    quadratic.scalings_ = [sizes**-2.0 for _, sizes, _ in found]
    return quadratic


def _make_perceptron(body: Layers, classes: np.ndarray, width: int) -> Any:
    """Return a perceptron with the layers of the body."""
    hidden = tuple(len(shift) for shift in body.shifts[:-1])
    settings = {"hidden_layer_sizes": hidden, "activation": body.function, "max_iter": 1, "random_state": 0}
    with warnings.catch_warnings():
        # One step does not converge, and need not: the weights are replaced.
        warnings.simplefilter("ignore")
        if len(classes):
            network: Any = MLPClassifier(**settings).fit(*make_rows(classes, width))
        else:
            rows = np.random.default_rng(0).normal(size=(6, width))
            network = MLPRegressor(**settings).fit(rows, np.arange(6.0))
    network.coefs_ = [weights.copy() for weights in body.weights]
    network.intercepts_ = [shift.copy() for shift in body.shifts]
    return network


def _make_neighbours(body: Neighbours, classes: np.ndarray) -> Any:
    """Return nearest neighbours, which are fitted to the stored rows."""
    weights = "distance" if body.inverse else "uniform"
    if len(classes):
        return KNeighborsClassifier(body.count, weights=weights).fit(body.rows, classes[body.values.argmax(axis=1)])
    return KNeighborsRegressor(body.count, weights=weights).fit(body.rows, body.values[:, 0])


def _make_kernel(body: Kernel) -> Nystroem:
    """Return a transformer from rows to weighted sums of kernel values."""
    kernel = Nystroem(kernel="rbf", gamma=body.gamma, n_components=2, random_state=0).fit(body.rows[[0, 0]])
    kernel.components_, kernel.normalization_ = body.rows.copy(), body.weights.copy()
    kernel.set_params(n_components=len(body.rows))
    return kernel


def _make_machines(body: Machines, classes: np.ndarray) -> tuple[list[tuple[str, Any]], Any]:
    """Return the steps of support vector machines with probabilities.

    The log-odds of two classes have another slope above zero than below it: a perceptron of two units has this shape.
    """
    steps: list[tuple[str, Any]] = [("kernel", _make_kernel(body.kernel))]
    if body.n_classes == 2:
        shift = float(body.shifts[0])
        above, below = body.slopes
        layers = Layers(
            [np.array([[1.0, -1.0]]), np.array([[above], [-below]])],
            [np.array([shift, -shift]), np.zeros(1)],
            "relu",
        )
        return steps, _make_perceptron(layers, classes, 1)
    slope, temperature = body.slopes
    n_pairs = len(body.shifts)
    first, second = np.triu_indices(body.n_classes, 1)
    # Both signs of each machine's score, scaled: the logarithms of their sigmoids are for the first class of the pair
    # and for the second.
    scores = StandardScaler().fit(np.eye(2, n_pairs))
    scores.mean_, scores.scale_ = -body.shifts, np.full(n_pairs, 1 / slope)
    scores.var_ = scores.scale_**2
    signs = FeatureUnion([("for", FunctionTransformer()), ("against", FunctionTransformer(np.negative))])
    signs.fit(np.zeros((2, n_pairs)))
    weights = np.zeros((body.n_classes, 2 * n_pairs))
    weights[first, np.arange(n_pairs)] = temperature
    weights[second, n_pairs + np.arange(n_pairs)] = temperature
    steps += [("scores", scores), ("signs", signs), ("logarithms", FunctionTransformer(log_expit))]
    return steps, _make_linear(weights, np.zeros(body.n_classes), classes)


def _make_curves(body: Curves, intercept: np.ndarray, classes: np.ndarray) -> tuple[list[tuple[str, Any]], Any]:
    """Return the steps of curves: the part of each column between two knots, its square and its cube."""
    n_pieces, _, width, n_outputs = body.coefficients.shape
    pieces = FeatureUnion(
        [
            (f"piece {place + 1}", FunctionTransformer(np.clip, kw_args={"a_min": low, "a_max": high}))
            for place, (low, high) in enumerate(zip(body.knots, body.knots[1:]))
        ]
    ).fit(np.zeros((2, width)))
    starts = StandardScaler(with_std=False).fit(np.zeros((2, n_pieces * width)))
    starts.mean_ = body.knots[:-1].ravel()
    cube = FunctionTransformer(np.polynomial.polynomial.polyval, kw_args={"c": (0.0, 0.0, 0.0, 1.0)})
    powers = FeatureUnion(
        [("first", FunctionTransformer()), ("square", FunctionTransformer(np.square)), ("cube", cube)]
    ).fit(np.zeros((2, n_pieces * width)))
    # The columns are ordered by power, then by piece, then by column of the table.
    weights = body.coefficients.transpose(3, 1, 0, 2).reshape(n_outputs, -1)
    steps = [("pieces", pieces), ("starts", starts), ("powers", powers)]
    return steps, _make_linear(weights, intercept, classes)


def _make_forest(formula: Formula) -> Any:
    """Return a forest whose mean is the sum of the trees: every tree holds its values times their number."""
    width, count = len(formula.shift), len(formula.trees)
    classes = np.array(formula.classes, dtype=object)
    trees = [
        make_tree(tree, width, classes, count * np.array(tree.value) + formula.intercept) for tree in formula.trees
    ]
    if count == 1:
        return trees[0]
    if len(classes):
        forest: Any = RandomForestClassifier(1, max_depth=1).fit(*make_rows(classes, width))
        # Members of scikit-learn's forests predict the places of classes.
        for tree in trees:
            tree.classes_ = np.arange(len(classes))
    else:
        forest = RandomForestRegressor(1, max_depth=1).fit(np.zeros((2, width)), np.arange(2.0))
    forest.set_params(n_estimators=count)
    forest.estimators_ = trees
    return forest


def make_tree(tree: Tree, width: int, classes: np.ndarray, values: np.ndarray) -> Any:
    """Return a fitted tree of scikit-learn with the nodes of `tree` and `values` of shape (nodes, outputs)."""
    n_outputs, size = max(1, len(classes)), len(tree.left)
    made: Any = DecisionTreeClassifier(max_depth=1) if len(classes) else DecisionTreeRegressor(max_depth=1)
    made.n_features_in_, made.n_outputs_ = width, 1
    if len(classes):
        made.classes_, made.n_classes_ = classes, n_outputs
    record = SimpleNamespace(
        n_features=width,
        n_classes=np.array([n_outputs]),
        node_count=size,
        max_depth=size,
        children_left=np.array(tree.left),
        children_right=np.array(tree.right),
        feature=np.array(tree.feature),
        threshold=np.array(tree.threshold, dtype=float),
        missing_go_to_left=np.array(tree.missing_left),
        impurity=np.zeros(size),
        n_node_samples=np.ones(size),
        weighted_n_node_samples=np.ones(size),
        value=values.reshape(size, 1, n_outputs),
    )
    return fill_tree(made, record)


def make_boosting_steps(formula: Formula) -> tuple[list[tuple[str, Any]], Any]:
    """Return steps for a sum of trees behind a link: the leaves of each row as indicators, then their values.

    The indicator of a leaf has the leaf's value as its coefficient, so that the scores are the sums of the leaves.
    """
    width, classes = len(formula.shift), np.array(formula.classes, dtype=object)
    trees = [make_tree(tree, width, classes[:0], np.zeros((len(tree.left), 1))) for tree in formula.trees]
    embedding = RandomTreesEmbedding(1, max_depth=1, sparse_output=True).fit(
        np.random.default_rng(0).normal(size=(4, width))
    )
    embedding.set_params(n_estimators=len(trees))
    embedding.estimators_ = trees
    leaves = [np.flatnonzero(np.array(tree.left) < 0) for tree in formula.trees]
    longest = max(map(len, leaves))
    # The encoder learns the leaves of every tree: shorter lists repeat their last leaf.
    embedding.one_hot_encoder_.fit(
        np.column_stack([np.append(places, [places[-1]] * (longest - len(places))) for places in leaves])
    )
    coefficients = np.concatenate([np.array(tree.value)[one] for tree, one in zip(formula.trees, leaves)]).T
    labels = np.resize(classes, 2 * len(classes))
    logistic = LogisticRegression(tol=_AT_ONCE).fit(np.eye(len(labels), coefficients.shape[1]), labels)
    logistic.coef_, logistic.intercept_ = coefficients.copy(), formula.intercept.copy()
    return [("leaves", embedding)], logistic
