"""Check the structure of sparse rows before SciPy or native code follows their indices."""

from typing import Any

from mercer.errors import DataError

__all__ = ["check_sparse_rows"]


def check_sparse_rows(name: str, X: Any) -> Any:
    """Return sparse rows whose places are inside the matrix, each value stored once and columns in rising order.

    SciPy's constructors do not look at values of indices, and its conversions read and write where indices point.
    """
    try:
        X = _check_places(X)
    except (ValueError, IndexError) as error:
        reason = str(error).rstrip(".")
        message = (
            f"{name}: a sparse matrix must hold indices inside its shape, in order; it does not ({reason}). Build it "
            f"again from its values: scipy.sparse.coo_array((values, (rows, columns)), shape=...)."
        )
        raise DataError(message) from None
    # Duplicates are summed in place, and the matrix belongs to the user: a copy keeps it as it is.
    if X.format in ("csr", "csc") and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _check_places(X: Any) -> Any:
    if X.format == "coo":
        for places, size in zip(X.coords, X.shape, strict=True):
            if len(places) != len(X.data):
                message = f"{len(places)} indices for {len(X.data)} values"
                raise ValueError(message)
            if len(places) and (places.min() < 0 or places.max() >= size):
                message = f"index {places.min() if places.min() < 0 else places.max()} in an axis of {size}"
                raise ValueError(message)
        return X
    if X.format not in ("csr", "csc", "bsr"):
        # Lists, dictionaries and diagonals: SciPy's conversion to rows checks what they hold.
        X = X.tocsr()
    if not X.data.dtype.isnative:
        X = type(X)((X.data.astype(X.data.dtype.newbyteorder("=")), X.indices, X.indptr), shape=X.shape)
    X.check_format(full_check=True)
    if (X.indptr[1:] < X.indptr[:-1]).any():
        message = "indptr falls"
        raise ValueError(message)
    return X
