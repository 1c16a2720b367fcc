"""A source: where rows live, and the verbs by which algorithms reach them.

``reduce`` sums a statistic over all blocks, ``map`` gives a value per row, ``take`` gives rows by index, and ``tiles``
combines block with block; ``on_blocks`` and ``on_rows`` run a function where some blocks, or consecutive rows, are.
Blocks are fixed (see :func:`mercer._source.block.rows_per_block`), and sums follow a fixed binary tree over the
block indices, so that a sum has the same bits on any number of threads and in any place.

A solver is sent NumPy arrays (sums, rows by index), wherever the rows are; the result of ``map`` stays where the rows
are.
"""

import copy
import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.sparse import issparse, vstack

from mercer._source.block import Block
from mercer._source.memory import require_memory
from mercer._source.placement import HOST, Placement
from mercer._source.readings import Readings
from mercer._source.threads import run_alone, run_numbered
from mercer._types import Array, Rows

# The names of the types that most rows have, by their characters.
_NAMES = {"d": "float64", "f": "float32"}


class SumTree:
    """Adds numbered summands, given in order, along a binary tree fixed by their count."""

    def __init__(self) -> None:
        self.stack: list[tuple[int, Any]] = []

    def add(self, value: Any, height: int = 0) -> None:
        """Take the next summand; two subtrees of one height merge at once, so at most log2(n) sums are held.

        `height` says that `value` is itself the sum of 2**height summands: a subtree made elsewhere.
        """
        while self.stack and self.stack[-1][0] == height:
            value = _add(self.stack.pop()[1], value)
            height += 1
        self.stack.append((height, value))

    def total(self) -> Any:
        """Return the sum of all summands; the tree is empty afterwards."""
        value = self.stack.pop()[1]
        while self.stack:
            value = _add(self.stack.pop()[1], value)
        return value


class _Gathered:
    """Rows, targets and weights that are collected block by block, as long as they fit into memory."""

    def __init__(self, source: "Source") -> None:
        self.source = source
        self.parts: list[tuple[Any, Array, Array]] = []
        self.n_bytes = 0.0
        # Sparse rows and streams do not tell their size before they are read: it is checked as they grow.
        self.checked = 0.0
        if source.known_rows is not None and not source.is_sparse:
            self._require(float(source.known_rows) * source.n_features * source.host_dtype.itemsize)

    def _require(self, n_bytes: float) -> None:
        # Parts and what they are joined to are in memory together.
        what, cure = f"holding all rows of {self.source.description}", "use an estimator that reads them block by block"
        require_memory(self.source.subject, 2 * n_bytes, what, cure)
        self.checked = n_bytes

    def add(self, part: tuple[Any, Array, Array]) -> None:
        """Take the next part."""
        rows = part[0]
        self.n_bytes += rows.data.nbytes + rows.indices.nbytes if issparse(rows) else rows.nbytes
        if self.n_bytes > self.checked:
            self._require(2 * self.n_bytes)
        self.parts.append(part)

    def join(self) -> tuple[Rows, Array, Array]:
        """Return everything in one piece; the parts are gone afterwards."""
        rows, y, weight = ([part[place] for part in self.parts] for place in range(3))
        self.parts = []
        X = vstack(rows, format="csr") if issparse(rows[0]) else np.concatenate(rows)
        del rows
        targets, weights = (None if part[0] is None else np.concatenate(part) for part in (y, weight))
        return X, targets, weights


def _list_parts(block: Block) -> tuple[Any, Array, Array]:
    """Return the rows, targets and weights of a block; rows that lie in a file are read."""
    return (block.X if block.is_sparse else np.array(block.X)), block.y, block.weight


def _add(first: Any, second: Any) -> Any:
    """Return the sum of two summands that the tree owns; large ones are added in place."""
    absorb = getattr(first, "absorb", None)
    return first + second if absorb is None else absorb(second)


class Answers(Protocol):
    """Looks at what a fitted model answers about rows."""

    def explain(self, error: Exception) -> Exception | None:
        """Return an error that names the value at fault, or None."""

    def check(self, answer: Any) -> None:
        """Raise if the answer is wrong for these rows."""


