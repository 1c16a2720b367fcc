"""The setting of a model that keeps an expected loss below a bound: conformal risk control."""

from typing import Any

import numpy as np

from mercer.errors import DataError, ParameterError


def control_risk(losses: Any, level: float, *, largest_loss: float = 1.0) -> int:
    r"""Return the first setting whose expected loss on a new row is at most a given level.

    Settings are ordered from bold to careful, so that the loss of each row never grows along them: thresholds of a
    detector, sizes of a set. With the mean loss :math:`\hat R_j` of n rows at setting j, the answer is the first j with

    .. math:: \frac{n}{n+1} \hat R_j + \frac{B}{n+1} \le \text{level}

    for losses of at most B (`largest_loss`). The expected loss of a new row is then at most `level`.

    Parameters
    ----------
    losses : array-like of shape (n, n_settings)
        The loss of each row at each setting, for rows that the model was not fitted to.
    level : float
        The largest expected loss that is allowed.
    largest_loss : float, default=1.0
        The largest loss that a row can have.

    Returns
    -------
    int
        The index of the setting.

    References
    ----------
    A. N. Angelopoulos, S. Bates, A. Fisch, L. Lei and T. Schuster, *Conformal risk control*, ICLR (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.conformal import control_risk
    >>> missed = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> control_risk(missed, 0.4)  # means 0.75, 0.25 and 0; (4 * 0.25 + 1) / 5 = 0.4
    1
    """
    table = np.asarray(losses, dtype=np.float64)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise DataError(f"control_risk: losses must be a table of finite numbers; got the shape {table.shape}.")
    if (np.diff(table, axis=1) > 0).any():
        row = int(np.flatnonzero((np.diff(table, axis=1) > 0).any(axis=1))[0])
        raise DataError(
            f"control_risk: the loss of a row must not grow from setting to setting; row {row} does. Order the "
            f"settings from bold to careful."
        )
    if table.max() > largest_loss:
        raise ParameterError(
            f"control_risk: largest_loss must be the largest loss of any row; got {largest_loss:g}, and a row has "
            f"{table.max():g}. Raise it."
        )
    n = len(table)
    bounds = (table.sum(axis=0) + largest_loss) / (n + 1.0)
    allowed = np.flatnonzero(bounds <= level)
    if not len(allowed):
        raise DataError(
            f"control_risk: no setting keeps the expected loss below {level:g}; {n} rows allow {bounds[-1]:.4g} at "
            f"best. Take more rows, a higher level or a more careful setting."
        )
    return int(allowed[0])
