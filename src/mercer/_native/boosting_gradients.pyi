from numpy import ndarray

def add_leaf_values(
    order: ndarray,
    begin: ndarray,
    stop: ndarray,
    leaves: ndarray,
    values: ndarray,
    unit: int,
    first_block: int,
    last_block: int,
    scores: ndarray,
    column: int,
) -> None: ...
def squared_run(
    scores: ndarray,
    y: ndarray,
    weight: ndarray,
    unit: int,
    first_block: int,
    last_block: int,
    gradients: ndarray,
    totals: ndarray,
) -> None: ...
def logistic_run(
    scores: ndarray,
    y: ndarray,
    weight: ndarray,
    unit: int,
    first_block: int,
    last_block: int,
    gradients: ndarray,
    totals: ndarray,
) -> None: ...
def softmax_run(
    scores: ndarray,
    y: ndarray,
    weight: ndarray,
    unit: int,
    first_block: int,
    last_block: int,
    gradients: ndarray,
    totals: ndarray,
) -> None: ...
