from numpy import ndarray

def logistic_dual(
    X: ndarray, y: ndarray, bound: ndarray, order: ndarray, scale: float, logits: ndarray, w: ndarray
) -> None: ...
def logistic_dual_sparse(
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
