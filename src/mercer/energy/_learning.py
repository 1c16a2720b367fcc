"""Couplings and fields from data: from states alone by pseudo-likelihood, or from states with their energies."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer._base.parameter import Boolean, HasFit, Integer, Nothing, Real, Rule, check_parameters
from mercer._source.threads import one_blas_thread
from mercer.energy._graph import read_edges
from mercer.energy._ising import IsingModel
from mercer.energy._potts import PottsModel
from mercer.errors import DataError
from mercer.optim import GradientNorm, MaxIter, Result, minimize

# Steps of the optimiser; L-BFGS needs some tens on well-posed data.
_MOST_STEPS = 2000


@dataclass(frozen=True, eq=False)
class CouplingFit:
    """A model learned from data.

    Attributes
    ----------
    model : IsingModel or PottsModel
        With beta = 1: data tell the products beta J and beta h only.
    log_pseudo_likelihood : float or None
        For each state of the data: the sum over sites of log P(site | others).
    result : Result or None
        The optimiser's answer with its history and its certificate; the problem is convex.
    regressor : object or None
        The fitted regression, where energies were given.
    """

    model: IsingModel | PottsModel
    log_pseudo_likelihood: float | None = None
    result: Result | None = None
    regressor: Any = None

    @property
    def couplings(self) -> np.ndarray:
        """Return the couplings as a symmetric matrix."""
        n = self.model.n_sites
        matrix = np.zeros((n, n))
        matrix[self.model.edges[:, 0], self.model.edges[:, 1]] = self.model.couplings
        return matrix + matrix.T


def fit_couplings(
    states: Any,
    edges: Any = None,
    *,
    n_states: int | None = None,
    alpha: float = 0.0,
    fields: bool = True,
    tol: float = 1e-6,
) -> CouplingFit:
    """Learn couplings and fields from samples of states, by maximal pseudo-likelihood (Besag, 1975).

    The loss is the mean over samples of -sum_i log P(s_i | all other sites), plus (alpha / 2) times the squared
    couplings and fields. Each term is a logistic regression of one site on the others, with couplings shared by their
    two ends: convex, consistent, and without Z.

    Parameters
    ----------
    states : array-like of shape (n_samples, n_sites)
        Spins of -1 and 1, or integers 0 to n_states - 1 where `n_states` is given.
    edges : array-like of shape (n_edges, 2) or None, default=None
        Pairs that may interact; None allows all.
    n_states : int or None, default=None
        None learns an Ising model, a number a Potts model.
    alpha : float, default=0
        Strength of the penalty. A little is needed where a site never changes, or always agrees with another.
    fields : bool, default=True
        Whether to learn fields too.
    tol : float, default=1e-6
        The largest entry of the gradient at the answer.

    Returns
    -------
    CouplingFit

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.energy import IsingModel, fit_couplings
    >>> truth = IsingModel.chain(5, [0.5, -0.3, 0.8, 0.0], field=0.2)
    >>> fit = fit_couplings(truth.sample(20_000, random_state=0))
    >>> bool(np.abs(np.diag(fit.couplings, 1) - truth.couplings).max() < 0.03)
    True
    """
    values = {"n_states": n_states, "alpha": alpha, "fields": fields, "tol": tol}
    rules: dict[str, Rule] = {
        "n_states": Integer(2) | Nothing(),
        "alpha": Real(0),
        "fields": Boolean(),
        "tol": Real(0, closed="neither"),
    }
    check_parameters("fit_couplings", rules, values)
    rows = np.asarray(states)
    if rows.ndim != 2 or not rows.size:
        raise DataError(f"fit_couplings: states must have shape (n_samples, n_sites); got {rows.shape}.")
    n = rows.shape[1]
    # All pairs, where no edges are given.
    pairs = np.argwhere(np.triu(np.ones((n, n)), 1)) if edges is None else read_edges("fit_couplings", edges, n)[0]
    empty = IsingModel(pairs, n_sites=n) if n_states is None else PottsModel(pairs, n_states=n_states, n_sites=n)
    codes = empty._encode(rows)
    loss = _PseudoLikelihood(codes, empty.edges, empty.n_states, n_states is None, alpha, fields)
    with one_blas_thread():
        result = minimize(loss, np.zeros(loss.size), grad=True, stop=GradientNorm(tol) | MaxIter(_MOST_STEPS))
        # The same loss without its penalty is the pseudo-likelihood that is reported.
        value, _ = _PseudoLikelihood(codes, empty.edges, empty.n_states, n_states is None, 0.0, fields)(result.x)
    strengths, local = loss.split(result.x)
    model: IsingModel | PottsModel
    if n_states is None:
        model = IsingModel(empty.edges, strengths, local, n_sites=n)
    else:
        model = PottsModel(empty.edges, strengths, local.T, n_states=n_states, n_sites=n)
    return CouplingFit(model, -value, result)


class _PseudoLikelihood:
    """The loss and its gradient, as a function of couplings and fields in one vector."""

    def __init__(
        self, codes: np.ndarray, edges: np.ndarray, q: int, spins: bool, alpha: float, with_fields: bool
    ) -> None:
        self.edges, self.spins, self.alpha, self.with_fields = edges, spins, alpha, with_fields
        # One matrix for each state: 1 where a site is in it.
        self.indicators = np.stack([(codes == state).astype(np.float64) for state in range(q)])
        n = codes.shape[1]
        self.shape: tuple[int, ...] = (n,) if spins else (q, n)
        self.size = len(edges) + int(np.prod(self.shape)) * with_fields

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return couplings and fields."""
        m = len(self.edges)
        return x[:m], x[m:].reshape(self.shape) if self.with_fields else np.zeros(self.shape)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and the gradient."""
        strengths, local = self.split(x)
        _, n_samples, n = self.indicators.shape
        first, second = self.edges.T
        matrix = np.zeros((n, n))
        # An Ising coupling J is a Potts coupling 2 J, a field h is (-h, h).
        matrix[first, second] = matrix[second, first] = 2.0 * strengths if self.spins else strengths
        own = np.stack([-local, local]) if self.spins else local
        # scores[a, sample, i] = g_i(a) + sum_j K_ij [a_j = a]: what state a of site i would gain.
        scores = self.indicators @ matrix + own[:, None, :]
        total = logsumexp(scores, axis=0)
        loss = float(np.sum(total) - np.sum(self.indicators * scores)) / n_samples
        # P(a | rest) - [a_i = a], over the samples.
        slopes = (np.exp(scores - total) - self.indicators) / n_samples
        products = np.einsum("qsi,qsj->ij", self.indicators, slopes, optimize=True)
        # A coupling is shared by its two ends, so that both slopes count.
        coupling_slope = (products + products.T)[first, second] * (2.0 if self.spins else 1.0)
        sums = slopes.sum(axis=1)
        field_slope = (sums[1] - sums[0] if self.spins else sums).ravel()
        slope = np.concatenate([coupling_slope, field_slope]) if self.with_fields else coupling_slope
        return loss + 0.5 * self.alpha * float(x @ x), slope + self.alpha * x


def regress_couplings(states: Any, energies: Any, regressor: Any = None, *, fields: bool = False) -> CouplingFit:
    """Learn couplings from spins with their energies, by linear regression on the products of pairs.

    E = c + sum over pairs of J_ij (-s_i s_j) + sum over sites of h_i (-s_i) is linear in J and h; the columns carry a
    minus sign, so that coefficients have the sign of couplings.

    Parameters
    ----------
    states : array-like of shape (n_samples, n_sites)
        Spins of -1 and 1.
    energies : array-like of shape (n_samples,)
    regressor : object or None, default=None
        Any linear regression with ``fit`` and ``coef_``, such as Lasso(0.01) for few samples; None takes
        :class:`mercer.linear_model.LinearRegression`.
    fields : bool, default=False
        Whether the spins themselves are columns too.

    Returns
    -------
    CouplingFit
        Pairs whose coupling is exactly 0 are left out of the model.

    Examples
    --------
    >>> from mercer.datasets import make_ising_chain
    >>> from mercer.energy import regress_couplings
    >>> spins, energy = make_ising_chain(500, 8)
    >>> regress_couplings(spins, energy).couplings[2, :6].round(6) + 0.0
    array([0., 1., 0., 1., 0., 0.])
    """
    check_parameters(
        "regress_couplings",
        {"regressor": HasFit() | Nothing(), "fields": Boolean()},
        {"regressor": regressor, "fields": fields},
    )
    rows = np.asarray(states)
    if rows.ndim != 2 or not rows.size:
        raise DataError(f"regress_couplings: states must have shape (n_samples, n_sites); got {rows.shape}.")
    n = rows.shape[1]
    pairs = np.argwhere(np.triu(np.ones((n, n)), 1))
    spins = 2.0 * IsingModel(pairs, n_sites=n)._encode(rows) - 1.0
    # Columns -s_i s_j: coefficients then have the sign of the couplings.
    columns = -spins[:, pairs[:, 0]] * spins[:, pairs[:, 1]]
    if fields:
        columns = np.concatenate([columns, -spins], axis=1)
    if regressor is None:
        from mercer.linear_model import LinearRegression

        regressor = LinearRegression()
    fitted = regressor.fit(columns, np.asarray(energies, dtype=np.float64))
    coefficients = np.asarray(fitted.coef_, dtype=np.float64).ravel()
    strengths = coefficients[: len(pairs)]
    present = strengths != 0
    local = coefficients[len(pairs) :] if fields else 0.0
    model = IsingModel(pairs[present], strengths[present], local, n_sites=n)
    return CouplingFit(model, regressor=fitted)
