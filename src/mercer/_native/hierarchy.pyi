from numpy import ndarray

def merge_edges(
    edges: ndarray,
    parent: ndarray,
    merges: ndarray,
    sizes: ndarray,
) -> None: ...
def condense(
    merges: ndarray,
    heights: ndarray,
    sizes: ndarray,
    least: int,
    queue: ndarray,
    belongs: ndarray,
    fallen: ndarray,
    parents: ndarray,
    births: ndarray,
    counts: ndarray,
) -> int: ...
