from numpy import ndarray

def offer_clusters(
    distances: ndarray,
    weight: ndarray,
    objects: ndarray,
    offers: ndarray,
    chances: ndarray,
    beta: float,
    labels: ndarray,
    sums: ndarray,
    sizes: ndarray,
    within: ndarray,
) -> int: ...
