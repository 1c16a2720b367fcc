"""Paths of the lasso and the elastic net: the coefficients for a sequence of falling penalties, each from the last."""

import warnings
from collections.abc import Generator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length

from mercer._base.parameter import Boolean, Choice, Integer, Real, check_parameters
from mercer._base.validation import FLOATS, check_weight
from mercer._solver.relay import answer_requests
from mercer._source import Source, open_source
from mercer._source.threads import n_threads, one_blas_thread
from mercer._statistic import MomentSums
from mercer.errors import DataError, ParameterError
from mercer.linear_model._lasso.descent_regressor import descent_seed, suits_gram
from mercer.linear_model._lasso.elastic_net import ElasticNet
from mercer.linear_model._solvers.lasso.coordinate_descent import (
    DescentPlan,
    check_cross,
    open_problems,
    solve_problem,
    sum_moments,
)

_OPTIONS = {
    "tol": 1e-4, "max_iter": 1000, "random_state": None, "selection": "cyclic", "sample_weight": None, "n_jobs": None,
}  # fmt: skip
_RULES = {
    "l1_ratio": Real(0, 1), "eps": Real(0, closed="neither"), "positive": Boolean(), "tol": Real(0),
    "max_iter": Integer(1), "selection": Choice("cyclic", "random"),
}  # fmt: skip


def lasso_path(X: Any, y: Any, **parameters: Any) -> tuple:
    """Compute the coefficients of the lasso along a path of penalties.

    :func:`enet_path` with ``l1_ratio=1``; takes and returns what that does.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import lasso_path
    >>> X = np.array([[1, 2, 3.1], [2.3, 5.4, 4.3]]).T
    >>> _, coefs, gaps = lasso_path(X, np.array([1, 2, 3.1]), alphas=[5.0, 1.0, 0.5])
    >>> coefs[1].round(3), bool(gaps.max() < 1e-3)
    (array([0.216, 0.443, 0.237]), True)
    """
    return enet_path(X, y, l1_ratio=1.0, **parameters)


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: Any = "deprecated",
    alphas: Any = "warn",
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    **params: Any,
) -> tuple:
    """Compute the coefficients of the elastic net along a path of penalties.

    The objective is that of :class:`ElasticNet` without an intercept; centre X and y for one.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    l1_ratio : a number in [0, 1], default=0.5
        The share of the l1 part.
    eps : a number in (0, inf), default=0.001
        The last penalty as a share of the first.
    n_alphas : int, default="deprecated"
        Give the number to ``alphas``.
    alphas : int or array-like, default=100
        Penalties, or how many, at equal ratios, from the one at which the first coefficient leaves zero.
    precompute : 'auto', bool or array-like of shape (n_features, n_features), default='auto'
        Whether to descend on the Gram matrix X^T X, or that matrix; False and 'auto' leave it to the cost.
    Xy : array-like of shape (n_features,) or None, default=None
        X^T y where it is known; it is checked.
    copy_X : bool, default=True
        Has no effect: rows are neither copied nor overwritten.
    coef_init : array-like of shape (n_features,) or None, default=None
        Coefficients to begin with.
    verbose : bool or int, default=False
        Whether to print a line for each penalty.
    return_n_iter : bool, default=False
        Whether to return the numbers of sweeps.
    positive : bool, default=False
        Whether the coefficients must not be negative.
    check_input : bool, default=True
        Has no effect: rows are always checked.
    **params
        ``tol``, ``max_iter``, ``selection``, ``random_state`` and ``n_jobs`` as in :class:`ElasticNet`, and
        ``sample_weight``.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        The penalties, falling.
    coefs : ndarray of shape (n_features, n_alphas)
        Coefficients.
    dual_gaps : ndarray of shape (n_alphas,)
        Duality gaps.
    n_iters : list of int
        Sweeps, if asked for.

    Examples
    --------
    >>> from mercer.linear_model import enet_path
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(100, 5, n_informative=2, random_state=0)
    >>> alphas, coefs, _ = enet_path(X, y, alphas=3)
    >>> (coefs != 0).sum(axis=0).tolist()
    [0, 5, 5]
    """
    options = _options(params)
    values = options | {"l1_ratio": l1_ratio, "eps": eps, "positive": positive}
    check_parameters("enet_path", _RULES, values)
    wanted = _read_alphas(n_alphas, alphas)
    source = open_path_rows("enet_path", X, y, options["sample_weight"], options["n_jobs"])
    gram = None if isinstance(precompute, bool | str) else np.ascontiguousarray(precompute, dtype=np.float64)
    plan = DescentPlan(
        "enet_path", False, positive, options["tol"], options["max_iter"],
        suits_gram(source, precompute, "enet_path"), gram, source.host_dtype == np.float32,
        descent_seed(options["selection"], options["random_state"]),
    )  # fmt: skip
    # BLAS on one thread: its own threads would change the bits.
    with one_blas_thread():
        walk = _walk(plan, wanted, l1_ratio, eps, Xy, coef_init, bool(verbose))
        grid, coefs, gaps, sweeps, missed = answer_requests(walk, source)
    if missed:
        warnings.warn(
            f"enet_path: {missed} of {len(grid)} penalties stopped by max_iter, not converged; the largest duality gap "
            f"is {gaps.max():.3g}. Objective did not converge. You might want to increase the number of iterations.",
            ConvergenceWarning,
            stacklevel=2,
        )
    result = grid, coefs.astype(source.host_dtype), gaps
    return (*result, sweeps) if return_n_iter else result


