from numpy import ndarray

def average_gradients(
    X: ndarray,
    y: ndarray,
    weight: ndarray,
    order: ndarray,
    loss: int,
    share: float,
    fit_intercept: bool,
    step: ndarray,
    l1: ndarray,
    l2: ndarray,
    w: ndarray,
    average: ndarray,
    table: ndarray,
    scores: ndarray,
) -> None: ...
def logistic_dual(
    X: ndarray, y: ndarray, bound: ndarray, order: ndarray, scale: float, logits: ndarray, w: ndarray
) -> None: ...
