"""What the neural networks offer to a study."""

from typing import Any

from mercer._base.candidate import Candidate, Shape
from mercer.neural_network._perceptron.classifier import MLPClassifier
from mercer.neural_network._perceptron.regressor import MLPRegressor

__all__ = ["CANDIDATES"]

# Below this many rows a network learns noise, and simpler candidates are better and quicker.
_FEWEST_ROWS = 200
# Above this many values an early-stopped fit takes too long for a study.
_MOST_VALUES = 50_000_000
_SETTINGS: dict[str, Any] = {"hidden_layer_sizes": (64,), "early_stopping": True, "max_iter": 100}


def _classifier(shape: Shape) -> Any:
    return MLPClassifier(random_state=shape.seed, **_SETTINGS)


def _regressor(shape: Shape) -> Any:
    return MLPRegressor(random_state=shape.seed, **_SETTINGS)


def _find_reason(shape: Shape) -> str:
    if shape.n_rows < _FEWEST_ROWS:
        return f"needs at least {_FEWEST_ROWS} rows; this table has {shape.n_rows}"
    if shape.n_rows * shape.n_columns > _MOST_VALUES:
        return f"takes at most {_MOST_VALUES} values; this table has {shape.n_rows * shape.n_columns}"
    return ""


def _count_weights(model: Any) -> float:
    return float(sum(W.size for W in model.coefs_) + sum(b.size for b in model.intercepts_))


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
