"""The axes that displays draw on: those of the caller, or those of a new figure."""

from typing import Any


def make_axes(ax: Any = None, *shape: int, **options: Any) -> Any:
    """Return `ax`, or if it is None new axes, one or a grid of `shape`; `options` are those of ``pyplot.subplots``.

    matplotlib is imported only here and in ``plot`` methods: mercer works without it.
    """
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(*shape, **options)[1]
