"""Bounds for finite hypothesis classes: with no training error, and with some.

Sizes of classes are given as base-2 logarithms, since the sizes themselves are astronomical; the bounds take natural
logarithms of them.
"""

import math

from mercer._base.reading import read_integer
from mercer.errors import DataError


def read_rows(subject: str, n_samples: int) -> int:
    """Check that there is a row, and return the number of rows."""
    return read_integer(subject, "n_samples", n_samples, 1, cure="Give the number of rows.")


def read_failure(subject: str, name: str, value: float) -> float:
    """Check that a probability is neither 0 nor 1, and return it."""
    if not 0 < value < 1:
        raise DataError(
            f"{subject}: {name} must be a number in (0, 1); got {value!r}. It is the probability of failure."
        )
    return value


def log2_tree_count(n_features: int, depth: int) -> float:
    r"""Return the base-2 logarithm of the number of full binary trees over Boolean features.

    :math:`|H_0| = 2` and :math:`|H_{k+1}| = n |H_k|^2`, hence :math:`\log_2 |H_k| = (2^k - 1)(1 + \log_2 n) + 1`. Trees
    that compute the same function count once each, so the number of functions is smaller.

    Parameters
    ----------
    n_features : int
        n.
    depth : int
        k.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import consistent_sample_size, log2_tree_count
    >>> [log2_tree_count(4, depth) for depth in range(4)]
    [1.0, 4.0, 10.0, 22.0]
    >>> [consistent_sample_size(log2_tree_count(10, depth), 0.1) for depth in (1, 3, 5, 7)]
    [67, 247, 966, 3842]
    """
    n_features = read_integer("log2_tree_count", "n_features", n_features, 1)
    depth = read_integer("log2_tree_count", "depth", depth, 0, cure="A leaf alone has depth 0.")
    # Each of the 2^k - 1 inner nodes chooses one of n features, and each of the 2^k leaves one of two answers.
    return float((2**depth - 1) * (1 + math.log2(n_features)) + 1)


def count_boolean_functions(n_features: int) -> int:
    r"""Return the number of Boolean functions of n Boolean features, :math:`2^{2^n}`.

    Parameters
    ----------
    n_features : int
        n.

    Returns
    -------
    int

    Examples
    --------
    >>> from mercer.theory import count_boolean_functions
    >>> [count_boolean_functions(n) for n in range(5)]
    [2, 4, 16, 256, 65536]
    """
    cure = "The base-2 logarithm of the number is 2**n_features."
    n_features = read_integer("count_boolean_functions", "n_features", n_features, 0, 24, cure=cure)
    # A function chooses one of two values for each of the 2^n inputs.
    return 2 ** (2**n_features)


def consistent_error_bound(
    log2_size: float, n_samples: int, delta: float = 0.05, *, training_error: float = 0.0
) -> float:
    r"""Bound the error of a hypothesis without training errors, out of a finite class.

    With probability :math:`1 - \delta` the true error is at most :math:`(\ln |H| + \ln (1/\delta)) / m`.

    Parameters
    ----------
    log2_size : float
        :math:`\log_2 |H|`.
    n_samples : int
        m, the number of training rows.
    delta : float in (0, 1), default=0.05
        :math:`\delta`, the probability that the bound fails.
    training_error : float, default=0.0
        The hypothesis's error on the training rows, which must be zero here.

    Returns
    -------
    float
        The bound; above one it says nothing.

    Examples
    --------
    >>> from mercer.theory import consistent_error_bound
    >>> round(consistent_error_bound(10, 100), 6)
    0.099272
    """
    _require_consistent("consistent_error_bound", training_error)
    # |H| (1 - e)^m <= |H| exp(-e m) bounds the probability that some bad hypothesis is consistent; equate it to delta.
    return _log_odds("consistent_error_bound", log2_size, delta) / read_rows("consistent_error_bound", n_samples)


