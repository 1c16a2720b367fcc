"""The matrices of structural models: level, slope and season, and autoregressions."""

from typing import Any

import numpy as np
from scipy.linalg import block_diag


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
