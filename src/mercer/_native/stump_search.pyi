from numpy import ndarray

def search_two(
    order: ndarray,
    starts: ndarray,
    first: int,
    last: int,
    signed: ndarray,
    total: float,
    positive: float,
    scores: ndarray,
    places: ndarray,
) -> None: ...
def search(
    order: ndarray,
    starts: ndarray,
    first: int,
    last: int,
    labels: ndarray,
    weights: ndarray,
    totals: ndarray,
    criterion: int,
    sums: ndarray,
    scores: ndarray,
    places: ndarray,
    missing_left: ndarray,
) -> None: ...
def cast_votes(
    X: ndarray,
    features: ndarray,
    thresholds: ndarray,
    missing_left: ndarray,
    votes: ndarray,
    out: ndarray,
) -> None: ...
