"""Run one generator of requests inside a function or inside another solver.

The driver watches one solver. A part of a fit that nobody watches is run by :func:`answer_requests`; a solver inside
another one is passed through :func:`relay`, which may rewrite or withhold its steps.
"""

from collections.abc import Callable, Generator
from typing import Any

from mercer._solver.step import Step
from mercer._source import Source


def answer_requests(requests: Generator[Any, Any, Any], source: Source) -> Any:
    """Answer the requests of a generator from `source` until it returns, return its value; pass over steps."""
    answer: Any = None
    while True:
        try:
            request = requests.send(answer)
        except StopIteration as end:
            return end.value
        answer = None if isinstance(request, Step) else request.answer(source)


def relay(
    solver: Generator[Any, Any, Any], on_step: Callable[[Step], Step | None] | None = None, source: Source | None = None
) -> Generator[Any, Any, Any]:
    """Yield what `solver` yields, send it the answers, and return its value.

    Parameters
    ----------
    solver : generator
        A solver, or any generator of requests and steps.
    on_step : callable or None
        From a step of `solver` to the step that is yielded in its place, or to None to yield none.
    source : Source or None
        The source that answers the requests, so that only steps are yielded; None yields the requests too.
    """
    answer: Any = None
    while True:
        try:
            request = solver.send(answer)
        except StopIteration as end:
            return end.value
        answer = None
        # A request: someone further out answers it, or the source here does.
        if not isinstance(request, Step):
            answer = (yield request) if source is None else request.answer(source)
            continue
        step = request if on_step is None else on_step(request)
        if step is not None:
            yield step


def return_at_once(value: Any) -> Generator[Any, Any, Any]:
    """Return `value` from a generator without requests: a start that is known needs no pass over the rows."""
    return value
    yield
