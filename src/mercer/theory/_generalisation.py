"""Bounds on the gap between the errors on new and on training rows: by counting, by VC dimension, by margins."""

import math
from typing import Any

import numpy as np

from mercer._base.reading import read_integer, read_numbers
from mercer.errors import DataError
from mercer.theory._finite_classes import read_failure, read_rows


def hoeffding_probability(epsilon: float, n_samples: int, n_hypotheses: float = 1) -> float:
    r"""Bound the probability that some hypothesis has a training error off by more than :math:`\epsilon`.

    .. math:: P(|E_{out} - E_{in}| > \epsilon) \le 2 M e^{-2 \epsilon^2 N}

    Parameters
    ----------
    epsilon : float in (0, inf)
        The gap.
    n_samples : int
        N, the number of training rows.
    n_hypotheses : float, default=1
        M, the number of hypotheses to choose from.

    Returns
    -------
    float
        The bound; above one it says nothing.

    Examples
    --------
    >>> from mercer.theory import hoeffding_probability
    >>> round(hoeffding_probability(0.1, 100), 6), round(hoeffding_probability(0.05, 1000, 100), 4)
    (0.270671, 1.3476)
    """
    name = "hoeffding_probability"
    gap = _positive(name, "epsilon", epsilon)
    return 2 * _hypotheses(name, n_hypotheses) * math.exp(-2 * gap**2 * read_rows(name, n_samples))


def hoeffding_gap(n_samples: int, delta: float = 0.05, n_hypotheses: float = 1) -> float:
    r"""Return the gap that no hypothesis exceeds with probability :math:`1 - \delta`.

    .. math:: \epsilon = \sqrt{\ln(2 M / \delta) / (2 N)}

    Parameters
    ----------
    n_samples : int
        N, the number of training rows.
    delta : float in (0, 1), default=0.05
        The probability that the bound fails.
    n_hypotheses : float, default=1
        M, the number of hypotheses to choose from.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import hoeffding_gap
    >>> round(hoeffding_gap(185), 4)
    0.0998
    """
    name = "hoeffding_gap"
    return math.sqrt(_log_ratio(name, delta, n_hypotheses) / (2 * read_rows(name, n_samples)))


def hoeffding_sample_size(epsilon: float, delta: float = 0.05, n_hypotheses: float = 1) -> int:
    r"""Return the rows from which on no hypothesis is off by more than :math:`\epsilon` with probability
    :math:`1 - \delta`.

    Parameters
    ----------
    epsilon : float in (0, inf)
        The gap.
    delta : float in (0, 1), default=0.05
        The probability that the bound fails.
    n_hypotheses : float, default=1
        M, the number of hypotheses to choose from.

    Returns
    -------
    int

    Examples
    --------
    >>> from mercer.theory import hoeffding_sample_size
    >>> hoeffding_sample_size(0.1), hoeffding_sample_size(0.05, n_hypotheses=100)
    (185, 1659)
    """
    name = "hoeffding_sample_size"
    return math.ceil(_log_ratio(name, delta, n_hypotheses) / (2 * _positive(name, "epsilon", epsilon) ** 2))


def vc_confidence(n_samples: int, dimension: int, eta: float = 0.05) -> float:
    r"""Return the capacity term of Vapnik's bound for a class of VC dimension d.

    .. math:: \sqrt{\frac{d (\ln(2 N / d) + 1) - \ln(\eta / 4)}{N}}

    Parameters
    ----------
    n_samples : int
        N, the number of training rows.
    dimension : int
        d, at least one and at most 2 N: beyond that the formula does not hold.
    eta : float in (0, 1), default=0.05
        The probability that the bound fails.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import vc_confidence
    >>> [round(vc_confidence(n, 3), 6) for n in (100, 1000, 10_000)]
    [0.447003, 0.163978, 0.058135]
    """
    name = "vc_confidence"
    N, d = read_rows(name, n_samples), read_integer(name, "dimension", dimension, 1)
    if d > 2 * N:
        raise DataError(f"{name}: dimension must be at most 2 n_samples = {2 * N}; got {d}. Give more rows.")
    return math.sqrt((d * (math.log(2 * N / d) + 1) - math.log(read_failure(name, "eta", eta) / 4)) / N)


