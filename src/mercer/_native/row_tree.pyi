from numpy import ndarray

def split(
    X: ndarray,
    inverse: ndarray,
    rows: ndarray,
    bounds: ndarray,
    lower: ndarray,
    upper: ndarray,
    first: int,
    stop: int,
) -> None: ...
