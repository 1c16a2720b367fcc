from numpy import ndarray

def widen(ends: ndarray, out: ndarray) -> None: ...
def sort_candidates(
    found: ndarray, lengths: ndarray, kind: int, slope: ndarray, lift: ndarray, values: ndarray, places: ndarray
) -> None: ...
def choose(
    lists: ndarray,
    counts: ndarray,
    share: int,
    kept: ndarray,
    rise: ndarray,
    fall: ndarray,
    known: ndarray,
    order: ndarray,
    chosen: ndarray,
) -> int: ...
