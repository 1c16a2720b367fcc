"""Statistics: what one pass over the rows computes, and how two results add up.

A statistic is a frozen, picklable description. Its definition, ``of(block)``, is written in array-API operations and
block verbs; where speed asks for it there is a compiled twin, ``native(block)``, which NumPy sources use and tests
compare with the definition. The result is a :class:`Sums`, which knows ``+`` and nothing else.
"""

from dataclasses import fields
from typing import Any, ClassVar

from mercer._source import Block, Source
from mercer._source.source import SumTree
from mercer._types import Array


class Sums:
    """Mixin for frozen dataclasses whose fields add up one by one."""

    def __add__(self, other: "Sums") -> "Sums":
        return type(self)(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))  # type: ignore[arg-type]


class Statistic:
    """One pass over the rows, described. Subclasses are frozen dataclasses and define :meth:`of`."""

    def of(self, block: Block) -> Any:
        """Compute the statistic of one block: the definition."""
        raise NotImplementedError  # every subclass is a definition

    # Whether it reads the rows; if not, a source that stores targets and weights separately need not read its rows.
    reads_rows: ClassVar[bool] = True
    # Whether the mean in the sums is of every value of the rows, so that NaN anywhere shows in it.
    sums_all_values: ClassVar[bool] = False
    # A method native_run(block, unit) that gives the sum over the parts of `unit` rows from compiled code, where there
    # is one. It releases the interpreter's lock while it computes, so that threads do not wait for one another.
    native_run: Any = None

    def native(self, block: Block) -> Any:
        """Compute the statistic of one block by compiled code."""
        return self.native_run(block, max(1, block.n))

    def on(self, block: Block) -> Any:
        """Compute the statistic of one block, by the compiled twin where the rows allow it."""
        if self.native_run is not None and block.is_native:
            return self.native(block)
        return self.of(block)

    def on_run(self, block: Block, unit: int) -> Any:
        """Sum over a block that is a run of several blocks of `unit` rows each, along their tree."""
        if self.native_run is not None and block.is_native:
            return self.native_run(block, unit)
        return self._by_parts(block, unit, self.on)

    def _by_parts(self, block: Block, unit: int, function: Any = None) -> Any:
        """Sum ``function(part)`` over the parts of `unit` rows along their tree; by default :meth:`of`."""
        function = function or self.of
        if block.n <= unit:
            return function(block)
        tree = SumTree()
        for part in block.parts(unit):
            tree.add(function(part))
        return tree.total()

    def answer(self, source: Source) -> Any:
        """Return what a solver that yields this statistic is sent: its sum over the source."""
        return source.reduce(self)


def fold_sums(table: Array) -> Array:
    """Sum a table's entries along the tree of blocks, as adding them one by one to a SumTree would."""
    step = 1
    while step < len(table):
        later = table[step :: 2 * step]
        table[:: 2 * step][: len(later)] += later
        step *= 2
    return table[0]
