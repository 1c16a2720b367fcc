"""Remember which models came from a file: where their parts do not fit together, the file is at fault."""

from typing import Any
from weakref import WeakSet

from mercer.errors import MercerError, ModelFileError

# The loaded estimators that are alive. A set beside them and no attribute on them: a model that is saved again, copied
# or compared has no trace of it.
_LOADED: WeakSet[Any] = WeakSet()


def note_loaded(model: Any) -> None:
    """Remember that an estimator was restored from a file."""
    _LOADED.add(model)


def explain_loaded(model: Any, method: str, error: Exception) -> Exception | None:
    """Return an error that names the file's fault, where a loaded model failed for no reason in its rows.

    Declared shapes and structures are checked when a file is loaded. What no declaration says, such as how a number of
    outputs agrees with the arrays that they are made of, ends in an error of NumPy at the first answer.
    """
    if isinstance(error, MercerError) or model not in _LOADED:
        return None
    message = (
        f"{type(model).__name__}: {method} failed, because the file of this model holds parts that do not fit together "
        f"({type(error).__name__}: {str(error)[:200]}). Load another file, or fit the model again."
    )
    return ModelFileError(message)
