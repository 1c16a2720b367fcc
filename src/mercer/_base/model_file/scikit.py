"""How the other things inside scikit-learn models are written and read: classes, functions, scorers, distributions.

Each is written as a name that a closed list gives a meaning to.
"""

import sys
from typing import Any

import numpy as np

from mercer._base.model_file.codec import Decoder, Encoder, decodes, encodes_where, refusal
from mercer._base.model_file.estimator import is_registered, read_requests, write_requests
from mercer._base.model_file.registry import (
    class_of,
    function_of,
    key_of_class,
    key_of_function,
    key_of_scalar_type,
    scalar_type_of,
)
from mercer._base.scikit_learn import REQUESTS
from mercer.errors import ModelFileError

_DISTRIBUTIONS = (
    *("beta", "expon", "gamma", "halfnorm", "laplace", "lognorm", "loguniform", "norm", "reciprocal", "truncnorm"),
    *("uniform", "bernoulli", "binom", "geom", "poisson", "randint"),
)


@encodes_where(lambda value: isinstance(value, type))
def _write_class(value: type, encoder: Encoder, path: str) -> dict[str, Any]:
    key = key_of_scalar_type(value) or key_of_class(value)
    if key is None:
        raise refusal(value, path)
    return {"type": "class", "name": key}


@decodes("class", "name")
def _read_class(node: dict[str, Any], decoder: Decoder) -> type:
    return scalar_type_of(node["name"]) or class_of(node["name"])


@encodes_where(lambda value: key_of_function(value) is not None)
def _write_function(value: Any, encoder: Encoder, path: str) -> dict[str, Any]:
    return {"type": "function", "name": key_of_function(value)}


@decodes("function", "name")
def _read_function(node: dict[str, Any], decoder: Decoder) -> Any:
    return function_of(node["name"])


def _scorer_name(value: Any) -> str | None:
    """Return the name by which ``get_scorer`` makes an equal scorer."""
    metrics = sys.modules.get("sklearn.metrics")  # nobody can hold a scorer without having imported it
    if metrics is None or type(value) is not type(metrics.get_scorer("accuracy")):
        return None
    told = _without_requests(value)
    names = metrics.get_scorer_names()
    return next((name for name in names if _without_requests(metrics.get_scorer(name)) == told), None)


def _without_requests(scorer: Any) -> dict[str, Any]:
    return {name: item for name, item in vars(scorer).items() if name != REQUESTS}


@encodes_where(lambda value: _scorer_name(value) is not None)
def _write_scorer(value: Any, encoder: Encoder, path: str) -> dict[str, Any]:
    requests = write_requests(vars(value).get(REQUESTS), encoder, path)
    return {"type": "scorer", "name": _scorer_name(value), "requests": requests}


@decodes("scorer", "name", "requests")
def _read_scorer(node: dict[str, Any], decoder: Decoder) -> Any:
    from sklearn.metrics import get_scorer, get_scorer_names

    # Only names that scikit-learn lists are accepted; a file cannot name a function to call.
    if node["name"] not in get_scorer_names() or not isinstance(node["requests"], dict):
        raise ModelFileError(f"a scorer must be one that get_scorer knows; got {str(node['name'])[:40]!r}.")
    decoder.charge(2**14)
    scorer = get_scorer(node["name"])
    read_requests(scorer, node["requests"], decoder)
    return scorer


def _find_scored_estimator(value: Any) -> Any:
    """Return the estimator whose own ``score`` a scorer calls, or None."""
    inner = list(vars(value).values()) if hasattr(value, "__dict__") and not isinstance(value, type) else []
    metrics = sys.modules.get("sklearn.metrics")
    if metrics is None or len(inner) != 1 or not is_registered(inner[0]) or not hasattr(inner[0], "score"):
        return None
    return inner[0] if type(metrics.check_scoring(inner[0])) is type(value) else None


