"""Topics of counts and dictionaries of sparse codes; perplexities and objectives are computed here, alike for all."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, estimators, fit_estimator, scaled
from benchmarks.cases.factors import libraries, make_counts, parts_of, predict_nothing, read_counts

# The penalty of the codes; entries of the codes that the rows are drawn with are about three.
ALPHA = 0.3


def fit_topics(tool: Any, data: Data, threads: int, parameters: dict[str, Any]) -> Any:
    return fit_estimator(tool, {"X": read_counts(data)}, threads, parameters)


def perplexity(solution: Data, data: Data) -> dict[str, float]:
    """Return the perplexity of 500 rows for the topics' distributions, by expectation-maximisation of their shares."""
    X = read_counts(data)[:500].toarray()
    topics = solution["components"].astype(np.float64)
    topics = np.maximum(topics / topics.sum(axis=1, keepdims=True), 1e-12)
    shares = np.full((len(X), len(topics)), 1.0 / len(topics))
    for _ in range(200):
        shares *= (X / (shares @ topics)) @ topics.T
        shares /= shares.sum(axis=1, keepdims=True)
    return {"perplexity": float(np.exp(-(X * np.log(shares @ topics)).sum() / X.sum()))}


def make_coded(scale: float, rows: int, columns: int, atoms: int) -> dict[str, np.ndarray]:
    """Sparse sums of atoms of length one, under noise."""
    random = np.random.default_rng(0)
    rows = scaled(rows, scale)
    dictionary = random.normal(size=(atoms, columns))
    dictionary /= np.linalg.norm(dictionary, axis=1, keepdims=True)
    codes = 3.0 * random.normal(size=(rows, atoms)) * (random.uniform(size=(rows, atoms)) < 0.2)
    X = codes @ dictionary + 0.1 * random.normal(size=(rows, columns))
    return {"X": X, "X_test": X[: max(1, rows // 10)]}


def coded_objective(solution: Data, data: Data) -> dict[str, float]:
    """Return the objective of 500 rows, codes by proximal gradient steps with momentum."""
    D, X = solution["components"].astype(np.float64), data["X"][:500].astype(np.float64)
    gram, products = D @ D.T, X @ D.T
    step = 1.0 / np.linalg.norm(gram, 2)
    codes = before = np.zeros(products.shape)
    for turn in range(500):
        ahead = codes + turn / (turn + 3.0) * (codes - before)
        moved = ahead - step * (ahead @ gram - products)
        before, codes = codes, np.sign(moved) * np.maximum(np.abs(moved) - step * ALPHA, 0.0)
    return {"objective": float(((X - codes @ D) ** 2).sum() / 2 + ALPHA * np.abs(codes).sum())}


def topics(count: int) -> tuple[Contestant, ...]:
    fit = partial(fit_topics, parameters={"n_components": count, "random_state": 0})
    paths = libraries("LatentDirichletAllocation")
    return tuple(Contestant(library, path, fit, parts_of, predict_nothing) for library, path in paths.items())


def dictionaries(count: int) -> Any:
    given = {"alpha": ALPHA, "max_iter": 10, "transform_algorithm": "lasso_cd", "random_state": 0}
    return estimators(libraries("DictionaryLearning"), parts_of, verb="transform", n_components=count, **given)


CASES = (
    Case(
        "topics_sparse",
        "topics of 5 000 x 2 000 sparse counts, 20 topics, 10 passes",
        partial(make_counts, rows=5_000, columns=2_000),
        topics(20),
        perplexity,
        Agreement("perplexity", "lower", 5e-2),
    ),
    Case(
        "topics_small",
        "topics of 150 x 40 sparse counts, 3 topics, 10 passes",
        partial(make_counts, rows=150, columns=40),
        topics(3),
        perplexity,
        Agreement("perplexity", "lower", 5e-2),
    ),
    Case(
        "dictionary",
        "dictionary of 2 000 x 64, 40 atoms, 10 steps",
        partial(make_coded, rows=2_000, columns=64, atoms=40),
        dictionaries(40),
        coded_objective,
        Agreement("objective", "lower", 2e-2),
    ),
    Case(
        "dictionary_small",
        "dictionary of 150 x 8, 6 atoms, 10 steps",
        partial(make_coded, rows=150, columns=8, atoms=6),
        dictionaries(6),
        coded_objective,
        Agreement("objective", "lower", 2e-2),
    ),
)
