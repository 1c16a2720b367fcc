"""Successive halving: many settings on few rows, and ever fewer settings on more rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._source.threads import run_numbered
from mercer.model_selection._curves import order_growing
from mercer.model_selection._plan import Plan
from mercer.model_selection._trial import Contender, fit_settings

# From one round to the next, the rows grow by this factor and the settings fall by it, so that all take about as long.
FACTOR = 3
# Rows of the first round at least: fewer say little about settings for many rows.
_FEWEST_ROWS = 2000
# Rows of the first round, as a share of all: two rounds before the whole.
_FIRST_SHARE = 1 / 9
# Rows on which a setting is scored.
_MOST_JUDGED = 20_000


def list_sizes(n_rows: int) -> list[int]:
    """Return the numbers of training rows of the rounds, which are fewer than all rows."""
    sizes = []
    size = max(_FEWEST_ROWS, int(_FIRST_SHARE * n_rows))
    while size <= n_rows / FACTOR * 1.001:
        sizes.append(size)
        size *= FACTOR
    return sizes or [n_rows]


def halve_settings(
    plan: Plan,
    contender: Contender,
    settings: Sequence[dict[str, Any]],
    *,
    n_kept: int = 2,
    n_splits: int | None = None,
    forward: bool = False,
    threads: int = 1,
    deadline: float | None = None,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Return the `n_kept` most promising of many settings, the best first.

    In each of the first `n_splits` outer splits (None takes all) the settings are fitted to some of its inner training
    rows and scored on inner test rows; the best third goes on to three times as many rows. Test rows of outer splits
    take no part in the split's own choice. A setting is returned if it went far in many splits, or else by its mean
    score; comparing them on all rows is left to :meth:`Plan.run`. `forward` takes the latest rows first, for splits
    forward in time. At the deadline `OutOfTimeError` is raised.
    """
    labels = plan.rows.y if plan.classes is not None else None
    splits = [splits[0] for splits in plan.inner[:n_splits]]
    orders = [order_growing(train, labels, seed + place, forward) for place, (train, _) in enumerate(splits)]
    judged = [order_growing(test, labels, seed + place, False)[:_MOST_JUDGED] for place, (_, test) in enumerate(splits)]
    alive = [list(range(len(settings))) for _ in splits]
    reached = np.zeros((len(splits), len(settings)))
    scores = np.full((len(splits), len(settings)), -np.inf)
    for size in list_sizes(min(len(order) for order in orders)):
        results: list[Any] = []

        def score(fold: int, size: int = size) -> list[float]:
            tried = [settings[place] for place in alive[fold]]
            rows = np.sort(orders[fold][:size])
            found = fit_settings(contender.estimator, tried, plan.rows, rows, judged[fold], deadline=deadline)
            return [scored.test for scored in found]

        run_numbered(score, len(splits), threads, results.append)
        for fold, values in enumerate(results):
            scores[fold, alive[fold]] = values
            reached[fold, alive[fold]] += 1
            n_left = max(n_kept, -(-len(values) // FACTOR))
            ranked = sorted(zip(values, alive[fold]), key=lambda pair: -pair[0])
            alive[fold] = sorted(place for _, place in ranked[:n_left])
    survived = np.array([sum(place in left for left in alive) for place in range(len(settings))])
    means = scores.mean(axis=0)
    order = sorted(range(len(settings)), key=lambda place: (-survived[place], -reached[:, place].sum(), -means[place]))
    return [dict(settings[place]) for place in order[:n_kept]]
