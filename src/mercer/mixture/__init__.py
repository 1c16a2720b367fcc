"""Mixtures, and the EM engine that fits them."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
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

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_bernoulli_mixture": ("BernoulliMixture",),
        "_expectation_maximisation": (
            "EMResult",
            "expectation_maximisation",
            "expected_log_likelihood",
            "free_energy",
            "responsibilities",
        ),
        "_gaussian_mixture": ("GaussianMixture",),
        "_selection": ("MixtureSelection", "select_mixture"),
    },
)
