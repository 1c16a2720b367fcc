import numpy as np

def padded_width(d: int) -> int: ...
def packed_size(d: int) -> int: ...
def merge_moments(
    first: np.ndarray, second: np.ndarray, mean: np.ndarray, step: np.ndarray, weight: float, other: float
) -> None: ...
def moments_run(
    X: np.ndarray,
    Y: np.ndarray,
    unit: int,
    weight: np.ndarray,
    root: np.ndarray,
    centre: bool,
    packed: np.ndarray,
    totals: np.ndarray,
    means: np.ndarray,
    sums: np.ndarray,
) -> None: ...
def unfold(sums: np.ndarray, out: np.ndarray) -> None: ...
