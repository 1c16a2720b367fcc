from numpy import ndarray

def expect_run(
    X: ndarray,
    unit: int,
    weight: ndarray,
    theta: ndarray,
    shift: ndarray,
    form: int,
    hard: bool,
    features: ndarray,
    scores: ndarray,
    scratch: ndarray,
    sums: ndarray,
    bounds: ndarray,
) -> None: ...
def score_rows(
    X: ndarray,
    theta: ndarray,
    shift: ndarray,
    form: int,
    features: ndarray,
    scores: ndarray,
    out: ndarray,
) -> None: ...
