"""Solvers on small tables: statistics of a single block are answered where they are asked for.

The driver passes each request to the source, which prepares threads for it. For a table of one block, some thousand
rows, that takes longer than the statistic itself.
"""

from collections.abc import Callable
from typing import Any

from mercer._solver import Solver
from mercer._source import Block, Source
from mercer._source.array import ArraySource, SparseSource
from mercer._statistic import Statistic


def answer_on_block(solve: Callable[[Any], Solver], source: Source) -> Callable[[Any], Solver]:
    """Return `solve`, or where all rows are one block in memory, a function whose solvers ask for no statistic.

    The answers have the same bits: the sum over one block is the statistic of that block. The driver holds the BLAS to
    one thread during the whole fit.
    """
    if type(source) not in (ArraySource, SparseSource) or source.n_blocks != 1 or source.readings is not None:
        return solve
    return lambda start: _answer(solve(start), source.block(0))


def _answer(solver: Solver, block: Block) -> Any:
    """Answer the statistics of a solver from `block`; pass on its steps and its other requests."""
    answer: Any = None
    while True:
        try:
            request = solver.send(answer)
        except StopIteration as end:
            return end.value
        answer = request.on(block) if isinstance(request, Statistic) else (yield request)
