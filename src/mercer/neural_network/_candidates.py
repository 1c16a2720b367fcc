"""What the neural networks offer to a study."""

from typing import Any

from mercer._base.candidate import Candidate, Shape
from mercer.neural_network._perceptron.classifier import MLPClassifier
from mercer.neural_network._perceptron.regressor import MLPRegressor

# Below this many rows a network learns noise, and simpler candidates are better and quicker.
_FEWEST_ROWS = 100
# Hidden units: enough for curved relations in tables, and few enough to be fitted in seconds.
_UNITS = 64
# Most passes of the quasi-Newton method over the rows; it ends most fits of small tables before.
_PASSES = 200
# Fewest passes that give a network a chance; a table for which they cost too much is refused.
_FEWEST_PASSES = 50
# Floating-point operations that a fit may take: about 20 seconds on one core, at 10 billion a second.
_MOST_WORK = 2e11
# Penalties of large weights, for classes, and for numbers in units of the target's standard deviation. Of the grid 0.3,
# 1, 3, 10, 30, 100, these two were best on most of nine small tables.
_PENALTIES = (10.0, 1.0)
_NUMBER_PENALTIES = (10.0, 2.0)


def _count_work(shape: Shape) -> float:
    """Return the floating-point operations of a pass: six for each weight and row, forwards and backwards."""
    return 6.0 * shape.n_rows * _UNITS * (shape.n_columns + max(1, shape.n_classes))


def _choose_settings(shape: Shape) -> dict[str, Any]:
    """Return the settings of the network, with as many passes as the work allows.

    It has no early stopping, which judges classes by their accuracy: where one class is rare, that is the same in every
    epoch, so that a fit ends before it has begun. The penalty keeps the network from learning noise instead.
    """
    passes = min(_PASSES, max(_FEWEST_PASSES, int(_MOST_WORK / _count_work(shape))))
    return {"hidden_layer_sizes": (_UNITS,), "solver": "lbfgs", "max_iter": passes, "random_state": shape.seed}


def _classifier(shape: Shape) -> Any:
    return MLPClassifier(**_choose_settings(shape))


def _regressor(shape: Shape) -> Any:
    return MLPRegressor(**_choose_settings(shape))


def _list_settings(shape: Shape) -> dict[str, list[float]]:
    """Return the penalties to try.

    A network of two layers and piecewise linear units that predicts c times as large numbers has c times the sum of
    squared weights, and c² times the squared error: a penalty in proportion to c gives the same network.
    """
    if shape.n_classes:
        return {"alpha": list(_PENALTIES)}
    return {"alpha": [shape.target_spread * size for size in _NUMBER_PENALTIES]}


def _find_reason(shape: Shape) -> str:
    if shape.n_rows < _FEWEST_ROWS:
        return f"needs at least {_FEWEST_ROWS} rows; this table has {shape.n_rows}"
    if _FEWEST_PASSES * _count_work(shape) > _MOST_WORK:
        return (
            f"{_FEWEST_PASSES} passes over {shape.n_rows} rows of {shape.n_columns} columns would take more than "
            f"20 seconds"
        )
    return ""


def _count_weights(model: Any) -> tuple[float, str]:
    n_weights = sum(W.size for W in model.coefs_) + sum(b.size for b in model.intercepts_)
    return float(n_weights), f"{n_weights} weights"


CANDIDATES = tuple(
    Candidate(
        "multilayer perceptron",
        "neural networks",
        (task,),
        215,
        make,
        _list_settings,
        ("scaled", "dense"),
        unfit=_find_reason,
        complexity=_count_weights,
        text="Sums of columns through a curved function, and sums of those: 64 hidden units.",
    )
    for task, make in (("classification", _classifier), ("regression", _regressor))
)
