"""Covariances: by maximum likelihood, shrunk so that they can be inverted, and robust against outliers."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
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

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_elliptic_envelope": ("EllipticEnvelope",),
        "_empirical": ("EmpiricalCovariance", "log_likelihood"),
        "_functions": ("empirical_covariance", "ledoit_wolf", "ledoit_wolf_shrinkage", "oas", "shrunk_covariance"),
        "_robust": ("MinCovDet", "fast_mcd"),
        "_shrunk": ("OAS", "LedoitWolf", "ShrunkCovariance"),
    },
)
