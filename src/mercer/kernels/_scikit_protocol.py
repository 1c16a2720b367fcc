"""What scikit-learn's Gaussian processes ask of a kernel beside its values, so that they take kernels of mercer.

They ask for an instance of their own base class, which takes some 100 ms to import. So kernels are registered with it
when one is made after a program has imported it.
"""

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._types import Array

_THEIRS = "sklearn.gaussian_process.kernels"


class ScikitProtocol:
    """The methods of scikit-learn's kernels under its names; :class:`~mercer.kernels.Kernel` has the mathematics."""

    # Whether rows must be vectors of numbers.
    requires_vector_input: bool = True

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        base = getattr(sys.modules.get(_THEIRS), "Kernel", None)
        if base is not None and not issubclass(ScikitProtocol, base):
            base.register(ScikitProtocol)
        return super().__new__(cls)

    def diag(self: Any, X: Array) -> Array:
        """Return k(x, x) of each row."""
        return self.diagonal(X)

    def is_stationary(self: Any) -> bool:
        """Return whether values depend on differences of rows alone."""
        return bool(self.stationary)

    def clone_with_theta(self: Any, theta: Array) -> Any:
        """Return this kernel with other free hyper-parameters."""
        return self.with_theta(theta)

    def _check_bounds_params(self: Any) -> None:
        """Warn of hyper-parameters that a fit has left at one of their bounds."""
        free = [one for one in self.hyperparameters if not one.fixed]
        names = [one.name for one in free for _ in range(one.n_elements)]
        for name, value, (low, high) in zip(names, self.theta, self.bounds, strict=True):
            end = low if np.isclose(value, low) else high
            if np.isclose(value, end):
                warnings.warn(
                    f"The optimal value found for parameter {name} is close to its bound {np.exp(end):.6g}. Move the "
                    f"bound and fit again.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
