"""Linear support vector machines; the penalised loss is recomputed here in float64 from coefficients and intercepts.

liblinear penalises the intercept; it is judged by the objective with a free one, which on centred columns differs
little.
"""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Agreement, Case, Data, estimators
from benchmarks.cases.least_squares import linear_solution
from benchmarks.cases.logistic import make

MERCER = "mercer.linear_model.GeneralizedLinearEstimator"
LIBLINEAR = "sklearn.svm.LinearSVC"


def quality(solution: Data, data: Data, C: float, power: int) -> dict[str, float]:
    """Return the mean loss plus |w|^2 / (2 C n), and the test accuracy."""
    w, b = solution["coefficients"].astype(np.float64).ravel(), float(solution["intercept"].ravel()[0])
    short = np.maximum(1.0 - (2 * data["y"] - 1) * (data["X"] @ w + b), 0.0)
    hits = (data["X_test"] @ w + b > 0) == (data["y_test"] > 0)
    objective = float(np.mean(short**power) + w @ w / (2 * C * len(short)))
    return {"objective": objective, "accuracy": float(np.mean(hits))}


def strength(data: Data, C: float) -> float:
    """The penalty on the mean loss that C is on the sum."""
    return 1.0 / (C * data["X"].shape[0])


def machines(loss: str, C: float, duals: dict[str, bool], **mercer: Any) -> tuple[Any, ...]:
    """Mercer, and liblinear's solvers by name: whether they are of the dual.

    Without a seed, liblinear's order of rows, and with it where it stops, would come from NumPy's global state.
    """
    peers = [
        estimators({name: LIBLINEAR}, linear_solution, C=C, loss=loss, dual=dual, max_iter=2000, random_state=0)
        for name, dual in duals.items()
    ]
    ours = estimators({"mercer": MERCER}, linear_solution, loss=loss, alpha=partial(strength, C=C), **mercer)
    return (*ours, *(one for peer in peers for one in peer))


CASES = (
    Case(
        "linear_svc",
        "linear SVM, squared hinge loss, 200 000 x 100, C=0.05",
        partial(make, rows=200_000, columns=100),
        machines("squared_hinge", 0.05, {"sklearn_primal": False, "sklearn_dual": True}),
        partial(quality, C=0.05, power=2),
        Agreement("objective", "lower", 2e-5),
    ),
    Case(
        "linear_svc_hinge",
        "linear SVM, hinge loss, 50 000 x 100, C=0.1",
        partial(make, rows=50_000, columns=100),
        machines("hinge", 0.1, {"sklearn_dual": True}, solver="dual"),
        partial(quality, C=0.1, power=1),
        Agreement("objective", "lower", 2e-4),
    ),
)
