from numpy import ndarray

def find_cores(
    Z: ndarray,
    keys: ndarray,
    starts: ndarray,
    first: int,
    stop: int,
    offsets: ndarray,
    span: int,
    radius: float,
    weight: ndarray,
    enough: float,
    runs: ndarray,
    core: ndarray,
) -> None: ...
def link_cells(
    Z: ndarray,
    keys: ndarray,
    starts: ndarray,
    first: int,
    stop: int,
    offsets: ndarray,
    span: int,
    radius: float,
    core: ndarray,
    cores: ndarray,
    box: ndarray,
    runs: ndarray,
    parent: ndarray,
) -> None: ...
def first_rows(
    starts: ndarray,
    order: ndarray,
    core: ndarray,
    parent: ndarray,
    lowest: ndarray,
) -> None: ...
def find_borders(
    Z: ndarray,
    keys: ndarray,
    starts: ndarray,
    first: int,
    stop: int,
    offsets: ndarray,
    span: int,
    radius: float,
    core: ndarray,
    clusters: ndarray,
    none: int,
    runs: ndarray,
    labels: ndarray,
) -> None: ...
