"""Graphs of tasks over the chunks of Dask collections, and how mercer waits for their results.

A pass is one layer of tasks on top of the user's collections, run by whatever scheduler is active. Waiting is done in
short waits, so that Ctrl-C is handled at once and cancels the running tasks.
"""

import math
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mercer.errors import DataError

try:
    import dask
    from dask.base import get_scheduler
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph
    from dask.task_spec import DataNode, List, Task, TaskRef
except ImportError as error:
    raise ImportError(
        'mercer: Dask collections need dask and distributed, in recent versions; pip install "mercer[dask]".'
    ) from error

# Seconds of one wait: a signal that comes just before a wait begins is handled when that wait ends.
_TURN = 0.05
# The most chunks that one task sums. A task costs the scheduler about a millisecond, so several are summed at once;
# when a worker is lost, as many chunks have to be collected again.
_MOST_CHUNKS = 8


class TaskLayer:
    """Tasks that need one another and the chunks of some collections."""

    def __init__(self, *collections: Any) -> None:
        self.collections = [collection for collection in collections if collection is not None]
        self.token = uuid.uuid4().hex
        self.tasks: dict[Any, Any] = {}

    def hold(self, value: Any) -> TaskRef:
        """Add a value that tasks refer to, which each worker is sent once, and return the reference."""
        key = f"mercer-hold-{self.token}-{len(self.tasks)}"
        self.tasks[key] = DataNode(key, value)
        return TaskRef(key)

    def put(self, function: Callable[..., Any], *arguments: Any, key: Any = None) -> TaskRef:
        """Add the task ``function(*arguments)``, whose arguments may refer to others, and return a reference to it."""
        if key is None:
            # Schedulers learn the time of tasks by the first part of their names.
            key = f"mercer-{function.__name__}-{self.token}-{len(self.tasks)}"
        self.tasks[key] = Task(key, function, *arguments)
        return TaskRef(key)

    def graph(self, name: str) -> HighLevelGraph:
        """Return the tasks on top of the graphs of the collections."""
        return HighLevelGraph.from_collections(name, self.tasks, dependencies=self.collections)

    def result(self, reference: TaskRef) -> Delayed:
        """Return the result of a task as a Dask value that is still to be computed."""
        name = f"mercer-{self.token}"
        return Delayed(reference.key, self.graph(name), layer=name)


def piece_reference(number: int, X: Any, y: Any, weight: Any) -> List:
    """Return references to the chunk `number` of rows, targets and weights, for a task; None stays None."""
    return List(*(None if part is None else chunk_reference(part, number) for part in (X, y, weight)))


def chunk_reference(array: Any, number: int) -> TaskRef:
    """Return a reference to the chunk `number` of an array, for a task."""
    return TaskRef(chunk_key(array, number))


def chunk_key(array: Any, number: int) -> tuple[Any, ...]:
    """Return the key of a chunk of rows in a graph."""
    return (array.name, number, *[0] * (array.ndim - 1))


def active_client() -> Any:
    """Return the client of a cluster if Dask would use one now, else None."""
    owner = getattr(get_scheduler(), "__self__", None)
    return owner if type(owner).__module__.split(".")[0] == "distributed" else None


def compute(collection: Any, subject: str) -> Any:
    """Compute a collection and return the result; Ctrl-C while waiting cancels the work on the cluster."""
    client = active_client()
    if client is None:
        return dask.compute(collection)[0]
    with losses_named(subject):
        future, done = client.compute(collection), threading.Event()
        future.add_done_callback(lambda _: done.set())
        try:
            # Not by distributed.wait: the errors that its time-outs raise keep every frame above alive, with its rows.
            # Short waits: Python handles Ctrl-C between them.
            while not done.wait(_TURN):
                pass
            return future.result()
        finally:
            if not future.done():
                future.cancel()
            future.release()


@contextmanager
def losses_named(subject: str) -> Iterator[None]:
    """Turn the cluster's errors about lost workers and lost rows into DataErrors with a cure; pass others on."""
    try:
        yield
    except Exception as error:
        kind = type(error).__name__
        if kind == "KilledWorker":
            killed: Any = error  # distributed, which defines the error, may not be imported
            worker = getattr(killed.last_worker, "address", killed.last_worker)
            times = killed.allowed_failures + 1
            raise DataError(
                f"{subject}: task {killed.task} ended {times} workers, the last of them {worker}, most likely for want "
                f"of memory; use smaller chunks, or workers with a higher memory limit."
            ) from error
        if kind in ("FutureCancelledError", "FuturesCancelledError", "CancelledError"):
            raise DataError(
                f"{subject}: rows that the work needs are gone from the cluster ({error}); rows that were scattered "
                f"cannot be made again when their worker is lost. Give collections that Dask can compute anew."
            ) from error
        raise


def holders(client: Any, array: Any) -> dict[int, str] | None:
    """Return the worker that holds each chunk of rows; None unless all chunks are in the memory of the cluster."""
    from distributed import futures_of

    futures = {future.key: future for future in futures_of(array)}
    keys = [chunk_key(array, number) for number in range(array.numblocks[0])]
    # A collection that is not persisted has no futures: its chunks are computed anew, by any worker.
    if not all(key in futures for key in keys):
        return None
    holding = client.who_has([futures[key] for key in keys])
    # The answer may name a chunk by its key or by the text of it.
    workers = [tuple(holding.get(key, holding.get(str(key), ()))) for key in keys]
    return {number: some[0] for number, some in enumerate(workers)} if all(workers) else None


def group_chunks(client: Any, array: Any, chunks: list[Any]) -> list[list[Any]]:
    """Group the chunks that one task works on: those that one worker holds, or single ones where rows are computed.

    Where a chunk is decides nothing but speed: the order of sums does not depend on it.
    """
    where = None if client is None else holders(client, array)
    if where is None:
        return [[chunk] for chunk in chunks]
    by_worker: dict[str, list[Any]] = {}
    for chunk in chunks:
        by_worker.setdefault(where[chunk.number], []).append(chunk)
    threads = client.nthreads()
    groups = []
    for worker, held in by_worker.items():
        # A worker's chunks are divided among its threads.
        size = min(_MOST_CHUNKS, math.ceil(len(held) / max(1, threads.get(worker, 1))))
        groups += [held[start : start + size] for start in range(0, len(held), size)]
    return groups
