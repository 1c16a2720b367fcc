from numpy import ndarray

def find_split(
    histogram: ndarray,
    offsets: ndarray,
    allowed: ndarray,
    categorical: ndarray,
    monotone: ndarray,
    scales: ndarray,
    shift: int,
    total: ndarray,
    limits: ndarray,
    bounded: int,
    smoothing: float,
    sums: ndarray,
    order: ndarray,
    goes_left: ndarray,
    best: ndarray,
    places: ndarray,
) -> None: ...
