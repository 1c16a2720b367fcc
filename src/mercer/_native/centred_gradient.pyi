from numpy import float64, floating, integer, intp
from numpy.typing import NDArray

def visit_centred(
    data: NDArray[floating],
    columns: NDArray[integer],
    pointers: NDArray[integer],
    mean: NDArray[float64],
    y: NDArray[float64],
    weight: NDArray[float64],
    order: NDArray[intp],
    share: float,
    step: float,
    l2: float,
    w: NDArray[float64],
    average: NDArray[float64],
    table: NDArray[float64],
    scratch: NDArray[float64],
) -> None: ...
