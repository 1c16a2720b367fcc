"""Mixtures, and the EM engine that fits them."""

from mercer.mixture._bernoulli_mixture import BernoulliMixture
from mercer.mixture._expectation_maximisation import (
    EMResult,
    expectation_maximisation,
    expected_log_likelihood,
    free_energy,
    responsibilities,
)
from mercer.mixture._gaussian_mixture import GaussianMixture
from mercer.mixture._selection import MixtureSelection, select_mixture

__all__ = [
    "BernoulliMixture",
    "EMResult",
    "GaussianMixture",
    "MixtureSelection",
    "expectation_maximisation",
    "expected_log_likelihood",
    "free_energy",
    "responsibilities",
    "select_mixture",
]
