"""What a forged file does: load it, ask the model for all it can say, and put the result into one word."""

import contextlib
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

import mercer
from mercer.errors import MercerError, ModelFileError

__all__ = ["METHODS", "try_file"]

METHODS = (
    *("predict", "predict_proba", "decision_function", "transform", "score_samples", "apply", "decision_path"),
    *("staged_predict", "inverse_transform", "kneighbors", "mahalanobis"),
)


def try_file(path: Path, X: np.ndarray) -> str:
    """Return ``refused``, ``answered``, ``sentence`` (an error of mercer) or ``raw: ...`` (any other error)."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            model = mercer.load(path)
        except ModelFileError:
            return "refused"
        outcomes = [_ask(model, name, X) for name in METHODS if hasattr(model, name)]
        repr(model)
    return next((outcome for outcome in outcomes if outcome.startswith("raw")), max(outcomes, default="answered"))


def _ask(model: Any, name: str, X: np.ndarray) -> str:
    try:
        answer = getattr(model, name)(X)
        if name == "staged_predict":
            list(answer)
    except (MercerError, NotFittedError):
        return "sentence"
    except Exception as error:
        return f"raw: {name}: {type(error).__name__}: {str(error)[:120]}"
    return "answered"
