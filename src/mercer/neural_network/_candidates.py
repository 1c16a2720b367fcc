"""What the neural networks offer to a study."""

from typing import Any

from mercer._base.candidate import Candidate, Shape
from mercer.neural_network._perceptron.classifier import MLPClassifier
from mercer.neural_network._perceptron.regressor import MLPRegressor

__all__ = ["CANDIDATES"]

# Below this many rows a network learns noise, and simpler candidates are better and quicker.
_FEWEST_ROWS = 200
# Hidden units: enough for curved relations in tables, and few enough to be fitted in seconds.
_UNITS = 64
# Most epochs of a fit; early stopping ends most fits before.
_EPOCHS = 100
# Fewest epochs that give a network a chance; a table for which they cost too much is refused.
_FEWEST_EPOCHS = 10
# Floating-point operations that a fit may take: about 20 seconds on one core, at 10 billion a second.
_MOST_WORK = 2e11


def _count_work(shape: Shape) -> float:
    """Return the floating-point operations of an epoch: six for each weight and row, forwards and backwards."""
    return 6.0 * shape.n_rows * _UNITS * (shape.n_columns + max(1, shape.n_classes))


def _choose_settings(shape: Shape) -> dict[str, Any]:
    """Return the settings of the network, with as many epochs as the work allows."""
    epochs = min(_EPOCHS, max(_FEWEST_EPOCHS, int(_MOST_WORK / _count_work(shape))))
    return {"hidden_layer_sizes": (_UNITS,), "early_stopping": True, "max_iter": epochs, "random_state": shape.seed}


def _classifier(shape: Shape) -> Any:
    return MLPClassifier(**_choose_settings(shape))


def _regressor(shape: Shape) -> Any:
    return MLPRegressor(**_choose_settings(shape))


def _find_reason(shape: Shape) -> str:
    if shape.n_rows < _FEWEST_ROWS:
        return f"needs at least {_FEWEST_ROWS} rows; this table has {shape.n_rows}"
    if _FEWEST_EPOCHS * _count_work(shape) > _MOST_WORK:
        return (
            f"{_FEWEST_EPOCHS} passes over {shape.n_rows} rows of {shape.n_columns} columns would take more than "
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
        85,
        make,
        {"alpha": [1.0, 0.0001]},
        ("scaled", "dense"),
        unfit=_find_reason,
        complexity=_count_weights,
        text="Sums of columns through a curved function, and sums of those: 64 hidden units.",
    )
    for task, make in (("classification", _classifier), ("regression", _regressor))
)
