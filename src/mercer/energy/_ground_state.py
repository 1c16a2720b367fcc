"""States of least energy: exactly where tables fit memory, by annealing otherwise."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.parameter import Choice, Integer, Real, Rule, Seed, check_parameters
from mercer._base.randomness import seed_sequence
from mercer.energy._form import PairwiseForm
from mercer.energy._model import PairwiseModel
from mercer.energy._sampling.chains import make_mover
from mercer.optim import Result, anneal

# Sweeps at one temperature: looking at the energy after each would take longer than the sweep itself.
_SWEEPS_PER_LEVEL = 10


@dataclass(frozen=True, eq=False)
class GroundState:
    """A state of low energy.

    Attributes
    ----------
    state : ndarray of shape (n_sites,)
    energy : float
    exact : bool
        Whether no state has a lower energy for certain.
    method : str
        ``"tree"``, ``"transfer"`` or ``"anneal"``.
    energies : ndarray of shape (n_restarts,)
        The lowest energy that each annealing run met; one number where the answer is exact.
    """

    state: np.ndarray
    energy: float
    exact: bool
    method: str
    energies: np.ndarray


def find_ground_state(
    model: PairwiseModel,
    *,
    method: str = "exact",
    n_sweeps: int = 2000,
    betas: tuple[float, float] = (0.1, 20.0),
    n_restarts: int = 8,
    random_state: Any = None,
) -> GroundState:
    """Find a state of least energy of an Ising or Potts model.

    Parameters
    ----------
    model : IsingModel or PottsModel
        Its own beta plays no part.
    method : {"exact", "anneal"}, default="exact"
        ``"exact"`` replaces the sums of :meth:`IsingModel.solve` by maxima, and needs the same tables. ``"anneal"``
        runs heat-bath sweeps while the temperature falls, and promises nothing.
    n_sweeps : int, default=2000
        Sweeps of a run.
    betas : pair of float, default=(0.1, 20)
        First and last inverse temperature, in units of one over the largest coupling or field.
    n_restarts : int, default=8
        Runs; the best of them is returned.
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    GroundState

    Examples
    --------
    A ring with one bond of the wrong sign must break one bond:

    >>> from mercer.energy import IsingModel, find_ground_state
    >>> ring = IsingModel.ring(6, [1, 1, 1, 1, 1, -1])
    >>> find_ground_state(ring).energy
    -4.0
    >>> find_ground_state(ring, method="anneal", random_state=0).energy
    -4.0
    """
    low, high = betas
    values = {"method": method, "n_sweeps": n_sweeps, "n_restarts": n_restarts, "random_state": random_state}
    rules: dict[str, Rule] = {"method": Choice("exact", "anneal"), "n_sweeps": Integer(1), "n_restarts": Integer(1)}
    check_parameters("find_ground_state", rules | {"random_state": Seed()}, values)
    positive = Real(0, closed="neither")
    check_parameters("find_ground_state", {"betas": positive}, {"betas": low})
    check_parameters("find_ground_state", {"betas": Real(low)}, {"betas": high})
    form = model._form
    if method == "exact":
        sums = model._sums()
        state, energy = sums.find_best()
        return GroundState(
            model._decode(state), energy + form.offset, True, sums.method, np.array([energy + form.offset])
        )
    # In units of the strongest coupling or field, so that the same ladder suits every model.
    scale = max(float(np.abs(form.couplings).max(initial=0.0)), float(np.abs(form.fields).max(initial=0.0)))
    # Inverse temperatures at equal ratios.
    ladder = np.geomspace(low, high, -(-n_sweeps // _SWEEPS_PER_LEVEL)) / (scale or 1.0)
    runs = [_cool(form, ladder, stream) for stream in seed_sequence(random_state).spawn(n_restarts)]
    energies = np.array([energy for _, energy in runs])
    best = int(np.argmin(energies))
    return GroundState(model._decode(runs[best][0]), float(energies[best]), False, "anneal", energies)


def _cool(form: PairwiseForm, ladder: np.ndarray, seed: np.random.SeedSequence) -> tuple[np.ndarray, float]:
    """Return the best state of one run that sweeps some times at each inverse temperature."""
    random = np.random.default_rng(seed)
    state = random.integers(form.n_states, size=form.graph.n_sites, dtype=np.int16)
    # The best state met, not the last one.
    best, least = state.copy(), float(form.energies(state[None])[0])
    for beta in ladder:
        make_mover(form.at(beta), "heat bath")(state, _SWEEPS_PER_LEVEL, random)
        energy = float(form.energies(state[None])[0])
        if energy < least:
            best, least = state.copy(), energy
    return best, least


def anneal_model(model: PairwiseModel, *, random_state: Any = None, **options: Any) -> Result:
    """Anneal a model with :func:`mercer.optim.anneal`: its schedules, acceptance rules, stopping rules and history.

    A proposal gives one random site another random value; its change of energy costs O(neighbours). For large models
    :func:`find_ground_state` is much faster, because its sweeps are native code.

    Parameters
    ----------
    model : IsingModel or PottsModel
    random_state : int, Generator, RandomState or None, default=None
    **options : dict
        Those of :func:`mercer.optim.anneal`: `rule`, `beta`, `factor`, `depth`, `n_moves`, `stop`, `callback`.

    Returns
    -------
    Result
        ``x`` is the best state met, ``value`` its energy.

    Examples
    --------
    >>> from mercer.energy import IsingModel, anneal_model
    >>> anneal_model(IsingModel.lattice((4, 4)), random_state=0).value
    -32.0
    """
    check_parameters("anneal_model", {"random_state": Seed()}, {"random_state": random_state})
    first, walk = seed_sequence(random_state).spawn(2)
    values = model._decode(np.arange(model.n_states, dtype=np.int16))
    start = model._decode(np.random.default_rng(first).integers(model.n_states, size=model.n_sites, dtype=np.int16))

    def propose(state: np.ndarray, random: np.random.Generator) -> np.ndarray:
        site = random.integers(model.n_sites)
        here = int(np.flatnonzero(values == state[site])[0])
        # Another value than the present one, all with equal probability.
        state[site] = values[(here + random.integers(1, model.n_states)) % model.n_states]
        return state

    def change(old: np.ndarray, new: np.ndarray) -> float:
        site = int(np.flatnonzero(old != new)[0])
        return model.energy_change(old, site, new[site])

    stream = np.random.default_rng(walk)
    return anneal(lambda state: model.energy(state), propose, start, change=change, random_state=stream, **options)
