"""The names of the candidates, for the help of ``mercer run``.

The families offer the candidates (:func:`mercer.model_selection.candidates`), but to ask them all loads every family,
which takes seconds. A test compares these lists with the offers.
"""

CLASSIFIERS = (
    "the constant guess",
    "nearest centroid",
    "linear discriminant",
    "logistic regression",
    "naive Bayes",
    "one tree",
    "curves, logistic regression",
    "products, logistic regression",
    "quadratic discriminant",
    "mixture densities",
    "Bayesian network",
    "kernel densities",
    "nearest neighbours",
    "random forest",
    "extra trees",
    "boosted trees",
    "multilayer perceptron",
    "support vector machine",
    "stacked models",
)
REGRESSORS = (
    "the constant guess",
    "lasso",
    "ridge regression",
    "partial least squares",
    "robust regression",
    "one tree",
    "curves, ridge regression",
    "products, ridge regression",
    "nearest neighbours",
    "random forest",
    "extra trees",
    "boosted trees",
    "multilayer perceptron",
    "support vector machine",
    "Gaussian process",
    "stacked models",
)
CLUSTERINGS = ("k-means", "Gaussian mixture", "density clusters")
