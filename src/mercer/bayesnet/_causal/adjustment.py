"""Adjustment: which variables make an observed association a causal effect (Pearl, 1995)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from mercer.bayesnet._graphs.order import find_ancestors, find_children
from mercer.bayesnet._graphs.separation import find_connected
from mercer.bayesnet._learning.table_fit import read_structure
from mercer.bayesnet._tables.variables import require_variables
from mercer.errors import DataError

# Sets that are tested at most: some seconds. Beyond, the caller bounds their size.
_MOST_SETS = 200_000


def adjustment_sets(
    graph: Any, cause: Any, effect: Any, *, max_size: int | None = None, unobserved: Iterable[Any] = ()
) -> list[tuple[Any, ...]]:
    """Return all minimal sets of variables that keep the back-door criterion.

    A set keeps it if none of its variables is an effect of the cause, and if it blocks every path between cause and
    effect that begins with an arrow into the cause. Then P(effect | do(cause)) is the back-door sum over the set.

    Parameters
    ----------
    graph : BayesianNetwork, mapping from names to parents, or sequence of edges (parent, child)
        Edges point from causes to effects.
    cause, effect : names
        Two variables.
    max_size : int or None, default=None
        The most variables of a set.
    unobserved : iterable of names
        Variables that no set may use.

    Returns
    -------
    list of tuple
        Small sets first. No set contains another. Empty if there is none; ``[()]`` if nothing need be adjusted for.

    Examples
    --------
    >>> from mercer.bayesnet import adjustment_sets
    >>> adjustment_sets([("age", "drug"), ("age", "cure"), ("drug", "cure")], "drug", "cure")
    [('age',)]
    """
    parents = _read_graph("adjustment_sets", graph, cause, effect, unobserved)
    below = _find_descendants(parents, cause)
    # A minimal set lies among the ancestors of cause and effect: other variables open paths or block nothing.
    above = find_ancestors(parents, [cause, effect])
    usable = [name for name in parents if name in above and name not in below | {cause, effect} | set(unobserved)]
    keeps = _block_back_doors(parents, cause)
    return _list_minimal(
        "adjustment_sets", usable, max_size, lambda chosen: effect not in find_connected(keeps, [cause], chosen)
    )


def front_door_sets(
    graph: Any, cause: Any, effect: Any, *, max_size: int | None = None, unobserved: Iterable[Any] = ()
) -> list[tuple[Any, ...]]:
    """Return all minimal sets of variables that keep the front-door criterion.

    A set keeps it if it intercepts every directed path from cause to effect, if no back-door path leads from the cause
    to it, and if the cause blocks every back-door path from it to the effect. Then P(effect | do(cause)) can be
    computed although cause and effect have an unobserved common cause.

    Parameters
    ----------
    graph : BayesianNetwork, mapping from names to parents, or sequence of edges (parent, child)
        Edges point from causes to effects.
    cause, effect : names
        Two variables.
    max_size : int or None, default=None
        The most variables of a set.
    unobserved : iterable of names
        Variables that no set may use.

    Returns
    -------
    list of tuple
        Small sets first. No set contains another. Empty if there is none.

    Examples
    --------
    >>> from mercer.bayesnet import front_door_sets
    >>> edges = [("gene", "smoking"), ("gene", "cancer"), ("smoking", "tar"), ("tar", "cancer")]
    >>> front_door_sets(edges, "smoking", "cancer", unobserved=["gene"])
    [('tar',)]
    """
    parents = _read_graph("front_door_sets", graph, cause, effect, unobserved)
    below = _find_descendants(parents, cause)
    if effect not in below:
        return []
    # Only variables on a directed path from cause to effect can intercept one.
    usable = [
        name
        for name in parents
        if name in below & find_ancestors(parents, [effect]) and name != effect and name not in set(unobserved)
    ]
    return _list_minimal(
        "front_door_sets", usable, max_size, lambda chosen: _keeps_front_door(parents, cause, effect, chosen)
    )


def _keeps_front_door(parents: Mapping[Any, Sequence[Any]], cause: Any, effect: Any, chosen: Sequence[Any]) -> bool:
    middle = set(chosen)
    # Without the chosen variables no directed path may be left.
    cut = {name: tuple(p for p in above if p not in middle) for name, above in parents.items() if name not in middle}
    if effect in _find_descendants(cut, cause):
        return False
    # First condition on back doors: none from the cause to the chosen set.
    if middle & find_connected(_block_back_doors(parents, cause), [cause], ()):
        return False
    # Second: given the cause, none from the chosen set to the effect.
    return all(
        effect not in find_connected(_block_back_doors(parents, name), [name], {cause, *middle} - {name})
        for name in chosen
    )


def fails_back_door(parents: Mapping[Any, Sequence[Any]], cause: Any, effect: Any, chosen: Sequence[Any]) -> bool:
    """Return whether a set breaks the back-door criterion."""
    if (_find_descendants(parents, cause) | {cause, effect}) & set(chosen):
        return True
    return effect in find_connected(_block_back_doors(parents, cause), [cause], chosen)


def _read_graph(subject: str, graph: Any, cause: Any, effect: Any, others: Iterable[Any]) -> dict[Any, Any]:
    parents, _ = read_structure(subject, graph)
    require_variables(subject, parents, [cause, effect, *others])
    if cause == effect:
        raise DataError(f"{subject}: cause and effect must be two variables; got {cause!r} twice.")
    return dict(parents)


def _find_descendants(parents: Mapping[Any, Sequence[Any]], name: Any) -> set[Any]:
    children = find_children(parents)
    reached: set[Any] = set()
    waiting = list(children[name])
    while waiting:
        node = waiting.pop()
        if node not in reached:
            reached.add(node)
            waiting += children[node]
    return reached


def _block_back_doors(parents: Mapping[Any, Sequence[Any]], cause: Any) -> dict[Any, tuple[Any, ...]]:
    """Return the graph without the arrows out of the cause: only its back-door paths are left."""
    return {name: tuple(parent for parent in above if parent != cause) for name, above in parents.items()}


def _list_minimal(subject: str, usable: list[Any], max_size: int | None, keeps: Any) -> list[tuple[Any, ...]]:
    """Return the sets that keep a criterion and contain no smaller one that does."""
    minimal: list[tuple[Any, ...]] = []
    n_tested = 0
    for size in range(len(usable) + 1 if max_size is None else min(max_size, len(usable)) + 1):
        for chosen in combinations(usable, size):
            # A set that contains a smaller valid one is not minimal.
            if any(set(smaller) <= set(chosen) for smaller in minimal):
                continue
            n_tested += 1
            if n_tested > _MOST_SETS:
                raise DataError(
                    f"{subject}: at most {_MOST_SETS} sets of {len(usable)} variables are tested. Pass "
                    f"max_size={size - 1}, or name variables in `unobserved`."
                )
            if keeps(chosen):
                minimal.append(chosen)
    return minimal
