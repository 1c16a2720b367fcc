"""Guard what fitted models answer: raw errors are explained, and answers about extreme rows are finite."""

from collections.abc import Callable, Iterator
from functools import wraps
from types import GeneratorType
from typing import Any

from mercer._base.guard.arguments import clean_arguments
from mercer._base.guard.explanation import explain_error, speaks_for_itself
from mercer._base.guard.extremes import NOTED, describe_extremes
from mercer._base.guard.finite import is_finite
from mercer._base.guard.fits import is_inside_fit
from mercer._base.guard.loaded import explain_loaded
from mercer._base.guard.state import ensure_noted
from mercer.errors import DataError

# The methods that answer about rows.
_METHODS = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples"),
    *("mahalanobis", "kneighbors", "kneighbors_graph", "radius_neighbors", "apply", "decision_path", "score"),
    "inverse_transform",
)
# What a class may hold beside methods and properties.
_NO_METHODS = (classmethod, staticmethod, type)
# Public methods that change a model or tell its parameters: they ask nothing of its fitted state.
_NO_ANSWERS = ("fit", "partial_fit", "set_", "get_params", "get_metadata_routing")


def guard_answers(cls: type) -> None:
    """Replace each public method of the class that answers by a guarded one; it costs a fifth of a microsecond."""
    for name in _list_answers(cls):
        method = vars(_find_owner(cls, name))[name]
        if isinstance(method, property):
            if method.fget is not None and not hasattr(method.fget, "mercer_guarded"):
                setattr(cls, name, property(_guard_property(method.fget, name), method.fset, method.fdel))
        elif hasattr(method, "fn"):
            # scikit-learn's `available_if` keeps the function in its descriptor.
            if not hasattr(method.fn, "mercer_guarded"):
                method.fn = _choose_guard(method.fn, name)(method.fn, name)
        elif callable(method) and not hasattr(method, "mercer_guarded"):
            setattr(cls, name, _choose_guard(method, name)(method, name))


def _list_answers(cls: type) -> list[str]:
    """Return the names of the public methods and properties of a class that answer, also of those of its mixins."""
    ours = [vars(base) for base in cls.__mro__ if base.__module__.startswith("mercer.")]
    names = dict.fromkeys(name for own in ours for name in own if not name.startswith(("_", *_NO_ANSWERS)))
    # A class of another library may stand before the mixin. Constants and functions of the class are no answers.
    owners = {name: _find_owner(cls, name) for name in names}
    return [
        name
        for name, owner in owners.items()
        if owner.__module__.startswith("mercer.") and not isinstance(vars(owner)[name], _NO_METHODS)
    ]


def _find_owner(cls: type, name: str) -> type:
    """Return the class that defines a name."""
    return next(base for base in cls.__mro__ if name in vars(base))


def _choose_guard(method: Any, name: str) -> Callable[..., Any]:
    """Return the guard of a method: one that looks at rows too, where the first argument is rows."""
    code = getattr(method, "__code__", None)
    return _guard if name in _METHODS or (code is not None and code.co_varnames[1:2] == ("X",)) else _guard_state


def _guard(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    judges = name in _METHODS

    @wraps(method)
    def answer(self: Any, *args: Any, **kwargs: Any) -> Any:
        if NOTED.extreme and not is_inside_fit():
            # Left by an earlier call.
            NOTED.extreme = False
        try:
            ensure_noted(self)
            args, kwargs = clean_arguments(type(self).__name__, args, kwargs)
            result = method(self, *args, **kwargs)
        except Exception as error:
            X = args[0] if args else kwargs.get("X")
            explained = explain_error(type(self).__name__, error, X)
            if explained is None and not speaks_for_itself(error):
                explained = explain_loaded(self, name, error)
            if explained is None:
                raise
            raise explained from error
        if NOTED.extreme and judges:
            _judge(self, name, result, args[0] if args else kwargs.get("X"))
        return _explain_items(self, name, result) if type(result) is GeneratorType else result

    vars(answer)["mercer_guarded"] = True
    return answer


def _guard_state(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(method)
    def answer(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            ensure_noted(self)
            result = method(self, *args, **kwargs)
        except Exception as error:
            explained = None if speaks_for_itself(error) else explain_loaded(self, name, error)
            if explained is None:
                raise
            raise explained from error
        return _explain_items(self, name, result) if type(result) is GeneratorType else result

    vars(answer)["mercer_guarded"] = True
    return answer


def _guard_property(read: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    @wraps(read)
    def answer(self: Any) -> Any:
        try:
            return read(self)
        except AttributeError:
            # `hasattr` asks so whether a model has the property.
            raise
        except Exception as error:
            explained = None if speaks_for_itself(error) else explain_loaded(self, name, error)
            if explained is None:
                raise
            raise explained from error

    vars(answer)["mercer_guarded"] = True
    return answer


def _explain_items(model: Any, name: str, items: Iterator[Any]) -> Iterator[Any]:
    """Yield the items of an answer that is computed step by step; explain an error in the middle."""
    try:
        yield from items
    except Exception as error:
        explained = None if speaks_for_itself(error) else explain_loaded(model, name, error)
        if explained is None:
            raise
        raise explained from error


def _judge(model: Any, name: str, result: Any, X: Any) -> None:
    """Raise if the answer about extreme rows is not finite."""
    # Finite answers about extreme rows are kept: only an overflow is an error.
    if not is_finite(result, name):
        phrases = describe_extremes(X=X)
        because = f": {' and '.join(phrases)}" if phrases else ""
        raise DataError(
            f"{type(model).__name__}: {name} overflows{because}. Scale the columns before the fit and here, for "
            f"example with StandardScaler, or drop the rows that hold these values."
        )
