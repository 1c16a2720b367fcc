"""Neural networks: layers, multilayer perceptrons and their relatives, and Boltzmann machines."""

from mercer.neural_network._boltzmann.hopfield import (
    Hopfield,
    Recall,
    hopfield_capacity,
    hopfield_flip_probability,
)
from mercer.neural_network._boltzmann.machine import BoltzmannMachine
from mercer.neural_network._boltzmann.restricted import BernoulliRBM

__all__ = [
    "BernoulliRBM",
    "BoltzmannMachine",
    "Hopfield",
    "Recall",
    "hopfield_capacity",
    "hopfield_flip_probability",
]
