"""Texts: weights of the words of 100 000 texts, whose words are as frequent as those of a language (Zipf)."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Contestant, Data, scaled

TEXTS, WORDS = 100_000, 50_000


def make(scale: float) -> dict[str, np.ndarray]:
    """Return texts of 20 to 180 words as the bytes of lines."""
    random = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(random.choice(letters, length)) for length in random.integers(2, 11, WORDS)], object)
    shares = 1 / np.arange(1, WORDS + 1)
    lengths = random.integers(20, 180, scaled(TEXTS, scale, at_least=1_000))
    drawn = random.choice(words, int(lengths.sum()), p=shares / shares.sum())
    texts = [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]
    return {"lines": np.frombuffer("\n".join(texts).encode(), np.uint8), "X_test": np.zeros((10, 1))}


def fit(tool: Any, data: Data, threads: int, parameters: dict[str, Any]) -> Any:
    texts = data["lines"].tobytes().decode().split("\n")
    model = tool(**parameters)
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=threads)
    return model.fit_transform(texts)


def summarise(rows: Any) -> dict[str, np.ndarray]:
    """Return the sum of the squares of each column, which the rows of both libraries share."""
    return {"columns": np.asarray(rows.multiply(rows).sum(axis=0)).ravel()}


def nothing(model: Any, rows: np.ndarray) -> np.ndarray:
    """One row is no case of its own."""
    return rows


def quality(solution: Data, data: Data) -> dict[str, float]:
    """Return a number that tells the columns apart: their squares, weighted by their place."""
    columns = solution["columns"]
    return {"weighted": float(columns @ np.arange(1, len(columns) + 1)) / len(columns)}


def make_case(name: str, title: str, estimator: str, **parameters: Any) -> Case:
    """Return the case of one vectorizer."""
    module = "feature_extraction.text"
    return Case(
        name,
        title,
        make,
        tuple(
            Contestant(
                library, f"{library}.{module}.{estimator}", partial(fit, parameters=parameters), summarise, nothing
            )
            for library in ("mercer", "sklearn")
        ),
        quality,
        Agreement("weighted", "higher", 1e-9),
    )


CASES = (
    make_case("text_tfidf", "TF-IDF of 100 000 texts of 100 words", "TfidfVectorizer"),
    make_case("text_hashing", "hashed words of 100 000 texts of 100 words", "HashingVectorizer"),
    make_case(
        "text_word_pairs",
        "words and pairs of words that are in 20 texts",
        "CountVectorizer",
        ngram_range=(1, 2),
        min_df=20,
    ),
)
