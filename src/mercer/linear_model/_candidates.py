"""What the linear models offer to a study."""

from typing import Any

from mercer._base.candidate import Candidate, Shape, count_coefficients
from mercer.linear_model._huber import HuberRegressor
from mercer.linear_model._lasso.elastic_net import Lasso
from mercer.linear_model._least_squares.ridge import Ridge
from mercer.linear_model._logistic.logistic import LogisticRegression

# Above these sizes the robust fit, which has no closed form, takes too long for what it adds.
_MOST_ROBUST_ROWS = 50_000


def _ridge(shape: Shape) -> Any:
    return Ridge()


def _lasso(shape: Shape) -> Any:
    # Scores of a study are known to a few parts in a thousand; the optimum need not be closer.
    return Lasso(max_iter=2000, tol=1e-3)


def _lasso_space(shape: Shape) -> dict[str, list[float]]:
    # The penalty is in units of the target; above its spread no column is left.
    return {"alpha": [shape.target_spread * share for share in (0.1, 0.01, 0.001)]}


def _logistic(shape: Shape) -> Any:
    return LogisticRegression(max_iter=300)


def _huber(shape: Shape) -> Any:
    return HuberRegressor(max_iter=300)


def _few_rows(shape: Shape) -> str:
    if shape.n_rows > _MOST_ROBUST_ROWS:
        return f"takes at most {_MOST_ROBUST_ROWS} rows; this table has {shape.n_rows}"
    return ""


CANDIDATES = (
    Candidate(
        "lasso",
        "linear models",
        ("regression",),
        30,
        _lasso,
        _lasso_space,
        ("scaled",),
        complexity=count_coefficients,
        text="A weighted sum of a few columns; the other columns get weight zero.",
    ),
    Candidate(
        "ridge regression",
        "linear models",
        ("regression",),
        35,
        _ridge,
        {"alpha": [1000.0, 10.0, 0.1]},
        ("scaled",),
        complexity=count_coefficients,
        text="A weighted sum of the columns, with a penalty on large weights.",
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
        text="Log-odds as a weighted sum of the columns, with a penalty on large weights.",
    ),
    Candidate(
        "robust regression",
        "linear models",
        ("regression",),
        40,
        _huber,
        {"alpha": [10.0, 0.01]},
        ("scaled",),
        _few_rows,
        count_coefficients,
        "A weighted sum of the columns, fitted so that outliers have limited influence (Huber).",
    ),
)
