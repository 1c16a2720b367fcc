from numpy import ndarray

def widen(ends: ndarray, out: ndarray) -> None: ...
def place_bins(ends: ndarray, reach: ndarray, bins: int, edges: ndarray) -> int: ...
def cut(counts: ndarray, wanted: ndarray, cuts: ndarray) -> int: ...
def gather(
    chosen: ndarray,
    b: ndarray,
    slope: ndarray,
    rise: ndarray,
    fall: ndarray,
    lower: ndarray,
    upper: ndarray,
    out: ndarray,
) -> None: ...
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
