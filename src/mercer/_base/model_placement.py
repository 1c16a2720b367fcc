"""The placement of a model's arrays: with the rows it was fitted to, on their device, until the user moves them."""

import copy
import sys
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer._source.placement import HOST, Placement, change_arrays, is_on_device
from mercer.errors import DataError

# Text, wherever the rows are.
_STAYS = "feature_names_in_"
# The rows that models by neighbours keep, under the name that scikit-learn gives them.
_ROWS = "_fit_X"
# Fitted attributes that are lists of arrays, one for each layer or column, as scikit-learn has them.
_LISTS = ("coefs_", "intercepts_", "embeddings_")


def to_device(model: Any, device: Any) -> Any:
    """Return a copy of a fitted model whose arrays are on another device, or in another array library.

    A model predicts for rows that are where its arrays are: those of the library and device it was fitted on. This
    moves it. The copy shares nothing that either changes; the model itself is left as it is.

    Parameters
    ----------
    model : estimator
        A fitted estimator, or a pipeline or search that holds some.
    device : str or array
        ``"cpu"`` for NumPy arrays; ``"cuda"``, ``"cuda:1"`` or ``"mps"`` for torch on that device, ``"torch:cpu"`` for
        torch on the CPU; ``"cupy"`` or ``"cupy:1"``; or an array, to go where it is.

    Returns
    -------
    estimator
        The copy. Where a device has no float64, its arrays are float32.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> from mercer.linear_model import Ridge
    >>> X = np.arange(8.0).reshape(4, 2) ** 2
    >>> model = mercer.to_device(Ridge().fit(X, X.sum(axis=1)), "torch:cpu")
    >>> type(model.coef_).__name__, str(model.coef_.device)
    ('Tensor', 'cpu')
    >>> type(mercer.to_device(model, "cpu").coef_).__name__
    'ndarray'
    """
    return _move(model, Placement.parse(device))


def _move(thing: Any, placement: Placement) -> Any:
    """Return an estimator, or a container of estimators, with fitted arrays at `placement`; anything else unchanged.

    Records of arrays stay on the host, from where a prediction sends them; those with ``_moves_with_model`` are moved.
    """
    if isinstance(thing, BaseEstimator):
        other = copy.copy(thing)
        state = {name: _move_attribute(name, value, placement) for name, value in vars(thing).items()}
        state.pop("_placement", None)
        fitted = "n_features_in_" in vars(thing) or any(
            _is_fitted_array(name, value) or is_on_device(value) or name in _LISTS
            for name, value in vars(thing).items()
        )
        # Estimators of scikit-learn know by themselves where their arrays are.
        if fitted and placement != HOST and hasattr(thing, "_places"):
            state = place_attributes(state, placement)
        vars(other).update(state)
        if "_placement" not in state:
            vars(other).pop("_placement", None)
        return other
    if getattr(type(thing), "_moves_with_model", False):
        return change_arrays(thing, placement.put)
    if type(thing) in (list, tuple):
        return type(thing)(_move(part, placement) for part in thing)
    return {name: _move(part, placement) for name, part in thing.items()} if type(thing) is dict else thing


def _move_attribute(name: str, value: Any, placement: Placement) -> Any:
    """Return one attribute of an estimator, moved to `placement` if it holds fitted arrays."""
    if name in _LISTS:
        return [placement.put(part) for part in value]
    if is_on_device(value) or _is_fitted_array(name, value):
        return placement.put(value)
    return value if name == "history_" else _move(value, placement)


def _is_fitted_array(name: str, value: Any) -> bool:
    """Return whether an attribute is a public fitted array of numbers, or the rows that a model keeps."""
    public = (name.endswith("_") and not name.startswith("_") and name != _STAYS) or name == _ROWS
    return public and isinstance(value, np.ndarray) and value.dtype.kind in "fiub"


def place_attributes(attributes: dict[str, Any], placement: Placement) -> dict[str, Any]:
    """Move the arrays among fitted attributes to `placement`, and add the mark that says where the model is."""
    if placement == HOST:
        return attributes
    placed = {}
    for name, value in attributes.items():
        # A NumPy number among arrays of another library would decide the type of a sum, or be refused.
        number = isinstance(value, np.floating) and not name.startswith("_")
        placed[name] = float(value) if number else value
        if _is_fitted_array(name, value):
            placed[name] = placement.put(value)
        elif name in _LISTS:
            placed[name] = [placement.put(part) for part in value]
    return placed | {"_placement": str(placement)}


def follow_rows(estimator: Any, X: Any) -> None:
    """Move what was learnt to where the rows are."""
    vars(estimator).pop("_placement", None)
    if type(X) is np.ndarray:
        return
    placement = Placement.of(X)
    if placement != HOST:
        vars(estimator).update(place_attributes(vars(estimator), placement))


def check_placement(estimator: Any, X: Any) -> None:
    """Raise if a model and rows given to it are of two libraries or on two devices."""
    if "n_features_in_" not in vars(estimator) and "_placement" not in vars(estimator):
        # A transformer that needs no fit takes rows anywhere before one; others say that they are not fitted.
        return
    # A model without a placement was fitted to NumPy arrays.
    model, rows = vars(estimator).get("_placement", str(HOST)), Placement.of(X)
    if model == str(rows):
        return
    name = type(estimator).__name__
    cure = "'cpu'" if rows == HOST else "X"
    raise DataError(
        f"{name}: inputs of {name}.{_find_called_method(estimator)}() must use the same namespace and device as the "
        f"model; the model is on {model} and X on {rows}. Move one of them: mercer.to_device(model, {cure}), or X to "
        f"where the model is."
    )


def _find_called_method(estimator: Any) -> str:
    """Return the name of the estimator's method that the user called, for errors."""
    asked, frame = "predict", sys._getframe()
    while frame is not None:
        if frame.f_locals.get("self") is estimator and hasattr(type(estimator), frame.f_code.co_name):
            asked = frame.f_code.co_name
        frame = frame.f_back  # type: ignore[assignment]
    return asked
