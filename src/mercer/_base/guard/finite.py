"""Whether an answer of a model is finite."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

# Methods that answer with logarithms of densities, where minus infinity is a right answer.
_LOGARITHMS = ("predict_log_proba", "score_samples", "decision_function")


def is_finite(answer: Any, method: str) -> bool:
    """Return whether an answer holds no NaN, and no infinity where `method` does not give logarithms."""
    if isinstance(answer, tuple | list):
        return all(is_finite(part, method) for part in answer)
    values = np.asarray(answer.data if issparse(answer) else answer)
    if values.dtype.kind != "f":
        return True
    # A logarithm of zero is a proper answer: minus infinity.
    return not np.isnan(values).any() if method in _LOGARITHMS else bool(np.isfinite(values).all())
