"""What Ising and Potts models share: exact sums, samples, chains and approximations."""

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import softmax

from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, Rule, Seed, check_parameters
from mercer._base.randomness import seed_sequence
from mercer._source.memory import require_memory
from mercer.energy._approximate.mean_field import MeanFieldSolution, fit_mean_field
from mercer.energy._approximate.propagation import BetheSolution, propagate_beliefs
from mercer.energy._exact.frontier import FrontierSums
from mercer.energy._exact.plan import Plan, make_plan
from mercer.energy._exact.solution import ExactSolution, Thermodynamics
from mercer.energy._exact.tree import TreeSums
from mercer.energy._form import PairwiseForm
from mercer.energy._graph import SiteGraph, list_lattice_edges, merge_edges, read_edges
from mercer.energy._sampling.chains import METHODS, run_chains
from mercer.energy._sampling.simulation import Simulation
from mercer.errors import DataError, ParameterError
from mercer.optim import GibbsDistribution, list_states


class PairwiseModel:
    """What can be computed from a model; see :class:`IsingModel` and :class:`PottsModel`."""

    n_states: int
    edges: np.ndarray
    couplings: np.ndarray
    fields: np.ndarray
    beta: float
    n_sites: int
    shape: tuple[int, ...] | None

    @cached_property
    def _plan(self) -> Plan:
        return make_plan(self._graph)

    def _sums(self, form: PairwiseForm | None = None) -> TreeSums | FrontierSums:
        form = self._form if form is None else form
        return TreeSums(form) if self._graph.is_forest else FrontierSums(form, self._plan)

    def solve(self, *, marginals: bool = True) -> ExactSolution:
        """Sum over all states exactly: by messages on forests, by transfer matrices on other graphs.

        The cost on a forest is O(n_sites q^2). On other graphs it is O(n_sites q^(w + 1)), where w is the number of
        sites in the frontier: the width of a strip, or twice the width if the strip is periodic along its length. Where
        tables would not fit memory, an error says so before the work begins.

        Parameters
        ----------
        marginals : bool, default=True
            Whether to compute the probabilities of sites and of pairs too. They keep one table for each site.

        Returns
        -------
        ExactSolution
        """
        check_parameters("solve", {"marginals": Boolean()}, {"marginals": marginals})
        sums, form = self._sums(), self._form
        log_weight, energy, energy_variance, magnetisation, magnetisation_variance = sums.sum_moments()
        single = pairs = correlations = None
        if marginals:
            single, pairs = sums.marginalise()
            correlations = self._correlate(np.trace(pairs, axis1=1, axis2=2))
        return ExactSolution(
            sums.method,
            sums.width,
            self.beta,
            self.n_sites,
            log_weight - self.beta * form.offset,
            energy + form.offset,
            energy_variance,
            magnetisation,
            magnetisation_variance,
            single,
            pairs,
            correlations,
        )

    def _correlate(self, agreement: np.ndarray) -> np.ndarray:
        """Return the mean product of two sites from the probability that they agree."""
        return agreement

    def correlations(self, site: int) -> np.ndarray:
        """Compute the pair correlation of one site with every other, exactly, by holding it in each of its states.

        Parameters
        ----------
        site : int

        Returns
        -------
        ndarray of shape (n_sites,)
            The mean of s_i s_j (Ising), or the probability that a_i = a_j (Potts); 1 at `site` itself.
        """
        check_parameters("correlations", {"site": Integer(0, self.n_sites - 1)}, {"site": site})
        own, _ = self._sums().marginalise()
        agreement = np.zeros(self.n_sites)
        for state in range(self.n_states):
            if self.beta == 0:
                # Without interaction the other sites do not know of this one.
                agreement += own[site, state] * own[:, state]
                continue
            # P(a_j = state | a_i = state), times P(a_i = state), summed over states.
            held = self._sums(self._form.clamp(site, state))
            agreement += own[site, state] * held.marginalise()[0][:, state]
        agreement[site] = 1.0
        return self._correlate(agreement)

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> np.ndarray:
        """Draw independent states exactly, on any graph that :meth:`solve` can solve.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, Generator, RandomState or None, default=None

        Returns
        -------
        ndarray of shape (n_samples, n_sites)
        """
        values = {"n_samples": n_samples, "random_state": random_state}
        check_parameters("sample", {"n_samples": Integer(1), "random_state": Seed()}, values)
        random = np.random.default_rng(seed_sequence(random_state))
        return self._decode(self._sums().draw(n_samples, random))

    def observe(self, betas: Any) -> Thermodynamics:
        """Solve the model exactly at each of some inverse temperatures.

        Parameters
        ----------
        betas : array-like of shape (n_betas,)

        Returns
        -------
        Thermodynamics
            log Z of the system; energy, heat capacity, magnetisation, susceptibility and entropy of one site.
        """
        levels = np.atleast_1d(np.asarray(betas, dtype=np.float64))
        solved = [self.with_beta(beta).solve(marginals=False) for beta in levels.tolist()]
        n = self.n_sites

        def collect(name: str, divisor: float) -> np.ndarray:
            return np.array([getattr(solution, name) for solution in solved]) / divisor

        return Thermodynamics(
            levels,
            collect("log_partition", 1.0),
            collect("mean_energy", n),
            collect("heat_capacity", n),
            collect("magnetisation", 1.0),
            collect("susceptibility", 1.0),
            collect("entropy", n),
        )

    def simulate(
        self,
        n_samples: int = 1000,
        *,
        method: str = "heat bath",
        burn_in: int = 200,
        thin: int = 1,
        n_chains: int = 1,
        start: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> Simulation:
        """Run Markov chains whose stationary distribution is that of the model.

        Parameters
        ----------
        n_samples : int, default=1000
            States to record in each chain.
        method : {"heat bath", "metropolis", "swendsen-wang", "wolff"}, default="heat bath"
            A move is one sweep over all sites, colour by colour (a checkerboard on lattices); n_sites proposals at
            random sites; a division of all sites into clusters; or one cluster. Clusters avoid the slow moves near a
            critical point; for more than two states they need couplings of at least 0.
        burn_in, thin : int, default=200 and 1
            Moves before the first recorded state, and from one recorded state to the next.
        n_chains : int, default=1
            Independent chains, which threads share.
        start : array-like of shape (n_sites,) or (n_chains, n_sites), or None, default=None
            The first states; None draws each site at random.
        n_jobs : int or None, default=None
            Threads. States do not depend on it.
        random_state : int, Generator, RandomState or None, default=None

        Returns
        -------
        Simulation
            States, and observables with autocorrelation times, effective samples and standard errors.
        """
        counts = {"n_samples": n_samples, "burn_in": burn_in, "thin": thin, "n_chains": n_chains}
        rules: dict[str, Rule] = {
            "n_samples": Integer(1),
            "burn_in": Integer(0),
            "thin": Integer(1),
            "n_chains": Integer(1),
        }
        check_parameters("simulate", rules, counts)
        other: dict[str, Rule] = {"method": Choice(*METHODS), "random_state": Seed(), "n_jobs": Integer() | Nothing()}
        check_parameters("simulate", other, {"method": method, "random_state": random_state, "n_jobs": n_jobs})
        # Two bytes while chains run and one for the decoded spins.
        n_bytes = 3.0 * n_chains * n_samples * self.n_sites
        require_memory("simulate", n_bytes, f"{n_chains * n_samples} states", "record fewer (n_samples), further apart")
        first, chains = seed_sequence(random_state).spawn(2)
        starts = self._read_starts(start, n_chains, np.random.default_rng(first))
        states = run_chains(self._form, method, starts, (n_samples, thin, burn_in), chains, n_jobs)
        rows = states.reshape(-1, self.n_sites)
        magnetisations = self._form.magnetisations(rows) / self.n_sites
        return Simulation(
            method,
            self.beta,
            burn_in,
            thin,
            self._decode(states),
            self._form.energies(rows).reshape(n_chains, n_samples),
            magnetisations.reshape(n_chains, n_samples),
            self._measure_order(rows, magnetisations).reshape(n_chains, n_samples),
        )

    def _measure_order(self, states: np.ndarray, magnetisations: np.ndarray) -> np.ndarray:
        raise NotImplementedError  # each model below defines its own

    def _read_starts(self, start: Any, n_chains: int, random: np.random.Generator) -> np.ndarray:
        if start is None:
            return random.integers(self.n_states, size=(n_chains, self.n_sites), dtype=np.int16)
        rows = self._encode(start)
        if len(rows) not in (1, n_chains):
            raise ParameterError(
                f"simulate: start must have one row, or one for each of {n_chains} chains; got {len(rows)}."
            )
        return np.array(np.broadcast_to(rows, (n_chains, self.n_sites)))

    def mean_field(
        self, *, start: Any = None, tol: float = 1e-10, max_iter: int = 10_000, random_state: Any = 0
    ) -> MeanFieldSolution:
        """Find the nearest product of single-site distributions; its bound is at most log Z for certain.

        Parameters
        ----------
        start : array-like of shape (n_sites, n_states) or None, default=None
            First probabilities; None takes nearly equal ones.
        tol : float, default=1e-10
            The sweeps end when no probability changes by more.
        max_iter : int, default=10000
        random_state : int, Generator, RandomState or None, default=0
            For the small numbers that break the symmetry of the start.

        Returns
        -------
        MeanFieldSolution
        """
        values = {"tol": tol, "max_iter": max_iter, "random_state": random_state}
        check_parameters("mean_field", {"tol": Real(0), "max_iter": Integer(1), "random_state": Seed()}, values)
        if start is None:
            # Equal probabilities are a stationary point: noise leads away from it.
            noise = np.random.default_rng(seed_sequence(random_state)).normal(size=(self.n_sites, self.n_states))
            shares = softmax(1e-3 * noise, axis=1)
        else:
            shares = self._read_numbers("start", start, (self.n_sites, self.n_states))
            shares = shares / shares.sum(axis=1, keepdims=True)
        return fit_mean_field(self._form, shares, tol, max_iter)

    def propagate(
        self, *, damping: float = 0.0, tol: float = 1e-10, max_iter: int = 2000, random_state: Any = 0
    ) -> BetheSolution:
        """Run belief propagation: exact on forests, Bethe's approximation on graphs with cycles.

        Parameters
        ----------
        damping : float, default=0
            The part of the old message that is kept in each round, in [0, 1); 0.5 calms oscillations.
        tol : float, default=1e-10
            The rounds end when no log message changes by more.
        max_iter : int, default=2000
        random_state : int, Generator, RandomState or None, default=0
            For the small numbers that the messages start from: equal ones are a fixed point that an ordered model
            would never leave.

        Returns
        -------
        BetheSolution
        """
        rules: dict[str, Rule] = {"damping": Real(0, 1, closed="left"), "tol": Real(0), "max_iter": Integer(1)}
        check_parameters("propagate", rules, {"damping": damping, "tol": tol, "max_iter": max_iter})
        check_parameters("propagate", {"random_state": Seed()}, {"random_state": random_state})
        random = np.random.default_rng(seed_sequence(random_state))
        start = 1e-3 * random.normal(size=(2 * len(self.edges), self.n_states))
        return propagate_beliefs(self._form, start, damping, tol, max_iter)

    def _set_graph(
        self, edges: Any, couplings: Any, beta: float, n_sites: int | None, shape: tuple[int, ...] | None
    ) -> None:
        """Check and keep what describes the graph; double edges are added up."""
        subject = type(self).__name__
        rules: dict[str, Rule] = {"beta": Real(0, closed="left"), "n_sites": Integer(1) | Nothing()}
        check_parameters(subject, rules, {"beta": beta, "n_sites": n_sites})
        pairs, n = read_edges(subject, edges, n_sites)
        strengths = self._read_numbers("couplings", couplings, (len(pairs),))
        self.edges, self.couplings = merge_edges(pairs, strengths)
        self.beta, self.n_sites, self.shape = float(beta), n, shape

    def _read_numbers(self, name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
        """Return finite numbers of a shape, from one number or an array that can be spread to it."""
        subject = type(self).__name__
        try:
            numbers = np.array(np.broadcast_to(np.asarray(given, dtype=np.float64), shape), order="C")
        except (TypeError, ValueError):
            raise DataError(
                f"{subject}: {name} must be one number or an array of shape {shape}; got shape {np.shape(given)}."
            ) from None
        if not np.all(np.isfinite(numbers)):
            raise DataError(f"{subject}: {name} must be finite; got {numbers[~np.isfinite(numbers)][0]}.")
        return numbers

    @cached_property
    def _graph(self) -> SiteGraph:
        return SiteGraph(self.n_sites, self.edges, self.shape)

    def _make_form(self) -> PairwiseForm:
        raise NotImplementedError  # each model below defines its own

    @cached_property
    def _form(self) -> PairwiseForm:
        return self._make_form()

    def _encode(self, states: Any) -> np.ndarray:
        """Return states as numbers 0 to q - 1, of shape (n, n_sites); checked."""
        raise NotImplementedError  # each model below defines its own

    def _decode(self, states: np.ndarray) -> np.ndarray:
        """Return states 0 to q - 1 as the model writes them."""
        raise NotImplementedError  # each model below defines its own

    def _check_shape(self, states: Any) -> np.ndarray:
        """Return states as a matrix with one row for each state."""
        rows = np.asarray(states)
        if self.shape is not None and rows.shape[-len(self.shape) :] == self.shape:
            rows = rows.reshape(*rows.shape[: rows.ndim - len(self.shape)], self.n_sites)
        if rows.ndim not in (1, 2) or rows.shape[-1] != self.n_sites:
            raise DataError(
                f"{type(self).__name__}: states must have shape ({self.n_sites},) or (n, {self.n_sites}); "
                f"got {np.shape(states)}."
            )
        return np.atleast_2d(rows)

    def __repr__(self) -> str:
        place = f"shape={self.shape}" if self.shape is not None else f"n_sites={self.n_sites}"
        kind = f", n_states={self.n_states}" if self.n_states > 2 else ""
        return f"{type(self).__name__}({place}, n_edges={len(self.edges)}{kind}, beta={self.beta:g})"

    @classmethod
    def chain(cls, n_sites: int, coupling: Any = 1.0, field: Any = 0.0, **options: Any) -> Self:
        """Return a chain with free ends; `coupling` is one number or one for each of its n_sites - 1 edges."""
        return cls.lattice((n_sites,), coupling, field, periodic=False, **options)

    @classmethod
    def ring(cls, n_sites: int, coupling: Any = 1.0, field: Any = 0.0, **options: Any) -> Self:
        """Return a ring: a chain whose last site is a neighbour of the first."""
        check_parameters(cls.__name__, {"n_sites": Integer(2)}, {"n_sites": n_sites})
        return cls.lattice((n_sites,), coupling, field, periodic=True, **options)

    @classmethod
    def lattice(
        cls,
        shape: int | Sequence[int],
        coupling: Any = 1.0,
        field: Any = 0.0,
        *,
        periodic: bool | Sequence[bool] = True,
        **options: Any,
    ) -> Self:
        """Return a lattice of any number of dimensions, with sites in row-major order.

        Parameters
        ----------
        shape : int or sequence of int
        coupling : float or array-like
            One number, or one for each edge: all edges along the first axis, then along the second...
        field : float or array-like
        periodic : bool or sequence of bool, default=True
            Whether the last site of an axis is a neighbour of the first, for all axes or for each. A periodic side of
            two sites has two edges between them.
        **options : dict
            Others of the constructor, such as `beta`.
        """
        edges, sides = list_lattice_edges(cls.__name__, shape, periodic)
        # The constructors of the models differ in their options, which are passed on as they are.
        make: Any = cls
        model = make(edges, coupling, field, n_sites=int(np.prod(sides)), **options)
        model.shape = sides
        return model

    @classmethod
    def from_matrix(cls, couplings: Any, field: Any = 0.0, **options: Any) -> Self:
        """Return the model of a symmetric matrix of couplings, dense or sparse; each pair of sites interacts once."""
        dense = np.asarray(couplings.todense() if sparse.issparse(couplings) else couplings, dtype=np.float64)
        if dense.ndim != 2 or dense.shape[0] != dense.shape[1] or not np.array_equal(dense, dense.T):
            raise DataError(f"{cls.__name__}: from_matrix needs a symmetric matrix; got shape {dense.shape}.")
        if dense.diagonal().any():
            raise DataError(
                f"{cls.__name__}: from_matrix needs a diagonal of zeros, because a site is no neighbour of itself."
            )
        edges = np.argwhere(np.triu(dense))
        make: Any = cls
        return make(edges, dense[edges[:, 0], edges[:, 1]], field, n_sites=len(dense), **options)

    def with_beta(self, beta: float) -> Self:
        """Return the same model at another inverse temperature."""
        check_parameters(type(self).__name__, {"beta": Real(0, closed="left")}, {"beta": beta})
        # The copy shares the graph and all that was found out about it.
        model = copy(self)
        model.beta = float(beta)
        model.__dict__.pop("_form", None)
        return model

    def energy(self, states: Any) -> Any:
        """Compute the energy of a state, or of each row of states.

        Parameters
        ----------
        states : array-like of shape (n_sites,) or (n, n_sites)
            One state may also have the shape of the lattice.

        Returns
        -------
        float or ndarray of shape (n,)
        """
        rows = self._encode(states)
        energies = self._form.energies(rows)
        single = np.ndim(states) == 1 or np.shape(states) == self.shape
        return float(energies[0]) if single else energies

    def energy_change(self, state: Any, site: int, value: int) -> float:
        """Compute the change of energy when one site takes another value: O(its neighbours)."""
        check_parameters(type(self).__name__, {"site": Integer(0, self.n_sites - 1)}, {"site": site})
        old = self._encode(state)[0]
        new = int(self._encode(np.full(self.n_sites, value))[0, 0])
        graph, form = self._graph, self._form
        near = slice(graph.starts[site], graph.starts[site + 1])
        others, pulls = old[graph.neighbours[near]], form.slot_couplings[near]
        gain = pulls @ (others == new) - pulls @ (others == old[site])
        return float(form.fields[site, old[site]] - form.fields[site, new] - gain)

    def enumerate(self) -> GibbsDistribution:
        """List all states: q ** n_sites of them.

        Returns
        -------
        GibbsDistribution
            With probabilities, log_partition, mean_energy, entropy and independent samples.
        """
        codes = list_states(self.n_sites, range(self.n_states)).astype(np.int16)
        return GibbsDistribution(self._form.energies(codes), self.beta, self._decode(codes))
