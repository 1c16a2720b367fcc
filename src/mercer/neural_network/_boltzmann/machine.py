"""Boltzmann machines: units that are all connected, visible and hidden."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, fitting, open_new_rows, seed_sequence
from mercer._base.interface import DensityMixin
from mercer._base.parameter import Choice, Integer, Real, Seed, check_parameters, parameter
from mercer._solver import Solver
from mercer._source import Block
from mercer._stored import Stored, floats, texts
from mercer._types import Array
from mercer.energy import IsingModel
from mercer.errors import DataError
from mercer.neural_network._boltzmann.enumeration import (
    MOST_UNITS,
    anneal_spins,
    decode_spins,
    find_coding,
    read_spins,
    sum_spins,
)
from mercer.neural_network._boltzmann.likelihood import (
    LikelihoodState,
    ReadStates,
    ascend_by_samples,
    ascend_exactly,
    clamp_rows,
    make_ising,
)

# Chains and levels of the estimate of log Z for more units.
_CHAINS = 100
_LEVELS = 100
# Chains of the estimate for the state that Ctrl-C keeps, and the multiplications that it may take: some 50 ms.
_FEW_CHAINS = 10
_SHORT_WORK = 3 * 10**7
# What one update of a unit costs beside its multiplications, counted in these: calls of NumPy, some 10 microseconds.
_CALLS = 10_000
# Hidden units that are summed out exactly for every row.
_MOST_HIDDEN = 12
# Standard deviation of the first couplings of hidden units: equal ones would learn the same.
_FIRST_SPREAD = 0.1


class BoltzmannMachine(DensityMixin, LimitedEstimator):
    r"""A Boltzmann machine: binary units with symmetric weights between all pairs, some of them hidden.

    Units are spins of -1 and 1 with

    .. math:: E(s) = -\tfrac{1}{2} s^T W s - \theta^T s, \qquad P(s) = \exp(-E(s)) / Z

    The weights maximise the likelihood of the rows, the visible part of s, by its gradient
    :math:`\langle s s^T \rangle_{data} - \langle s s^T \rangle_{model}`. Up to 20 units both means are exact sums, and
    L-BFGS finds the maximum: the global one without hidden units, where the problem is concave. With more units the
    second mean is taken over Markov chains of heat-bath updates.

    Attributes
    ----------
    weights_ : ndarray of shape (n_units, n_units)
        W, symmetric with zero diagonal; visible units first.
    biases_ : ndarray of shape (n_units,)
        The biases theta.
    coding_ : str
        'spins' if the rows had negative values, else 'bits': how samples are written.
    log_partition_ : float
        log Z: exact up to 20 units, else estimated by annealed importance sampling; after Ctrl-C with fewer levels.
    log_partition_error_ : float
        The standard error of an estimated log Z; 0 where it is exact.
    solver_used_ : str
        'exact' or 'sampled'.

    Notes
    -----
    An exact gradient of N units takes O(N 2^N) time and 2^N numbers; equal rows are counted, not repeated. A sampled
    step takes O(chains x sweeps x N^2). :meth:`to_ising` gives the machine as a model of :mod:`mercer.energy`, with its
    exact solutions, samplers and approximations; :class:`BernoulliRBM` scales to thousands of units.

    References
    ----------
    Ackley, Hinton and Sejnowski (1985), A learning algorithm for Boltzmann machines.

    Examples
    --------
    Exclusive or needs a hidden unit: no pair of the three bits is correlated.

    >>> import numpy as np
    >>> from mercer.neural_network import BoltzmannMachine
    >>> X = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> pairs = BoltzmannMachine(random_state=0).fit(X)
    >>> hidden = BoltzmannMachine(n_hidden=1, alpha=1e-5, random_state=0).fit(X)
    >>> np.exp([pairs.score(X), hidden.score(X)]).round(3)  # probability of a row; 1/4 is the best
    array([0.125, 0.25 ])
    """

    n_hidden: int = parameter(Integer(0, _MOST_HIDDEN), default=0, kw_only=False, doc="Hidden units.")
    solver: str = parameter(Choice("auto", "exact", "sampled"), default="auto", doc="'auto' is exact up to 20 units.")
    alpha: float = parameter(
        Real(0),
        default=0.001,
        doc="Strength of an L2 penalty on weights and biases. Without one, units that never change have infinite "
        "biases.",
    )
    tol: float = parameter(
        Real(0, closed="neither"),
        default=1e-5,
        doc="Largest entry of the gradient at which the exact solver stops, and with which the sampled one has "
        "converged.",
    )
    max_iter: int = parameter(Integer(1), default=500, doc="Most steps.")
    learning_rate: float = parameter(
        Real(0, closed="neither"), default=0.1, doc="First step size of the sampled solver; it falls to an eleventh."
    )
    n_chains: int = parameter(Integer(1), default=200, doc="Markov chains of the sampled solver.")
    n_sweeps: int = parameter(Integer(1), default=5, doc="Sweeps of the chains between two steps.")
    threshold: float = parameter(
        Real(),
        default=0.0,
        doc="Values above it are 1, others -1: rows of -1 and 1, and rows of 0 and 1, are read as they should be.",
    )
    random_state: Any = parameter(
        Seed(), default=None, doc="Seed of the first couplings of hidden units and of the chains."
    )

    _documents = {
        "n_jobs": "Threads of the chains. Never changes a result.",
    }

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _depends_on_units = ("place",)
    # The sampled solver records how far the two means are apart, which chains blur.
    _objective_moves: ClassVar[str | None] = None

    _stored: ClassVar[dict[str, Stored]] = {
        "weights_": floats("units, units"),
        "biases_": floats("units"),
        "coding_": texts(),
        "log_partition_": floats(),
        "log_partition_error_": floats(),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BoltzmannMachine":
        """Learn weights and biases.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of -1 and 1 or of 0 and 1; other values are compared with the threshold.
        """
        source = self._open(X, None, sample_weight)
        n_units = source.n_features + self.n_hidden
        solver = self._choose_solver(n_units)
        seed = seed_sequence(self.random_state).generate_state(8)
        random = np.random.default_rng(np.random.SeedSequence(seed.tolist()))
        first = self._draw_first(random, source.n_features, n_units)
        request = ReadStates(self.threshold)

        def solve(start: LikelihoodState | None) -> Solver[LikelihoodState]:
            if solver == "exact":
                # The upper triangle of the symmetric weights, row by row, and then the biases.
                parameters = np.concatenate([first.weights[np.triu_indices(n_units, 1)], first.biases])
                begin = parameters if start is None else start
                return ascend_exactly(request, self.n_hidden, self.alpha, self.tol, self.max_iter, begin)
            settings = (self.alpha, self.tol, self.learning_rate, self.n_sweeps, self._threads())
            return ascend_by_samples(request, self.n_hidden, settings, self.max_iter, start or first, seed)

        given = {"solver_used_": solver, "_dtype": str(source.host_dtype)}
        outcome = self._drive(
            solve,
            source,
            fitted_after_interrupt=partial(self._fitted, short=True),
            max_steps=self.max_iter,
            attributes=given,
        )
        self._conclude(outcome)
        return self

    def _choose_solver(self, n_units: int) -> str:
        if self.solver == "auto":
            # The exact solver sums over 2^n states.
            return "exact" if n_units <= MOST_UNITS else "sampled"
        if self.solver == "exact" and n_units > MOST_UNITS:
            raise DataError(
                f"BoltzmannMachine: solver='exact' sums over all states of at most {MOST_UNITS} units; got {n_units}. "
                f"Pass solver='sampled', or fewer columns or hidden units."
            )
        return self.solver

    def _draw_first(self, random: np.random.Generator, d: int, n_units: int) -> LikelihoodState:
        """Return couplings of zero, but random ones to hidden units, and chains of random spins."""
        weights = np.zeros((n_units, n_units))
        weights[:, d:] = random.normal(0.0, _FIRST_SPREAD, (n_units, n_units - d))
        weights = np.triu(weights, 1)
        chains = np.where(random.random((self.n_chains, n_units)) < 0.5, -1.0, 1.0)
        return LikelihoodState(weights + weights.T, np.zeros(n_units), np.nan, 0.0, (), (), chains)

    def _fitted(self, state: LikelihoodState, *, short: bool = False) -> dict[str, Any]:
        n_units = len(state.biases)
        if n_units <= MOST_UNITS:
            # Few units: Z exactly. Many: an estimate with its standard error.
            total, error = sum_spins(state.weights, state.biases, products=False).log_partition, 0.0
        else:
            chains, levels = _choose_short(n_units) if short else (_CHAINS, _LEVELS)
            total, error = anneal_spins(state.weights, state.biases, chains, levels, 0)
        return {
            "weights_": state.weights,
            "biases_": state.biases,
            "coding_": find_coding(state.least),
            "log_partition_": total,
            "log_partition_error_": error,
        }

    def score_samples(self, X: Any) -> Array:
        """Compute the log-probability of rows, with the hidden units summed out.

        It is as exact as :attr:`log_partition_`.
        """
        source = open_new_rows(self, X)
        return source.map(_LogProbability(self.weights_, self.biases_, self.log_partition_, self.threshold))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-probability of rows."""
        return float(np.mean(self.score_samples(X)))

    def energy(self, states: Any) -> Array:
        """Compute the energy of states of all units, visible ones first.

        Parameters
        ----------
        states : array-like of shape (n_samples, n_units)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        spins = read_spins(states, self.threshold)
        if spins.ndim != 2 or spins.shape[1] != len(self.biases_):
            raise DataError(
                f"BoltzmannMachine: states must have shape (n_samples, {len(self.biases_)}), hidden units last; got "
                f"{spins.shape}."
            )
        # E(s) = -s^T W s / 2 - b^T s; W is symmetric and each pair counts twice in s^T W s.
        return -0.5 * np.einsum("ij,ij->i", spins @ self.weights_, spins) - spins @ self.biases_

    def to_ising(self, beta: float = 1.0) -> IsingModel:
        """Return the machine as an Ising model, for its exact solution, its chains and its approximations.

        Parameters
        ----------
        beta : float, default=1
            Inverse temperature. As it grows, heat-bath updates become those of a :class:`Hopfield` network.

        Returns
        -------
        IsingModel
        """
        return make_ising(self.weights_, self.biases_, beta)

    def sample(self, n_samples: int = 1, *, n_sweeps: int = 200, random_state: Any = None) -> Array:
        """Draw visible states: independent and exact up to 20 units, else each at the end of a chain of its own.

        Parameters
        ----------
        n_samples : int, default=1
        n_sweeps : int, default=200
            Sweeps of a chain.
        random_state : int, Generator, RandomState or None, default=None

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            In the coding of the rows of the fit.
        """
        check_is_fitted(self)
        values = {"n_samples": n_samples, "n_sweeps": n_sweeps, "random_state": random_state}
        check_parameters("sample", {"n_samples": Integer(1), "n_sweeps": Integer(1), "random_state": Seed()}, values)
        model = self.to_ising()
        if len(self.biases_) <= MOST_UNITS:
            states = model.sample(n_samples, random_state=random_state)
        else:
            chains = model.simulate(
                1, burn_in=n_sweeps, n_chains=n_samples, n_jobs=self.n_jobs, random_state=random_state
            )
            states = chains.states[:, -1, :]
        # Hidden units come last and are no part of a visible state.
        return decode_spins(states[:, : self.n_features_in_].astype(np.float64), self.coding_, self._dtype)


def _choose_short(n_units: int) -> tuple[int, int]:
    """Return the chains and levels of an estimate of log Z that takes some 50 ms, or one level if that takes longer."""
    for chains in (_CHAINS, _FEW_CHAINS):
        # A sweep updates each unit and, on average, the inputs of half of the others, for every chain.
        levels = _SHORT_WORK // (n_units * (n_units * chains // 2 + _CALLS))
        if levels:
            return chains, min(levels, _LEVELS)
    return _FEW_CHAINS, 1


@dataclass(frozen=True, eq=False)
class _LogProbability:
    """The log-probability of the rows of a block."""

    weights: Array
    biases: Array
    log_partition: float
    threshold: float

    def __call__(self, block: Block) -> Array:
        rows = block.dense()
        spins = read_spins(rows, self.threshold)
        logs, _, _ = clamp_rows(self.weights, self.biases, spins, np.ones(len(spins)))
        return (logs - self.log_partition).astype(rows.dtype)
