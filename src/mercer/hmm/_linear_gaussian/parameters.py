"""The parameters of a linear-Gaussian state-space model.

x_1 ~ N(m, P),    x_(t+1) = A x_t + B u_t + N(0, Q),    y_t = C x_t + D u_t + N(0, R)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from mercer._plain import plain
from mercer._types import Array
from mercer.errors import ParameterError

# The constructor's names of the parameters, in the order of the fields below.
NAMES = (
    "transition",
    "observation",
    "transition_noise",
    "observation_noise",
    "start_mean",
    "start_covariance",
    "control",
    "observation_control",
)
# A covariance may have eigenvalues below zero by this part of its largest: rounding.
_ROUNDING = 1e-10


def describe_structure(*, trend: bool, period: int) -> dict[str, Any]:
    """Return the parameters of a level, with or without a slope and a season.

    The season's states are its last period - 1 values; the next is minus their sum, plus noise. Only the newest has
    noise: the others are moved on as they are.
    """
    # Level and slope: level' = level + slope.
    blocks = [np.array([[1.0, 1.0], [0.0, 1.0]]) if trend else np.ones((1, 1))]
    look, noise = ([1.0, 0.0] if trend else [1.0]), [1.0] * (1 + trend)
    if period:
        # Seasonal values move on by one place; the newest is minus the sum of the others.
        season = np.eye(period - 1, k=-1)
        season[0] = -1.0
        blocks.append(season)
        look += [1.0] + [0.0] * (period - 2)
        noise += [1.0] + [0.0] * (period - 2)
    return {
        "transition": block_diag(*blocks),
        "observation": np.array([look]),
        "transition_noise": np.diag(noise),
        "learn": ["transition_noise", "observation_noise", "start_mean"],
        "transition_noise_type": "diag",
    }


def describe_autoregression(order: int) -> dict[str, Any]:
    """Return the companion form: the state holds the last `order` values."""
    return {
        "transition": np.eye(order, k=-1),
        "observation": np.eye(1, order),
        "transition_noise": np.diag(np.eye(order)[0]),
        "observation_noise": 0.0,
        "learn": ["transition", "transition_noise"],
        "transition_noise_type": "diag",
    }


@plain
@dataclass(frozen=True, eq=False)
class StateSpaceParameters:
    """A, C, Q, R, m, P, B, D; without controls B and D have no columns."""

    transition: Array
    observation: Array
    transition_noise: Array
    observation_noise: Array
    start_mean: Array
    start_covariance: Array
    control: Array
    observation_control: Array

    @property
    def n_states(self) -> int:
        """Return k, the dimension of the state."""
        return len(self.start_mean)

    def drift(self, controls: Array) -> Array:
        """Return B u_t, or no rows where there are no controls."""
        if not self.control.shape[1]:
            return np.empty((0, self.n_states))
        return np.ascontiguousarray(controls @ self.control.T)

    def remove_controls(self, Y: Array, controls: Array) -> Array:
        """Return y_t - D u_t."""
        return np.ascontiguousarray(Y - controls @ self.observation_control.T) if self.control.shape[1] else Y


def read_matrix(subject: str, name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Return a parameter as finite numbers of a shape; one number stands for a multiple of the identity."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0 and len(shape) == 2:
        array = float(array) * np.eye(*shape)
    if array.ndim == 0 and len(shape) == 1:
        array = np.full(shape, float(array))
    if array.shape != shape:
        raise ParameterError(f"{subject}: {name} must have shape {shape}; got {array.shape}.")
    if not np.all(np.isfinite(array)):
        raise ParameterError(f"{subject}: {name} must be finite; got {array[~np.isfinite(array)][0]}.")
    return np.ascontiguousarray(array)


def check_covariance(subject: str, name: str, matrix: Array) -> Array:
    """Return a covariance, made exactly symmetric; raise if it is not symmetric and positive semi-definite."""
    scale = float(np.abs(matrix).max(initial=0.0))
    if not np.allclose(matrix, matrix.T, rtol=1e-7, atol=1e-12 * scale):
        raise ParameterError(f"{subject}: {name} must be symmetric; got {matrix.tolist()}.")
    # Exactly symmetric from here on; the filter keeps it so.
    matrix = 0.5 * (matrix + matrix.T)
    least = float(np.linalg.eigvalsh(matrix).min(initial=0.0))
    # A negative eigenvalue within rounding counts as zero.
    if least < -_ROUNDING * max(scale, 1e-300):
        raise ParameterError(f"{subject}: {name} must have no negative eigenvalue; got {least:g}.")
    return matrix
