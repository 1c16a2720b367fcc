from numpy import ndarray

def measure(panels: ndarray, points: ndarray, lengths: bool, scratch: ndarray, out: ndarray) -> None: ...
def span_points(
    panels: ndarray,
    keys: ndarray,
    names: ndarray,
    first: int,
    point: ndarray,
    scratch: ndarray,
    pairs: ndarray,
    heights: ndarray,
) -> int: ...
def chain_points(
    panels: ndarray,
    sizes: ndarray,
    names: ndarray,
    chain: ndarray,
    length: int,
    searches: int,
    point: ndarray,
    other: ndarray,
    scratch: ndarray,
    least: ndarray,
    pairs: ndarray,
    heights: ndarray,
    made: ndarray,
) -> int: ...
