"""How many hypotheses there are: trees of a depth, and all Boolean functions."""

import math

from mercer._base.reading import read_integer


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