def consistent_failure_probability(
    log2_size: float, epsilon: float, n_samples: int, *, training_error: float = 0.0
) -> float:
    r"""Bound the probability that a hypothesis without training errors has an error above :math:`\epsilon`.

    :math:`P(\text{error} > \epsilon) \le |H| e^{-m \epsilon}`: each hypothesis with a larger error is consistent with
    m rows with a probability of at most :math:`(1 - \epsilon)^m`, and there are at most :math:`|H|` of them.

    Parameters
    ----------
    log2_size : float
        :math:`\log_2 |H|`.
    epsilon : float in (0, 1)
        The error.
    n_samples : int
        m, the number of training rows.
    training_error : float, default=0.0
        The hypothesis's error on the training rows, which must be zero here.

    Returns
    -------
    float
        At most 1, where it says nothing. With ``epsilon=consistent_error_bound(log2_size, m, delta)`` it is `delta`.

    Examples
    --------
    >>> from mercer.theory import consistent_failure_probability
    >>> round(consistent_failure_probability(10, 0.1, 100), 6), consistent_failure_probability(10, 0.1, 50)
    (0.04649, 1.0)
    """
    name = "consistent_failure_probability"
    _require_consistent(name, training_error)
    if not 0 < epsilon < 1:
        raise DataError(f"{name}: epsilon must be a number in (0, 1); got {epsilon!r}.")
    # In logarithms: |H| of a deep tree is beyond all floating-point numbers.
    return math.exp(min(_log_size(name, log2_size) - read_rows(name, n_samples) * epsilon, 0.0))


def consistent_sample_size(log2_size: float, epsilon: float, delta: float = 0.05) -> int:
    r"""Return the rows that suffice for a consistent hypothesis to have an error of at most :math:`\epsilon`.

    Parameters
    ----------
    log2_size : float
        :math:`\log_2 |H|`.
    epsilon : float in (0, 1)
        The error to reach.
    delta : float in (0, 1), default=0.05
        The probability of failure.

    Returns
    -------
    int

    Examples
    --------
    >>> from mercer.theory import consistent_sample_size
    >>> consistent_sample_size(10, 0.1)
    100
    """
    if not 0 < epsilon < 1:
        raise DataError(f"consistent_sample_size: epsilon must be a number in (0, 1); got {epsilon!r}.")
    # |H| exp(-epsilon n) <= delta for n >= (ln |H| + ln(1 / delta)) / epsilon, by the union bound.
    return math.ceil(_log_odds("consistent_sample_size", log2_size, delta) / epsilon)


def agnostic_error_bound(training_error: float, log2_size: float, n_samples: int, delta: float = 0.05) -> float:
    r"""Bound the error of any hypothesis out of a finite class by its training error.

    With probability :math:`1 - \delta` the true error is at most the training error plus
    :math:`\sqrt{(\ln |H| + \ln (1/\delta)) / (2 m)}`, for all hypotheses at once.

    Parameters
    ----------
    training_error : float in [0, 1]
        The share of training rows in error.
    log2_size : float
        :math:`\log_2 |H|`.
    n_samples : int
        m, the number of training rows.
    delta : float in (0, 1), default=0.05
        The probability that the bound fails.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import agnostic_error_bound
    >>> round(agnostic_error_bound(0.0, 10, 100), 6)
    0.222791
    """
    name = "agnostic_error_bound"
    if not 0 <= training_error <= 1:
        raise DataError(
            f"{name}: training_error must be a number in [0, 1]; got {training_error!r}. Divide by the rows."
        )
    # Hoeffding for one hypothesis, exp(-2 m gap^2), times |H| by the union bound; equate it to delta.
    return training_error + math.sqrt(_log_odds(name, log2_size, delta) / (2 * read_rows(name, n_samples)))


def _require_consistent(name: str, training_error: float) -> None:
    """Raise if there is a training error."""
    if training_error != 0:
        raise DataError(
            f"{name}: training_error must be 0 for this bound; got {training_error!r}. Use agnostic_error_bound."
        )


def _log_size(name: str, log2_size: float) -> float:
    """Check that there is a hypothesis, and return ln |H|."""
    if not log2_size >= 0:
        raise DataError(
            f"{name}: log2_size must be a number in [0, inf); got {log2_size!r}. A class has a hypothesis at least."
        )
    return log2_size * math.log(2.0)


def _log_odds(name: str, log2_size: float, delta: float) -> float:
    """Check the arguments, and return ln |H| + ln (1 / delta)."""
    size = _log_size(name, log2_size)
    return size - math.log(read_failure(name, "delta", delta))
