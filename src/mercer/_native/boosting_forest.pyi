from numpy import ndarray

def add_scores(
    X: ndarray,
    words: ndarray,
    thresholds: ndarray,
    values: ndarray,
    sets: ndarray,
    roots: ndarray,
    depths: ndarray,
    outputs: ndarray,
    scores: ndarray,
) -> None: ...
def add_bin_values(
    bins: ndarray,
    rows: ndarray,
    features: ndarray,
    left: ndarray,
    tables: ndarray,
    values: ndarray,
    scores: ndarray,
    column: int,
) -> None: ...
