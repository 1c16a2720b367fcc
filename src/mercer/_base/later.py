"""Rows outside of memory that a transformer maps when an estimator reads them."""

from collections.abc import Callable
from typing import Any

from sklearn.utils.validation import check_is_fitted

from mercer._base.opening import check_place, check_source
from mercer._base.scikit_learn import copy_without_callbacks
from mercer._source import Block, Source
from mercer._types import Array


def map_later(
    estimator: Any,
    X: Any,
    place: str,
    make_map: Callable[[Any], Callable[[Block], Array]],
    *,
    sparse: bool,
    gaps: bool = False,
    dtype: Any = None,
    check: Callable[[Source], None] | None = None,
) -> Any:
    """Return rows in a file or stream that are mapped block by block as they are read.

    Parameters
    ----------
    estimator : Estimator
        A fitted transformer; a later fit does not change the rows.
    X : path, object of pyarrow or blocks of rows
    place : {"file", "stream"}
    make_map : callable
        From the transformer to the function of a block.
    sparse, gaps : bool
        Whether rows may be sparse, and have missing entries.
    dtype : type or None
        Of the result, where it is not that of the rows.
    check : callable or None
        Raises if the transformer does not take the rows of a source, for reasons of its own.
    """
    check_is_fitted(estimator)
    if not estimator._gathers:
        check_place(estimator, place)
    from mercer._source.file.mapped_rows import MappedRows

    model = copy_without_callbacks(estimator)
    known = vars(model).get("feature_names_in_")

    def check_all(source: Source) -> None:
        check_source(model, source, {"accept_sparse": sparse})
        if check is not None:
            check(source)

    return MappedRows(
        X,
        place,
        make_map(model),
        columns=None if known is None else [str(name) for name in known],
        check=check_all,
        finite=not gaps,
        dtype=dtype,
        subject=type(model).__name__,
    )
