from numpy import ndarray

def average_gradients(
    data: ndarray,
    columns: ndarray,
    pointers: ndarray,
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
    seen: ndarray,
) -> None: ...
def logistic_dual(
    data: ndarray,
    columns: ndarray,
    pointers: ndarray,
    y: ndarray,
    bound: ndarray,
    order: ndarray,
    scale: float,
    logits: ndarray,
    w: ndarray,
) -> None: ...
