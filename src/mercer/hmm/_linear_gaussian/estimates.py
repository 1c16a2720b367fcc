"""What a linear-Gaussian model says of its states."""

from dataclasses import dataclass

from mercer._types import Array


@dataclass(frozen=True, eq=False)
class StateEstimates:
    """The distribution of the state at each step: Gaussian, with a mean and a covariance.

    Attributes
    ----------
    means : ndarray of shape (n_steps, n_components)
    covariances : ndarray of shape (n_steps, n_components, n_components)
    log_likelihood : float
        Of all sequences.
    """

    means: Array
    covariances: Array
    log_likelihood: float
