from numpy import ndarray

def add_squared_errors(
    leverages: ndarray,
    fits: ndarray,
    right: ndarray,
    y: ndarray,
    weight: ndarray,
    share: float,
    row: ndarray,
    sums: ndarray,
) -> None: ...
