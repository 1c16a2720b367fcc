from numpy import ndarray

def add_distances(
    X: ndarray,
    norms: ndarray,
    first: int,
    last: int,
    starts: ndarray,
    rows: ndarray,
    row_norms: ndarray,
    products: ndarray,
    sums: ndarray,
) -> None: ...
