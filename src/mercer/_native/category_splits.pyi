from numpy import ndarray

def search_category_splits(
    codes: ndarray,
    missing: ndarray,
    rows: ndarray,
    starts: ndarray,
    stops: ndarray,
    seeds: ndarray,
    kinds: ndarray,
    slots: ndarray,
    amounts: ndarray,
    weight: ndarray,
    bounds: ndarray,
    settings: ndarray,
    order: ndarray,
    where: ndarray,
    sums: ndarray,
    cells: ndarray,
    goes: ndarray,
    best: ndarray,
) -> None: ...
