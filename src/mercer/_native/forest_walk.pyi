from numpy import ndarray

def add_values(
    X: ndarray,
    rows: ndarray,
    roots: ndarray,
    features: ndarray,
    rights: ndarray,
    thresholds: ndarray,
    sides: ndarray,
    words: ndarray,
    values: ndarray,
    at: ndarray,
    sums: ndarray,
) -> None: ...
def add_packed_values(
    X: ndarray,
    roots: ndarray,
    thresholds: ndarray,
    links: ndarray,
    values: ndarray,
    at: ndarray,
    active: ndarray,
    sums: ndarray,
) -> None: ...
def find_many_leaves(
    X: ndarray,
    roots: ndarray,
    features: ndarray,
    rights: ndarray,
    thresholds: ndarray,
    sides: ndarray,
    words: ndarray,
    at: ndarray,
    leaves: ndarray,
) -> None: ...
