from numpy import ndarray

def spread(
    X: ndarray,
    weight: ndarray,
    origin: ndarray,
    inverse: ndarray,
    shape: ndarray,
    nodes: ndarray,
    barycentric: ndarray,
    shares: ndarray,
    product: ndarray,
    charges: ndarray,
    near: ndarray,
) -> None: ...
def read_off(
    points: ndarray,
    origin: ndarray,
    inverse: ndarray,
    shape: ndarray,
    nodes: ndarray,
    barycentric: ndarray,
    potential: ndarray,
    near: ndarray,
    shares: ndarray,
    product: ndarray,
    sums: ndarray,
    reached: ndarray,
) -> None: ...
