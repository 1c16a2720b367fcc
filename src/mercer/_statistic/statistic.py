"""Statistics: what one pass over the rows computes, and how two results add up.

A statistic is a frozen, picklable description. Its definition, ``of(block)``, is written in array-API operations and
block verbs; where speed asks for it there is a compiled twin, ``native(block)``, which NumPy sources use and tests
compare with the definition. The result is a :class:`Sums`, which knows ``+`` and nothing else.
"""

from dataclasses import fields
from typing import Any

from mercer._source import Block, Source

__all__ = ["Statistic", "Sums"]


class Sums:
    """Mixin for frozen dataclasses whose fields add up one by one."""

    def __add__(self, other: "Sums") -> "Sums":
        return type(self)(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))  # type: ignore[arg-type]


class Statistic:
    """One pass over the rows, described. Subclasses are frozen dataclasses and define :meth:`of`."""

    def of(self, block: Block) -> Any:
        """The statistic of one block: the definition."""
        raise NotImplementedError  # every subclass is a definition

    native: Any = None  # a method native(block) with the same result from compiled code, where one exists

    def on(self, block: Block) -> Any:
        """The statistic of one block, by the compiled twin where the rows allow it."""
        if self.native is not None and block.is_native:
            return self.native(block)
        return self.of(block)

    def answer(self, source: Source) -> Any:
        """What a solver that yields this statistic is sent: its sum over the source."""
        return source.reduce(self)