def vc_bound(risk: float, n_samples: int, dimension: int, eta: float = 0.05) -> float:
    r"""Bound the errors of all hypotheses of a class at once by their empirical risks.

    With probability :math:`1 - \eta` each error is at most the empirical risk plus :func:`vc_confidence`.

    Parameters
    ----------
    risk : float in [0, 1]
        The share of training rows in error. Half the squared difference of labels -1 and 1 would count errors twice.
    n_samples : int
        The number of training rows.
    dimension : int
        The VC dimension of the class.
    eta : float in (0, 1), default=0.05
        The probability that the bound fails.

    Returns
    -------
    float
        The bound; above one it says nothing.

    Examples
    --------
    >>> from mercer.theory import vc_bound
    >>> round(vc_bound(0.1, 1000, 11), 6)
    0.369472
    """
    cure = "Divide the number of errors by the rows."
    return float(read_numbers("vc_bound", "risk", risk, 0.0, 1.0, cure=cure)) + vc_confidence(n_samples, dimension, eta)


def margin_error(margins: Any, theta: float) -> float:
    r"""Return the share of training rows whose margin is at most :math:`\theta`: the first term of margin bounds.

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        :math:`y_i f(x_i)` with f of norm one, negative for rows in error.
    theta : float
        The margin that is asked for.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import margin_error
    >>> margin_error([0.5, 0.2, -0.1, 0.9], 0.2)
    0.5
    """
    values = read_numbers("margin_error", "margins", margins)
    if values.size == 0:
        raise DataError("margin_error: margins must have an entry at least; got none.")
    return float(np.mean(values <= theta))


def margin_risk_term(n_samples: int, theta: float, eta: float = 0.05) -> float:
    r"""Return the order of the capacity term of a machine with a large margin.

    .. math:: \sqrt{\frac{\ln(N \theta^2)}{\theta^2 N} + \frac{\ln(1 / \eta)}{N}}

    With probability :math:`1 - \eta` the error is at most :func:`margin_error` plus a constant times this term. The
    constant is not known, so the term shows how the bound changes, not its value. The number of columns plays no part.

    Parameters
    ----------
    n_samples : int
        N, with :math:`N \theta^2 \ge 1`.
    theta : float in (0, inf)
        The margin.
    eta : float in (0, 1), default=0.05
        The probability that the bound fails.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import margin_risk_term
    >>> round(margin_risk_term(1000, 0.5), 4)
    0.1584
    """
    name = "margin_risk_term"
    N, margin = read_rows(name, n_samples), _positive(name, "theta", theta)
    if N * margin**2 < 1:
        raise DataError(
            f"{name}: n_samples theta^2 must be at least 1; got {N * margin**2:.3g}. Give more rows or a larger theta."
        )
    return math.sqrt(math.log(N * margin**2) / (margin**2 * N) - math.log(read_failure(name, "eta", eta)) / N)


def boosting_margin_term(n_samples: int, theta: float, dimension: int, delta: float = 0.05) -> float:
    r"""Return the order of the capacity term of a weighted vote of classifiers of VC dimension d.

    .. math:: \sqrt{\frac{d \ln^2(N / d)}{\theta^2 N} + \frac{\ln(1 / \delta)}{N}}

    With probability :math:`1 - \delta` the error is at most :func:`margin_error` plus a constant times this term; the
    constant is not known. The number of rounds plays no part.

    Parameters
    ----------
    n_samples : int
        N, at least d.
    theta : float in (0, inf)
        The margin of the vote, whose weights sum to one.
    dimension : int
        d, the VC dimension of one classifier.
    delta : float in (0, 1), default=0.05
        The probability that the bound fails.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import boosting_margin_term
    >>> round(boosting_margin_term(10_000, 0.5, 2), 4)
    0.2415
    """
    name = "boosting_margin_term"
    N, d = read_rows(name, n_samples), read_integer(name, "dimension", dimension, 1)
    if d > N:
        raise DataError(f"{name}: dimension must be at most n_samples={N}; got {d}. Give more rows.")
    first = d * math.log(N / d) ** 2 / (_positive(name, "theta", theta) ** 2 * N)
    return math.sqrt(first - math.log(read_failure(name, "delta", delta)) / N)


def _log_ratio(name: str, delta: float, n_hypotheses: float) -> float:
    """Return ln(2 M / delta)."""
    return math.log(2 * _hypotheses(name, n_hypotheses)) - math.log(read_failure(name, "delta", delta))


def _hypotheses(name: str, n_hypotheses: float) -> float:
    return float(read_numbers(name, "n_hypotheses", n_hypotheses, 1.0, cure="A class has a hypothesis at least."))


def _positive(name: str, argument: str, value: float) -> float:
    return float(read_numbers(name, argument, value, 0.0, closed="neither"))
