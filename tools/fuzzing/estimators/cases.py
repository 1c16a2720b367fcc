"""The hostile cases of one estimator: each is a name, and what `fit` is given."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.fuzzing.estimators.answers import TARGETS, WEIGHTS
from tools.fuzzing.estimators.rows import ROWS


@dataclass(frozen=True)
class Case:
    """What `fit` is given, and in words which of it is hostile."""

    name: str
    X: Any
    y: Any
    weight: Any
    # Whether the rows are hostile: then a model that was fitted to ordinary ones is asked about them too.
    has_hostile_rows: bool


def make_case(number: int, X: np.ndarray, y: np.ndarray | None, takes_weight: bool) -> Case:
    """Return case `number`: first each hostile thing alone, then random combinations of them."""
    random = np.random.default_rng(number)
    singles = [("rows", name) for name in ROWS]
    singles += [("targets", name) for name in TARGETS] if y is not None else []
    singles += [("weights", name) for name in WEIGHTS] if takes_weight else []
    if number < len(singles):
        chosen = dict([singles[number]])
    else:
        tables: list[tuple[str, dict[str, Any]]] = [("rows", ROWS)]
        tables += [("targets", TARGETS)] if y is not None else []
        tables += [("weights", WEIGHTS)] if takes_weight else []
        chosen = {kind: str(random.choice(list(table))) for kind, table in tables if random.random() < 0.8}
    rows = ROWS[chosen["rows"]](X, random) if "rows" in chosen else X
    targets = TARGETS[chosen["targets"]](y, random) if "targets" in chosen and y is not None else y
    n_rows = _count_rows(rows, len(X))
    if "targets" not in chosen and y is not None and n_rows < len(X):
        # Rows that became fewer take their own targets along, so that the number of rows is not all that is refused.
        targets = y[:n_rows]
    weight = WEIGHTS[chosen["weights"]](max(n_rows, 1), random) if "weights" in chosen else None
    name = ", ".join(f"{kind}: {what}" for kind, what in chosen.items()) or "ordinary"
    return Case(name, rows, targets, weight, "rows" in chosen)


def _count_rows(rows: Any, usual: int) -> int:
    shape = getattr(rows, "shape", None)
    if shape:
        return int(shape[0])
    return len(rows) if isinstance(rows, list) else usual