class Source(ABC):
    """Rows with optional targets and weights, in fixed blocks.

    Attributes
    ----------
    place : str
        Where the rows are: ``"memory"``, ``"file"``, ``"stream"``, ``"dask"`` or ``"device"``.
    placement : Placement
        The array library and device of fitted attributes: NumPy, except for rows on a device.
    n_features : int
    dtype : dtype
        Of the rows: float32 or float64.
    xp : module
        The array-API namespace of blocks.
    block_rows : int
        Rows per block; the last block may be shorter.
    threads : int
        How many threads the verbs may use. Never changes a result.
    y, weight : array or None
        Targets and weights, where they are in memory; elsewhere None, and only blocks have them.
    target_shape : tuple or None
        The shape of one row's target: ``()`` or ``(n_targets,)``; None without targets.
    has_weight : bool
    feature_names : list of str or None
    labelling : Labelling or None
        Converts stored targets and weights of a block to those that a loss takes.
    description : str
        What the rows are, in words, for errors: ``"the Parquet folder sales/"``.
    subject : str
        Who reads the rows, for errors.
    readings : Readings or None
        Where the verbs report what they read while a fit is rehearsed on a sample. Samples are in memory or on a
        device, so that verbs which only other places define do not report.
    answers : Answers or None
        Where the rows were given to a fitted model: what looks at the values that ``map`` returns.
    """

    place: ClassVar[str] = "memory"
    placement: Placement = HOST
    is_sparse: bool = False
    # Whether rows far apart can be taken without reading all those between them.
    random_access: ClassVar[bool] = True
    n_features: int
    dtype: Any
    xp: Any = np
    block_rows: int
    threads: int = 1
    y: Array = None
    weight: Array = None
    target_shape: tuple[int, ...] | None = None
    has_weight: bool = False
    feature_names: list[str] | None = None
    labelling: Any = None
    description: str = "an array"
    subject: str = "mercer"
    readings: Readings | None = None
    answers: Answers | None = None

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows; a stream that does not know it counts them in a pass of its own."""

    @abstractmethod
    def block(self, number: int) -> Block:
        """Return the rows of block `number`, with their targets and weights."""

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        return (self.block(number) for number in range(self.n_blocks))

    @abstractmethod
    def whole(self) -> Rows:
        """Return all rows at once, as they are stored; call `require_memory` before making anything of their size."""

    def gather(self) -> tuple[Rows, Array, Array]:
        """Bring all rows, targets and weights into memory in one pass; raise before they would not fit.

        Returns
        -------
        X : ndarray or csr_array
        y, weight : ndarray or None
        """
        gathered = _Gathered(self)
        self.each(_list_parts, gathered.add)
        return gathered.join()

    @property
    def host_dtype(self) -> np.dtype:
        """The rows' type as NumPy names it."""
        return np.dtype(self.dtype)

    @property
    def dtype_name(self) -> str:
        """The name of the rows' type, such as ``"float64"``; NumPy takes two microseconds to spell it."""
        dtype = self.host_dtype
        return _NAMES.get(dtype.char) or dtype.name

    @property
    def known_rows(self) -> int | None:
        """Number of rows, or None where only a pass would tell."""
        return self.n_rows

    @property
    def n_targets(self) -> int:
        """Targets per row; one where each row has a single value or label."""
        return math.prod(self.target_shape or ())

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_rows // self.block_rows)

    def bounds(self, number: int) -> tuple[int, int]:
        """Return the first row of block `number` and the row after its last."""
        start = number * self.block_rows
        return start, min(start + self.block_rows, self.n_rows)

    def locate(self, row: int) -> str:
        """Describe where a row is, for errors."""
        return f"row {row} of {self.description}"

    def numbers_of(self, rows: Array) -> Array:
        """Return the block number of each row of `rows`."""
        return np.asarray(rows) // self.block_rows

    def relabel(self, labelling: Any) -> "Source":
        """Return the same rows with targets and weights converted by `labelling`, block by block."""
        other = copy.copy(self)
        other.labelling = labelling
        other.has_weight = self.has_weight or labelling.by_class is not None
        return other

    def _relabel_block(self, block: Block) -> Block:
        """Convert the targets and weights of a block, as they are stored, by the labelling if there is one."""
        return block if self.labelling is None else self.labelling.on(block)

    def assume_finite(self) -> None:  # noqa: B027 (rows in memory were checked before)
        """Skip the check for NaN and infinity; who sums the rows calls :meth:`check_finite` if a sum is not finite."""

    def check_finite(self) -> None:  # noqa: B027
        """Raise if a row holds NaN or infinity, where that was not checked yet."""

    def allow_missing(self) -> None:
        """Treat NaN as missing entries, which the statistics expect: no check for them is made."""
        self.assume_finite()

    def keep_missing(self) -> None:
        """Treat NaN as missing entries in every place, for methods that sum and map rows by array operations alone."""
        self.allow_missing()

    def deliver(self, values: Array) -> Any:
        """Return an array with an entry for each row in the form that results for these rows have."""
        return values

    def send(self, thing: Any) -> Any:
        """Return a statistic with its parameters moved to where the rows are."""
        return thing

    def fetch(self, thing: Any) -> Any:
        """Return sums or rows as NumPy arrays, moved from where the rows are to where the solver is."""
        return thing

    def row_weights(self) -> Array:
        """Return all weights in one array where the rows are, or None where rows have none."""
        return self.weight

    def row_table(self, fill: float, dtype: Any = np.float64) -> Array:
        """Return an array with one entry per row, where the rows are; None if it would not fit or not last."""
        return np.full(self.n_rows, fill, dtype=dtype)

    def local_table(self, *columns: tuple[float, Any]) -> Any:
        """Return a table with columns (fill, type) of one entry per row, kept where blocks are worked on, or None."""
        return None

    def _report(self, kind: str, n_rows: int) -> AbstractContextManager[None]:
        """Report to `readings`, if there are any, that the code in the ``with`` block reads `n_rows` rows."""
        return nullcontext() if self.readings is None else self.readings.read(kind, n_rows)

    def each(self, function: Callable[[Block], Any], receive: Callable[[Any], None] | None = None) -> None:
        """Call ``function(block)`` for every block on all threads, and ``receive(result)`` in the order of blocks."""
        with self._report("passes", self.n_rows):
            run_numbered(lambda number: function(self.block(number)), self.n_blocks, self.threads, receive)

    def reduce(self, statistic: Any) -> Any:
        """Sum `statistic` over all blocks."""
        statistic = self.send(statistic)
        if self.n_blocks == 1:
            if self.readings is None:
                return self.fetch(run_alone(self._sum_run, statistic, 0, 1))
            with self._report("passes", self.n_rows):
                return self.fetch(run_alone(self._sum_run, statistic, 0, 1))
        # The cut into items depends on threads, but each item is a subtree: the order of additions stays the same.
        tree, size = SumTree(), _blocks_per_item(self.n_blocks, self.n_features, self.threads)

        def partial_sum(number: int) -> Any:
            """Sum over `size` blocks on the thread that reads them; the sum is a subtree of the whole tree."""
            return self._sum_run(statistic, number * size, min((number + 1) * size, self.n_blocks))

        with self._report("passes", self.n_rows):
            run_numbered(partial_sum, -(-self.n_blocks // size), self.threads, tree.add)
            return self.fetch(tree.total())

    def _sum_run(self, statistic: Any, first: int, stop: int) -> Any:
        """Sum a statistic over the consecutive blocks `first` to `stop`."""
        tree = SumTree()
        for number in range(first, stop):
            tree.add(statistic.on(self.block(number)))
        return tree.total()

    def map(self, function: Callable[[Block], Array], out: Array = None) -> Array:
        """Return one value (or row of values) per row: ``function(block)`` for each block, joined.

        `function` may also return a tuple of arrays; then a tuple of joined arrays comes back. Where a fitted model
        answers, :attr:`answers` looks at the values and at errors.
        """
        if self.answers is None:
            return self._map(function, out)
        try:
            values = self._map(function, out)
        except Exception as error:
            explained = self.answers.explain(error)
            if explained is None:
                raise
            raise explained from error
        self.answers.check(values)
        return values

    def _map(self, function: Callable[[Block], Array], out: Array) -> Array:
        """Return the values of :meth:`map`, without a look at them."""
        if out is not None:

            def fill(block: Block) -> None:
                out[block.start : block.start + block.n] = function(block)

            self.each(fill)
            return out
        parts: list[Any] = []
        self.each(function, parts.append)
        if isinstance(parts[0], tuple):
            return tuple(self.xp.concat(column) for column in zip(*parts, strict=True))
        # One block is returned as it is, without the copy that joining makes.
        return parts[0] if len(parts) == 1 else self.xp.concat(parts)

    def on_blocks(self, work: dict[int, Callable[[Block], Any]]) -> dict[int, Any]:
        """Return ``work[number](block)`` for some blocks, run where they are."""
        with self._report("parts", len(work) * self.block_rows):
            return {number: self.fetch(function(self.block(number))) for number, function in sorted(work.items())}

    @abstractmethod
    def on_rows(self, start: int, stop: int, function: Callable[[Block], Any]) -> Any:
        """Return ``function(block)`` for the consecutive rows `start` to `stop`, made dense, run where they are."""

    def available(self, start: int, count: int) -> int:
        """Return how many rows there are from `start` on, at most `count`; no further rows are read to find out."""
        return max(0, min(count, self.n_rows - start))

    def release(self) -> None:  # noqa: B027 (rows in memory have nothing to end)
        """End any reading under way; the rows can be read again."""

    def take(self, indices: Array) -> Array:
        """Return rows by index, as a dense NumPy array."""
        indices = np.asarray(indices)
        numbers = self.numbers_of(indices)
        # Indices are grouped by block, so each block is read once whatever the order of the indices.
        work: dict[int, Callable[[Block], Any]] = {
            int(number): _Pick(indices[numbers == number]) for number in np.unique(numbers)
        }
        rows = np.empty((len(indices), self.n_features), self.host_dtype)
        for number, values in self.on_blocks(work).items():
            rows[numbers == number] = values
        return rows

    def part(self, rows: Array) -> "Source":
        """Return some rows, by index, as a source of unit weights."""
        raise NotImplementedError(
            f"{self.description} cannot give rows in any order"
        )  # callers ask for random_access first

    def tiles(self, function: Callable[[Block, Block], Array], out: Array) -> Array:
        """Fill the symmetric matrix `out` with ``function(block_i, block_j)`` for each pair of blocks."""
        # The kernel is symmetric: only tiles with i <= j are computed, about half of all.
        pairs = [(i, j) for j in range(self.n_blocks) for i in range(j + 1)]

        def fill(number: int) -> None:
            i, j = pairs[number]
            rows, columns = slice(*self.bounds(i)), slice(*self.bounds(j))
            out[rows, columns] = function(self.block(i), self.block(j))
            # Each tile is written by one thread only, and so is its mirror image; no lock is needed.
            if i != j:
                out[columns, rows] = out[rows, columns].T

        with self._report("tiles", self.n_rows * self.n_blocks):
            run_numbered(fill, len(pairs), self.threads)
        return out

    def total_weight(self) -> float:
        """Sum of the weights along the fixed tree; the number of rows when there are none."""
        if not self.has_weight:
            return float(self.n_rows)
        tree = SumTree()
        self.each(lambda block: block.total_weight(), tree.add)
        return float(tree.total())

    def fingerprint(self) -> dict[str, Any]:
        """Return what identifies these rows, for checkpoints: shape, type, checksums of the first and last block."""
        # A checksum of all rows would cost a pass; the two ends show a file that was replaced or extended.
        ends = [self.block(number) for number in sorted({0, self.n_blocks - 1})]
        return {
            "shape": [self.n_rows, self.n_features],
            "dtype": str(self.dtype),
            "data": [zlib.crc32(np.ascontiguousarray(block.dense()).data.cast("B")) for block in ends],
        }


class _Pick:
    """Some rows of a block, by their indices in the source; dense."""

    def __init__(self, rows: Array) -> None:
        self.rows = rows

    def __call__(self, block: Block) -> Array:
        chosen = block.xp.asarray(self.rows - block.start, device=block.device)
        if block.is_sparse:
            return block.X[chosen].toarray()
        return block.xp.take(block.X, chosen, axis=0)


def longest_run(n_features: int) -> int:
    """Return the most blocks in a run: native code takes some milliseconds for it, so that Ctrl-C is seen soon."""
    if n_features > 256:
        return 1
    return 32 if n_features <= 128 else 8


def _blocks_per_item(n_blocks: int, n_features: int, threads: int) -> int:
    """Return how many blocks make one work item: a power of two, so that its sum is a node of the same tree.

    Taking an item and passing on its result hold the interpreter's lock, for which other threads wait. So runs are
    long, but short enough for each thread to have four of them. Wide blocks take long enough by themselves.
    """
    # Four items for each thread: one that is late then costs at most a quarter of its share.
    wanted = max(1, n_blocks // (4 * threads))
    return min(2 ** (wanted.bit_length() - 1), longest_run(n_features))
