from numpy import ndarray

def add_shares(
    X: ndarray,
    words: ndarray,
    thresholds: ndarray,
    values: ndarray,
    counts: ndarray,
    sets: ndarray,
    roots: ndarray,
    sizes: ndarray,
    outputs: ndarray,
    chosen: ndarray,
    weights: ndarray,
    zeros: ndarray,
    ones: ndarray,
    columns: ndarray,
    shares: ndarray,
) -> None: ...
