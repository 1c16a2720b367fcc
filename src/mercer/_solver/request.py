"""The requests that a solver can yield besides a statistic; the driver sends it ``request.answer(source)``."""

import atexit
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Any, Protocol, cast

from mercer._source import Block, Source
from mercer._source.threads import Call, begin_call, carry_context, check_dropped, hold_blas_here, one_blas_thread
from mercer._types import Array


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


# The side of a matrix from which a factorisation is heavy: LAPACK takes 20 ms of CPU time on one core, as long as
# Ctrl-C may wait, and starting a thread takes 0.1 ms. A step of some factorisations is heavy from half of it on.
HEAVY = 400
# The same for eigenvectors and singular vectors.
HEAVY_SPECTRUM = HEAVY // 2
# Values that calls of NumPy may touch, some operations on each, on the thread that notices Ctrl-C: 10 to 40 ms.
_LARGE = 2**21


@dataclass(frozen=True)
class Dense:
    """A dense computation that cannot be cut into blocks, such as a factorisation: ``function()``.

    It runs with one BLAS thread, which fixes its bits. When `heavy`, it runs on a thread of its own, under the settings
    that hold on the driver's, so that the driver stays open to Ctrl-C; `run_aside` says how what is abandoned ends.
    """

    function: Callable[[], Any]
    heavy: bool = False

    @classmethod
    def over(cls, function: Callable[[], Any], n_values: int) -> "Dense":
        """Return a computation that touches `n_values` values, some operations on each: heavy above `_LARGE`."""
        return cls(function, n_values > _LARGE)

    def answer(self, source: Source) -> Any:
        # Most BLAS libraries keep one thread count per process, which is set here; `_fulfil` sets those that keep one
        # per thread.
        with one_blas_thread():
            return run_aside(self.function) if self.heavy else self.function()


@dataclass(frozen=True)
class Factored:
    """A dense computation that needs Cholesky factors: ``function(factorise)``, with `factorise(matrix, shift)` as
    LAPACK's dpotrf of the matrix plus a multiple of the identity.

    A heavy one factors on the device where the rows are on one; the rest of it stays on the host.
    """

    function: Callable[[Callable[[Array, float], tuple[Array, int]]], Any]
    heavy: bool

    def answer(self, source: Source) -> Any:
        if self.heavy and source.place == "device":
            from mercer._solver.device_matrices import factorise_upper

            return self.function(partial(factorise_upper, cast(Any, source).placement))
        return Dense(partial(self.function, _factorise), self.heavy).answer(source)


def _factorise(matrix: Array, shift: float) -> tuple[Array, int]:
    from scipy.linalg import lapack

    shifted = matrix.copy(order="F")
    shifted.flat[:: shifted.shape[0] + 1] += shift
    return lapack.dpotrf(shifted, lower=False, overwrite_a=True, clean=False)


# Seconds that the end of a process waits for a thread that Ctrl-C abandoned: long enough for a decomposition of some
# thousand rows. A process whose memory is taken down under a running LAPACK call ends in a crash.
_PATIENCE = 10.0
_abandoned: list[Thread] = []


def run_aside(function: Callable[[], Any]) -> Any:
    """Return ``function()``, run on a thread of its own: this one stays open to Ctrl-C.

    For calls of other libraries that last longer than 50 ms. What Ctrl-C abandons is dropped: mercer's own numbered
    work ends at its next item, and a call of another library ends by itself.
    """
    promise: Future[Any] = Future()
    call = Call()
    thread = Thread(target=carry_context(partial(_fulfil, function, promise, call)), daemon=True)
    thread.start()
    try:
        # Wait 0.05 s at a time: a signal that comes just before a wait begins is handled when that wait ends.
        while not promise.done():
            wait([promise], timeout=0.05)
            # This thread may itself work for a call that Ctrl-C has abandoned.
            check_dropped()
    except BaseException:
        call.dropped = True
        _abandoned.append(thread)
        raise
    return promise.result()


def run_large(function: Callable[[], Any], n_values: int) -> Any:
    """Return ``function()``, which works on `n_values` values; aside where they are more than `_LARGE`.

    For calls of other libraries that cannot be cut into pieces. NumPy gives the interpreter's lock back meanwhile, so
    that this thread stays open to Ctrl-C. Starting a thread takes 0.1 ms.
    """
    return run_aside(function) if n_values > _LARGE else function()


@atexit.register
def join_abandoned() -> None:
    """Wait for the threads that Ctrl-C abandoned, at most `_PATIENCE` seconds for each, before the process ends."""
    while _abandoned:
        _abandoned.pop().join(_PATIENCE)


def _fulfil(function: Callable[[], Any], promise: "Future[Any]", call: Call) -> None:
    """Compute the result on the current thread and hand it, or the error, to `promise`."""
    try:
        begin_call(call)
        hold_blas_here()
        promise.set_result(function())
    except BaseException as error:
        promise.set_exception(error)
