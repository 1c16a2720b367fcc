from numpy import ndarray

def chain_matrix(
    D: ndarray,
    sizes: ndarray,
    absent: ndarray,
    names: ndarray,
    linkage: int,
    chain: ndarray,
    length: int,
    searches: int,
    pairs: ndarray,
    heights: ndarray,
    made: ndarray,
) -> int: ...
def find_nearest(D: ndarray, absent: ndarray, nearest: ndarray, bounds: ndarray, start: int, stop: int) -> None: ...
def pair_nearest(
    D: ndarray,
    sizes: ndarray,
    absent: ndarray,
    nearest: ndarray,
    bounds: ndarray,
    names: ndarray,
    linkage: int,
    pairs: ndarray,
    heights: ndarray,
) -> None: ...
def span_matrix(D: ndarray, keys: ndarray, absent: ndarray, first: int, pairs: ndarray, heights: ndarray) -> int: ...
def number_merges(pairs: ndarray, parents: ndarray, children: ndarray, counts: ndarray) -> None: ...
