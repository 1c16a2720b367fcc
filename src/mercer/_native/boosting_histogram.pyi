from numpy import ndarray

def quantise_run(
    gradients: ndarray,
    counts: ndarray,
    scale: float,
    rest_scale: float,
    shift: int,
    bins: ndarray,
    offsets: ndarray,
    unit: int,
    first_block: int,
    last_block: int,
    words: ndarray,
    order: ndarray,
    histogram: ndarray,
) -> None: ...
def split_run(
    bins: ndarray,
    words: ndarray,
    order: ndarray,
    begin: ndarray,
    stop: ndarray,
    node: int,
    left: int,
    column: ndarray,
    goes_left: ndarray,
    offsets: ndarray,
    unit: int,
    first_block: int,
    last_block: int,
    build: int,
    spare: ndarray,
    histogram: ndarray,
) -> None: ...
def add_histogram(total: ndarray, part: ndarray) -> None: ...
def take_difference(whole: ndarray, part: ndarray) -> None: ...
