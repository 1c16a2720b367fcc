"""What discriminants and class densities offer to a study."""

from typing import Any

import numpy as np

from mercer._base.candidate import Candidate, Shape, count_coefficients
from mercer.discriminant_analysis._class_conditional import ClassConditionalClassifier
from mercer.discriminant_analysis._linear import LinearDiscriminantAnalysis
from mercer.discriminant_analysis._quadratic import QuadraticDiscriminantAnalysis
from mercer.mixture import GaussianMixture
from mercer.neighbors import KernelDensity

# Columns up to which a covariance per class, or a density, is worth its parameters.
_MOST_COLUMNS = 60
# Columns up to which one common covariance is solved in a second or two: with 5000 a single fit takes half a minute,
# longer than the budget of many studies, and cannot be stopped.
_MOST_COMMON_COLUMNS = 2000
_MOST_DENSITY_COLUMNS = 12
_MOST_DENSITY_ROWS = 20_000


def _linear(shape: Shape) -> Any:
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)


def _quadratic(shape: Shape) -> Any:
    return QuadraticDiscriminantAnalysis(reg_param=0.1)


def _mixtures(shape: Shape) -> Any:
    return ClassConditionalClassifier(
        GaussianMixture(2, covariance_type="diag", reg_covar=1e-3, random_state=shape.seed)
    )


def _kernels(shape: Shape) -> Any:
    return ClassConditionalClassifier(KernelDensity(bandwidth=0.5))


def _common_covariance(shape: Shape) -> str:
    if shape.n_columns > _MOST_COMMON_COLUMNS:
        return (
            f"needs a covariance of all pairs of columns: takes at most {_MOST_COMMON_COLUMNS} columns; this table has "
            f"{shape.n_columns}"
        )
    return ""


def _few_columns(shape: Shape) -> str:
    if shape.n_columns > _MOST_COLUMNS:
        return f"needs a covariance per class: takes at most {_MOST_COLUMNS} columns; this table has {shape.n_columns}"
    if shape.n_rows < 5 * shape.n_columns * max(shape.n_classes, 1):
        return "needs at least five rows per column and class"
    return ""


def _enough_rows(shape: Shape) -> str:
    if shape.n_columns > _MOST_COLUMNS:
        return f"needs densities: takes at most {_MOST_COLUMNS} columns; this table has {shape.n_columns}"
    if shape.n_rows < 50 * max(shape.n_classes, 1):
        return "needs at least fifty rows per class"
    return ""


def _few_dimensions(shape: Shape) -> str:
    if shape.n_columns > _MOST_DENSITY_COLUMNS:
        return f"kernel densities take at most {_MOST_DENSITY_COLUMNS} columns; this table has {shape.n_columns}"
    if shape.n_rows > _MOST_DENSITY_ROWS:
        return f"compares all pairs of rows: takes at most {_MOST_DENSITY_ROWS} rows; this table has {shape.n_rows}"
    return ""


def _count_covariances(model: Any) -> tuple[float, str]:
    n_classes, n_columns = np.shape(model.means_)
    n_numbers = n_classes * (n_columns + n_columns * (n_columns + 1) // 2)
    return float(n_numbers), f"{n_numbers} means and covariances"


CANDIDATES = (
    Candidate(
        "linear discriminant",
        "discriminants",
        ("classification",),
        32,
        _linear,
        {"shrinkage": [0.5, 0.1, 0.001]},
        ("scaled", "dense"),
        complexity=count_coefficients,
        unfit=_common_covariance,
        text="Bell curves of one shape for all classes: the boundary is a plane.",
    ),
    Candidate(
        "quadratic discriminant",
        "discriminants",
        ("classification",),
        60,
        _quadratic,
        {"reg_param": [0.5, 0.1, 0.01]},
        ("scaled", "dense"),
        _few_columns,
        _count_covariances,
        "A bell curve with a shape of its own for each class.",
    ),
    Candidate(
        "mixture densities",
        "class densities",
        ("classification",),
        70,
        _mixtures,
        {"density__n_components": [2, 4]},
        ("scaled", "dense"),
        _enough_rows,
        text="Several bell curves for each class.",
    ),
    Candidate(
        "kernel densities",
        "class densities",
        ("classification",),
        185,
        _kernels,
        {"density__bandwidth": [1.0, 0.5, 0.25]},
        ("scaled", "dense"),
        _few_dimensions,
        text="For each class a density made of a bump at every row.",
    ),
)
