"""Threads: how many a fit may use, and one pool of worker threads that run a function over fixed blocks.

The pool is the only place where mercer starts threads for work. Work items are numbered; each thread takes the next
number, and results are passed on in the order of the numbers. So a result does not depend on which thread computed
what, nor on the number of threads. While the threads work every BLAS is held to one thread, because a BLAS sums in an
order that depends on its own thread count. A call on a thread of its own ends at the next item once nobody waits for
its result any more.
"""

import contextvars
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ContextDecorator, contextmanager
from functools import cache, partial
from typing import Any

import joblib
import sklearn
from threadpoolctl import ThreadpoolController

# What a thread is doing: the call it works for, how many hold its BLAS to one thread, and whether it runs an item:
# its own calls then use one thread.
_place = threading.local()


class Dropped(BaseException):
    """Ends the work of a thread whose result nobody waits for any more."""


class Call:
    """A call on a thread of its own; ``dropped`` is set once nobody waits for its result any more."""

    __slots__ = ("dropped",)

    def __init__(self) -> None:
        self.dropped = False


def begin_call(call: Call) -> None:
    """Let this thread work for a call: its numbered work ends at the next item once the call is dropped."""
    _place.call = call


def check_dropped() -> None:
    """Raise Dropped if this thread works for a call whose result nobody waits for any more."""
    call = getattr(_place, "call", None)
    if call is not None and call.dropped:
        raise Dropped


_pool_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_pool_size = 0


@cache
def _cores() -> int:
    """Return the number of cores this process may use: affinity and cgroup quota, as joblib reads them."""
    return joblib.cpu_count()


@cache
def _blas() -> ThreadpoolController:
    # Both BLAS copies must be loaded before the controller looks for them: NumPy's and SciPy's wheels bring one each.
    """Return the controller of every loaded BLAS."""
    import scipy.linalg.blas  # noqa: F401

    return ThreadpoolController().select(user_api="blas")


@cache
def _blas_counters() -> tuple[Callable[[], int], ...]:
    """Return for each loaded BLAS the function that tells its number of threads."""
    return tuple(library.get_num_threads for library in _blas().lib_controllers)


def available_threads() -> int:
    """Return the number of threads that ``n_jobs=None`` means here and now."""
    if getattr(_place, "inside", False) or _is_nested_in_joblib() or _inside_dask_task():
        return 1
    limits = [_cores()]
    setting = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if setting.isdigit() and int(setting) > 0:
        limits.append(int(setting))
    if min(limits) == 1:
        # No other limit can be lower, and asking each BLAS takes 10 us.
        return 1
    limits.extend(_guard.outside_limits())
    return max(1, min(limits))


def _is_nested_in_joblib() -> bool:
    """Return whether a joblib thread pool around us already uses the cores; its processes set variables instead."""
    if threading.current_thread() is threading.main_thread():
        return False
    backend, _ = joblib.parallel.get_active_backend()
    return bool(getattr(backend, "nesting_level", 0))


def _inside_dask_task() -> bool:
    """Return whether a worker of a Dask cluster runs us: it runs as many tasks at a time as it has threads."""
    distributed = sys.modules.get("distributed")
    try:
        return distributed is not None and distributed.get_worker() is not None
    except ValueError:
        return False


def n_threads(n_jobs: int | None) -> int:
    """Turn an ``n_jobs`` parameter into a number of threads; -1 is all, -2 all but one, as in joblib."""
    if n_jobs is None:
        return available_threads()
    if n_jobs > 0:
        return int(n_jobs)
    # -1 stands for all threads: available + 1 - 1.
    return max(1, available_threads() + 1 + int(n_jobs))


