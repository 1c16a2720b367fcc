from numpy import ndarray

def ascend(
    X: ndarray,
    sign: ndarray,
    centre: ndarray,
    factor: ndarray,
    square: ndarray,
    lift: ndarray,
    shape: ndarray,
    highest: float,
    order: ndarray,
    settled: float,
    slopes: ndarray,
    w: ndarray,
    kept: ndarray,
) -> float: ...
def ascend_sparse(
    data: ndarray,
    columns: ndarray,
    pointers: ndarray,
    sign: ndarray,
    centre: ndarray,
    factor: ndarray,
    square: ndarray,
    lift: ndarray,
    shape: ndarray,
    highest: float,
    order: ndarray,
    settled: float,
    slopes: ndarray,
    w: ndarray,
    kept: ndarray,
) -> float: ...
