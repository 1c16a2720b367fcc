from numpy import ndarray

def keep_nearest(
    X: ndarray, unit: int, weight: ndarray, centres: ndarray, closest: ndarray, totals: ndarray
) -> None: ...
def try_candidates(
    X: ndarray,
    unit: int,
    weight: ndarray,
    shift: ndarray,
    candidates: ndarray,
    norms: ndarray,
    closest: ndarray,
    tile: ndarray,
    products: ndarray,
    totals: ndarray,
) -> None: ...
