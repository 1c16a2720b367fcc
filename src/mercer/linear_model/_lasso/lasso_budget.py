"""The lasso with a budget instead of a penalty: least squares under |w|_1 <= t."""

import warnings
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from mercer._base.parameter import Boolean, Real, check_parameters
from mercer._solver.relay import answer_requests
from mercer._source import Source
from mercer._source.threads import one_blas_thread
from mercer.linear_model._lasso.descent_regressor import suits_gram
from mercer.linear_model._lasso.elastic_net_path import first_alpha, open_path_rows
from mercer.linear_model._solvers.lasso.coordinate_descent import DescentPlan, open_problems, solve_problem, sum_moments

_NAME = "alpha_for_l1_norm"
_RULES = {"l1_norm": Real(0, closed="neither"), "fit_intercept": Boolean(), "positive": Boolean()}
# The relative duality gap of each fit: rounding, so that |coef|_1 is smooth enough for a root finder.
_TOL = 1e-13
# The most sweeps of a fit.
_MAX_ITER = 10_000
# Penalties below this share of the first count as none.
_LEAST = 1e-12


def alpha_for_l1_norm(
    X: Any,
    y: Any,
    l1_norm: float,
    *,
    fit_intercept: bool = True,
    positive: bool = False,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> float:
    """Find the `alpha` at which :class:`Lasso` has |coef|_1 = `l1_norm`: a budget instead of a penalty.

    The minimum of |y - X w - b|^2 under |w|_1 <= t is the lasso at the penalty whose coefficients spend t; |coef|_1
    falls as the penalty grows, along straight lines, so there is one. A budget that least squares keeps gives zero.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    l1_norm : a number in (0, inf)
        The budget t.
    fit_intercept : a boolean, default=True
        Whether there is an intercept b; it costs nothing.
    positive : a boolean, default=False
        Whether the coefficients must not be negative.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    alpha : float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import alpha_for_l1_norm
    >>> round(alpha_for_l1_norm(np.eye(2), [3.0, 4.0], 5.0, fit_intercept=False), 6)
    0.5
    """
    values = {"l1_norm": l1_norm, "fit_intercept": fit_intercept, "positive": positive}
    check_parameters(_NAME, _RULES, values)
    source = open_path_rows(_NAME, X, y, sample_weight, n_jobs)
    plan = DescentPlan(_NAME, fit_intercept, positive, _TOL, _MAX_ITER, suits_gram(source, "auto", _NAME))
    with one_blas_thread():
        return _search_alpha(plan, source, float(l1_norm))


def _search_alpha(plan: DescentPlan, source: Source, budget: float) -> float:
    """Find the root of |coef(alpha)|_1 - budget; every fit begins with the coefficients of the last."""
    moments = answer_requests(sum_moments(plan), source)
    [problem] = answer_requests(open_problems(plan, [moments], [0]), source)
    goal = plan.tol * float(moments.y_scatter[0])
    missed = []

    def excess(alpha: float) -> float:
        penalty = plan.penalty(alpha, 1.0, moments.weight)
        answer_requests(solve_problem(problem, penalty, goal, plan.tol, plan.max_iter), source)
        if not problem.settled:
            missed.append(problem.gap / moments.weight)
        return float(np.abs(problem.coef).sum()) - budget

    # At the top all coefficients are zero; lower penalties are bracketed by factors of four.
    high = top = first_alpha(moments, 1.0, plan.positive, _NAME)
    low = top / 4.0
    while low > _LEAST * top and excess(low) < 0:
        high, low = low, low / 4.0
    # Below the least penalty the budget does not bind.
    alpha = brentq(excess, low, high, xtol=1e-300, rtol=1e-13) if low > _LEAST * top else 0.0
    if missed:
        warnings.warn(
            f"{_NAME}: {len(missed)} fits did not converge; the largest duality gap is {max(missed):.3g}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return float(alpha)
