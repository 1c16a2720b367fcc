"""Expectation maximisation for any model, given its E step and its M step."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import entr

from mercer._base.parameter import Integer, Nothing, Real, check_parameters
from mercer._solver import Certificate, Dense
from mercer._solver.driver import drive
from mercer._solver.expectation_maximisation import ExpectationMaximisation
from mercer._solver.relay import return_at_once
from mercer._source.threads import one_blas_thread
from mercer._statistic.expectation import compute_responsibilities
from mercer._types import Array
from mercer.watch import TimeLimit


def responsibilities(log_joint: Any, *, hard: bool = False) -> tuple[Array, float]:
    """Return the E step of rows with one hidden label each: q = p(z | x), and the log-likelihood of all rows.

    Parameters
    ----------
    log_joint : array-like of shape (n, k)
        log p(x_i, z_i = k).
    hard : bool, default=False
        Whether to put all of q on the best label; then the log-likelihood is that of rows and labels.

    Returns
    -------
    q : ndarray of shape (n, k)
    log_likelihood : float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture import responsibilities
    >>> q, value = responsibilities(np.log([[0.3, 0.1]]))
    >>> q.round(2).tolist(), round(float(np.exp(value)), 2)
    ([[0.75, 0.25]], 0.4)
    """
    q, densities = compute_responsibilities(np.asarray(log_joint, dtype=np.float64), hard, np)
    return q, float(np.sum(densities))


def expected_log_likelihood(q: Any, log_joint: Any) -> float:
    """Return Q = sum_z q(z) log p(X, z | theta): what the M step maximises.

    Parameters
    ----------
    q, log_joint : array-likes of shape (n, k)
        With `q` from some parameters and `log_joint` at any others.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture import expected_log_likelihood
    >>> round(expected_log_likelihood([[0.75, 0.25]], np.log([[0.3, 0.1]])), 4)
    -1.4786
    """
    q, log_joint = np.asarray(q, dtype=np.float64), np.asarray(log_joint, dtype=np.float64)
    return float(np.sum(np.where(q > 0, q * np.where(q > 0, log_joint, 0.0), 0.0)))


def free_energy(q: Any, log_joint: Any) -> float:
    """Return F(q, theta) = Q + H(q), with H(q) = -sum q log q: a lower bound of the log-likelihood.

    The gap is the Kullback-Leibler divergence of `q` from p(z | X, theta): none right after an E step.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mixture import free_energy
    >>> log_joint = np.log([[0.3, 0.1]])
    >>> round(float(np.exp(free_energy([[0.75, 0.25]], log_joint))), 4)
    0.4
    >>> round(float(np.exp(free_energy([[0.5, 0.5]], log_joint))), 4)
    0.3464
    """
    return expected_log_likelihood(q, log_joint) + float(np.sum(entr(np.asarray(q, dtype=np.float64))))


@dataclass(frozen=True)
class EMResult:
    """How a run of EM ended.

    Attributes
    ----------
    parameters :
        What the last M step gave.
    objective : float
        The log-likelihood there, plus the log prior.
    converged : bool
    n_iter : int
    history : dict of ndarray
        ``objective`` at the beginning of each iteration, its ``change``, and the ``seconds``.
    certificate : Certificate
        What one more iteration is certain to add, where `bound` was given.
    """

    parameters: Any
    objective: float
    converged: bool
    n_iter: int
    history: dict[str, Array]
    certificate: Certificate


@dataclass(frozen=True)
class _Steps:
    """The user's functions as a model for the EM engine."""

    e_step: Callable[[Any], tuple[Any, float]]
    m_step: Callable[[Any], Any]
    log_prior: Callable[[Any], float] | None
    bound: Callable[[Any, Any], float] | None

    def expectation(self, parameters: Any) -> Dense:
        return Dense(lambda: self.e_step(parameters))

    def maximisation(self, expected: Any, parameters: Any) -> Any:
        return self.m_step(expected[0])

    def objective(self, expected: Any, parameters: Any) -> float:
        return float(expected[1]) + self._prior(parameters)

    def gain(self, expected: Any, parameters: Any, better: Any) -> float:
        if self.bound is None:
            return math.nan
        before = float(self.bound(expected[0], parameters)) + self._prior(parameters)
        return float(self.bound(expected[0], better)) + self._prior(better) - before

    def slack(self, parameters: Any, better: Any) -> float:
        return 0.0

    def _prior(self, parameters: Any) -> float:
        return 0.0 if self.log_prior is None else float(self.log_prior(parameters))


def expectation_maximisation(
    parameters: Any,
    e_step: Callable[[Any], tuple[Any, float]],
    m_step: Callable[[Any], Any],
    *,
    log_prior: Callable[[Any], float] | None = None,
    bound: Callable[[Any, Any], float] | None = None,
    max_iter: int = 1000,
    tol: float = 1e-8,
    max_time: float | None = None,
) -> EMResult:
    """Maximise a likelihood with hidden variables by your own E step and M step.

    Parameters
    ----------
    parameters :
        Where to begin; anything the steps understand.
    e_step : callable
        From parameters to (q, log p(X | parameters)), with q whatever the M step needs of p(z | X, parameters).
    m_step : callable
        From q to the parameters that maximise the expected log p(X, z | parameters), plus `log_prior` if there is one.
    log_prior : callable or None, default=None
        Of the parameters: the objective becomes the log posterior, whose mode is found.
    bound : callable or None, default=None
        ``bound(q, parameters)``: F = sum_z q log p(X, z | parameters) + H(q), or without the entropy; makes the
        certificate.
    max_iter : int, default=1000
    tol : float, default=1e-8
        The run ends when the objective changes by less.
    max_time : float or None, default=None
        Seconds after which it ends with what it has.

    Returns
    -------
    EMResult

    Notes
    -----
    An exact E step and M step never lower the objective. A fall beyond rounding is raised as an error: one of the
    steps, or the prior, is not what it should be.

    Examples
    --------
    Two coins, five series of ten throws, and nobody noted which coin was thrown (Do and Batzoglou, 2008):

    >>> import numpy as np
    >>> from mercer.mixture import expectation_maximisation, responsibilities
    >>> heads = np.array([5, 9, 8, 4, 7])
    >>> def e_step(p):
    ...     return responsibilities(np.outer(heads, np.log(p)) + np.outer(10 - heads, np.log(1 - p)) + np.log(0.5))
    >>> def m_step(q):
    ...     return heads @ q / (10 * q.sum(axis=0))
    >>> expectation_maximisation(np.array([0.6, 0.5]), e_step, m_step).parameters.round(2).tolist()
    [0.8, 0.52]
    """
    subject = "expectation_maximisation"
    rules = {"max_iter": Integer(1), "tol": Real(0), "max_time": Real(0) | Nothing()}
    check_parameters(subject, rules, locals())
    engine = ExpectationMaximisation(
        prepare=lambda: return_at_once(_Steps(e_step, m_step, log_prior, bound)),
        start=lambda model, seed: return_at_once(parameters),
        n_init=1,
        max_iter=max_iter,
        tol=tol,
        seed=np.random.SeedSequence(0),
        subject=subject,
    )
    with one_blas_thread():
        watches = [] if max_time is None else [TimeLimit(max_time)]
        outcome = drive(engine.solve(), None, watches)  # type: ignore[arg-type]
    run, _ = outcome.state.choose()
    history = {name: column for name, column in outcome.history.items() if name != "restart"}
    return EMResult(
        run.parameters, float(run.objective), outcome.converged, run.iteration, history, outcome.certificate
    )
