"""Risks: the expected loss, its estimate from rows, and how far it exceeds the estimate for any hypothesis."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import quad
from sklearn.utils import check_consistent_length

from mercer._base.randomness import generators
from mercer._base.reading import read_integer, read_weight
from mercer._types import Array
from mercer.errors import DataError, ParameterError

# For labels -1 and 1, |f - y| / 2 counts each error once; half the squared difference would count it twice.
_LOSSES: dict[str, Callable[[Array, Array], Array]] = {
    "zero_one": lambda predicted, y: (predicted != y).astype(np.float64),
    "absolute": lambda predicted, y: np.abs(predicted - y),
    "squared": lambda predicted, y: (predicted - y) ** 2,
    "half_squared": lambda predicted, y: 0.5 * (predicted - y) ** 2,
}


class RiskEstimate(NamedTuple):
    """A risk estimated from draws."""

    #: The mean loss.
    value: float
    #: Its standard error, the standard deviation of the losses over the root of their number.
    standard_error: float


class RiskMinimum(NamedTuple):
    """The hypothesis with the least empirical risk."""

    #: Its place in the class, counted from zero; of equals, the first.
    place: int
    #: The hypothesis itself.
    hypothesis: Any
    #: The empirical risks of all hypotheses.
    risks: Array


def empirical_risk(y: Any, predicted: Any, *, loss: Any = "zero_one", sample_weight: Any = None) -> float:
    r"""Return the mean loss of predictions, :math:`R_{emp} = \frac1N \sum_i L(f(x_i), y_i)`.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Targets.
    predicted : array-like of shape (n_samples,)
        Predictions.
    loss : {"zero_one", "absolute", "squared", "half_squared"} or callable, default="zero_one"
        A function of predictions and targets that returns the loss of each row.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights; a weight of two is the row twice.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import empirical_risk
    >>> empirical_risk([1, -1, 1, 1], [1, 1, 1, 1])
    0.25
    >>> empirical_risk([1.0, 2.0], [2.0, 2.0], loss="half_squared")
    0.25
    """
    y, predicted = np.asarray(y), np.asarray(predicted)
    check_consistent_length(y, predicted)
    weight = read_weight("empirical_risk", sample_weight, len(y))
    return float(np.average(_find_loss("empirical_risk", loss)(predicted, y), weights=weight))


def estimate_risk(
    predict: Callable[[Any], Any],
    draw: Callable[[int, np.random.Generator], tuple[Any, Any]],
    *,
    loss: Any = "zero_one",
    n_draws: int = 100_000,
    random_state: Any = None,
) -> RiskEstimate:
    r"""Estimate the risk :math:`R[f] = \int L(f(x), y) \, dP(x, y)` of a known distribution from draws.

    Parameters
    ----------
    predict : callable
        The hypothesis f: a function of rows that returns their predictions, such as ``model.predict``.
    draw : callable
        ``draw(n, generator)`` returns n rows and their targets from the distribution P.
    loss : {"zero_one", "absolute", "squared", "half_squared"} or callable, default="zero_one"
        As in :func:`empirical_risk`.
    n_draws : int, default=100_000
        Draws; the standard error falls as one over their root.
    random_state : None, int, RandomState or Generator, default=None
        The seed.

    Returns
    -------
    RiskEstimate

    Examples
    --------
    >>> from mercer.theory import estimate_risk
    >>> def draw(n, generator):
    ...     x = generator.uniform(size=n)
    ...     return x, x > 0.5
    >>> found = estimate_risk(lambda x: x > 0.25, draw, random_state=0)
    >>> abs(found.value - 0.25) < 4 * found.standard_error
    True
    """
    n_draws = read_integer("estimate_risk", "n_draws", n_draws, 2)
    X, y = draw(n_draws, generators(random_state, 1)[0])
    losses = np.asarray(_find_loss("estimate_risk", loss)(np.asarray(predict(X)), np.asarray(y)), dtype=np.float64)
    return RiskEstimate(float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(len(losses))))


def integrate_risk(
    predict: Callable[[Array], Any],
    joint: dict[Any, Callable[[Array], Any]],
    low: float,
    high: float,
    *,
    loss: Any = "zero_one",
    breaks: Sequence[float] = (),
) -> float:
    r"""Integrate the risk of a hypothesis about one column and finitely many targets numerically.

    .. math:: R[f] = \sum_y \int_{low}^{high} L(f(x), y) \, p(x, y) \, dx

    Parameters
    ----------
    predict : callable
        The hypothesis: a function of values (n,) that returns predictions (n,).
    joint : dict
        For each target y the joint density p(x, y), a function of values: the prior of y times its class density.
    low, high : float
        The interval that holds the densities.
    loss : {"zero_one", "absolute", "squared", "half_squared"} or callable, default="zero_one"
        As in :func:`empirical_risk`.
    breaks : sequence of float, default=()
        Points where predictions or densities jump. Between them the integrand should be smooth.

    Returns
    -------
    float

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from mercer.theory import integrate_risk
    >>> classes = {-1: lambda x: 0.5 * norm.pdf(x, -1), 1: lambda x: 0.5 * norm.pdf(x, 1)}
    >>> risk = integrate_risk(lambda x: [1 if value > 0 else -1 for value in x], classes, -10, 10, breaks=[0.0])
    >>> bool(abs(risk - norm.cdf(-1)) < 1e-9)
    True
    """
    measure = _find_loss("integrate_risk", loss)
    if not low < high:
        raise DataError(f"integrate_risk: low must be below high; got {low!r} and {high!r}. Exchange them.")
    ends = [low, *sorted(point for point in breaks if low < point < high), high]

    def weigh(value: float) -> float:
        x = np.array([value])
        predicted = np.asarray(predict(x))
        return sum(float(measure(predicted, np.array([y]))[0]) * float(np.asarray(p(x))[0]) for y, p in joint.items())

    return float(sum(quad(weigh, first, last, limit=200)[0] for first, last in pairwise(ends)))


def minimise_empirical_risk(
    hypotheses: Sequence[Callable[[Any], Any]], X: Any, y: Any, *, loss: Any = "zero_one", sample_weight: Any = None
) -> RiskMinimum:
    """Return the hypothesis of a finite class that has the least mean loss on the rows.

    A class with parameters is given as its members on a grid, such as ``[partial(classify, w) for w in grid]``.

    Parameters
    ----------
    hypotheses : sequence of callables
        Functions of rows that return predictions.
    X : array-like of shape (n_samples, ...)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    loss : {"zero_one", "absolute", "squared", "half_squared"} or callable, default="zero_one"
        As in :func:`empirical_risk`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights.

    Returns
    -------
    RiskMinimum

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.theory import minimise_empirical_risk
    >>> thresholds = [lambda x, t=t: x > t for t in (0.0, 1.0, 2.0)]
    >>> minimise_empirical_risk(thresholds, np.array([0.5, 1.5, 2.5]), [False, True, True]).place
    1
    """
    if not hypotheses:
        raise DataError(
            "minimise_empirical_risk: hypotheses must have a member at least; got none. Give a list of functions."
        )
    risks = np.array([empirical_risk(y, f(X), loss=loss, sample_weight=sample_weight) for f in hypotheses])
    best = int(np.argmin(risks))
    return RiskMinimum(best, hypotheses[best], risks)


def _find_loss(subject: str, loss: Any) -> Callable[[Array, Array], Array]:
    """Return the function of a loss, given by name or itself."""
    if callable(loss):
        return loss
    if loss not in _LOSSES:
        raise ParameterError(f"{subject}: loss must be a function or one of {', '.join(_LOSSES)}; got {loss!r}.")
    return _LOSSES[loss]


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
