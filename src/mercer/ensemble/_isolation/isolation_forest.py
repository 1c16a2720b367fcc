"""The isolation forest: trees of random splits, grown on samples of rows, many in one native call."""

import warnings
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, few_rows, fitting, open_new_rows, seed_sequence
from mercer._base.outliers import CONTAMINATION, Detector, find_offset
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, Seed, Share, attribute, parameter
from mercer._base.recognition import Recognised
from mercer._base.tree_problem import check_values
from mercer._native.tree import sample_rows
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense, Take
from mercer._solver.tree.growth import mix_seeds
from mercer._solver.tree.search import Room
from mercer._solver.tree.whole_growth import grow_apart
from mercer._source import Block, Source
from mercer._source.namespace import to_numpy
from mercer._source.threads import run_numbered
from mercer._stored import Stored, floats, integers, part, size
from mercer._types import Array
from mercer.ensemble._forest.model import DRAWN
from mercer.ensemble._isolation.trees import (
    IsolationTrees,
    PathScores,
    add_trees,
    average_path_length,
    join_nodes,
    make_no_trees,
)
from mercer.errors import ParameterError
from mercer.tree import ExtraTreeRegressor

# Rows times levels that one native call splits: about half a millisecond.
_CALL = 2**16
# Native calls of one step, which worker threads share.
_CALLS_PER_STEP = 8
# Most values of rows that are read at a time where rows are sparse or not in memory: 128 MiB of float64.
_MOST_VALUES = 2**24
# Rows that the 32-bit indices of trees tell apart; of more rows, those that are drawn are copied.
_MOST_ROWS = 2**31 - 1
NO_BOUND = Certificate.none("Splits are random: more trees make scores less random, and nothing is minimised.")
# Rows in the sample of a tree unless `max_samples` says otherwise: more rows hide outliers among others (masking).
_FEW_SAMPLES = 256
# An odd number without pattern, whose multiples tell the draws of columns apart.
_COLUMN_STEP = 0x85EBCA6B
# The threshold of the original paper: the score of a row whose path is as long as that of an average row.
_AVERAGE = -0.5
# The trees of each forest as estimators, made when they are first asked for.
_MEMBERS: "WeakKeyDictionary[Any, list[ExtraTreeRegressor]]" = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Sampling:
    """How rows are drawn for a tree.

    Attributes
    ----------
    n_rows : int
    n_drawn : int
    repeated : bool
        Whether a row may be drawn more than once.
    weight : (n_rows,) or None
        Rows are drawn in proportion to it, and then with repetitions: a row of weight two stands for two rows.
    """

    n_rows: int
    n_drawn: int
    repeated: bool
    weight: Array = None

    def draw(self, seeds: Array) -> Array:
        """Return the rows (trees, n_drawn) for the trees of `seeds` (trees, 2)."""
        rows = np.empty((len(seeds), self.n_drawn), np.int64)
        if self.weight is None:
            # A power of two, at least twice the rows drawn: the hash table stays half empty.
            entries = 1 << (2 * self.n_drawn - 1).bit_length()
            table = np.empty(1 if self.repeated else entries, np.int64)
            sample_rows.draw_rows(self.n_rows, seeds, self.repeated, table, rows)
            return rows
        # Inverse of the cumulated weights.
        ends = np.cumsum(self.weight)
        last = np.flatnonzero(self.weight)[-1]
        for tree, seed in enumerate(seeds.tolist()):
            chances = np.random.default_rng(seed).random(self.n_drawn) * ends[-1]
            # Rounding can reach the end, where rows may have no weight.
            rows[tree] = np.minimum(np.searchsorted(ends, chances, side="right"), last)
        return rows


