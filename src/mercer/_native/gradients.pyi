from numpy import ndarray

def logistic_run(
    X: ndarray, unit: int, y: ndarray, weight: ndarray, w: ndarray, residuals: ndarray, sums: ndarray
) -> None: ...
def softmax_run(
    X: ndarray,
    unit: int,
    y: ndarray,
    weight: ndarray,
    W: ndarray,
    intercept: ndarray,
    tile: ndarray,
    scores: ndarray,
    flat: ndarray,
    most: ndarray,
    sums: ndarray,
) -> None: ...
def residual_run(
    X: ndarray,
    unit: int,
    Y: ndarray,
    weight: ndarray,
    coef: ndarray,
    mean: ndarray,
    y_mean: ndarray,
    tile: ndarray,
    values: ndarray,
    sums: ndarray,
) -> None: ...
