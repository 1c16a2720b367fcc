"""Candidates of this family for studies."""

from mercer._base.candidate import Candidate, Shape, count_coefficients
from mercer.cross_decomposition._pls import PLSRegression

# Fewest columns for which a few directions of the columns are worth trying: ridge regression serves fewer as well.
_WIDE = 20
# Most columns: each direction is a pass over all of them.
_MOST = 20_000


def _make(shape: Shape) -> PLSRegression:
    return PLSRegression(n_components=min(2, shape.n_columns, max(1, shape.n_rows - 1)))


def _find_space(shape: Shape) -> dict[str, list[int]]:
    most = min(shape.n_columns, max(1, shape.n_rows // 3))
    return {"n_components": sorted({min(count, most) for count in (2, 5, 10)})}


def _find_reason(shape: Shape) -> str:
    if shape.n_columns < _WIDE:
        return f"directions of the columns are found for {_WIDE} columns or more; ridge regression serves fewer"
    return f"more than {_MOST} columns" if shape.n_columns > _MOST else ""


CANDIDATES = (
    Candidate(
        "partial least squares",
        "cross decomposition",
        ("regression",),
        38,
        _make,
        _find_space,
        ("dense", "scaled"),
        unfit=_find_reason,
        complexity=count_coefficients,
        text="A weighted sum of a few directions of the columns, chosen by their covariance with the target.",
    ),
)
