"""The rows of a boosting fit: their targets, those that train and those that validate, all as bins.

Training rows are held in both orders, with their order by node, and passed over in blocks.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._native.records import SPAN, make_records
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.ensemble._histogram.bins import BinAssignment, BinMap, learn_bins, sample_rows
from mercer.ensemble._histogram.categories import Categories, learn_categories
from mercer.errors import DataError

# Most rows in a block: their bins, gradients and the histogram share the second-level cache.
_MOST_ROWS = 8192
# Blocks are halved down to this size where there would be too few for many threads. On 500 000 x 30 values that costs
# one thread 3 % at half the rows, 6 % at a quarter, 20 % at an eighth.
_LEAST_ROWS = 2048
# Blocks that are enough for many threads.
_ENOUGH_BLOCKS = 96
# Most bins in a block: a longer block would delay Ctrl-C.
_MOST_CELLS = 2**22
# Bins in one work item: about a millisecond, so that handing it out costs little and Ctrl-C is noticed.
_ITEM = 2**20
# Bins in the smallest work item, where larger ones would not make two items for each thread.
_LEAST_ITEM = 2**17
_NO_COUNTS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Targets:
    """The targets of all rows, as a loss takes them.

    Attributes
    ----------
    subject : str
        The name of the estimator, for errors.
    y : (n,)
        Regression targets, or the index of each row's class in `classes`.
    weight : (n,) or None
    classes : (n_classes,) or None
        The sorted labels; None for regression.
    """

    subject: str
    y: Array
    weight: Array | None
    classes: Array = None

    def encode(self, y: Array) -> Array:
        """Return the targets of other rows as a loss takes them; raise if one has an unknown label."""
        return y.astype(np.float64) if self.classes is None else encode_labels(self.subject, y, self.classes)

    def decode(self, y: Array) -> Array:
        """Return encoded targets as the user gave them."""
        return y if self.classes is None else self.classes[y.astype(int)]


def encode_labels(subject: str, y: Array, classes: Array, weight: Array | None = None) -> Array:
    """Return the index in `classes` of each label; raise if a row of positive weight has an unknown label."""
    if len(classes) == 2:
        # Two comparisons take a tenth of the time of a binary search.
        index = y == classes[1]
        unknown = ~index & (y != classes[0])
    else:
        index = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        unknown = classes[index] != y
    if weight is not None:
        unknown &= weight > 0
    if unknown.any():
        raise DataError(
            f"{subject}: the validation rows must have labels of the training rows; got "
            f"{np.unique(y[unknown]).tolist()}, known are {classes.tolist()}. Drop those rows."
        )
    return index.astype(np.float64)


@dataclass(frozen=True, eq=False)
class RowSet:
    """Some rows of a source: their bins (n, d), targets (n,) and weights (n,), or None for weights of one.

    ``take(positions)`` reads rows of the set as values.
    """

    codes: Array
    y: Array
    weight: Array | None
    take: Callable[[Array], Array]

    def count_repetitions(self) -> Array | None:
        """Return how many rows each row stands for: its weight where all weights are whole numbers, else None."""
        weight = self.weight
        # Counts share a word of 63 bits with sums of curvatures, which keep at least 20 bits.
        if weight is None or np.any(weight != np.floor(weight)) or weight.sum() >= 2**40:
            return None
        return weight.astype(np.int64)


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """The rows of a fit: the map from values to bins, the training rows, and the validation rows or None."""

    bins: BinMap
    categories: Categories | None
    training: RowSet
    validation: RowSet | None


@dataclass(frozen=True)
class _Column:
    """A function of a block: its targets ("y") or its weights ("weight")."""

    name: str

    def __call__(self, block: Block) -> Array:
        return getattr(block, self.name)


def read_column(source: Source, name: str) -> Array:
    """Return the targets, "y", or the weights, "weight", of all rows."""
    column = getattr(source, name)
    return column if column is not None else gather(source, _Column(name))


def gather(source: Source, function: Callable[[Block], Array]) -> Array:
    """Return ``function(block)`` of all blocks, joined in memory, wherever the rows are."""
    if source.place != "dask":
        return source.map(function)
    # Results of `map` stay on the cluster, and its blocks have no targets.
    parts = source.on_blocks(dict.fromkeys(range(source.n_blocks), function))
    return np.concatenate([parts[block] for block in range(source.n_blocks)])


def prepare_rows(
    source: Source,
    targets: Targets,
    categorical: Array,
    max_bins: int,
    seed: int,
    learnt: tuple[BinMap, Categories | None] | None = None,
    validation_size: float | int | None = None,
    validation: Source | None = None,
) -> PreparedRows:
    """Split off the rows that validate, learn bins from the others, and turn all rows into bins.

    Parameters
    ----------
    source : Source
    targets : Targets
    categorical : (d,), bool
        Which columns hold categories.
    max_bins : int
        Most bins of a column, without the bin of missing values.
    seed : int
        Draws the validation rows and the sample from which bins are learnt.
    learnt : (BinMap, Categories or None) or None
        The bins of an earlier fit that this one continues.
    validation_size : float, int or None
        The share or number of rows to split off for validation.
    validation : Source or None
        Validation rows that the user gave.
    """
    from sklearn.model_selection import train_test_split

    n, d, weight = len(targets.y), source.n_features, targets.weight
    training, held_out = np.arange(n), None
    if validation_size is not None:
        # Classification keeps the shares of classes among the rows held out.
        stratify = None if targets.classes is None else targets.y
        training, held_out = train_test_split(training, test_size=validation_size, stratify=stratify, random_state=seed)
    if weight is not None:
        # Rows of weight zero must not shape the bins.
        training = training[weight[training] > 0]
    # A byte for each value by rows and another by columns, then targets, scores and gradients.
    require_memory(targets.subject, n * (2.0 * d + 50.0), f"the bins of {n} x {d} values", "select rows or columns")
    if learnt is None:
        # Bins come from a sample: quantiles of some hundred thousand rows are exact enough.
        sample = sample_rows(training, np.random.SeedSequence([seed, 1]))
        sample_weight = None if weight is None else weight[sample]
        categories = learn_categories(source, sample, sample_weight, categorical, max_bins)
        learnt = learn_bins(source, sample, sample_weight, max_bins, categories, categorical), categories
    assign = BinAssignment(*learnt)
    codes = gather(source, assign)
    held_rows = None
    if held_out is not None:
        held_rows = _select_rows(source, codes, targets, held_out)
    elif validation is not None:
        held_rows = _bin_validation(validation, assign, targets)
    return PreparedRows(*learnt, _select_rows(source, codes, targets, training), held_rows)


def _select_rows(source: Source, codes: Array, targets: Targets, rows: Array) -> RowSet:
    """Return the rows with some indices; all rows are not copied."""

    def take(positions: Array) -> Array:
        return source.take(rows[positions])

    y, weight = targets.y, targets.weight
    if len(rows) == len(codes):
        return RowSet(codes, y, weight, take)
    return RowSet(codes[rows], y[rows], None if weight is None else weight[rows], take)


def _bin_validation(source: Source, assign: BinAssignment, targets: Targets) -> RowSet:
    """Return the user's validation rows in the bins of the training rows."""
    weight = read_column(source, "weight") if source.has_weight else None
    return RowSet(gather(source, assign), targets.encode(read_column(source, "y")), weight, source.take)