class _BlasGuard:
    """Holds every BLAS to one thread while any thread is inside; it counts them, so that fits can overlap in time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.before: list[int] = []
        # Whether any count was not one already: setting and restoring takes ten times as long as asking.
        self.changes = False

    def outside_limits(self) -> list[int]:
        """Return the BLAS thread counts outside the guard, which show the user's threadpoolctl limits."""
        with self.lock:
            return list(self.before) if self.inside else [count() for count in _blas_counters()]

    def enter(self) -> None:
        """Set every BLAS to one thread, unless another caller is inside already."""
        holds = getattr(_place, "holds", 0) + 1
        if holds > 1:
            # This thread is inside already, and one hold of a thread is enough: no lock is needed for further ones.
            _place.holds = holds
            return
        with self.lock:
            if self.inside == 0:
                self.before = [count() for count in _blas_counters()]
                self.changes = self.before.count(1) != len(self.before)
                if self.changes:
                    # Ctrl-C may come at any instruction, the first of a called function included: hence the `try` here.
                    try:
                        _set_blas_threads([1] * len(self.before))
                    except BaseException:
                        _set_blas_threads(self.before)
                        raise
            # No call stands between these two, so that Ctrl-C cannot come between them.
            self.inside += 1
            _place.holds = holds

    def leave(self) -> None:
        """Restore the thread counts when the last caller leaves."""
        holds = getattr(_place, "holds", 1) - 1
        if holds > 0:
            _place.holds = holds
            return
        with self.lock:
            # Holds are counted for each thread, threads that hold for the process; the last one restores the counts.
            self.inside -= 1
            _place.holds = holds
            if self.inside == 0 and self.changes:
                try:
                    _set_blas_threads(self.before)
                except BaseException:
                    _set_blas_threads(self.before)
                    raise


_guard = _BlasGuard()


def _set_blas_threads(numbers: list[int]) -> None:
    """Set the thread count of each loaded BLAS."""
    for library, number in zip(_blas().lib_controllers, numbers, strict=True):
        # threadpoolctl >= 3.8 lets only one thread set OpenBLAS's count and ignores the others. The guard counts for
        # all threads, so it takes that right before each change and gives it up afterwards.
        release = getattr(library, "clear_controlling_thread", lambda force: None)
        release(force=True)
        library.set_num_threads(number)
        release(force=True)


def hold_blas_here() -> None:
    """Set one thread for each BLAS that keeps a count per thread (those on OpenMP), on a thread of mercer's own."""
    for library in _blas().lib_controllers:
        if getattr(library, "threading_layer", "") in ("openmp", "gnu", "intel"):
            library.set_num_threads(1)


class one_blas_thread(ContextDecorator):  # noqa: N801
    """Hold every BLAS to one thread, so that its sums have one order whatever the machine.

    A class and not a generator: a fit of 50 rows enters it a dozen times.
    """

    def __enter__(self) -> None:
        _guard.enter()

    def __exit__(self, *_: object) -> None:
        _guard.leave()


def count_holds() -> int:
    """Return how many times this thread holds the BLAS to one thread now."""
    return getattr(_place, "holds", 0)


def drop_holds(before: int) -> None:
    """Leave what this thread still holds beyond `before`.

    Ctrl-C at the first instruction of `__exit__` leaves a hold behind; an interrupted fit calls this at its end.
    """
    while count_holds() > before:
        _guard.leave()


def carry_context(function: Callable[[], Any], config: dict[str, Any] | None = None) -> Callable[[], Any]:
    """Wrap `function` for a call on another thread, under the settings that hold on this one.

    A new thread has neither our context variables nor scikit-learn's configuration, which it keeps per thread; `config`
    is that configuration, where the caller has asked for it already.
    """
    context, config = contextvars.copy_context(), sklearn.get_config() if config is None else config

    def run_configured() -> Any:
        # Most often no setting differs: comparing takes a microsecond, setting and restoring five.
        if sklearn.get_config() == config:
            return function()
        with sklearn.config_context(**config):
            return function()

    return partial(context.run, run_configured)


class _Job:
    """Numbered work shared by the worker threads: a free thread takes the next item; results leave in order."""

    def __init__(
        self, function: Callable[[Any], Any], items: Iterator[tuple[int, Any]], receive: Callable[[Any], None] | None
    ) -> None:
        self.function = function
        self.items = items
        self.receive = receive
        self.stopped = False
        # Two locks: `turn` guards the items that are taken, `lock` the results that wait for their order.
        self.turn = threading.Lock()
        self.lock = threading.Lock()
        self.ready: dict[int, Any] = {}
        self.next_out = 0

    def work(self) -> None:
        """Take items and run them until none are left; an error stops the other threads too."""
        # The mark makes parallel work inside of an item run on this thread, so threads do not multiply.
        _place.inside, before = True, getattr(_place, "inside", False)
        try:
            while not self.stopped and (item := self.take()) is not None:
                check_dropped()
                result = self.function(item[1])
                if self.receive is not None:
                    self.hand_on(item[0], result)
        except BaseException:
            self.stopped = True
            raise
        finally:
            _place.inside = before

    def take(self) -> tuple[int, Any] | None:
        """Return the next item and its number, or None at the end."""
        with self.turn:
            return next(self.items, None)

    def hand_on(self, number: int, result: Any) -> None:
        """Keep a result, and pass on all results whose turn has come."""
        with self.lock:
            self.ready[number] = result
            while self.receive is not None and self.next_out in self.ready:
                self.receive(self.ready.pop(self.next_out))
                self.next_out += 1


