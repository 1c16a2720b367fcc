"""Covariances: by maximum likelihood, shrunk so that they can be inverted, and robust against outliers."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_elliptic_envelope": ("EllipticEnvelope",),
        "_empirical": ("EmpiricalCovariance", "log_likelihood"),
        "_functions": (
            "empirical_covariance",
            "graphical_lasso",
            "ledoit_wolf",
            "ledoit_wolf_shrinkage",
            "oas",
            "shrunk_covariance",
        ),
        "_graphical": ("GraphicalLasso",),
        "_graphical_cv": ("GraphicalLassoCV",),
        "_robust": ("MinCovDet", "fast_mcd"),
        "_shrunk": ("OAS", "LedoitWolf", "ShrunkCovariance"),
    },
    scikit="sklearn.covariance",
)
