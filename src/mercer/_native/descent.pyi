from numpy import ndarray

def duality_gap(
    w: ndarray, q: ndarray, squares: float, l1: float, l2: float, positive: bool, beyond: float, excess: float
) -> float: ...
def mixture(W: ndarray, share: ndarray, M: ndarray) -> bool: ...
def gram_descent(
    G: ndarray,
    linear: ndarray,
    squares: float,
    l1: float,
    l2: float,
    positive: bool,
    order: ndarray,
    goal: float,
    small: float,
    sweeps: int,
    w: ndarray,
    q: ndarray,
    W: ndarray,
    Q: ndarray,
    share: ndarray,
    M: ndarray,
) -> int: ...
