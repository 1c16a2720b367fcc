"""Covariances: by maximum likelihood, and shrunk so that they can be inverted."""

from mercer.covariance._empirical import EmpiricalCovariance, log_likelihood
from mercer.covariance._functions import (
    empirical_covariance,
    ledoit_wolf,
    ledoit_wolf_shrinkage,
    oas,
    shrunk_covariance,
)
from mercer.covariance._shrunk import OAS, LedoitWolf, ShrunkCovariance

__all__ = [
    "OAS",
    "EmpiricalCovariance",
    "LedoitWolf",
    "ShrunkCovariance",
    "empirical_covariance",
    "ledoit_wolf",
    "ledoit_wolf_shrinkage",
    "log_likelihood",
    "oas",
    "shrunk_covariance",
]