def run_numbered(
    function: Callable[[int], Any], n_items: int, threads: int = 1, receive: Callable[[Any], None] | None = None
) -> None:
    """Call ``function(i)`` for each i below `n_items`, and ``receive(result)`` in the order of i.

    The calling thread works too, so that one thread needs no pool and Ctrl-C is handled between two items.
    """
    if threads == 1 or n_items == 1 or getattr(_place, "inside", False):
        _run_here(function, n_items, receive)
        return
    _run(_Job(function, ((number, number) for number in range(n_items)), receive), min(threads, n_items))


def run_alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``function(*arguments)``, run as the one item of a job: on this thread, and its own calls too."""
    _place.inside, before = True, getattr(_place, "inside", False)
    try:
        with one_blas_thread():
            return function(*arguments)
    finally:
        _place.inside = before


def _run_here(function: Callable[[int], Any], n_items: int, receive: Callable[[Any], None] | None) -> None:
    """Run numbered work on this thread alone; work of microseconds then waits for no lock and no queue."""

    def run_all() -> None:
        for number in range(n_items):
            check_dropped()
            result = function(number)
            if receive is not None:
                receive(result)

    run_alone(run_all)


def run_taken(
    function: Callable[[Any], Any], items: Iterator[Any], threads: int = 1, receive: Callable[[Any], None] | None = None
) -> None:
    """Call ``function(item)`` for each item of an iterator, and ``receive(result)`` in the order of the items.

    One thread at a time asks the iterator for an item. If the work ends early the iterator is closed, so that no thread
    goes on waiting for it.
    """
    _run(_Job(function, enumerate(items), receive), threads, getattr(items, "close", None))


def _run(job: _Job, threads: int, close: Callable[[], None] | None = None) -> None:
    """Run a job on `threads` threads, this one among them; raise the first error of any."""
    # A worker that waited for other workers could wait for ever: inside the pool there is one thread.
    if getattr(_place, "inside", False):
        threads = 1
    with one_blas_thread():
        workers: list[Future[None]] = []
        try:
            if threads > 1:
                pool, config = _grow_pool(threads - 1), sklearn.get_config()
                workers = [pool.submit(carry_context(job.work, config)) for _ in range(threads - 1)]
            job.work()
        finally:
            job.stopped = True
            if close is not None:
                close()
            # A worker that has not begun is not needed: another fit may keep the pool busy for long.
            begun = [worker for worker in workers if not worker.cancel()]
            wait(begun)
        # Errors of workers are raised here, once all have ended.
        for worker in begun:
            worker.result()


@contextmanager
def run_alongside(work: Callable[[int], Any], dismiss: Callable[[], Any], threads: int = 1) -> Iterator[None]:
    """Run ``work(1)``, ``work(2)``... on worker threads while the ``with`` block runs; call ``dismiss()`` at its end.

    For work in pieces too small to pass to threads one by one: the workers stay in native code and take pieces that
    the caller offers there. They may begin late or never, while other fits keep the pool busy, so the caller must be
    able to do all the work alone. `dismiss` must make every ``work(i)`` return.
    """
    workers: list[Future[Any]] = []
    begun: list[Future[Any]] = []
    try:
        if threads > 1 and not getattr(_place, "inside", False):
            pool = _grow_pool(threads - 1)
            workers = [pool.submit(work, worker) for worker in range(1, threads)]
        yield
    finally:
        dismiss()
        # Workers that have not begun are cancelled; the others return soon after the dismissal.
        begun = [worker for worker in workers if not worker.cancel()]
        wait(begun)
    # A result is asked for only to raise the error of its worker here.
    for worker in begun:
        worker.result()


def _grow_pool(size: int) -> ThreadPoolExecutor:
    """Return a pool of at least `size` threads, a new one if the current one is smaller."""
    global _pool, _pool_size
    with _pool_lock:
        if _pool is None or _pool_size < size:
            _pool = ThreadPoolExecutor(size, thread_name_prefix="mercer", initializer=hold_blas_here)
            _pool_size = size
        return _pool


def _forget_pool() -> None:
    """Drop the thread pool in a forked child, which has none of its parent's threads."""
    global _pool, _pool_size, _guard
    _pool, _pool_size = None, 0
    _guard = _BlasGuard()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