class BinnedRows:
    """Training rows as bins, in blocks of fixed size.

    Parameters
    ----------
    rows : RowSet
    bins : BinMap
    threads : int

    Attributes
    ----------
    codes, columns : (n, d) and (d, n), uint8
        The bin of each value, by row and by column.
    y, weight : (n,), and (n,) or None
    counts : (n,), or empty
        How many rows each row stands for; empty for one each.
    unit, n_blocks : int
        Rows in a block, and the number of blocks; neither depends on the threads.
    repeats : bool
        Whether a row stands for several.
    shift : int
        Bits that the number of rows takes in the words of a histogram.
    order : (n,)
        The positions of rows in their block, sorted by node.
    spans : (blocks, nodes), records
        Where the rows of a node begin and end in the order of a block.
    """

    def __init__(self, rows: RowSet, bins: BinMap, threads: int) -> None:
        self.codes, self.y, self.weight = rows.codes, rows.y, rows.weight
        self.bins, self.threads = bins, threads
        self.n, self.d = rows.codes.shape
        self.unit = _MOST_ROWS
        while self.unit > _LEAST_ROWS and self.unit * _ENOUGH_BLOCKS > self.n:
            self.unit //= 2
        while self.unit > 64 and self.unit * self.d > _MOST_CELLS:
            self.unit //= 2
        self.n_blocks = -(-self.n // self.unit)
        # A split reads one column of all its rows, a histogram all columns of some rows: each has its own order.
        self.columns = np.empty((self.d, self.n), np.uint8)
        self.run_blocks(self.n * self.d, self._transpose)
        counts = rows.count_repetitions()
        self.counts = _NO_COUNTS if counts is None else counts
        self.repeats = counts is not None and bool(np.any(counts > 1))
        total = self.n if counts is None else int(counts.sum())
        self.shift = max(1, total.bit_length())
        self.order = np.empty(self.n, dtype=np.uint16)
        self.spans = make_records((self.n_blocks, 64), SPAN)

    def _transpose(self, first: int, last: int) -> None:
        for block in range(first, last):
            part = slice(block * self.unit, (block + 1) * self.unit)
            self.columns[:, part] = self.codes[part].T

    def run_blocks(self, work: int, call: Callable[[int, int], None]) -> None:
        """Call ``call(first, last)`` on all threads for runs of blocks that cover all; `work` is the cost in bins."""
        shared = min(2 * self.threads, work // _LEAST_ITEM) if self.threads > 1 else 1
        n_items = min(self.n_blocks, max(work // _ITEM, shared, 1))
        if n_items == 1:
            call(0, self.n_blocks)
            return
        cuts = np.linspace(0, self.n_blocks, n_items + 1).astype(int).tolist()
        run_numbered(lambda item: call(cuts[item], cuts[item + 1]), n_items, self.threads)

    def find_rows(self, node: int) -> Array:
        """Return the indices of the rows of a node."""
        unit = self.unit
        return np.concatenate(
            [
                block * unit + self.order[block * unit + begin : block * unit + stop].astype(np.int64)
                for block, (begin, stop) in enumerate(self.spans[:, node].tolist())
            ]
        )

    def widen(self) -> None:
        """Make room for twice as many nodes."""
        wider = make_records((self.n_blocks, 2 * self.spans.shape[1]), SPAN)
        wider[:, : self.spans.shape[1]] = self.spans
        self.spans = wider
