r"""Margin maximisation as a linear program over given hypotheses.

    max rho - sum_i D_i xi_i   over   A alpha >= rho - xi,  alpha >= 0,  sum alpha = 1,  xi >= 0

Its dual finds the distribution d over rows, with d_i <= D_i, under which the best hypothesis has the least edge.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack

from mercer._plain import plain
from mercer._source.memory import forecast
from mercer.errors import DataError, ParameterError

__all__ = ["MarginSolution", "maximize_margin"]


@plain
@dataclass(frozen=True)
class MarginSolution:
    """The best vote over given hypotheses.

    Attributes
    ----------
    weights : ndarray of shape (n_hypotheses,)
        The shares of the hypotheses in the vote; they sum to one.
    margin : float
        rho: the least margin of the rows, where slacks are added to it.
    objective : float
        rho less the price of the slacks.
    slacks : ndarray of shape (n_samples,)
        By how much rows fall short of rho; zero without ``nu``.
    row_weight : ndarray of shape (n_samples,)
        The dual distribution: rows that hold the margin down. It sums to one.
    """

    weights: Any
    margin: float
    objective: float
    slacks: Any
    row_weight: Any


def maximize_margin(agreement: Any, *, nu: float | None = None, sample_weight: Any = None) -> MarginSolution:
    r"""Maximise the margin of a vote over given hypotheses.

    .. math:: \max_{\alpha, \rho, \xi} \; \rho - \frac{1}{\nu} \sum_i w_i \xi_i \quad \text{subject to} \quad
              \sum_t \alpha_t y_i h_t(x_i) \ge \rho - \xi_i , \; \alpha \ge 0, \; \sum_t \alpha_t = 1

    Parameters
    ----------
    agreement : array-like of shape (n_samples, n_hypotheses)
        :math:`y_i h_t(x_i)`.
    nu : float in (0, 1] or None, default=None
        The largest share of rows that may fall short of the margin; None allows none (the hard margin).
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the slacks; :math:`w` above is their share of the sum.

    Returns
    -------
    MarginSolution

    Notes
    -----
    Solved by HiGHS, exactly. Memory 16 bytes for each entry of `agreement`.

    References
    ----------
    A. Demiriz, K. Bennett and J. Shawe-Taylor, *Linear programming boosting via column generation*, 2002.

    Examples
    --------
    >>> from mercer.ensemble import maximize_margin
    >>> found = maximize_margin([[1, -1, 1], [1, 1, -1], [-1, 1, 1]])
    >>> round(found.margin, 6), found.weights.round(3).tolist()
    (0.333333, [0.333, 0.333, 0.333])
    """
    A = np.asarray(agreement, dtype=np.float64)
    if A.ndim != 2 or not A.size or not np.isfinite(A).all():
        message = f"maximize_margin: agreement must be a finite matrix, rows by hypotheses; got shape {A.shape}."
        raise DataError(message)
    if nu is not None and not 0 < nu <= 1:
        message = f"maximize_margin: nu must be a number in (0, 1] or None; got {nu!r}."
        raise ParameterError(message)
    n, t = A.shape
    forecast("maximize_margin", 32 * A.size, "the linear program", "give fewer rows or hypotheses")
    share = np.full(n, 1 / n) if sample_weight is None else np.asarray(sample_weight) / np.sum(sample_weight)
    # Variables: alpha, rho, and slacks where rows may fall short; rows of weight zero are not asked.
    asked = np.flatnonzero(share > 0)
    parts = [csr_array(-A[asked]), csr_array(np.ones((len(asked), 1)))]
    cost = np.concatenate([np.zeros(t), [-1.0]])
    bounds = [(0.0, None)] * t + [(None, None)]
    if nu is not None:
        parts.append(-eye_array(len(asked), format="csr"))
        cost = np.concatenate([cost, share[asked] / nu])
        bounds += [(0.0, None)] * len(asked)
    total = np.zeros((1, len(cost)))
    total[0, :t] = 1.0
    found = linprog(
        cost, A_ub=hstack(parts, format="csr"), b_ub=np.zeros(len(asked)), A_eq=total, b_eq=[1.0], bounds=bounds
    )
    if found.status != 0:
        message = f"maximize_margin: the linear program was not solved: {found.message} Scale the agreement to [-1, 1]."
        raise DataError(message)
    weights = np.maximum(found.x[:t], 0.0)
    row_weight = np.zeros(n)
    row_weight[asked] = np.maximum(-found.ineqlin.marginals, 0.0)
    slacks = np.zeros(n)
    if nu is not None:
        slacks[asked] = np.maximum(found.x[t + 1 :], 0.0)
    return MarginSolution(
        weights / weights.sum(), float(found.x[t]), float(-found.fun), slacks, row_weight / row_weight.sum()
    )
