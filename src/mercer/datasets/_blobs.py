"""Round Gaussian blobs, of equal or different sizes and spreads."""

from typing import Any

import numpy as np

from mercer._base.randomness import seed_sequence
from mercer.datasets._rules import check, read_sizes


def make_blobs(
    n_samples: Any = 100,
    n_features: int = 2,
    *,
    centers: Any = None,
    cluster_std: Any = 1.0,
    center_box: tuple[float, float] = (-10.0, 10.0),
    shuffle: bool = True,
    random_state: Any = None,
    return_centers: bool = False,
) -> tuple[np.ndarray, ...]:
    """Draw round Gaussian blobs, of unequal sizes and spreads if asked for, with scikit-learn's parameters.

    Parameters
    ----------
    n_samples : int or array-like of ints, default=100
        Number of rows in all, shared out evenly, or of each blob.
    n_features : int, default=2
        Number of columns, where centres are not given.
    centers : int, array-like of shape (n_centers, n_features) or None, default=None
        Number of blobs, or their centres; None means three, or one for each number of rows.
    cluster_std : float or array-like of shape (n_centers,), default=1.0
        Standard deviation of the blobs.
    center_box : tuple of two floats, default=(-10.0, 10.0)
        Where centres are drawn, in each column.
    shuffle : bool, default=True
        Whether rows are in random order, not blob by blob.
    random_state : None, int, RandomState or Generator, default=None
        The seed.
    return_centers : bool, default=False
        Whether the centres are returned too.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        The number of the blob.
    centers : ndarray of shape (n_centers, n_features)
        Where ``return_centers`` asks for them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_blobs
    >>> X, y = make_blobs([10, 200], centers=[[0.0, 0.0], [9.0, 9.0]], cluster_std=[0.1, 2.0], random_state=0)
    >>> np.bincount(y).tolist()
    [10, 200]
    """
    random = np.random.default_rng(seed_sequence(random_state))
    whole = isinstance(n_samples, int | np.integer)
    if centers is None:
        centers = 3 if whole else len(n_samples)
    if isinstance(centers, int | np.integer):
        rule = "a positive number of blobs, or their centres"
        check("make_blobs", "centers", centers, bool(centers > 0), rule, "Ask for one or more.")
        centers = random.uniform(*center_box, size=(centers, n_features))
    centres = np.atleast_2d(np.asarray(centers, dtype=np.float64))
    sizes = read_sizes("make_blobs", n_samples, len(centres))
    spread = np.asarray(cluster_std, dtype=np.float64)
    holds = spread.shape in ((), (len(centres),)) and bool((spread >= 0).all())
    rule = f"a number in [0, inf), or {len(centres)} of them, one for each blob"
    check("make_blobs", "cluster_std", cluster_std, holds, rule, "It is a standard deviation.")
    y = np.repeat(np.arange(len(centres)), sizes)
    X = centres[y] + np.broadcast_to(spread, len(centres))[y, None] * random.normal(size=(len(y), centres.shape[1]))
    # Rows come blob by blob; shuffling hides that order.
    if shuffle:
        order = random.permutation(len(X))
        X, y = X[order], y[order]
    return (X, y, centres) if return_centers else (X, y)
