"""Covariances: by maximum likelihood, shrunk so that they can be inverted, and robust against outliers."""

from mercer.covariance._elliptic_envelope import EllipticEnvelope
from mercer.covariance._empirical import EmpiricalCovariance, log_likelihood
from mercer.covariance._functions import (
    empirical_covariance,
    ledoit_wolf,
    ledoit_wolf_shrinkage,
    oas,
    shrunk_covariance,
)
from mercer.covariance._robust import MinCovDet, fast_mcd
from mercer.covariance._shrunk import OAS, LedoitWolf, ShrunkCovariance

__all__ = [
    "OAS",
    "EllipticEnvelope",
    "EmpiricalCovariance",
    "LedoitWolf",
    "MinCovDet",
    "ShrunkCovariance",
    "empirical_covariance",
    "fast_mcd",
    "ledoit_wolf",
    "ledoit_wolf_shrinkage",
    "log_likelihood",
    "oas",
    "shrunk_covariance",
]
