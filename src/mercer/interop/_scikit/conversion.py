"""Turn a fitted model into an object of scikit-learn's class of the same name, which needs no mercer."""

import importlib
import inspect
import types
from collections.abc import Callable
from copy import copy
from typing import Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from mercer._base.scikit_learn import REQUESTS, copy_requests
from mercer.errors import DataError

# From the name of a class to what gives scikit-learn's object the attributes that it keeps beside the public ones.
_COMPLETED: dict[str, Callable[[Any, Any], Any]] = {}
# Modules with completions, loaded with the first conversion.
_MODULES = ("classifiers", "factors", "neighbour_models", "tables", "tree_models")
# What scikit-learn loads only after a module that switches it on.
_SWITCHES = {
    "HalvingGridSearchCV": "sklearn.experimental.enable_halving_search_cv",
    "HalvingRandomSearchCV": "sklearn.experimental.enable_halving_search_cv",
    "IterativeImputer": "sklearn.experimental.enable_iterative_imputer",
}
# Members of ensembles that scikit-learn has under another name.
_STANDING_IN = ("DecisionStump",)
# What mercer stores about a fit, which scikit-learn's class has no place for.
_LEFT = ("history_", "certificate_", "converged_")


def to_sklearn(model: Any) -> Any:
    """Return a fitted model as an object of scikit-learn's own class, which predicts the same without mercer.

    Parameters and fitted attributes are taken over; so are those of models inside it, as in a pipeline, a search or an
    ensemble. Parameters that scikit-learn's class does not have are left out. What the fit recorded (``history_``,
    ``certificate_``, ``converged_``) stays behind.

    Parameters
    ----------
    model : estimator
        A fitted model of a class that scikit-learn has too, or scikit-learn's own object with such models inside.

    Returns
    -------
    converted : estimator
        Trees compare numbers in single precision, as scikit-learn's do: a row that is nearer to a threshold than that
        may go to the other side.

    Raises
    ------
    mercer.errors.DataError
        If scikit-learn has no class of this name, or its class cannot do what the model does.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> from mercer.linear_model import Ridge
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> model = Ridge().fit(X, X @ [1.0, 2.0, 3.0])
    >>> theirs = mercer.to_sklearn(model)
    >>> type(theirs).__module__.split(".")[0], bool((theirs.predict(X) == model.predict(X)).all())
    ('sklearn', True)
    """
    if not isinstance(model, BaseEstimator) or isinstance(model, type):
        raise DataError(f"to_sklearn: model must be a fitted estimator; got {type(model).__name__}.")
    return _convert_model(model)


def find_counterpart(kind: type) -> type | None:
    """Return scikit-learn's class of the name and the family of one of mercer's classes; None if it has none."""
    # A class that a program derives stands for the one that it derives from.
    for one in [line for line in kind.__mro__ if line.__module__.startswith("mercer.")][:1]:
        parts = one.__module__.split(".")
        if one.__name__ in _SWITCHES:
            importlib.import_module(_SWITCHES[one.__name__])
        for home in (".".join(parts[1:3]), parts[1]):
            try:
                module = importlib.import_module(f"sklearn.{home}")
            except ImportError:
                continue
            found = getattr(module, one.__name__, None)
            if inspect.isclass(found) and issubclass(found, BaseEstimator) and found.__module__.startswith("sklearn."):
                return found
    return None


