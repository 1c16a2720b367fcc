from numpy import float64, floating, int64, integer
from numpy.typing import NDArray

def visit_dense(
    X: NDArray[floating],
    mean: NDArray[float64],
    y: NDArray[float64],
    weight: NDArray[float64],
    order: NDArray[int64],
    table: NDArray[float64],
    total: NDArray[float64],
    coef: NDArray[float64],
    rate: float,
    decay: float,
    unbiased: bool,
    scratch: NDArray[float64],
) -> None: ...
def visit_sparse(
    data: NDArray[floating],
    columns: NDArray[integer],
    starts: NDArray[integer],
    mean: NDArray[float64],
    y: NDArray[float64],
    weight: NDArray[float64],
    order: NDArray[int64],
    table: NDArray[float64],
    total: NDArray[float64],
    coef: NDArray[float64],
    rate: float,
    decay: float,
    unbiased: bool,
    scratch: NDArray[float64],
) -> None: ...
