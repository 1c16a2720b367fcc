from numpy import ndarray

def climb(
    rows: ndarray,
    group: int,
    leaves: ndarray,
    nodes: ndarray,
    boxes: ndarray,
    weight: ndarray,
    sharpness: float,
    radius: float,
    box: ndarray,
    stack: ndarray,
    gaps: ndarray,
    near: ndarray,
    lanes: ndarray,
    sums: ndarray,
    means: ndarray,
) -> None: ...
