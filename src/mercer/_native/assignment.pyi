from numpy import ndarray

def add_members(
    X: ndarray, weight: ndarray, labels: ndarray, distances: ndarray, weights: ndarray, sums: ndarray, costs: ndarray
) -> None: ...
def keep_nearest(X: ndarray, weight: ndarray, centre: ndarray, closest: ndarray) -> float: ...
def search(
    X: ndarray,
    rows: ndarray,
    centres: ndarray,
    shift: ndarray,
    shifted: ndarray,
    offset: ndarray,
    reach: float,
    rounding: float,
    labels: ndarray,
    distances: ndarray,
    lower: ndarray,
    tile: ndarray,
    products: ndarray,
    found: ndarray,
    scores: ndarray,
) -> None: ...
def search_directly(X: ndarray, centres: ndarray, labels: ndarray, distances: ndarray) -> None: ...
def skip(
    X: ndarray,
    centres: ndarray,
    drift: ndarray,
    half_gap: ndarray,
    labels: ndarray,
    distances: ndarray,
    lower: ndarray,
    rows: ndarray,
) -> int: ...
def try_candidates(
    X: ndarray,
    weight: ndarray,
    shift: ndarray,
    candidates: ndarray,
    norms: ndarray,
    closest: ndarray,
    rows: ndarray,
    tile: ndarray,
    products: ndarray,
    totals: ndarray,
) -> None: ...
