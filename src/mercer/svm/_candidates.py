"""The candidates of a study that are support vector machines."""

from typing import Any

from mercer._base.candidate import Candidate, Shape
from mercer.svm._svc import SVC
from mercer.svm._svr import SVR

# The most rows: a machine compares all pairs of rows near its boundary, in each of about fifty fits of a study.
_MOST_ROWS = 5_000


def _classifier(shape: Shape) -> Any:
    return SVC(probability=True, random_state=shape.seed)


def _regressor(shape: Shape) -> Any:
    # The tube is a tenth of the target's spread wide: inside it errors do not count.
    return SVR(epsilon=0.1 * shape.target_spread)


def _regressor_space(shape: Shape) -> dict[str, list[float]]:
    return {"C": [shape.target_spread * size for size in (1.0, 10.0)]}


def _too_many(shape: Shape) -> str:
    return f"takes at most {_MOST_ROWS} rows; this table has {shape.n_rows}" if shape.n_rows > _MOST_ROWS else ""


def _support(model: Any) -> tuple[float, str]:
    count = len(model.support_)
    return float(count), f"{count} support vectors"


CANDIDATES = tuple(
    Candidate(
        "support vector machine",
        "kernel machines",
        (task,),
        220,
        make,
        space,
        ("dense", "scaled"),
        _too_many,
        _support,
        "Compares a row with the rows nearest to the boundary, by a Gaussian kernel.",
    )
    for task, make, space in (
        ("classification", _classifier, {"C": [1.0, 10.0]}),
        ("regression", _regressor, _regressor_space),
    )
)
