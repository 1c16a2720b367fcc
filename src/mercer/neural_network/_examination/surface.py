"""The loss of a network over a plane in the space of its weights."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.randomness import seed_sequence
from mercer._types import Array
from mercer.errors import ParameterError
from mercer.neural_network._layers.network import Network


@dataclass(frozen=True, eq=False)
class LossSurface:
    """The loss over a plane through given weights.

    Attributes
    ----------
    first, second : ndarray of shape (n,) and (m,)
        Steps along the two directions.
    losses : ndarray of shape (m, n)
        The loss at each pair of steps; NaN where it is not a number.
    directions : tuple of ndarray
        The two directions.
    """

    first: Array
    second: Array
    losses: Array
    directions: tuple[Array, Array]


def draw_direction(network: Network, theta: Any, random_state: Any = None) -> Array:
    """Draw a random direction in which every weight array of the network has the norm that it has in `theta`.

    Without this the picture would depend on the scale of weights that normalisations or ReLU units make irrelevant (Li
    et al., 2018). Arrays of zeros do not move.

    Parameters
    ----------
    network : Network
    theta : array of shape (n_weights,)
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    ndarray of shape (n_weights,)
    """
    theta = np.asarray(theta, dtype=np.float64)
    direction = np.random.default_rng(seed_sequence(random_state)).standard_normal(theta.shape)
    for node in network.nodes:
        for place, _ in node.weights.values():
            direction[place] *= np.linalg.norm(theta[place]) / np.linalg.norm(direction[place])
    return direction


def map_loss(loss: Callable[[Array], float], theta: Any, first: Any, second: Any, *, steps: Any = None) -> LossSurface:
    """Evaluate a loss at ``theta + a first + b second`` for a grid of a and b.

    Parameters
    ----------
    loss : callable
        From weights to a number, such as ``lambda theta: network.evaluate(theta, X, y)[0]``.
    theta, first, second : array of one shape
        The centre and the two directions; see :func:`draw_direction`.
    steps : array-like of shape (n,) or None, default=None
        The values of a and b; None takes 25 from -1 to 1.

    Returns
    -------
    LossSurface

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.neural_network import map_loss
    >>> first, second = np.eye(2)
    >>> map_loss(lambda theta: float(theta @ theta), np.zeros(2), first, second, steps=[-1, 0, 1]).losses
    array([[2., 1., 2.],
           [1., 0., 1.],
           [2., 1., 2.]])
    """
    centre, right, up = (np.asarray(part, dtype=np.float64) for part in (theta, first, second))
    if not centre.shape == right.shape == up.shape:
        raise ParameterError(
            f"map_loss: directions must have the shape of theta, {centre.shape}; got {right.shape} and {up.shape}."
        )
    grid = np.linspace(-1.0, 1.0, 25) if steps is None else np.asarray(steps, dtype=np.float64)
    # Far from theta a loss may overflow; such places are NaN and are left blank in the picture.
    with np.errstate(all="ignore"):
        losses = np.array([[loss(centre + a * right + b * up) for a in grid] for b in grid], dtype=np.float64)
    return LossSurface(grid, grid, np.where(np.isfinite(losses), losses, np.nan), (right, up))
