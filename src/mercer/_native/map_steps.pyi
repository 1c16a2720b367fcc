from numpy import ndarray

def follow_rows(
    X: ndarray,
    order: ndarray,
    weight: ndarray,
    across: ndarray,
    up: ndarray,
    columns: ndarray,
    rows: ndarray,
    rate: float,
    point: ndarray,
    centres: ndarray,
) -> None: ...
