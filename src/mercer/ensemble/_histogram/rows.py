"""The rows of a boosting fit: some to learn from, some to judge by, all as bins."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split

from mercer._base.opening import open_rows
from mercer._source import Block, Source
from mercer._source.memory import require_memory
from mercer.ensemble._histogram.bins import Binned, learn_bins, sampled_rows
from mercer.ensemble._histogram.categories import learn_categories, read_frame

__all__ = ["TrainingRows", "column_of", "gathered", "prepare_rows", "state_scorer"]

Array = Any
# A scorer sees so many training rows at most.
_SCORED = 10_000


@dataclass(eq=False)
class TrainingRows:
    """Bins, targets and weights of the rows to learn from (``chosen``, by number), and of those held out to judge by.

    ``held_raw()`` gives the latter as they are.
    """

    codes: Array
    y: Array
    weight: Array | None
    chosen: Array
    held_codes: Array = None
    held_y: Array = None
    held_weight: Array | None = None
    held_raw: Callable[[], Array] | None = None

    def counts(self) -> Array | None:
        """How many rows each stands for: its weight where all weights are whole numbers, else None for one."""
        weight = self.weight
        if weight is None or np.any(weight != np.floor(weight)) or weight.sum() >= 2**40:
            return None
        return weight.astype(np.int64)


@dataclass(frozen=True)
class _Beside:
    """The targets or weights of a block."""

    name: str

    def __call__(self, block: Block) -> Array:
        return getattr(block, self.name)


def column_of(source: Source, name: str) -> Array:
    """The targets, "y", or the weights, "weight", of all rows."""
    held = getattr(source, name)
    return held if held is not None else gathered(source, _Beside(name))


def gathered(source: Source, function: Callable[[Block], Array]) -> Array:
    """``function(block)`` for all blocks, joined in memory, wherever the rows are."""
    if source.place != "dask":
        return source.map(function)
    # What a cluster maps stays there, and is given rows without targets.
    found = source.on_blocks(dict.fromkeys(range(source.n_blocks), function))
    return np.concatenate([found[number] for number in range(source.n_blocks)])


def prepare_rows(
    estimator: Any,
    source: Source,
    y: Array,
    weight: Array | None,
    validation: tuple[Any, Any, Any],
    categorical: Array,
    warm: bool,
    seed: int,
    early: bool,
) -> TrainingRows:
    """Choose the rows to learn from, learn bins from them unless the last fit's are kept, and turn rows into bins."""
    n, d, name = len(y), source.n_features, type(estimator).__name__
    chosen, held = np.arange(n), None
    if early and validation[0] is None and estimator.validation_fraction is not None:
        chosen, held = _held_out(estimator, y, seed)
    if weight is not None:
        chosen = chosen[weight[chosen] > 0]
    require_memory(name, n * (2.0 * d + 50.0), f"the bins of {n} x {d} values", "select rows or columns")
    if not warm:
        sample = sampled_rows(chosen, np.random.SeedSequence([seed, 1]))
        share = None if weight is None else weight[sample]
        estimator._categories = learn_categories(source, sample, share, categorical, estimator.max_bins)
        estimator._bins = learn_bins(source, sample, share, estimator.max_bins, estimator._categories, categorical)
    binned = Binned(estimator._bins, estimator._categories)
    codes = gathered(source, binned)
    rows = TrainingRows(codes, y, weight, chosen)
    if len(chosen) < n or held is not None:
        rows.codes, rows.y = codes[chosen], y[chosen]
        rows.weight = None if weight is None else weight[chosen]
    if held is not None:
        rows.held_codes, rows.held_y = codes[held], y[held]
        rows.held_weight = None if weight is None else weight[held]
        rows.held_raw = partial(source.take, held)
    elif validation[0] is not None:
        _open_validation(estimator, rows, validation, binned)
    return rows


def _held_out(estimator: Any, y: Array, seed: int) -> tuple[Array, Array]:
    """Numbers of the rows to learn from and of those held out, in scikit-learn's way."""
    stratify = y if estimator._targets == "labels" else None
    size = estimator.validation_fraction
    chosen, held = train_test_split(np.arange(len(y)), test_size=size, stratify=stratify, random_state=seed)
    return chosen, held


def _open_validation(estimator: Any, rows: TrainingRows, validation: tuple[Any, Any, Any], binned: Binned) -> None:
    """Bring the user's validation rows into the bins of the training rows."""
    X, _, _ = read_frame(estimator, validation[0], estimator._frame, reset=False)
    plain = copy.copy(estimator)
    if X is not validation[0]:
        vars(plain).pop("feature_names_in_", None)
    options = {"targets": estimator._targets, "reset": False, "ensure_all_finite": False}
    source = open_rows(plain, X, *validation[1:], **options)
    rows.held_codes = gathered(source, binned)
    rows.held_y = estimator._validation_targets(column_of(source, "y"))
    rows.held_weight = column_of(source, "weight") if source.has_weight else None
    rows.held_raw = lambda: source.take(np.arange(source.n_rows))


def state_scorer(estimator: Any, source: Source, rows: TrainingRows, known: dict[str, Any]) -> Callable[[Any], Any]:
    """What scores a state by the user's measure: on some training rows, and on those held out or None."""
    scorer = check_scoring(estimator, estimator.scoring)
    place = np.arange(len(rows.chosen))
    if len(place) > _SCORED:
        place = np.sort(np.random.default_rng(0).choice(place, _SCORED, replace=False))
    weight = None if rows.weight is None else rows.weight[place]
    sets = [(source.take(rows.chosen[place]), rows.y[place], weight)]
    if rows.held_raw is not None:
        sets.append((rows.held_raw(), rows.held_y, rows.held_weight))

    def score(state: Any) -> tuple[float, float | None]:
        model = copy.copy(estimator)
        # The rows are numbers by now, whatever frame they came in.
        vars(model).pop("feature_names_in_", None)
        vars(model).update(estimator._fitted(state) | {"_frame": None})
        found = []
        for X, y, share in sets:
            options = {} if share is None else {"sample_weight": share}
            found.append(float(scorer(model, X, estimator._as_given(y, known), **options)))
        return found[0], found[1] if len(found) > 1 else None

    return score
