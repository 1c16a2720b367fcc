"""What a forged file does: load it, ask the model for all it can say, and put the result into one word."""

import contextlib
import io
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

import mercer
from mercer._base.model_file import restore
from mercer.errors import MercerError, ModelFileError
from tools.fuzzing.files.forgery import Forgery

METHODS = (
    *("predict", "predict_proba", "decision_function", "transform", "score_samples", "apply", "decision_path"),
    *("staged_predict", "inverse_transform", "kneighbors", "mahalanobis"),
)


def try_file(path: Path, X: np.ndarray, mapped: bool = False) -> str:
    """Return ``refused``, ``answered``, ``sentence`` (an error of mercer) or ``raw: ...`` (any other error)."""
    return _try(lambda: mercer.load(path, mmap_mode="r" if mapped else None), X, (*METHODS, "__repr__"))


def try_forgery(forgery: Forgery, X: np.ndarray, methods: Sequence[str]) -> str:
    """Do the same without a file: decode the forged header and arrays, and ask through some methods alone."""
    return _try(lambda: _decode(forgery), X, methods)


def _decode(forgery: Forgery) -> Any:
    """Return the model of a forgery; all that `load` refuses is a ModelFileError here too."""
    try:
        model = restore({**forgery.header, "arrays": None}, lambda entries: forgery.arrays)
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"its values do not fit together ({error}).") from error
    if not hasattr(model, "get_params"):
        raise ModelFileError("a model must be an estimator.")
    return model


# What Cython's bounds checks said where no caller could be told, and the words of those that could.
_UNRAISED: list[str] = []
_BEYOND = "Out of bounds on buffer access"


def watch_unraised() -> None:
    """Collect errors that native code cannot raise: in a checked build they are reads beyond an array."""
    sys.unraisablehook = lambda error: _UNRAISED.append(f"{error.err_msg}: {error.exc_value}"[:150])


def _find_native_fault(error: BaseException | None) -> bool:
    """Return whether an error, or what caused it, comes from a bounds check of native code."""
    while error is not None:
        if _BEYOND in str(error) and not isinstance(error, MercerError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _try(load: Callable[[], Any], X: np.ndarray, methods: Sequence[str]) -> str:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            model = load()
        except ModelFileError as error:
            # Memory that was taken before a check could refuse the file.
            return "raw: load: MemoryError" if "MemoryError" in str(error) else "refused"
        except Exception as error:
            return f"raw: load: {type(error).__name__}: {str(error)[:120]}"
        _UNRAISED.clear()
        outcomes = [_ask(model, name, X) for name in methods if hasattr(model, name)]
        outcomes += [f"raw: unraised: {words}" for words in _UNRAISED]
    return next((outcome for outcome in outcomes if outcome.startswith("raw")), max(outcomes, default="answered"))


def _ask(model: Any, name: str, X: np.ndarray) -> str:
    """Call one method; those that take no rows are the ones that Python calls itself."""
    try:
        answer = getattr(model, name)() if name.startswith("__") else getattr(model, name)(X)
        if name == "staged_predict":
            list(answer)
    except Exception as error:
        if _speaks_for_itself(error) and not _find_native_fault(error):
            return "sentence"
        return f"raw: {name}: {type(error).__name__}: {str(error)[:120]}"
    return "answered"


def _speaks_for_itself(error: Exception) -> bool:
    """Return whether an error is mercer's, or one of scikit-learn's checks, such as of the number of columns."""
    if isinstance(error, MercerError | NotFittedError):
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__", "")).startswith("sklearn.")
