"""The candidates of a study that are Gaussian processes."""

from typing import Any

from mercer._base.candidate import Candidate, Shape
from mercer.gaussian_process._regressor import GaussianProcessRegressor
from mercer.kernels import RBF, Constant, White

# The most rows: each fit maximises the evidence by about thirty Cholesky factors.
_MOST_ROWS = 1_000


def _regressor(shape: Shape) -> Any:
    kernel = Constant(1.0) * RBF(float(shape.n_columns) ** 0.5) + White(0.1)
    return GaussianProcessRegressor(kernel, normalize_y=True, random_state=shape.seed)


def _too_many(shape: Shape) -> str:
    return f"takes at most {_MOST_ROWS} rows; this table has {shape.n_rows}" if shape.n_rows > _MOST_ROWS else ""


def _count_points(model: Any) -> tuple[float, str]:
    count = len(model.X_train_)
    return float(count), f"{count} training rows, all compared with each new row"


CANDIDATES = (
    Candidate(
        "Gaussian process",
        "kernel machines",
        ("regression",),
        230,
        _regressor,
        {},
        ("dense", "scaled"),
        _too_many,
        _count_points,
        "A smooth curve through all rows at once; its smoothness is chosen by the evidence.",
    ),
)
