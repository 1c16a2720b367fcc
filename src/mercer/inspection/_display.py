"""The base of displays: what they compute is drawn on the caller's axes or in a new figure, and shown in notebooks."""

import inspect
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from mercer._notebook import render_table

# The end of the docstring of a class method that computes a display and draws it.
_DRAWN = """
ax : matplotlib axes, a sequence of them or None, default=None
    Where to draw, one for each panel; None makes a new figure.
**kwargs : dict
    As :meth:`plot` takes them.

Returns
-------
display
    The display, drawn.
"""


class Display(ABC):
    """A picture: the constructor takes or computes what it shows, and :meth:`plot` draws it.

    Class methods ``from_...`` compute a display and draw it; ``compute``, where there is one, does not draw. matplotlib
    is imported when a display is drawn: mercer works without it.

    Attributes
    ----------
    artist : str
        The function of matplotlib that takes the keyword arguments of :meth:`plot`.
    ax_, axes_ : matplotlib axes
        Where it was drawn: the axes of one panel, or an array of the axes of several.
    figure_ : matplotlib figure
        The figure of these axes.
    """

    artist: ClassVar[str] = "plot"

    def plot(self, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, a sequence of them or None, default=None
            Where to draw, one for each panel; None makes a new figure.
        **kwargs : dict
            Options of the display, if it has any, and those of the function of matplotlib that :attr:`artist` names.

        Returns
        -------
        display
            The display itself; what was drawn is in its attributes.
        """
        grid = self._grid()
        if grid is None:
            self.ax_ = self._make_axes() if ax is None else ax
            self.figure_ = self.ax_.figure
            self._draw(self.ax_, **kwargs)
        else:
            panels = np.array(self._make_axes(**grid) if ax is None else ax, dtype=object).ravel()
            rows, columns = grid.get("rows", 1), grid.get("columns", 1)
            self.axes_ = panels.reshape(rows, columns) if rows > 1 and columns > 1 else panels
            self.figure_ = panels[0].figure
            self._draw(panels, **kwargs)
        return self

    @abstractmethod
    def _draw(self, *args: Any, **kwargs: Any) -> None:
        """Draw on one axes, or on an array of them, row by row."""

    def _grid(self) -> dict[str, Any] | None:
        """Return what ``pyplot.subplots`` takes to make the panels; None for a single one."""
        return None

    def _make_axes(self, *, rows: int = 1, columns: int = 1, **options: Any) -> Any:
        """Return axes of a new figure in which labels and titles do not overlap."""
        from matplotlib import pyplot

        return pyplot.subplots(rows, columns, **({"layout": "constrained"} | options))[1]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_describe(value)}" for name, value in self._list_contents() if name[-1] != "_")
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        return render_table(type(self).__name__, ((name, _describe(value)) for name, value in self._list_contents()))

    def _list_contents(self) -> list[tuple[str, Any]]:
        """Return what the display was made of and what it computed, but not what was drawn."""
        drawn = {"ax_", "axes_", "figure_"}
        return [
            (name, value)
            for name, value in vars(self).items()
            if not name.startswith("_") and name not in drawn and not _is_drawn(value)
        ]


def draws(compute: Any) -> Any:
    """Return a class method that computes a display and draws it.

    `compute` is a class method that computes one, or ``__init__``. Its parameters are taken from the arguments, and
    others are passed to :meth:`Display.plot`; a `compute` that takes any keyword gets all but `ax`.
    """
    function = getattr(compute, "__func__", compute)
    taken = inspect.signature(function).parameters
    takes_any = any(argument.kind is inspect.Parameter.VAR_KEYWORD for argument in taken.values())

    def compute_and_draw(cls: type[Display], *args: Any, ax: Any = None, **kwargs: Any) -> Display:
        own = {name: value for name, value in kwargs.items() if takes_any or name in taken}
        display = cls(*args, **own) if function.__name__ == "__init__" else function(cls, *args, **own)
        return display.plot(ax=ax, **{name: value for name, value in kwargs.items() if name not in own})

    own = [argument for argument in taken.values() if argument.kind is not inspect.Parameter.VAR_KEYWORD]
    axes = inspect.Parameter("ax", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)
    rest = inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation=Any)
    compute_and_draw.__signature__ = inspect.Signature([*own, axes, rest])  # type: ignore[attr-defined]
    compute_and_draw.__doc__ = _describe_drawing(function)
    return classmethod(compute_and_draw)


def _describe_drawing(function: Any) -> str:
    """Return the docstring of a class method that draws, from that of the one that computes."""
    text = inspect.getdoc(function) if function.__name__ != "__init__" else None
    if not text:
        return "Compute the display and draw it; takes what the class and :meth:`plot` take."
    text = text.partition("\n\nReturns\n---")[0]
    if "\nParameters\n---" not in text:
        text += "\n\nParameters\n----------"
    return text + _DRAWN


def _is_drawn(value: Any) -> bool:
    """Return whether a value, or the first of several, is an object of matplotlib."""
    while isinstance(value, list | tuple | dict) and len(value):
        value = next(iter(value.values() if isinstance(value, dict) else value))
    return type(value).__module__.startswith("matplotlib.")


def _describe(value: Any) -> str:
    """Return a value in a few characters: arrays by their shapes, long lists by their lengths."""
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"array of shape {value.shape}"
    if isinstance(value, dict):
        names = ", ".join(map(str, list(value)[:4]))
        return f"{{{names}{', ...' if len(value) > 4 else ''}}}"
    text = " ".join(repr(value).split())
    if len(text) <= 60:
        return text
    return f"{type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else type(value).__name__
