"""Mean and covariance of densities that are Gaussian, for formulas that hold for Gaussians alone."""

from typing import Any

import numpy as np

from mercer.errors import ParameterError


def read_gaussian(subject: str, density: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (d,) and covariance (d, d) of a Gaussian of this library or of SciPy; raise for other densities.

    Many densities have a mean and a variance; a formula for Gaussians would answer for them, and wrongly.
    """
    if getattr(density, "is_gaussian", False):
        mean = np.atleast_1d(np.asarray(density.mean, dtype=np.float64))
        if hasattr(density, "covariance"):
            return mean, np.asarray(density.covariance, dtype=np.float64)
        # A shared number and an array of one for each variable broadcast.
        mean, variance = np.broadcast_arrays(mean, np.asarray(density.variance, dtype=np.float64))
        return mean.copy(), np.diag(variance)
    if getattr(getattr(density, "dist", None), "name", None) == "norm":
        return np.atleast_1d(density.mean()), np.atleast_2d(density.var())
    if type(density).__name__ == "multivariate_normal_frozen":
        return np.atleast_1d(density.mean), np.atleast_2d(density.cov)
    raise ParameterError(
        f"{subject}: both densities must be Gaussian; got {type(density).__name__}. Give a GaussianDensity, a "
        f"MultivariateGaussianDensity or SciPy's norm or multivariate_normal."
    )
