from numpy import ndarray

def mark_moves(b: ndarray, lower: ndarray, upper: ndarray, kink: float, rise: ndarray, fall: ndarray) -> None: ...
def descend(
    K: ndarray,
    left: ndarray,
    right: ndarray,
    ready: ndarray,
    diagonal: ndarray,
    lower: ndarray,
    upper: ndarray,
    kink: float,
    split: int,
    tolerance: float,
    most: int,
    b: ndarray,
    slope: ndarray,
    rise: ndarray,
    fall: ndarray,
    best: ndarray,
) -> int: ...
def add_rows(table: ndarray, slots: ndarray, change: ndarray, first: int, last: int, slope: ndarray) -> None: ...
def find_least(
    slope: ndarray, lift: ndarray, sign: float, first: int, last: int, values: ndarray, places: ndarray
) -> None: ...
def measure(
    b: ndarray, slope: ndarray, lower: ndarray, upper: ndarray, kink: float, first: int, last: int, found: ndarray
) -> None: ...
def measure_gap(
    b: ndarray, slope: ndarray, lower: ndarray, upper: ndarray, kink: float, offset: float, first: int, last: int
) -> float: ...
def mirror(K: ndarray, top: int, bottom: int, left: int, right: int) -> None: ...
def measure_value(b: ndarray, slope: ndarray, linear: ndarray, kink: float) -> float: ...