def completes(*names: str) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """Register a function of ``(model, made)`` for classes: it completes `made`, or returns another object."""

    def register(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        _COMPLETED.update(dict.fromkeys(names, function))
        return function

    return register


def refuse(model: Any, reason: str) -> NoReturn:
    """Raise DataError: scikit-learn's class cannot do what a model does."""
    raise DataError(f"to_sklearn: {type(model).__name__} cannot become scikit-learn's: {reason}.")


def _convert_model(model: Any) -> Any:
    """Return one estimator, with what is inside it."""
    for module in _MODULES:
        importlib.import_module(f"mercer.interop._scikit.{module}")
    kind = type(model)
    own = kind.__module__.split(".")[0]
    theirs = find_counterpart(kind) if own == "mercer" else kind
    if theirs is None and kind.__name__ in _STANDING_IN:
        return _COMPLETED[kind.__name__](model, None)
    if theirs is None:
        refuse(model, "scikit-learn has no class of this name")
    known = inspect.signature(theirs).parameters
    given = model.get_params(deep=False)
    chosen = {name: convert(value) for name, value in given.items() if name in known}
    if own == "mercer" and chosen.get("criterion") == "friedman_mse":
        # scikit-learn has given up the second name of one criterion.
        chosen["criterion"] = "squared_error"
    made = theirs(**chosen)
    for name, value in vars(model).items():
        if name == REQUESTS:
            # A request holds the object that it belongs to.
            copy_requests(model, made)
        elif name not in given and name not in _LEFT:
            _place(made, name, convert(value))
    fitted = any(name not in given for name in vars(model))
    if own == "mercer" and fitted and kind.__name__ in _COMPLETED:
        made = _COMPLETED[kind.__name__](model, made) or made
    _ensure_free(model, made)
    return made


def _place(made: Any, name: str, value: Any) -> None:
    """Give an object an attribute, unless its class computes it."""
    if isinstance(inspect.getattr_static(type(made), name, None), property):
        return
    setattr(made, name, value)


def convert(value: Any) -> Any:
    """Return a parameter or a fitted attribute with every model and kernel of mercer's in it converted."""
    if isinstance(value, BaseEstimator) and not isinstance(value, type):
        return _convert_model(value)
    if isinstance(value, Bunch):
        return Bunch(**{name: convert(one) for name, one in value.items()})
    if type(value) in (list, tuple):
        return type(value)(convert(one) for one in value)
    if type(value) is dict:
        return {name: convert(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        if value.dtype != object:
            return value.copy()
        made = np.empty_like(value)
        for place, one in np.ndenumerate(value):
            made[place] = convert(one)
        return made
    if type(value).__module__.startswith("mercer.kernels"):
        return _convert_kernel(value)
    if callable(value) or isinstance(value, types.ModuleType):
        return value
    return copy(value)


def _holds_own(value: Any) -> bool:
    """Return whether a value is an object of mercer's, or a collection with one in it."""
    if isinstance(value, dict):
        return any(map(_holds_own, value.values()))
    if isinstance(value, tuple | list | set):
        return any(map(_holds_own, value))
    return type(value).__module__.split(".")[0] == "mercer"


# Kernels that have another name in scikit-learn.
_KERNELS = {
    "Constant": "ConstantKernel",
    "White": "WhiteKernel",
    "Periodic": "ExpSineSquared",
    "Power": "Exponentiation",
}


def _convert_kernel(kernel: Any) -> Any:
    """Return scikit-learn's kernel that equals one of mercer's; one without a counterpart as it is."""
    from sklearn.gaussian_process import kernels

    name = type(kernel).__name__
    parts = getattr(kernel, "kernels", None)
    if name in ("Sum", "Product") and parts:
        made = convert(parts[0])
        for part in parts[1:]:
            made = getattr(kernels, name)(made, convert(part))
        return made
    theirs = getattr(kernels, _KERNELS.get(name, name), None)
    if theirs is None:
        return kernel
    given = {one: getattr(kernel, one) for one in inspect.signature(theirs).parameters if hasattr(kernel, one)}
    gamma = getattr(kernel, "gamma", None)
    if name == "RBF" and gamma is not None:
        given["length_scale"] = (0.5 / gamma) ** 0.5
    return theirs(**given)


def _ensure_free(model: Any, made: Any) -> None:
    """Take mercer's own records out of an object, and refuse a parameter that only mercer can read."""
    parameters = made.get_params(deep=False)
    for name, value in list(vars(made).items()):
        if not _holds_own(value):
            continue
        if name in parameters:
            refuse(model, f"{name}={value!r} is mercer's own")
        delattr(made, name)
