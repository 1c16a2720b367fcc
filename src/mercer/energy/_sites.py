"""What describes an Ising or Potts model: sites, edges, couplings, fields, and the energy of a state."""

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from mercer._base.parameter import Integer, Nothing, Real, Rule, check_parameters
from mercer.energy._form import PairwiseForm
from mercer.energy._graph import SiteGraph, list_lattice_edges, merge_edges, read_edges
from mercer.errors import DataError
from mercer.optim import GibbsDistribution, list_states


class SiteModel:
    """A model of sites that interact in pairs, and the energies of its states."""

    n_states: int
    edges: np.ndarray
    couplings: np.ndarray
    fields: np.ndarray
    beta: float
    n_sites: int
    shape: tuple[int, ...] | None

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
