"""Switch mercer on in the place of scikit-learn, for a program, a block or a session."""

import inspect
import os
import sys
from difflib import get_close_matches
from types import ModuleType
from typing import Any

from mercer.app.switch.places import Places, is_own, list_names, replace_elsewhere
from mercer.app.switch.record import Record
from mercer.app.switch.stand_ins import Pair, make_stand_in, reduce_by_name
from mercer.app.switch.watched import Watch
from mercer.errors import ParameterError

# Set to 1, or to families and names with commas between them, it switches mercer on when it is imported.
VARIABLE = "MERCER_ACCELERATE"


class Switch:
    """A switch that is on until :meth:`undo`, or until the block ends that it opens with ``with``.

    Attributes
    ----------
    record : Record
        Which classes and functions were used, how often, for how many seconds, and where scikit-learn's own was used,
        with the reason; ``print(switch.record)`` shows it as a table.
    """

    def __init__(self, names: frozenset[tuple[str, str]]) -> None:
        self.record = Record()
        self._names = names
        self._elsewhere: list[tuple[ModuleType, str, Any, Any]] = []
        _STATE.add(self)
        self._elsewhere = replace_elsewhere(_STATE.exchange)

    def undo(self) -> None:
        """Put scikit-learn's classes and functions back. Objects stay what they are."""
        if self not in _STATE.switches:
            return
        for module, name, before, now in self._elsewhere:
            if vars(module).get(name) is now:
                setattr(module, name, before)
        _STATE.remove(self)

    def covers(self, family: str, name: str) -> bool:
        """Return whether this switch replaces a name."""
        return (family, name) in self._names

    def __enter__(self) -> "Switch":
        return self

    def __exit__(self, *error: object) -> None:
        self.undo()


class _State:
    """The switches that are on, and what they share."""

    def __init__(self) -> None:
        self.switches: list[Switch] = []
        self._watch = Watch()
        self._places = Places(self._find, self._open)
        self._stand_ins: dict[int, Any] = {}
        self._reduced: list[type] = []

    def add(self, switch: Switch) -> None:
        """Add a switch; the first one opens the places."""
        self.switches.append(switch)
        self._watch.records.append(switch.record)
        if len(self.switches) == 1:
            self._places.open()

    def remove(self, switch: Switch) -> None:
        """Remove a switch; the last one closes the places."""
        self.switches.remove(switch)
        self._watch.records.remove(switch.record)
        if not self.switches:
            self._places.close()
            self._watch.undo()
            for theirs in self._reduced:
                del theirs.__reduce_ex__
            self._reduced.clear()
            self._stand_ins.clear()

    def exchange(self, thing: Any) -> Any:
        """Return the stand-in of scikit-learn's class or function; any other object itself."""
        for address, names in list_names().items():
            name = getattr(thing, "__name__", None)
            module = sys.modules.get(address)
            if name in names and module is not None and vars(module).get(name) is thing:
                return self._find(module, name, thing)
        return thing

    def _find(self, module: ModuleType, name: str, theirs: Any) -> Any:
        """Return what stands for an object of a module: its stand-in, or itself if no switch covers it."""
        family = list_names()[module.__name__][name]
        if not any(switch.covers(family, name) for switch in self.switches):
            return theirs
        if id(theirs) not in self._stand_ins:
            pair = Pair(family, name, theirs, self._watch)
            self._stand_ins[id(theirs)] = make_stand_in(pair, module.__name__)
        return self._stand_ins[id(theirs)]

    def _open(self, module: ModuleType) -> None:
        """Let objects be pickled whose class is defined in a public module, where its stand-in is found."""
        for name in list_names()[module.__name__]:
            theirs = vars(module).get(name)
            if inspect.isclass(theirs) and is_own(theirs, name) and theirs.__module__ == module.__name__:
                theirs.__reduce_ex__ = _make_reduction(module, name, theirs)  # type: ignore[method-assign]
                self._reduced.append(theirs)


def _make_reduction(module: ModuleType, name: str, theirs: type) -> Any:
    """Return the method by which objects of scikit-learn's class are pickled while a switch is on."""

    def reduce(model: Any, protocol: Any) -> Any:
        return reduce_by_name(model, protocol, _STATE.exchange(theirs), theirs)

    return reduce


_STATE = _State()


def accelerate(*names: str | bool) -> Switch | None:
    """Put mercer's classes and functions in the places of scikit-learn's, without an edit of the program.

    Every later ``from sklearn.linear_model import Ridge``, and every module that has imported it already, gets a
    stand-in that makes mercer's objects; a family of mercer's is loaded when the first of its classes is called.
    ``isinstance(model, sklearn.linear_model.Ridge)`` holds for the objects of both libraries. scikit-learn's modules go
    on with their own classes. Where mercer refuses an option, the object becomes scikit-learn's in ``fit``, and the
    record says so. See the guide `Switching <../guides/switching.html>`_.

    Parameters
    ----------
    *names : str or False
        What to replace: families ("linear_model"), classes and functions ("Ridge", "linear_model.Ridge"). Without
        names everything that mercer has. False puts everything back.

    Returns
    -------
    switch : Switch or None
        It has ``record``, ``undo()`` and, used with ``with``, an end. None for False.

    Examples
    --------
    In a program, since mercer's own modules, such as this one, get scikit-learn's classes::

        import mercer

        with mercer.accelerate("linear_model") as switch:
            from sklearn.linear_model import Ridge

            model = Ridge(alpha=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
        type(model).__module__.split(".")[0], switch.record.uses["linear_model.Ridge"].fits  # ('mercer', 1)
    """
    if names == (False,):
        for switch in list(reversed(_STATE.switches)):
            switch.undo()
        return None
    return Switch(frozenset(pair for name in names or ("",) for pair in _list_pairs(name)))


def _list_pairs(asked: str | bool) -> list[tuple[str, str]]:
    """Return the families and names that a word stands for: a family, a name or both; nothing means all."""
    known = {(family, name) for names in list_names().values() for name, family in names.items()}
    if asked == "" or asked is True:
        return sorted(known)
    found = [pair for pair in known if asked in (pair[0], pair[1], ".".join(pair))]
    if not found:
        words = {word for family, name in known for word in (family, name, f"{family}.{name}")}
        near = get_close_matches(str(asked), sorted(words), n=1)
        cure = (
            f"The nearest is {near[0]!r}." if near else "Families are named as in scikit-learn, such as 'linear_model'."
        )
        raise ParameterError(f"accelerate: names must be families, classes or functions; got {asked!r}. {cure}")
    return found


def read_variable() -> None:
    """Switch on what the environment variable names."""
    text = os.environ.get(VARIABLE, "").strip()
    if text.lower() in ("", "0", "false", "no", "off"):
        return
    names = [] if text.lower() in ("1", "true", "yes", "on", "all") else [word.strip() for word in text.split(",")]
    accelerate(*names)


def load_ipython_extension(shell: Any) -> None:
    """Switch on for a session of IPython: ``%load_ext mercer``."""
    accelerate()


def unload_ipython_extension(shell: Any) -> None:
    """Put scikit-learn's classes back: ``%unload_ext mercer``."""
    accelerate(False)
