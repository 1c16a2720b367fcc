"""Check rows, targets and weights on a device: of one library, on one device, finite numbers."""

import math
from typing import Any

from mercer._source.placement import Placement, is_on_device
from mercer._types import Array
from mercer.errors import DataError


def check_matrix(X: Any, placement: Placement, subject: str) -> Array:
    """Check that `X` is a matrix with rows and columns, and return it as float32 or in the widest type."""
    xp = placement.xp
    if X.ndim != 2:
        _refuse(
            subject,
            f"Expected 2D array, got {X.ndim}D array instead: X must have one row per sample. Reshape your data with "
            f"X.reshape(-1, 1) if it has one column, or X.reshape(1, -1) if it is one row",
        )
    if xp.isdtype(X.dtype, "complex floating"):
        _refuse(subject, f"Complex data not supported; X is {X.dtype}. Give its real and imaginary parts as columns")
    for count, what in ((X.shape[0], "sample"), (X.shape[1], "feature")):
        if count == 0:
            _refuse(
                subject,
                f"Found array with 0 {what}(s) (shape={tuple(X.shape)}) while a minimum of 1 is required; add some",
            )
    X = X.detach() if placement.library == "torch" else X
    if X.dtype not in (xp.float32, placement.wide):
        # 16-bit floats fit into float32; integers and float64 go to the widest type of the device.
        half = xp.isdtype(X.dtype, "real floating") and X.dtype != xp.float64
        X = xp.astype(X, xp.float32 if half else placement.wide)
    return X


def check_finite(X: Array, placement: Placement, subject: str) -> None:
    """Raise if a row holds NaN or infinity."""
    xp = placement.xp
    if not _is_finite(X, xp):
        kind = "NaN" if bool(xp.any(xp.isnan(X))) else "infinity"
        _refuse(subject, f"Input X contains {kind}; drop or fill it")


def check_targets(y: Any, n_rows: int, targets: str, placement: Placement, subject: str) -> Array:
    """Check the targets, and return numbers in the widest type (one column or more) or labels (one column)."""
    if y is None:
        _refuse(
            subject, "requires y to be passed, but the target y is None; give an array with one target for each row"
        )
    _check_beside(y, "y", placement, subject)
    xp = placement.xp
    if y.ndim not in (1, 2) or y.shape[0] != n_rows:
        _refuse(
            subject, f"y must have one target for each of {n_rows} rows; got the shape {tuple(y.shape)}. Reshape it"
        )
    y = y.detach() if placement.library == "torch" else y
    whole = xp.isdtype(y.dtype, ("integral", "bool"))
    # Whole numbers cannot be NaN, so they skip a reduction on the device.
    if not whole and not _is_finite(y, xp):
        _refuse(subject, "Input y contains NaN or infinity; drop or fill those rows")
    if targets == "numbers":
        return xp.astype(y, placement.wide, copy=False)
    if y.ndim == 2 and y.shape[1] != 1:
        _refuse(subject, f"y should be a 1d array of labels, got an array of shape {tuple(y.shape)}; give one column")
    y = xp.reshape(y, (-1,))
    # Labels may come as floats, since a device has no text; a fraction betrays targets of a regression.
    if not whole and not bool(xp.all(xp.floor(y) == y)):
        _refuse(
            subject, "Unknown label type: continuous. y has numbers with a fraction; give labels, or fit a regressor"
        )
    # The array API sorts numbers only, and the classes are sorted.
    return xp.astype(y, xp.int64) if xp.isdtype(y.dtype, "bool") else y


def check_weights(weight: Any, n_rows: int, placement: Placement, subject: str) -> Array:
    """Check the weights: finite, non-negative, not all zero; return one per row, also where one number is given."""
    if weight is None:
        return None
    xp = placement.xp
    if isinstance(weight, int | float):
        weight = xp.full((n_rows,), float(weight), dtype=placement.wide, device=placement.device)
    _check_beside(weight, "sample_weight", placement, subject)
    if weight.ndim != 1:
        _refuse(
            subject, f"Sample weights must be 1D array or scalar; got shape {tuple(weight.shape)}. Give one per row"
        )
    if weight.shape[0] != n_rows:
        _refuse(subject, f"sample_weight.shape == {tuple(weight.shape)}, expected {(n_rows,)}! Give one weight per row")
    weight = xp.astype(weight, placement.wide, copy=False)
    # Two transfers from the device decide all three checks: a sum is finite only if every weight is.
    least, total = float(xp.min(weight)), float(xp.sum(weight))
    if not math.isfinite(total):
        _refuse(subject, "Input sample_weight contains NaN or infinity; give finite weights")
    if least < 0:
        _refuse(subject, f"sample_weight must be non-negative; got {least:g}. Drop the rows to be left out")
    if total == 0:
        _refuse(subject, "sample_weight must have a positive entry; got zeros only. Raise the weight of some rows")
    return weight


def _check_beside(array: Any, name: str, placement: Placement, subject: str) -> None:
    """Raise if `array` is not where the rows are."""
    actual = Placement.of(array)
    if is_on_device(array) and actual == placement:
        return
    kind = str(actual) if is_on_device(array) or hasattr(array, "dtype") else f"a {type(array).__name__}"
    _refuse(
        subject, f"{name} must be where X is, on {placement}; got {kind}. Move it there with {_cure(name, placement)}"
    )


def _cure(name: str, placement: Placement) -> str:
    """Return the expression that moves the array `name` to `placement`, for errors."""
    if placement.library == "torch":
        return f"torch.asarray({name}, device={str(placement.device)!r})"
    return f"{placement.library}.asarray({name})"


def _is_finite(array: Array, xp: Any) -> bool:
    """Return whether all values are finite: by one sum, and value by value only where the sum is not."""
    return math.isfinite(float(xp.sum(array))) or bool(xp.all(xp.isfinite(array)))


def _refuse(subject: str, sentence: str) -> None:
    """Raise a DataError that names who reads the rows."""
    raise DataError(f"{subject}: {sentence}.")
