from numpy import ndarray

def divide_rows(
    codes: ndarray,
    missing: ndarray,
    rows: ndarray,
    starts: ndarray,
    stops: ndarray,
    features: ndarray,
    cuts: ndarray,
    sides: ndarray,
    places: ndarray,
    goes: ndarray,
    spare: ndarray,
    divided: ndarray,
    found: ndarray,
) -> None: ...
def describe_classes(
    rows: ndarray,
    starts: ndarray,
    stops: ndarray,
    slots: ndarray,
    weight: ndarray,
    counts: ndarray,
    weights: ndarray,
) -> None: ...
def describe_values(
    rows: ndarray,
    starts: ndarray,
    stops: ndarray,
    targets: ndarray,
    weight: ndarray,
    means: ndarray,
    squares: ndarray,
    equal: ndarray,
    weights: ndarray,
) -> None: ...
def number_nodes(left: ndarray, right: ndarray, sizes: ndarray, numbers: ndarray) -> None: ...
