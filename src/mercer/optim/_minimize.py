"""Minimise any function by any method of the room."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.optim._function import FunctionSource, check_start
from mercer.optim._method import Method
from mercer.optim._methods.adaptive import Adam, AdamW, RMSprop, Rprop
from mercer.optim._methods.conjugate_gradient import ConjugateGradient
from mercer.optim._methods.coordinate import CoordinateSearch
from mercer.optim._methods.descent import GradientDescent, Momentum, Nesterov
from mercer.optim._methods.lbfgs import LBFGS
from mercer.optim._methods.newton import Newton
from mercer.optim._methods.proximal import Bounds, ProximalGradient
from mercer.optim._result import Iterate, Result, run
from mercer.optim._stopping import StopRule

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        LBFGS,
        Newton,
        ConjugateGradient,
        GradientDescent,
        Momentum,
        Nesterov,
        RMSprop,
        Adam,
        AdamW,
        Rprop,
        CoordinateSearch,
        ProximalGradient,
    )
}


def minimize(
    fun: Callable[[Array], Any],
    x0: Any,
    *,
    method: str | Method = "lbfgs",
    grad: Callable[[Array], Any] | bool | None = None,
    hess: Callable[[Array], Any] | None = None,
    hess_product: Callable[[Array, Array], Any] | None = None,
    penalty: Any = None,
    bounds: Any = None,
    stop: StopRule | None = None,
    callback: Callable[[Iterate], Any] | None = None,
    keep_path: bool = False,
    **options: Any,
) -> Result:
    """Minimise a function.

    Every method runs under the one driver of the library: each step is recorded, stopping rules and callbacks see it,
    Ctrl-C keeps the last one, and the result says what ended the run and how good the answer is. A fixed learning rate
    that diverges ends the run with a warning that suggests a better one.

    Parameters
    ----------
    fun : callable
        From an array like `x0` to a number. It may write into what it is given.
    x0 : array-like or Result
        The start, of any shape (one dimension for ``newton`` and ``coordinate_search``). Floating-point types are kept.
        Arrays of torch, CuPy and other libraries stay in their library and on their device, with the methods that need
        no factorisation. The result of an earlier run continues that run with the same bits.
    method : str or Method, default="lbfgs"
        ``"lbfgs"``, ``"newton"``, ``"conjugate_gradient"``, ``"gradient_descent"``, ``"momentum"``, ``"nesterov"``,
        ``"rmsprop"``, ``"adam"``, ``"adamw"``, ``"rprop"``, ``"coordinate_search"``, ``"proximal_gradient"``, or a
        method with its options, such as ``Adam(learning_rate=0.1)``.
    grad : callable, bool or None, default=None
        The gradient; True if `fun` returns value and gradient. None differentiates: torch functions automatically,
        others by central differences, at two evaluations a parameter.
    hess : callable or None, default=None
        The Hessian, for ``newton``; None takes differences of the gradient.
    hess_product : callable or None, default=None
        From x and a vector to the Hessian times the vector, for ``newton`` without a matrix.
    penalty : object or None, default=None
        For ``proximal_gradient``: what is added to `fun`, with ``value(x)`` and ``prox(x, step)``.
    bounds : pair or None, default=None
        For ``proximal_gradient``: (low, high), numbers or arrays; None in either place is no wall.
    stop : StopRule or None, default=None
        When to end, such as ``MaxIter(100) | GradientNorm(1e-6) | MaxTime(5)``; None asks for a gradient below 1e-6
        (a move below 1e-7 in coordinate search) within 1000 steps, 10000 for methods with a learning rate.
    callback : callable or None, default=None
        Called with an :class:`~mercer.optim.Iterate` after each step; True ends the run.
    keep_path : bool, default=False
        Whether to keep the parameters after each step in ``path``.
    **options : dict
        Options of the method, where it is given by name.

    Returns
    -------
    Result

    Examples
    --------
    >>> from mercer.optim import GradientNorm, MaxIter, ROSENBROCK, minimize
    >>> result = minimize(ROSENBROCK, [-1.2, 1.0], grad=ROSENBROCK.gradient, stop=MaxIter(100) | GradientNorm(1e-8))
    >>> result.reason, result.x.round(6)
    ('GradientNorm(1e-08)', array([1., 1.]))
    """
    chosen = read_method("minimize", method, options, METHODS)
    given = {"hess": hess, "hess_product": hess_product, "penalty": penalty, "bounds": bounds}
    _refuse_unused(chosen, given)
    start = read_start("minimize", x0, chosen)
    x = start.x if isinstance(x0, Result) else start
    if bounds is not None:
        penalty = Bounds.read("minimize", bounds, x)
    source = FunctionSource("minimize", fun, grad, hess, hess_product, penalty)
    source.finite_at_first = not isinstance(x0, Result)
    return run(
        "minimize",
        chosen.describe(),
        chosen.solve(start),
        source,
        chosen.default_stop() if stop is None else stop,
        callback=callback,
        start=x if keep_path else None,
    )


def read_method(subject: str, method: str | Method, options: dict[str, Any], methods: dict[str, type[Any]]) -> Any:
    """Return the method of a name and options, or as it is given; checked."""
    chosen: Any
    if isinstance(method, Method) and isinstance(method, tuple(methods.values())):
        if options:
            raise ParameterError(
                f"{subject}: options go into the method; got {method.describe()} and {', '.join(options)}."
            )
        chosen = method
    elif isinstance(method, str) and method in methods:
        known = [field.name for field in fields(methods[method])]
        for name in options:
            if name not in known:
                raise ParameterError(f"{subject}: the options of {method!r} are {', '.join(known)}; got {name!r}.")
        chosen = methods[method](**options)
    else:
        raise ParameterError(f"{subject}: method must be one of {', '.join(map(repr, methods))}; got {method!r}.")
    chosen.check()
    return chosen


def read_start(subject: str, x0: Any, method: Method) -> Any:
    """Return the start as an array, or the state of an earlier result."""
    if isinstance(x0, Result):
        if not isinstance(x0.state, method.state):
            raise ParameterError(
                f"{subject}: x0 is a result of {x0.method}, which {method.name!r} cannot continue. Give its x instead."
            )
        return x0.state
    start = check_start(subject, x0)
    if not method.any_library and not isinstance(start, np.ndarray):
        raise DataError(
            f"{subject}: method {method.name!r} works on NumPy arrays; got {type(start).__module__}. "
            f"Take 'lbfgs' or a method with a learning rate."
        )
    return start


def _refuse_unused(method: Method, given: dict[str, Any]) -> None:
    """Raise if an argument was given that the method does not use."""
    for name, value in given.items():
        if value is not None and name not in method.uses:
            users = [known for known, other in METHODS.items() if name in other.uses]
            raise ParameterError(
                f"minimize: method {method.name!r} does not use {name}; it is for {' and '.join(users)}."
            )
    # Both of a pair define the same part of the problem; to follow one of them would be a guess.
    for first, other in (("hess", "hess_product"), ("penalty", "bounds")):
        if given[first] is not None and given[other] is not None:
            raise ParameterError(f"minimize: give {first} or {other}; got both.")
    if "penalty" in method.uses and given["penalty"] is None and given["bounds"] is None:
        raise ParameterError(f"minimize: method {method.name!r} needs a penalty or bounds; got neither.")
