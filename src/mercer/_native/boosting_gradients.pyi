from numpy import ndarray

def look(
    loss: int,
    scores: ndarray,
    y: ndarray,
    weight: ndarray,
    unit: int,
    first_block: int,
    last_block: int,
    gradients: ndarray,
    sums: ndarray,
) -> None: ...
def fold(sums: ndarray) -> None: ...
