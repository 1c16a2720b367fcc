"""Discriminant analysis and naive Bayes; the log-loss is recomputed here in float64 from the learnt parameters."""

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from benchmarks.case import Agreement, Case, Contestant, Data, estimators, scaled, split
from benchmarks.cases.least_squares import linear_solution
from benchmarks.cases.logistic import decide

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


def make_counts(scale: float) -> dict[str, np.ndarray]:
    """Draw 100 columns of counts from 0 to 5, in float64, of ten classes."""
    random = np.random.default_rng(0)
    test_rows = scaled(20_000, scale)
    y = random.integers(0, 10, scaled(200_000, scale, 2_000) + test_rows)
    rates = 1.0 + 0.2 * random.random((10, 100))
    return split(np.minimum(random.poisson(rates[y]), 5).astype(np.float64), test_rows, y)


def make_text(scale: float) -> dict[str, np.ndarray]:
    """Draw documents of about a hundred words each of 50 000, of twenty classes; words are stored as counts."""
    random = np.random.default_rng(0)
    n_rows, n_words, n_classes = scaled(50_000, scale, 2_000), 50_000, 20
    y = random.integers(0, n_classes, n_rows)
    # Common words are common in every class; each class has its own order of the rest.
    ranks = np.minimum((random.pareto(0.8, size=(n_rows, 100)) * 50).astype(np.int64), n_words - 1)
    words = np.where(ranks < 200, ranks, (ranks * (2 * y[:, None] + 1)) % n_words)
    counts = csr_array((np.ones(words.size), words.ravel(), np.arange(n_rows + 1) * 100), shape=(n_rows, n_words))
    counts.sum_duplicates()
    return {
        "values": counts.data,
        "columns": counts.indices,
        "bounds": counts.indptr,
        "y": y,
        "X_test": np.zeros((1, 1)),
    }


def text_rows(data: Data) -> csr_array:
    return csr_array((data["values"], data["columns"], data["bounds"]), shape=(len(data["y"]), 50_000))


def fit_text(tool: Any, data: Data, threads: int) -> Any:
    model = tool()
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=threads)
    return model.fit(text_rows(data), data["y"])


def text_quality(solution: Data, data: Data) -> dict[str, float]:
    scores = text_rows(data) @ solution["logarithms"].T + solution["prior"]
    return judged(scores, {"y_test": data["y"]})


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


def count_quality(solution: Data, data: Data) -> dict[str, float]:
    return judged(data["X_test"] @ solution["logarithms"].T + solution["prior"], data)


def complement_quality(solution: Data, data: Data) -> dict[str, float]:
    return judged(data["X_test"] @ solution["logarithms"].T, data)


def category_solution(model: Any) -> dict[str, np.ndarray]:
    return {"prior": model.class_log_prior_, "logarithms": np.stack(model.feature_log_prob_)}


def category_quality(solution: Data, data: Data) -> dict[str, float]:
    places = data["X_test"].astype(np.intp)
    columns = (one[:, places[:, j]].T for j, one in enumerate(solution["logarithms"]))
    return judged(sum(columns, start=np.tile(solution["prior"], (len(places), 1))), data)


def normal_solution(model: Any) -> dict[str, np.ndarray]:
    return {"prior": model.class_prior_, "means": model.theta_, "variances": model.var_}


def normal_quality(solution: Data, data: Data) -> dict[str, float]:
    scores = np.empty((len(data["X_test"]), len(solution["prior"])))
    for k, (prior, mean, variance) in enumerate(zip(*solution.values(), strict=True)):
        squares = np.sum((data["X_test"] - mean) ** 2 / variance, axis=1)
        scores[:, k] = np.log(prior) - 0.5 * (squares + np.sum(np.log(variance)))
    return judged(scores, data)


def naive(name: str, solution: Any) -> tuple[Contestant, ...]:
    """Ours and scikit-learn's of one name."""
    return estimators({one: f"{one}.naive_bayes.{name}" for one in ("mercer", "sklearn")}, solution)


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
NAIVE = "naive_bayes.MultinomialNB"
# Prediction has no rows of its own here: one sparse row would time the checks alone.
text = tuple(
    Contestant(library, f"{library}.{NAIVE}", fit_text, binary_solution, lambda model, rows: None)
    for library in ("mercer", "sklearn")
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
    Case(
        "naive_bayes_text",
        "multinomial naive Bayes, 50 000 x 50 000 sparse counts, about 100 words a row, twenty classes",
        make_text,
        text,
        text_quality,
        Agreement("log_loss", "lower", 1e-9),
    ),
    *(
        Case(
            f"naive_bayes_{kind}",
            f"{kind} naive Bayes, 200 000 x 100 counts (float64), ten classes",
            make_counts,
            naive(name, solution),
            quality,
            Agreement("log_loss", "lower", 1e-9),
        )
        for kind, name, solution, quality in (
            ("multinomial", "MultinomialNB", binary_solution, count_quality),
            ("complement", "ComplementNB", binary_solution, complement_quality),
            ("categorical", "CategoricalNB", category_solution, category_quality),
            ("gaussian", "GaussianNB", normal_solution, normal_quality),
        )
    ),
)