@encodes_where(lambda value: _find_scored_estimator(value) is not None)
def _write_own_score(value: Any, encoder: Encoder, path: str) -> dict[str, Any]:
    return {"type": "own_score", "estimator": encoder.encode(_find_scored_estimator(value), path)}


@decodes("own_score", "estimator")
def _read_own_score(node: dict[str, Any], decoder: Decoder) -> Any:
    from sklearn.metrics import check_scoring

    decoder.charge(2**12)
    estimator = decoder.decode(node["estimator"])
    if not is_registered(estimator):
        raise ModelFileError(f"only an estimator has a score; got {type(estimator).__name__}.")
    return check_scoring(estimator)


def _distribution_name(value: Any) -> str | None:
    """Return the name of a frozen distribution of scipy.stats."""
    stats = sys.modules.get("scipy.stats")
    if stats is None or type(value) not in (type(stats.norm()), type(stats.bernoulli(0.5))):
        return None
    same = (name for name in _DISTRIBUTIONS if type(getattr(stats, name)) is type(value.dist))
    return next((name for name in same if getattr(stats, name).name == value.dist.name), None)


@encodes_where(lambda value: _distribution_name(value) is not None)
def _write_distribution(value: Any, encoder: Encoder, path: str) -> dict[str, Any]:
    named = {name: encoder.encode(item, f"{path}.{name}") for name, item in value.kwds.items()}
    arguments = encoder.encode_all(value.args, f"{path}.args")
    return {"type": "distribution", "name": _distribution_name(value), "args": arguments, "named": named}


@decodes("distribution", "name", "args", "named")
def _read_distribution(node: dict[str, Any], decoder: Decoder) -> Any:
    import scipy.stats

    if node["name"] not in _DISTRIBUTIONS or not isinstance(node["named"], dict):
        raise ModelFileError(
            f"a distribution must be one of {', '.join(_DISTRIBUTIONS)}; got {str(node['name'])[:40]!r}."
        )
    decoder.charge(2**16)  # scipy.stats takes about a millisecond and tens of kilobytes for each
    arguments = decoder.decode_all(node["args"])
    named = {name: decoder.decode(item) for name, item in node["named"].items()}
    return getattr(scipy.stats, node["name"])(*arguments, **named)


def _is_spline(value: Any) -> bool:
    interpolate = sys.modules.get("scipy.interpolate")
    return interpolate is not None and type(value) is interpolate.BSpline


@encodes_where(_is_spline)
def _write_spline(value: Any, encoder: Encoder, path: str) -> dict[str, Any]:
    parts = {name: encoder.encode(getattr(value, name), f"{path}.{name}") for name in ("t", "c")}
    rest = {name: encoder.encode(getattr(value, name), f"{path}.{name}") for name in ("k", "extrapolate", "axis")}
    return {"type": "spline", **parts, **rest}


@decodes("spline", "t", "c", "k", "extrapolate", "axis")
def _read_spline(node: dict[str, Any], decoder: Decoder) -> Any:
    from scipy.interpolate import BSpline

    knots, coefficients = (decoder.decode_as(node[name], np.ndarray) for name in ("t", "c"))
    if knots.dtype != float or coefficients.dtype != float:
        raise ModelFileError(
            f"a spline must have float64 knots and coefficients; got {knots.dtype} and {coefficients.dtype}."
        )
    decoder.charge(knots.nbytes + coefficients.nbytes + 2**12)
    degree, extrapolate, axis = (decoder.decode(node[name]) for name in ("k", "extrapolate", "axis"))
    try:
        BSpline(knots, coefficients, degree, extrapolate=extrapolate, axis=axis)
    except (ValueError, TypeError, IndexError) as error:
        raise ModelFileError(f"a spline's knots, coefficients and degree must agree; {str(error)[:120]}.") from error
    return BSpline.construct_fast(knots, coefficients, degree, extrapolate, axis)  # unlike the above, keeps the layout
