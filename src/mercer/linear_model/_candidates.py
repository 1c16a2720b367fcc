"""What the linear models offer to a study."""

from typing import Any

from mercer._base.candidate import Candidate, Shape, count_coefficients
from mercer.linear_model._lasso import Lasso
from mercer.linear_model._logistic import LogisticRegression
from mercer.linear_model._ridge import Ridge

__all__ = ["CANDIDATES"]

# Penalties per row that span from next to none to nearly all, three to a study: the score is flat between them.
_STRENGTHS = (1e-3, 1e-1, 10.0)


def _logistic(shape: Shape) -> Any:
    return LogisticRegression(max_iter=300)


def _ridge(shape: Shape) -> Any:
    return Ridge()


def _lasso(shape: Shape) -> Any:
    return Lasso(max_iter=2000)


CANDIDATES = (
    Candidate(
        "ridge regression",
        "linear models",
        ("regression",),
        30,
        _ridge,
        {"alpha": [1000.0, 10.0, 0.1]},
        ("scaled",),
        complexity=count_coefficients,
        text="A weighted sum of the columns, with weights held small.",
    ),
    Candidate(
        "logistic regression",
        "linear models",
        ("classification",),
        35,
        _logistic,
        {"C": [0.01, 1.0, 100.0]},
        ("scaled",),
        complexity=count_coefficients,
        text="Log-odds that are a weighted sum of the columns, with weights held small.",
    ),
)
