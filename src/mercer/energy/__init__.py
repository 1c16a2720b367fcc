"""Energy models on graphs: Ising and Potts models, solved exactly where possible and sampled otherwise."""

from mercer.energy._approximate.mean_field import MeanFieldSolution
from mercer.energy._approximate.propagation import BetheSolution
from mercer.energy._closed_forms import critical_beta, onsager_energy, onsager_magnetisation, ring_log_partition
from mercer.energy._exact.solution import ExactSolution, Thermodynamics
from mercer.energy._ground_state import GroundState, anneal_model, find_ground_state
from mercer.energy._ising import IsingModel
from mercer.energy._learning import CouplingFit, fit_couplings, regress_couplings
from mercer.energy._potts import PottsModel
from mercer.energy._sampling.autocorrelation import autocorrelation_time, effective_sample_size
from mercer.energy._sampling.simulation import ChainEstimate, Simulation

__all__ = [
    "BetheSolution",
    "ChainEstimate",
    "CouplingFit",
    "ExactSolution",
    "GroundState",
    "IsingModel",
    "MeanFieldSolution",
    "PottsModel",
    "Simulation",
    "Thermodynamics",
    "anneal_model",
    "autocorrelation_time",
    "critical_beta",
    "effective_sample_size",
    "find_ground_state",
    "fit_couplings",
    "onsager_energy",
    "onsager_magnetisation",
    "regress_couplings",
    "ring_log_partition",
]
