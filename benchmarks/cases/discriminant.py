"""Discriminant analysis and naive Bayes; the log-loss is recomputed here in float64 from the learnt parameters."""

from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from benchmarks.case import Agreement, Case, Data, estimators, scaled, split
from benchmarks.cases.least_squares import linear_solution
from benchmarks.cases.logistic import decide

__all__ = ["CASES"]

_CLASSES = 5


def make_gaussian(scale: float, own: bool) -> dict[str, np.ndarray]:
    """Draw 100 correlated columns of five classes, with a mean each and, for `own`, a spread each."""
    random = np.random.default_rng(0)
    test_rows = scaled(20_000, scale)
    y = random.integers(0, _CLASSES, scaled(200_000, scale, 2_000) + test_rows)
    X = random.normal(size=(len(y), 100))
    if own:
        X *= (1.0 + 0.08 * random.normal(size=(_CLASSES, 100)))[y]
    X[:, 1:] += 0.5 * X[:, :-1]
    X += 0.25 * random.normal(size=(_CLASSES, 100))[y]
    return split(X, test_rows, y)


def make_binary(scale: float) -> dict[str, np.ndarray]:
    """Draw 300 binary columns, in float64, of five classes."""
    random = np.random.default_rng(0)
    test_rows = scaled(20_000, scale)
    y = random.integers(0, _CLASSES, scaled(200_000, scale, 2_000) + test_rows)
    shares = np.clip(0.3 + 0.05 * random.normal(size=(_CLASSES, 300)), 0.02, 0.98)
    X = np.empty((len(y), 300))
    for start in range(0, len(y), 20_000):
        rows = slice(start, start + 20_000)
        X[rows] = random.random((len(y[rows]), 300)) < shares[y[rows]]
    return split(X, test_rows, y)


def judged(scores: np.ndarray, data: Data) -> dict[str, float]:
    """Return the mean log-loss of scores on the test rows, and the share of right decisions."""
    y = data["y_test"]
    own = scores[np.arange(len(y)), y]
    hits = np.argmax(scores, axis=1) == y
    return {"log_loss": float(np.mean(logsumexp(scores, axis=1) - own)), "accuracy": float(np.mean(hits))}


def linear_quality(solution: Data, data: Data) -> dict[str, float]:
    scores = decide(solution["coefficients"].astype(np.float64), solution["intercept"], data["X_test"])
    return judged(scores, data)


def quadratic_solution(model: Any) -> dict[str, np.ndarray]:
    names = ("means_", "priors_", "scalings_", "rotations_")
    return {name: np.stack(list(getattr(model, name))) for name in names}


def quadratic_quality(solution: Data, data: Data) -> dict[str, float]:
    means, priors, scalings, rotations = solution.values()
    scores = np.empty((len(data["X_test"]), len(means)))
    for k, mean in enumerate(means):
        along = (data["X_test"] - mean) @ rotations[k]
        squares = np.sum(along**2 / scalings[k], axis=1)
        scores[:, k] = np.log(priors[k]) - 0.5 * (squares + np.sum(np.log(scalings[k])))
    return judged(scores, data)


def binary_solution(model: Any) -> dict[str, np.ndarray]:
    return {"prior": model.class_log_prior_, "logarithms": model.feature_log_prob_}


def binary_quality(solution: Data, data: Data) -> dict[str, float]:
    ones = solution["logarithms"]
    zeros = np.log(-np.expm1(ones))
    return judged(data["X_test"] @ (ones - zeros).T + zeros.sum(axis=1) + solution["prior"], data)


LINEAR = "discriminant_analysis.LinearDiscriminantAnalysis"
QUADRATIC = "discriminant_analysis.QuadraticDiscriminantAnalysis"
linear = (
    *estimators({"mercer": f"mercer.{LINEAR}", "sklearn_svd": f"sklearn.{LINEAR}"}, linear_solution),
    *estimators({"sklearn_lsqr": f"sklearn.{LINEAR}"}, linear_solution, solver="lsqr"),
    *estimators({"sklearn_eigen": f"sklearn.{LINEAR}"}, linear_solution, solver="eigen"),
)
quadratic = (
    *estimators({"mercer": f"mercer.{QUADRATIC}", "sklearn": f"sklearn.{QUADRATIC}"}, quadratic_solution),
    *estimators({"sklearn_eigen": f"sklearn.{QUADRATIC}"}, quadratic_solution, solver="eigen"),
)
binary = estimators(
    {"mercer": "mercer.naive_bayes.BernoulliNB", "sklearn": "sklearn.naive_bayes.BernoulliNB"}, binary_solution
)

CASES = (
    Case(
        "lda",
        "linear discriminant analysis, 200 000 x 100, five classes",
        partial(make_gaussian, own=False),
        linear,
        linear_quality,
        Agreement("log_loss", "lower", 1e-6),
    ),
    Case(
        "qda",
        "quadratic discriminant analysis, 200 000 x 100, five classes",
        partial(make_gaussian, own=True),
        quadratic,
        quadratic_quality,
        Agreement("log_loss", "lower", 1e-6),
    ),
    Case(
        "naive_bayes_bernoulli",
        "Bernoulli naive Bayes, 200 000 x 300 binary columns (float64), five classes",
        make_binary,
        binary,
        binary_quality,
        Agreement("log_loss", "lower", 1e-9),
    ),
)
