"""The requests that a solver can yield besides a statistic; the driver sends it ``request.answer(source)``."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Any, Protocol

from mercer._source import Block, Source
from mercer._source.threads import carry_context, hold_blas_here, one_blas_thread
from mercer._types import Array

__all__ = ["Dense", "Map", "OnBlock", "Request", "Take", "Tiles"]


class Request(Protocol):
    """A question that a solver yields; the driver sends the answer back. One of the classes below, or a statistic."""

    def answer(self, source: Source) -> Any:
        """Return the value that the solver receives from its ``yield``."""


@dataclass(frozen=True)
class Map:
    """A value per row: ``function(block)``, joined over all blocks."""

    function: Callable[[Block], Any]

    def answer(self, source: Source) -> Any:
        return source.map(self.function)


@dataclass(frozen=True)
class Take:
    """Rows by index, dense."""

    indices: Array

    def answer(self, source: Source) -> Any:
        return source.take(self.indices)


@dataclass(frozen=True)
class OnBlock:
    """A statistic of the block `number` only: what stochastic methods ask for."""

    statistic: Any
    number: int

    def answer(self, source: Source) -> Any:
        with one_blas_thread():
            return self.statistic.on(source.block(self.number))


@dataclass(frozen=True)
class Tiles:
    """A symmetric matrix of block against block, written into `out`."""

    function: Callable[[Block, Block], Any]
    out: Array

    def answer(self, source: Source) -> Any:
        return source.tiles(self.function, self.out)


@dataclass(frozen=True)
class Dense:
    """A dense computation that cannot be cut into blocks, such as a factorisation: ``function()``.

    It runs with one BLAS thread, which fixes its bits. When `heavy`, it runs on a thread of its own, under the settings
    that hold on the driver's, so that the driver stays open to Ctrl-C; an abandoned computation ends by itself and its
    result is dropped.
    """

    function: Callable[[], Any]
    heavy: bool = False

    def answer(self, source: Source) -> Any:
        # Most BLAS libraries keep one thread count per process, which is set here; `_fulfil` sets those that keep one
        # per thread.
        with one_blas_thread():
            if not self.heavy:
                return self.function()
            promise: Future[Any] = Future()
            Thread(target=carry_context(partial(self._fulfil, promise)), daemon=True).start()
            # Wait 0.05 s at a time: a signal that comes just before a wait begins is handled when that wait ends.
            while not promise.done():
                wait([promise], timeout=0.05)
            return promise.result()

    def _fulfil(self, promise: "Future[Any]") -> None:
        """Compute the result on the current thread and hand it, or the error, to `promise`."""
        try:
            hold_blas_here()
            promise.set_result(self.function())
        except BaseException as error:
            promise.set_exception(error)
