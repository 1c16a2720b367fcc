"""Nested cross-validation of a penalised classifier."""

from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.case import Agreement, Case, Contestant, Data, scaled

STRENGTHS = [1e-3, 1e-2, 1e-1, 1.0]
OUTER, INNER = 5, 3


def make(scale: float) -> dict[str, np.ndarray]:
    """Digits of 8 x 8 pixels; the last fifth is for predictions."""
    X, y = load_digits(return_X_y=True)
    rows = scaled(len(X), scale, at_least=250)
    X, y = X[:rows] / 16.0, y[:rows]
    cut = rows - rows // 5
    return {"X": X[:cut], "y": y[:cut], "X_test": X[cut:], "y_test": y[cut:]}


def fit_mercer(tool: Any, data: Data, threads: int) -> Any:
    from mercer.linear_model import LogisticRegression

    found = tool(
        LogisticRegression(max_iter=300),
        data["X"],
        data["y"],
        space={"C": STRENGTHS},
        outer=OUTER,
        inner=INNER,
        n_jobs=threads,
        random_state=0,
    )
    return found.scores, found.estimator


def fit_sklearn(tool: Any, data: Data, threads: int) -> Any:
    """A search inside cross-validation, as scikit-learn's guide shows it, and a search on all rows."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    inner, outer = (StratifiedKFold(folds, shuffle=True, random_state=0) for folds in (INNER, OUTER))
    search = tool(LogisticRegression(max_iter=300), {"C": STRENGTHS}, cv=inner)
    scores = cross_val_score(search, data["X"], data["y"], cv=outer, n_jobs=threads)
    return scores, search.set_params(n_jobs=threads).fit(data["X"], data["y"])


def solution(found: Any) -> dict[str, np.ndarray]:
    return {"scores": np.asarray(found[0])}


def predict(found: Any, rows: np.ndarray) -> np.ndarray:
    return found[1].predict(rows)


def quality(answer: Data, data: Data) -> dict[str, float]:
    """The mean accuracy on rows without a part in choosing."""
    return {"accuracy": float(np.mean(answer["scores"]))}


CASES = (
    Case(
        "nested_cv",
        "nested cross-validation of logistic regression on digits: 5 outer folds, 3 inner, 4 settings",
        make,
        (
            Contestant("mercer", "mercer.model_selection.nested_cv", fit_mercer, solution, predict),
            Contestant("sklearn", "sklearn.model_selection.GridSearchCV", fit_sklearn, solution, predict),
        ),
        quality,
        # Folds are drawn apart, so that means differ by their sampling error.
        Agreement("accuracy", "higher", 2e-2),
    ),
)