@dataclass(eq=False)
class IsolationGrowth:
    """The solver: grows a tree for each pair of seeds; a step is a batch of trees.

    Attributes
    ----------
    X : ndarray of shape (n, d) or None
        Dense rows in memory; None where rows have to be taken from the source.
    n_features : int
    sampling : Sampling
    seeds : (trees, 2) of uint32
    n_columns : int
        Columns that each tree may split.
    max_depth : int
    threads : int
    room : Room
        Scratch arrays of each thread.
    """

    X: Array
    n_features: int
    sampling: Sampling
    seeds: Array
    n_columns: int
    max_depth: int
    threads: int
    room: Room = field(default_factory=Room)

    def solve(self, trees: IsolationTrees | None) -> Solver:
        """Grow the trees that are missing."""
        trees = make_no_trees(self.n_features, self.n_columns) if trees is None else trees
        # Trees in one native call, so that it lasts at most some 50 ms.
        per_call = max(1, _CALL // (self.sampling.n_drawn * max(self.max_depth, 1)))
        batch = per_call * _CALLS_PER_STEP
        if self.X is None:
            # Rows that are not in memory are fetched tree by tree: fewer at once.
            batch = max(1, min(batch, _MOST_VALUES // (self.sampling.n_drawn * self.n_features)))
        while len(trees) < len(self.seeds):
            first = len(trees)
            seeds = self.seeds[first : first + batch]
            X, rows = yield from self._read_rows(seeds)
            grown = yield Dense(partial(self._grow, X, rows, seeds, per_call))
            trees = add_trees([trees, grown]) if first else grown
            yield Step(trees.mean_path(first), trees, NO_BOUND, {"trees": float(len(trees))})
        return Solution(trees, True, NO_BOUND)

    def _read_rows(self, seeds: Array) -> Generator[Any, Any, tuple[Array, Array]]:
        """Return rows, and the indices among them of those drawn for each tree."""
        rows = self.sampling.draw(seeds)
        if self.X is not None and len(self.X) <= _MOST_ROWS:
            return self.X, rows
        drawn, places = np.unique(rows, return_inverse=True)
        X = yield Take(drawn)
        return np.ascontiguousarray(X), np.ascontiguousarray(places.reshape(rows.shape))

    def _grow(self, X: Array, rows: Array, seeds: Array, per_call: int) -> IsolationTrees:
        """Return the trees of `seeds`, grown by all threads."""
        parts: list[IsolationTrees] = []
        run_numbered(
            lambda number: self._grow_part(X, rows, seeds, slice(number * per_call, (number + 1) * per_call)),
            -(-len(seeds) // per_call),
            self.threads,
            parts.append,
        )
        return add_trees(parts)

    def _grow_part(self, X: Array, rows: Array, seeds: Array, part: slice) -> IsolationTrees:
        """Return some of the trees, grown by one native call."""
        starts = mix_seeds(mix_seeds(seeds[part, 0].astype(np.int64)) ^ seeds[part, 1])
        own = self._draw_columns(starts)
        drawn = own if own.shape[1] else None
        sizes, nodes = grow_apart(X, rows[part], starts, drawn, self.max_depth, self.room)
        return join_nodes(self.n_features, sizes, nodes, own)

    def _draw_columns(self, seeds: Array) -> Array:
        """Return the columns that each tree may split, in rising order; none where each tree may split all."""
        if self.n_columns == self.n_features:
            return np.empty((len(seeds), 0), np.int32)
        # Pseudorandom numbers of the columns, all different: the columns of the least numbers are drawn.
        numbers = np.arange(self.n_features)
        chances = mix_seeds(seeds[:, None] + _COLUMN_STEP * (numbers + 1)) * self.n_features + numbers
        return np.sort(chances.argpartition(self.n_columns, axis=1)[:, : self.n_columns], axis=1).astype(np.int32)


class IsolationForest(Recognised, Detector, Estimator):
    r"""Isolation forest: strange rows are separated from the others by few random splits.

    Each tree takes a small sample of m rows and splits it at a random value of a random column, again and again, until
    rows are alone. The path of a row is the number of splits from the root to its leaf. Its score is

    .. math:: s(x) = -2^{-\bar h(x) / c(m)}, \qquad c(m) = 2 H_{m-1} - \frac{2 (m - 1)}{m},

    with :math:`\bar h` the mean path over the trees and c(m) the mean path of an average row
    (:func:`average_path_length`). Scores are near -1 for rows that are alone after few splits, and about -0.5 for
    average rows.

    Attributes
    ----------
    offset_ : float
        The threshold: rows with lower scores are outliers.
    max_samples_ : int
        Rows in the sample of a tree.
    trees_ : IsolationTrees
        All trees in a few arrays.
    estimators_ : list of ExtraTreeRegressor
        The trees as estimators that predict path lengths, made when asked for.
    estimators_features_, estimators_samples_ : list of ndarray
        The columns that each tree may split, and the rows that were drawn for it.
    history_ : dict of ndarray
        For each batch of trees ``objective``, the mean path of the sampled rows, and ``trees``, the number so far.

    Notes
    -----
    T trees cost O(T m log m) to grow, whatever the number of rows, and O(T log m) to score a row. Paths end at depth
    :math:`\lceil \log_2 m \rceil`, where c of the rows that are left is added. c(m) is exact here; scikit-learn takes
    :math:`\ln(m - 1) + 0.577` for :math:`H_{m-1}`, which is 0.004 less at 256 rows and 0.23 less at 3. Missing values
    (NaN) go to a side drawn at random at each split. With `sample_weight` rows are drawn in proportion to it, with
    replacement. Rows: NumPy, sparse, frames, files, streams, Dask; only the drawn rows are held in memory.

    References
    ----------
    F. T. Liu, K. M. Ting and Z.-H. Zhou, Isolation forest, 2008; Isolation-based anomaly detection, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.ensemble import IsolationForest
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = IsolationForest(random_state=0).fit(np.vstack([X, [[6.0, -6.0]]]))
    >>> model.predict([[0.0, 0.0], [6.0, -6.0]]).tolist(), model.score_samples([[6.0, -6.0]]).round(1).tolist()
    ([1, -1], [-0.8])
    """

    n_estimators: int = parameter(Integer(1), default=100, doc="The number of trees.")
    max_samples: Any = parameter(
        Choice("auto") | Integer(1) | Share(0, 1, "right"),
        default="auto",
        doc="The number or share of rows drawn for a tree; 'auto' means 256, or all rows if there are fewer.",
    )
    contamination: Any = parameter(
        CONTAMINATION,
        default="auto",
        doc="The share of outliers among the rows of the fit, which sets the threshold ``offset_``; 'auto' sets it "
        "to -0.5.",
    )
    max_features: float = parameter(
        Integer(1) | Share(0, 1, "right"),
        default=1.0,
        doc="The number or share of columns that a tree may split, drawn at random for each tree.",
    )
    bootstrap: bool = parameter(Boolean(), default=False, doc="Whether rows are drawn with replacement.")
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)
    random_state: Any = parameter(
        Seed(), default=None, doc="The seed of the rows, columns and values that are drawn; every tree has its own."
    )
    verbose: int = parameter(Boolean() | Integer(0), default=0, doc="Whether to print a line for each batch of trees.")
    warm_start: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether `fit` keeps the trees of the last fit and grows only those that are missing.",
    )
    max_time: float | None = parameter(
        Real(0) | Nothing(), default=None, doc="Seconds after which the fit ends with the trees it has."
    )

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _objective_moves: ClassVar[str | None] = None
    _law_exceptions: ClassVar[dict[str, str]] = DRAWN
    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | {
        f"check_sample_weight_equivalence_on_{kind}_data": DRAWN["weights"] for kind in ("dense", "sparse")
    }
    trees_: IsolationTrees = attribute()
    max_samples_: int = attribute()
    _n_rows: int = attribute()
    _draw_weight: Any = attribute()
    _seeds: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "max_samples_": integers(low=0),
        "_n_rows": size("rows"),
        "_draw_weight": floats("rows | none"),
        "_seeds": integers("*, *", low=0),
        "trees_": part("IsolationTrees"),
    }
    _takes_sparse = True
    _takes_gaps = True

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Rows are drawn in proportion to these weights, with replacement.
        """
        source = self._open(X, None, sample_weight, accept_sparse="csr", ensure_all_finite=False)
        if source.place == "memory":
            check_values(type(self).__name__, source.whole())
        earlier, weight = self._read_earlier_trees(source), _read_weights(source)
        growth = self._make_growth(source, weight, earlier)
        attributes = {
            "max_samples_": growth.sampling.n_drawn,
            "_n_rows": source.n_rows,
            "_draw_weight": growth.sampling.weight,
            "_seeds": growth.seeds,
            "offset_": _AVERAGE,
        }
        outcome = self._drive(
            lambda trees: growth.solve(earlier if trees is None else trees),
            source,
            fitted=lambda trees: {"trees_": trees},
            max_steps=self.n_estimators,
            attributes=attributes,
        )
        if self.contamination != "auto":
            # A Dask array would give an approximate quantile: fetch the scores first.
            scores = self._score(source)
            scores = scores if source.place == "memory" else np.asarray(source.fetch(scores))
            self.offset_ = find_offset(to_numpy(scores), self.contamination, weight)
        self._conclude(outcome, "raise max_time")
        return self

    def score_samples(self, X: Any) -> Any:
        """Return the score of each row: near -1 for outliers, about -0.5 for average rows."""
        if (rows := few_rows(self, X)) is not None:
            return self._scorer().score(rows, 1)
        source = open_new_rows(self, X, accept_sparse="csr", ensure_all_finite=False)
        if source.place == "memory":
            check_values(type(self).__name__, source.whole())
        return self._score(source)

    def _score(self, source: Source) -> Any:
        """Return the scores of opened rows, block by block where they are not in memory."""
        scorer = self._scorer()
        if source.place != "memory":
            return source.map(scorer)
        X = source.whole()
        return scorer.score(X, self._threads)

    def _scorer(self) -> PathScores:
        check_is_fitted(self)
        return PathScores(self.trees_, float(average_path_length(self.max_samples_)))

    @property
    def estimators_(self) -> list[ExtraTreeRegressor]:
        """The trees as estimators that predict path lengths."""
        check_is_fitted(self, "trees_")
        members = _MEMBERS.setdefault(self, [])
        members.extend(self._make_member(number) for number in range(len(members), len(self.trees_)))
        return members

    @property
    def estimators_features_(self) -> list[Array]:
        """The columns that each tree may split."""
        check_is_fitted(self, "trees_")
        if self.trees_.columns.shape[1]:
            return list(self.trees_.columns)
        return [np.arange(self.trees_.n_features) for _ in range(len(self.trees_))]

    @property
    def estimators_samples_(self) -> list[Array]:
        """The rows that were drawn for each tree, in rising order."""
        check_is_fitted(self, "trees_")
        sampling = Sampling(self._n_rows, self.max_samples_, self.bootstrap, self._draw_weight)
        return list(np.sort(sampling.draw(self._seeds[: len(self.trees_)]), axis=1))

    def _make_member(self, number: int) -> ExtraTreeRegressor:
        """Return tree `number` as a fitted estimator."""
        depth = _limit_depth(self.max_samples_)
        member = ExtraTreeRegressor(max_features=1, max_depth=depth, random_state=int(self._seeds[number, 0]))
        member.__dict__.update(
            tree_=self.trees_.make_tree(number),
            n_features_in_=self.trees_.n_features,
            n_outputs_=1,
            max_features_=1,
            _n_classes=np.ones(1, np.int64),
            _dtype="float64",
        )
        return member

    def _read_earlier_trees(self, source: Source) -> IsolationTrees | None:
        """Return the trees of the last fit if a warm start continues it, else None."""
        if not self.warm_start or "trees_" not in vars(self):
            _MEMBERS.pop(self, None)
            return None
        trees = self.trees_
        if len(trees) > self.n_estimators:
            raise ParameterError(
                f"IsolationForest: n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={len(trees)} when warm_start==True; raise it."
            )
        if trees.n_features != source.n_features:
            raise ParameterError(
                f"IsolationForest: a warm start needs rows of {trees.n_features} columns, as in the last fit; got "
                f"{source.n_features}. Set warm_start=False."
            )
        if len(trees) == self.n_estimators:
            message = "Warm-start fitting without increasing n_estimators does not fit new trees."
            warnings.warn(f"IsolationForest: {message} Raise n_estimators.", UserWarning, stacklevel=5)
        return trees

    def _make_growth(self, source: Source, weight: Array, earlier: IsolationTrees | None) -> IsolationGrowth:
        """Return the solver."""
        # Rows of equal weight are drawn as rows without weights.
        weight = None if weight is None or (weight == weight[0]).all() else np.asarray(weight)
        seeds = seed_sequence(self.random_state).generate_state(2 * self.n_estimators).reshape(-1, 2)
        if earlier is not None:
            # The seeds of earlier trees stay with them.
            seeds = np.concatenate([self._seeds[: len(earlier)], seeds[len(earlier) :]])
        n_drawn, d = self._count_drawn(source.n_rows), source.n_features
        n_columns = self.max_features if isinstance(self.max_features, Integral) else int(self.max_features * d)
        return IsolationGrowth(
            X=source.whole() if source.place == "memory" and not source.is_sparse else None,
            n_features=d,
            sampling=Sampling(source.n_rows, n_drawn, bool(self.bootstrap), weight),
            seeds=seeds,
            n_columns=min(max(int(n_columns), 1), d),
            max_depth=_limit_depth(n_drawn),
            threads=self._threads(),
        )

    def _count_drawn(self, n: int) -> int:
        """Return the number of rows that are drawn for a tree."""
        if self.max_samples == "auto":
            return min(_FEW_SAMPLES, n)
        if not isinstance(self.max_samples, Integral):
            return max(int(self.max_samples * n), 1)
        if int(self.max_samples) > n:
            warnings.warn(
                f"IsolationForest: max_samples ({self.max_samples}) is greater than the total number of samples ({n}). "
                f"max_samples will be set to n_samples for estimation.",
                UserWarning,
                stacklevel=6,
            )
        return min(int(self.max_samples), n)


def _read_weights(source: Source) -> Array:
    """Return the weights of all rows in one array, wherever the rows are; None where they have none."""
    weight = source.row_weights()
    if weight is not None or not source.has_weight:
        return weight
    parts = source.on_blocks(dict.fromkeys(range(source.n_blocks), _take_weight))
    return np.concatenate([np.asarray(parts[number]) for number in range(source.n_blocks)])


def _take_weight(block: Block) -> Array:
    return block.weight


def _limit_depth(n_drawn: int) -> int:
    """Return the depth at which paths end: that of a balanced tree of the sample."""
    return (max(n_drawn, 2) - 1).bit_length()
