import numpy as np

def padded_width(d: int) -> int: ...
def packed_size(d: int) -> int: ...
def add_rows(X: np.ndarray, labels: np.ndarray, weight: np.ndarray, point: np.ndarray, out: np.ndarray) -> None: ...
def add_counts(
    X: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray,
    rows: int,
    least: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
) -> None: ...
def add_exceeding(
    X: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray,
    rows: int,
    threshold: float,
    weights: np.ndarray,
    out: np.ndarray,
) -> None: ...
def add_stored(
    values: np.ndarray,
    columns: np.ndarray,
    bounds: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray,
    out: np.ndarray,
) -> None: ...
def add_squares(X: np.ndarray, labels: np.ndarray, weight: np.ndarray, means: np.ndarray, out: np.ndarray) -> None: ...
def add_products(
    X: np.ndarray,
    order: np.ndarray,
    starts: np.ndarray,
    labels: np.ndarray,
    root: np.ndarray,
    means: np.ndarray,
    packed: np.ndarray,
    out: np.ndarray,
) -> None: ...
def merge(
    first: np.ndarray,
    second: np.ndarray,
    means: np.ndarray,
    steps: np.ndarray,
    weights: np.ndarray,
    others: np.ndarray,
) -> None: ...
