"""What a hostile input does: fit, ask the model for all it can say, and name every fault."""

import contextlib
import io
import linecache
import re
import traceback
import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer.errors import MercerError
from tools.fuzzing.estimators.cases import Case

# Methods that a fitted model is asked through; minus infinity is a right answer of those in `_LOGARITHMS`.
_METHODS = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples"),
    *("apply", "kneighbors", "mahalanobis", "inverse_transform"),
)
_LOGARITHMS = ("predict_log_proba", "score_samples", "decision_function")
# Classes whose `predict` answers NaN by design, as scikit-learn's does: for rows without neighbours.
_ANSWER_NAN = ("RadiusNeighborsRegressor",)
# The most warnings of one fit that a reader can be expected to read.
_MOST_WARNINGS = 3
# Sentences of NumPy, SciPy, Cython and the interpreter: they name neither the estimator nor a cure.
_RAW = re.compile(
    r"could not convert string|Big-endian buffer|source array is read-only|Buffer (dtype|has wrong)"
    r"|overflow encountered|division by zero|cannot be cast|has no attribute|out of bounds|did not converge"
    r"|must not contain infs or NaNs"
    r"|not supported between|unsupported operand|has no len|not iterable|not subscriptable|invalid literal"
    r"|setting an array element|inhomogeneous|zero-size array|could not be broadcast|not aligned|broadcast together"
    r"|must be real number|argument must be a|only integer scalar|leading minor|Singular matrix|truth value of"
    r"|not positive.definite|cannot reshape|mismatch in its core|ufunc|No matching|index array|NoneType"
)


def try_case(model: Any, case: Case, usual: Any, X: np.ndarray) -> list[str]:
    """Fit `model` to the case; return every fault, in words that begin with its kind: raw, infinite or flood.

    `usual` is a model that was fitted to the ordinary rows `X`; hostile rows are given to it too.
    """
    faults: list[str] = []
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            options = {} if case.weight is None else {"sample_weight": case.weight}
            model.fit(case.X, case.y, **options)
        except Exception as error:
            faults += judge_error("fit", error)
            model = None
    # Python shows a warning of one text and place once.
    serious = {str(warning.message) for warning in caught if not issubclass(warning.category, FutureWarning)}
    # Each member of an ensemble, and each setting of a search, may say its own.
    members = len(getattr(model, "estimators", None) or ())
    members += len(vars(model).get("cv_results_", {}).get("params", ())) if model is not None else 0
    if len(serious) > _MOST_WARNINGS * (1 + members):
        faults.append(f"flood: {len(serious)} warnings, such as {min(serious)[:120]}")
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if model is not None:
            faults += _ask(model, case.X, "its own rows")
            # What was learnt from NaN may be NaN: the mean of an empty column is.
            faults += _ask(model, X, "ordinary rows") if _is_finite(case.X) else []
        if case.has_hostile_rows and usual is not None:
            faults += _ask(usual, case.X, "the usual model")
    return faults


def _ask(model: Any, X: Any, whom: str) -> list[str]:
    faults: list[str] = []
    for name in _METHODS:
        try:
            if not hasattr(model, name):
                continue
            answer = getattr(model, name)(X)
        except Exception as error:
            if name != "inverse_transform":
                faults += judge_error(name, error)
            continue
        if name == "predict" and type(model).__name__ in _ANSWER_NAN:
            continue
        if name != "inverse_transform" and _is_finite(X) and not _answers_finitely(answer, name):
            faults.append(f"infinite: {name} of {whom}")
    return faults


def judge_answers(model: Any, X: Any) -> list[str]:
    """Return the faults of what a fitted model says of the rows that it was fitted to."""
    return _ask(model, X, "its own rows")


def judge_error(where: str, error: Exception) -> list[str]:
    """Return nothing for an error that was raised on purpose, with words for the user; else the error."""
    if isinstance(error, MercerError):
        return []
    frame = traceback.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__}: {str(error)[:160]}"
    meant = isinstance(error, ValueError | TypeError | AttributeError) and _was_raised(frame)
    if meant and not _RAW.search(str(error)):
        return []
    place = frame.filename.rpartition("/mercer/")[2].rpartition("site-packages/")[2]
    return [f"raw: {where}: {text} ({place}:{frame.lineno})"]


def _was_raised(frame: traceback.FrameSummary) -> bool:
    """Return whether the last line is a ``raise`` of mercer or scikit-learn, whose sentences have subject and cure."""
    ours = "/mercer/" in frame.filename or "/sklearn/" in frame.filename
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    return ours and line.startswith(("raise", "_raise", "assert_all_finite"))


def _is_finite(X: Any) -> bool:
    values = X.data if issparse(X) else X
    try:
        return bool(np.isfinite(np.asarray(values, dtype=np.float64)).all()) and not np.ma.isMaskedArray(X)
    except (TypeError, ValueError):
        return False


def _answers_finitely(answer: Any, name: str) -> bool:
    if isinstance(answer, tuple | list):
        return all(_answers_finitely(part, name) for part in answer)
    values = answer.data if issparse(answer) else np.asarray(answer)
    if values.dtype.kind != "f":
        return True
    return bool(np.isfinite(values).all()) if name not in _LOGARITHMS else not (np.isnan(values).any())
