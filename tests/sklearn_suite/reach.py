"""Tell whether a test of scikit-learn's can reach a class or function of mercer, from its code alone.

A test reaches mercer if its function, a fixture that it asks for, or a function of its module that one of these calls
names something of mercer's, or if one of its parameters is such a thing or holds one. Names are followed through code
objects, those of nested functions included; words in strings count as names, because tests look classes up by them.
"""

import inspect
import types
from functools import cache

# Containers inside containers that are searched for mercer's things; parameters of tests are not nested deeper.
_DEPTH = 3


def reaches_mercer(item, replaced):
    """Return whether a collected test can reach mercer; `replaced` are the names that mercer takes in scikit-learn."""
    replaced = frozenset(replaced)
    function = getattr(item, "function", None)
    if function is None:
        return True
    parameters = list(getattr(getattr(item, "callspec", None), "params", {}).values())
    if any(_holds_mercer(value, _DEPTH) for value in parameters):
        return True
    fixtures = [one.func for name in item.fixturenames for one in item._fixtureinfo.name2fixturedefs.get(name, ())]
    # A parameter may be a function of the test module that makes an estimator.
    makers = [value for value in parameters if isinstance(value, types.FunctionType)]
    return any(_names_mercer(one, replaced) for one in (function, *fixtures, *makers))


def _holds_mercer(value, depth):
    """Return whether a value is an object, class or function of mercer, or holds one."""
    if isinstance(value, dict):
        return depth > 0 and any(_holds_mercer(one, depth - 1) for one in (*value, *value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return depth > 0 and any(_holds_mercer(one, depth - 1) for one in value)
    if isinstance(value, types.ModuleType):
        return False  # a module of scikit-learn's: the name that is taken from it decides
    # A partial function or a bound method is what it calls; a pipeline or a search holds its parts as attributes.
    parts = [getattr(value, name, None) for name in ("func", "__self__", "__wrapped__")]
    if hasattr(value, "get_params") and not isinstance(value, type):
        parts += list(value.get_params(deep=False).values())
    # Test modules derive classes of their own from replaced ones.
    classes = value.__mro__ if isinstance(value, type) else type(value).__mro__
    origins = [getattr(one, "__module__", None) or "" for one in (value, *classes)]
    if any(origin.split(".")[0] == "mercer" for origin in origins):
        return True
    return depth > 0 and any(_holds_mercer(part, depth - 1) for part in parts if part is not None)


@cache
def _names_mercer(function, replaced):
    """Return whether the code of a function, or of those of its module that it calls, names something of mercer's."""
    seen, queue = set(), [function]
    while queue:
        one = inspect.unwrap(queue.pop())
        code, scope = getattr(one, "__code__", None), getattr(one, "__globals__", {})
        if code is None or code in seen:
            continue
        seen.add(code)
        for name in _list_names(code):
            value = scope.get(name)
            if name in replaced or (value is not None and _holds_mercer(value, _DEPTH)):
                return True
            if isinstance(value, types.FunctionType) and value.__module__ == one.__module__:
                queue.append(value)
    return False


def _list_names(code):
    """Return the names and words in a code object and in those nested in it."""
    names = {*code.co_names, *code.co_freevars}
    for constant in code.co_consts:
        if isinstance(constant, str):
            names.add(constant)
        elif isinstance(constant, types.CodeType):
            names |= _list_names(constant)
    return names