def alpha_grid(top: float, eps: float, n_alphas: int) -> np.ndarray:
    """Return falling penalties at equal ratios from `top`, where the first coefficient leaves zero, to `eps` `top`."""
    if top <= 0:
        # No penalty lets a coefficient leave zero; use scikit-learn's value for every penalty.
        return np.full(n_alphas, np.finfo(np.float64).resolution)
    return np.geomspace(top, top * eps, num=n_alphas)


def first_alpha(moments: MomentSums, l1_ratio: float, positive: bool, subject: str, joint: bool = False) -> float:
    """Return the penalty at which the first coefficient leaves zero; zero if none does.

    It is that of the first target, or with a `joint` penalty that of all.
    """
    if l1_ratio == 0:
        raise ParameterError(
            f"{subject}: Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid by "
            f"providing your estimator with the appropriate `alphas=` argument."
        )
    total = moments.weight
    # Centring has this relative error, so constant columns or targets leave products of this size.
    scatter = moments.scatter if moments.scatter.ndim == 1 else np.diagonal(moments.scatter)
    sizes = np.abs(moments.mean) + np.sqrt(scatter / total)
    targets = np.abs(moments.y_mean) + np.sqrt(moments.y_scatter / total)
    if joint:
        cross, target = np.linalg.norm(moments.cross, axis=1), float(np.linalg.norm(targets))
    else:
        cross, target = moments.cross[:, 0], float(targets[0])
    rounding = np.finfo(np.float64).resolution * sizes * target
    slopes = (cross if positive else np.abs(cross)) / total
    # At alpha = max |x_j . y| / (n l1_ratio) all coefficients are zero.
    return float(np.max(np.where(slopes > rounding, slopes, 0.0), initial=0.0)) / l1_ratio


def _walk(
    plan: DescentPlan, wanted: Any, l1_ratio: float, eps: float, Xy: Any, coef_init: Any, verbose: bool
) -> Generator[Any, Any, tuple]:
    """Follow the path: penalties, coefficients, gaps, sweeps, and how many did not converge."""
    moments = yield from sum_moments(plan)
    check_cross(plan.subject, Xy, moments.cross)
    if isinstance(wanted, Integral):
        top = first_alpha(moments, l1_ratio, plan.positive, plan.subject)
        wanted = alpha_grid(top, eps, int(wanted))
    [problem] = yield from open_problems(plan, [moments], [0])
    if coef_init is not None:
        yield from problem.start(np.asarray(coef_init, dtype=np.float64).ravel())
    # The gap is compared with tol times the squares of the targets.
    goal, missed = plan.tol * float(moments.y_scatter[0]), 0
    coefs, gaps, sweeps = np.empty((len(moments.mean), len(wanted))), np.empty(len(wanted)), []
    # Falling penalties: each solution starts the next, which differs by few coefficients.
    for number, alpha in enumerate(wanted):
        penalty = plan.penalty(float(alpha), l1_ratio, moments.weight)
        sweeps.append((yield from solve_problem(problem, penalty, goal, plan.tol, plan.max_iter)))
        coefs[:, number], gaps[number] = problem.coef, problem.gap / moments.weight
        missed += not problem.settled or problem.gap > goal
        if verbose:
            print(f"enet_path: alpha {alpha:.6g}, {sweeps[-1]} sweeps, duality gap {gaps[number]:.3g}")
    return np.asarray(wanted, dtype=np.float64), coefs, gaps, sweeps, missed


def _options(params: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(params) - set(_OPTIONS))
    if unknown:
        raise ParameterError(
            f"enet_path: Unexpected parameters in params: {', '.join(unknown)}; it takes {', '.join(_OPTIONS)}."
        )
    return _OPTIONS | params


def _read_alphas(n_alphas: Any, alphas: Any) -> Any:
    """Return the penalties or their number, with scikit-learn's warnings about deprecated spellings."""
    wanted: Any = 100
    if n_alphas != "deprecated":
        warnings.warn(
            "'n_alphas' was deprecated in 1.9 and will be removed in 1.11. 'alphas' now accepts an integer value; pass "
            "it there.",
            FutureWarning,
            stacklevel=3,
        )
        wanted = n_alphas
    if alphas is None:
        warnings.warn(
            "'alphas=None' is deprecated and will be removed in 1.11; set alphas=100 to silence this.",
            FutureWarning,
            stacklevel=3,
        )
    elif not isinstance(alphas, str):
        wanted = alphas
    if isinstance(wanted, Integral):
        check_parameters("enet_path", {"alphas": Integer(1)}, {"alphas": wanted})
        return wanted
    wanted = np.sort(np.asarray(wanted, dtype=np.float64).ravel())[::-1]
    if not (wanted >= 0).all():
        raise ParameterError(f"enet_path: every alpha must be a number in [0, inf); got {wanted.min()!r}.")
    return wanted


def open_path_rows(subject: str, X: Any, y: Any, sample_weight: Any, n_jobs: int | None) -> Source:
    """Check rows and one target, and open them in memory."""
    X = check_array(X, accept_sparse="csr", dtype=list(FLOATS), order="C")
    y = check_array(y, dtype=FLOATS[0], ensure_2d=False)
    if y.ndim != 1:
        raise DataError(
            f"{subject}: y must have one dimension; got shape {y.shape}. Call it for each target; for penalties on "
            f"targets together use scikit-learn's."
        )
    check_consistent_length(X, y)
    weight = check_weight(ElasticNet(), sample_weight, len(y))
    return open_source(X, y, weight, n_threads(n_jobs))
