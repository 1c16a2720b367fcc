"""The key theorem of learning theory, by simulation: how far the risk of any hypothesis exceeds its empirical risk."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer._base.randomness import generators
from mercer._base.reading import read_integer
from mercer._types import Array
from mercer.errors import DataError
from mercer.theory._risk import empirical_risk


class GapCurve(NamedTuple):
    """The largest gap between risk and empirical risk, by the number of rows."""

    #: Numbers of training rows, (n_sizes,).
    n_samples: Array
    #: Means over the repeats, (n_sizes,).
    gaps: Array
    #: Their standard errors, (n_sizes,).
    standard_errors: Array


def simulate_uniform_gap(
    choose: Callable[[Any, Any], Sequence[Callable[[Any], Any]]],
    draw: Callable[[int, np.random.Generator], tuple[Any, Any]],
    sizes: Sequence[int],
    *,
    n_repeats: int = 20,
    n_draws: int = 20_000,
    random_state: Any = None,
) -> GapCurve:
    r"""Estimate :math:`\sup_f (R[f] - R_{emp}[f])` over a class, for growing numbers of rows.

    Minimising the empirical risk is consistent for bounded losses if and only if this gap tends to zero: the worst
    hypothesis counts, since the learner may choose it. It does for a class of finite VC dimension. It does not for a
    table that remembers the labels it has seen, whose empirical risk is zero and whose risk is that of guessing.

    Parameters
    ----------
    choose : callable
        ``choose(X, y)`` returns the hypotheses to look at, functions of rows: all of a finite class (a grid of a larger
        one), or the one that a learner makes of these rows.
    draw : callable
        ``draw(n, generator)`` returns n rows and their labels.
    sizes : sequence of int
        Numbers of training rows.
    n_repeats : int, default=20
        Training sets of each size.
    n_draws : int, default=20_000
        Fresh rows on which risks are measured.
    random_state : None, int, RandomState or Generator, default=None
        The seed.

    Returns
    -------
    GapCurve

    Examples
    --------
    >>> from mercer.theory import simulate_uniform_gap
    >>> def draw(n, generator):
    ...     x = generator.uniform(size=n)
    ...     return x, (x > 0.5) ^ (generator.uniform(size=n) < 0.2)
    >>> thresholds = [lambda x, t=t: x > t for t in (0.1, 0.3, 0.5, 0.7, 0.9)]
    >>> curve = simulate_uniform_gap(lambda X, y: thresholds, draw, [20, 2000], random_state=0)
    >>> bool(curve.gaps[1] < 0.2 * curve.gaps[0])
    True
    """
    counts = np.array([read_integer("simulate_uniform_gap", "sizes", int(size), 1) for size in sizes])
    repeats = read_integer("simulate_uniform_gap", "n_repeats", n_repeats, 2)
    fresh = read_integer("simulate_uniform_gap", "n_draws", n_draws, 1)
    found = np.empty((len(counts), repeats))
    streams = iter(generators(random_state, found.size))
    for place in np.ndindex(found.shape):
        generator = next(streams)
        X, y = draw(int(counts[place[0]]), generator)
        X_new, y_new = draw(fresh, generator)
        hypotheses = choose(X, y)
        if not len(hypotheses):
            raise DataError("simulate_uniform_gap: choose must return a hypothesis at least; got none.")
        found[place] = max(empirical_risk(y_new, f(X_new)) - empirical_risk(y, f(X)) for f in hypotheses)
    return GapCurve(counts, found.mean(axis=1), found.std(axis=1, ddof=1) / np.sqrt(repeats))
