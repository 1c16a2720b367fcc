from numpy import ndarray

def diagonal_moments(
    X: ndarray,
    y: ndarray,
    weight: ndarray,
    total: float,
    centre: bool,
    mean: ndarray,
    squares: ndarray,
    cross: ndarray,
) -> None: ...
def column_moments(X: ndarray, weight: ndarray, total: float, mean: ndarray, squares: ndarray) -> None: ...
def to_units(X: ndarray, mean: ndarray, scale: ndarray, out: ndarray) -> None: ...
def from_units(X: ndarray, mean: ndarray, scale: ndarray, out: ndarray) -> None: ...
def add_products(X: ndarray, v: ndarray, out: ndarray) -> None: ...
def sparse_products(
    data: ndarray, rows: ndarray, pointers: ndarray, v: ndarray, first: int, stop: int, out: ndarray
) -> None: ...
def column_descent(
    C: ndarray, squares: ndarray, l1: float, l2: float, positive: bool, order: ndarray, w: ndarray, r: ndarray
) -> float: ...
def sparse_descent(
    data: ndarray,
    rows: ndarray,
    pointers: ndarray,
    mean: ndarray,
    weight: ndarray,
    total: float,
    squares: ndarray,
    l1: float,
    l2: float,
    positive: bool,
    order: ndarray,
    w: ndarray,
    u: ndarray,
    shift: ndarray,
) -> float: ...
