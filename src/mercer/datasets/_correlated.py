"""Gaussian rows that are scaled and rotated, and so become correlated."""

import math
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from mercer._base.randomness import seed_sequence
from mercer.datasets._rules import check, check_samples


def make_correlated_gaussian(
    n_samples: int = 500,
    *,
    scales: Any = (2.0, 0.5),
    rotation: Any = math.pi / 6,
    mean: Any = None,
    random_state: Any = 0,
) -> Bunch:
    """Draw Gaussian rows that are scaled column by column, then rotated: x = R D z + mean, so Cov x = R D^2 R^T.

    Scaling alone leaves columns without correlation; turning makes it. Principal components undo the turn.

    Parameters
    ----------
    n_samples : int, default=500
        Number of rows.
    scales : array-like of shape (n_features,), default=(2.0, 0.5)
        The diagonal of D.
    rotation : float, array-like of shape (n_features, n_features) or None, default=pi/6
        R: an angle in radians for two columns, an orthogonal matrix for any number; None means no turn.
    mean : array-like of shape (n_features,) or None, default=None
        None means zeros.
    random_state : None, int, RandomState or Generator, default=0
        The seed.

    Returns
    -------
    rows : Bunch
        ``data`` and the truth: ``covariance``, ``rotation`` (R), ``scales``, ``mean``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_correlated_gaussian
    >>> rows = make_correlated_gaussian(20000, scales=(2.0, 1.0), rotation=np.pi / 4)
    >>> rows.covariance
    array([[2.5, 1.5],
           [1.5, 2.5]])
    >>> np.cov(rows.data.T).round(1)
    array([[2.5, 1.5],
           [1.5, 2.5]])
    """
    subject = "make_correlated_gaussian"
    check_samples(subject, n_samples)
    scales = np.asarray(scales, dtype=np.float64)
    usable = scales.ndim == 1 and scales.size > 0 and bool((scales >= 0).all())
    check(subject, "scales", scales.tolist(), usable, "numbers in [0, inf), one for each column", "Drop the signs.")
    width = len(scales)
    turn = _rotation(subject, rotation, width)
    mean = np.zeros(width) if mean is None else np.asarray(mean, dtype=np.float64)
    check(subject, "mean", mean.tolist(), mean.shape == (width,), f"{width} numbers, as many as scales", "Add some.")
    random = np.random.default_rng(seed_sequence(random_state))
    # Rows hold x^T, hence the transposed equation z^T D R^T.
    rows = (random.normal(size=(n_samples, width)) * scales) @ turn.T + mean
    return Bunch(data=rows, covariance=(turn * scales**2) @ turn.T, rotation=turn, scales=scales, mean=mean)


def _rotation(subject: str, given: Any, width: int) -> np.ndarray:
    if given is None:
        return np.eye(width)
    turn = np.asarray(given, dtype=np.float64)
    if turn.ndim == 0:
        rule, cure = "None or a matrix where there are not two columns", "Give an orthogonal matrix."
        check(subject, "rotation", given, width == 2, rule, cure)
        return np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    # The tolerance allows for a rotation that was computed, whose products are rounded.
    holds = turn.shape == (width, width) and np.allclose(turn @ turn.T, np.eye(width), atol=1e-9)
    check(
        subject, "rotation", turn.tolist(), holds, f"orthogonal, {width} x {width}", "Take Q of its QR decomposition."
    )
    return turn
