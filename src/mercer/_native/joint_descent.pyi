from numpy import ndarray

def descend_rows(
    K: ndarray,
    box: ndarray,
    own: ndarray,
    tolerance: float,
    most: int,
    A: ndarray,
    scores: ndarray,
    scratch: ndarray,
    worst: ndarray,
) -> int: ...
