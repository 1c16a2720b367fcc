from numpy import ndarray

def try_swaps(
    D: ndarray,
    weight: ndarray,
    nearest: ndarray,
    near: ndarray,
    next: ndarray,
    loss: ndarray,
    scratch: ndarray,
    change: ndarray,
    which: ndarray,
) -> None: ...
def measure_gains(D: ndarray, weight: ndarray, near: ndarray, change: ndarray) -> None: ...
def find_two(
    table: ndarray, weight: ndarray, nearest: ndarray, second: ndarray, near: ndarray, next: ndarray, loss: ndarray
) -> float: ...
def replace(
    table: ndarray,
    medoid: int,
    distances: ndarray,
    weight: ndarray,
    nearest: ndarray,
    second: ndarray,
    near: ndarray,
    next: ndarray,
    loss: ndarray,
) -> float: ...
