"""Methods of mercer's classes, timed while a switch is on, and scikit-learn's own model where mercer refuses an option.

A refusal is a :class:`~mercer.errors.ParameterError`. The object then becomes scikit-learn's, if that fits: its class
and attributes are exchanged, so that a pipeline that holds the object holds the fitted model.
"""

import inspect
import threading
from functools import wraps
from typing import Any

from mercer.app.switch.record import Record
from mercer.errors import ParameterError

_FITS = ("fit", "fit_transform", "fit_predict", "partial_fit")
_CALLS = (
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "score_samples",
    "kneighbors",
    "inverse_transform",
)


class Watch:
    """The methods that are watched, until :meth:`undo`."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._theirs: dict[type, tuple[str, type]] = {}
        self._replaced: list[tuple[type, str, Any]] = []
        self._busy = threading.local()

    def watch(self, name: str, ours: type, theirs: type) -> None:
        """Watch a class of mercer's, which stands in the place of `theirs`."""
        if ours in self._theirs:
            return
        self._theirs[ours] = (name, theirs)
        for method in (*_FITS, *_CALLS):
            found = getattr(ours, method, None)
            # Methods that are there for some parameters only are descriptors, and are left alone.
            if inspect.isfunction(found) and inspect.isfunction(inspect.getattr_static(ours, method)):
                self._replaced.append((ours, method, vars(ours).get(method)))
                setattr(ours, method, self._wrap(found, method))

    def undo(self) -> None:
        """Give the classes their own methods again."""
        for ours, method, before in reversed(self._replaced):
            if before is None:
                delattr(ours, method)
            else:
                setattr(ours, method, before)
        self._replaced.clear()
        self._theirs.clear()

    def _wrap(self, function: Any, method: str) -> Any:
        """Return the method with a count around it, and the way to scikit-learn's class."""

        @wraps(function)
        def call(model: Any, *args: Any, **kwargs: Any) -> Any:
            inside = self._busy.__dict__.setdefault("models", set())
            place = self._theirs.get(type(model))
            if place is None or id(model) in inside or not self.records:
                return function(model, *args, **kwargs)
            name, theirs = place
            inside.add(id(model))
            try:
                with (self.records[-1].time_fit if method in _FITS else self.records[-1].time_call)(name):
                    return function(model, *args, **kwargs)
            except ParameterError as error:
                if method not in _FITS:
                    raise
                answer = _fit_theirs(model, theirs, method, args, kwargs, error)
                self.records[-1].count_fallback(name, str(error))
                return answer
            finally:
                inside.discard(id(model))

        return call


def _fit_theirs(model: Any, theirs: type, method: str, args: Any, kwargs: Any, error: ParameterError) -> Any:
    """Fit scikit-learn's model and let `model` become it; raise the error if scikit-learn's has not the parameters."""
    # Loaded here: a switch alone loads no family, and what estimators share is loaded with the first of them.
    from mercer._base.scikit_learn import BESIDE

    given = model.get_params(deep=False)
    known = inspect.signature(theirs).parameters
    ours = inspect.signature(type(model)).parameters
    if any(value is not ours[name].default for name, value in given.items() if name not in known and name in ours):
        raise error
    made = theirs(**{name: value for name, value in given.items() if name in known})
    vars(made).update({name: value for name, value in vars(model).items() if name.startswith(BESIDE)})
    try:
        answer = getattr(made, method)(*args, **kwargs)
    except Exception as refusal:
        raise error from refusal
    vars(model).clear()
    model.__class__ = theirs
    vars(model).update(vars(made))
    return model if answer is made else answer
