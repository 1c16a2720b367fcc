"""Candidates that put a basis before a linear model."""

from typing import Any

from sklearn.pipeline import make_pipeline

from mercer._base.candidate import Candidate, Shape, count_coefficients
from mercer.linear_model import LogisticRegression, Ridge
from mercer.preprocessing._polynomial import PolynomialBasis
from mercer.preprocessing._spline import SplineBasis

# A basis with more columns is not tried.
_MOST_FEATURES = 2000
# Knots of the spline of each column.
_KNOTS = 6


def _curves(shape: Shape) -> Any:
    return make_pipeline(SplineBasis(_KNOTS, knots="quantile"), Ridge())


def _class_curves(shape: Shape) -> Any:
    return make_pipeline(SplineBasis(_KNOTS, knots="quantile"), LogisticRegression(max_iter=300))


def _products(shape: Shape) -> Any:
    return make_pipeline(PolynomialBasis(2), Ridge())


def _class_products(shape: Shape) -> Any:
    return make_pipeline(PolynomialBasis(2), LogisticRegression(max_iter=300))


def _refusal(shape: Shape, n_features: int) -> str:
    if n_features > _MOST_FEATURES:
        return f"would expand {shape.n_columns} columns to {n_features}, more than {_MOST_FEATURES}"
    if shape.n_rows < 100:
        return f"needs at least 100 rows; the table has {shape.n_rows}"
    return ""


def _too_many_curves(shape: Shape) -> str:
    return _refusal(shape, shape.n_columns * (_KNOTS + 2))


def _too_many_products(shape: Shape) -> str:
    return _refusal(shape, shape.n_columns * (shape.n_columns + 3) // 2)


def _count(model: Any) -> tuple[float, str]:
    return count_coefficients(model[-1])


_SUM = "A sum of smooth curves, one for each column (splines)."
_PAIRS = "A weighted sum of the columns, their squares and their products in pairs."

CANDIDATES = (
    Candidate(
        "curves, ridge regression",
        "bases",
        ("regression",),
        50,
        _curves,
        {"ridge__alpha": [100.0, 1.0, 0.01]},
        ("scaled", "dense"),
        _too_many_curves,
        _count,
        _SUM,
    ),
    Candidate(
        "curves, logistic regression",
        "bases",
        ("classification",),
        50,
        _class_curves,
        {"logisticregression__C": [0.01, 1.0, 100.0]},
        ("scaled", "dense"),
        _too_many_curves,
        _count,
        _SUM,
    ),
    Candidate(
        "products, ridge regression",
        "bases",
        ("regression",),
        55,
        _products,
        {"ridge__alpha": [1000.0, 10.0, 0.1]},
        ("scaled", "dense"),
        _too_many_products,
        _count,
        _PAIRS,
    ),
    Candidate(
        "products, logistic regression",
        "bases",
        ("classification",),
        55,
        _class_products,
        {"logisticregression__C": [0.001, 0.1, 10.0]},
        ("scaled", "dense"),
        _too_many_products,
        _count,
        _PAIRS,
    ),
)
