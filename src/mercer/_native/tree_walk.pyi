from numpy import ndarray

def find_leaves(
    X: ndarray,
    features: ndarray,
    rights: ndarray,
    thresholds: ndarray,
    sides: ndarray,
    words: ndarray,
    leaves: ndarray,
) -> None: ...
def mark_paths(
    X: ndarray,
    features: ndarray,
    rights: ndarray,
    thresholds: ndarray,
    sides: ndarray,
    words: ndarray,
    starts: ndarray,
    nodes: ndarray,
) -> None: ...
