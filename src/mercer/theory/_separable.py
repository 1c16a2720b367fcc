"""Cover's counting of dichotomies, and what it says of the capacity of one neuron."""

from scipy.special import betainc

from mercer._base.reading import read_integer

# Points up to which the share is a quotient of whole numbers with one rounding: 2^16 take half a second, and the work
# grows with the square. Beyond, the share is a probability of the binomial distribution, right to some 1e-13.
_MOST_EXACT = 2**14


def count_separable(n_points: int, n_dimensions: int) -> int:
    r"""Count the labellings of points in general position that a hyperplane through the origin separates.

    .. math:: T(N, K) = 2 \sum_{k=0}^{K-1} \binom{N-1}{k} = T(N-1, K) + T(N-1, K-1)

    A labelling of N - 1 points can be continued by both labels of a further point only if a hyperplane through that
    point has this labelling, and hyperplanes through a point have one dimension less: hence the recursion. All
    :math:`2^N` labellings are possible if and only if K >= N. For hyperplanes with an offset in d dimensions take
    K = d + 1.

    Parameters
    ----------
    n_points : int
        N, the number of points. Any K of them must be linearly independent.
    n_dimensions : int
        K, the dimension of the space.

    Returns
    -------
    int

    References
    ----------
    T. Cover, Geometrical and statistical properties of systems of linear inequalities with applications in pattern
    recognition, 1965.

    Examples
    --------
    >>> from mercer.theory import count_separable
    >>> [count_separable(4, k) for k in (1, 2, 3, 4)]
    [2, 8, 14, 16]
    """
    N, K = _read("count_separable", n_points, n_dimensions)
    total = term = 1
    for k in range(1, min(K, N)):
        # Each binomial coefficient from the one before: a product and a quotient by numbers of one word.
        term = term * (N - k) // k
        total += term
    return 2 * total


def separable_fraction(n_points: int, n_dimensions: int) -> float:
    r"""Return the share of all labellings that a hyperplane through the origin separates, :math:`T(N, K) / 2^N`.

    The share is one up to N = K and exactly one half at N = 2 K: a neuron with K inputs can learn about two random
    labels per input. The larger K is, the steeper is the fall around 2 K.

    Parameters
    ----------
    n_points : int
        N.
    n_dimensions : int
        K.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import separable_fraction
    >>> [round(separable_fraction(n, 10), 6) for n in (10, 20, 40)]
    [1.0, 0.5, 0.000533]
    """
    N, K = _read("separable_fraction", n_points, n_dimensions)
    if K >= N:
        return 1.0
    if N == 2 * K:
        return 0.5
    if N <= _MOST_EXACT:
        # Both are whole numbers of any length; Python divides them with one rounding.
        return count_separable(N, K) / 2**N
    # The share is the probability of fewer than K heads in N - 1 throws.
    return float(betainc(N - K, K, 0.5))


def ambiguous_fraction(n_points: int, n_dimensions: int) -> float:
    r"""Return the share of separable labellings that leave the label of a further point open.

    A further point is ambiguous if some separating hyperplanes put it on one side and some on the other. The share is
    :math:`T(P, N-1) / T(P, N)`. At a fixed ratio r = P / N it tends to 1 for r <= 2 and to 1 / (r - 1) above: only with
    more than two labels per input does a neuron begin to generalise.

    Parameters
    ----------
    n_points : int
        P, the number of labelled points.
    n_dimensions : int
        N, the dimension of the space, at least two.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import ambiguous_fraction
    >>> [round(ambiguous_fraction(ratio * 400, 400), 4) for ratio in (1, 3, 4)]
    [1.0, 0.4963, 0.3317]
    """
    P, N = _read("ambiguous_fraction", n_points, n_dimensions)
    N = read_integer(
        "ambiguous_fraction", "n_dimensions", N, 2, cure="A line has one direction and no ambiguous point."
    )
    return count_separable(P, N - 1) / count_separable(P, N)


def _read(subject: str, n_points: int, n_dimensions: int) -> tuple[int, int]:
    """Check the number of points and of dimensions."""
    return read_integer(subject, "n_points", n_points, 1), read_integer(subject, "n_dimensions", n_dimensions, 1)
