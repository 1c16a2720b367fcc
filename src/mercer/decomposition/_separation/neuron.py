"""One sigmoid neuron that learns to match its input density: infomax in one dimension.

For y = sigma(w x + b) the density of the output is p(x) / |dy/dx|, so that its entropy is H(x) + <log|dy/dx|> with
dy/dx = w y (1 - y). Its gradient is 1 / w + <x (1 - 2 y)> by w and <1 - 2 y> by b (Bell and Sejnowski, 1995).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from mercer._base.parameter import Integer, Real, check_parameters
from mercer._base.reading import read_numbers
from mercer._types import Array
from mercer.errors import DataError


@dataclass(frozen=True)
class SigmoidNeuron:
    """A neuron y = sigma(weight x + bias) and the course of its learning.

    Attributes
    ----------
    weight, bias : float
    history : dict of ndarray
        ``weight``, ``bias`` and ``gain`` after each step; the gain is <log|dy/dx|>, the entropy of the output less that
        of the input.
    converged : bool
    """

    weight: float
    bias: float
    history: dict[str, Array]
    converged: bool

    def outputs(self, x: Any) -> Array:
        """Return sigma(weight x + bias) of each input."""
        return expit(self.weight * np.asarray(x, dtype=np.float64) + self.bias)

    @staticmethod
    def gain(x: Any, weight: float, bias: float) -> float:
        """Return <log|dy/dx|> of a neuron with any weight and bias: what it adds to the entropy of its input."""
        u = weight * np.asarray(x, dtype=np.float64) + bias
        # log y (1 - y) = log sigma(u) + log sigma(-u), without rounding of y near 0 and 1.
        return math.log(abs(weight)) + float((log_expit(u) + log_expit(-u)).mean())


def train_neuron(
    x: Any,
    *,
    weight: float = 1.0,
    bias: float = 0.0,
    learning_rate: float = 0.5,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> SigmoidNeuron:
    """Train one sigmoid neuron by gradient ascent of the entropy of its output.

    The step halves when it would lower the entropy, so that the entropy never falls. Inputs of a logistic density with
    scale s end with the weight 1 / s and with uniform outputs, whose entropy of 0 is the largest on [0, 1].

    Parameters
    ----------
    x : array-like of shape (n,)
        Inputs.
    weight, bias : float
        Where learning starts; the weight is not zero.
    learning_rate : a number in (0, inf), default=0.5
        First step size, for inputs of unit variance.
    tol : a number in [0, inf), default=1e-8
        Largest gradient, for inputs of unit variance, at which learning ends.
    max_iter : an integer in [1, inf), default=10000
        Steps at most.

    Returns
    -------
    SigmoidNeuron
        The trained neuron, with the course of its learning.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import train_neuron
    >>> x = np.random.default_rng(0).logistic(3.0, 0.5, 20_000)
    >>> neuron = train_neuron(x)
    >>> round(neuron.weight, 1), bool(abs(neuron.outputs(x).var() - 1 / 12) < 1e-3)
    (2.0, True)
    """
    rules = {"learning_rate": Real(0, closed="neither"), "tol": Real(0, closed="left"), "max_iter": Integer(1)}
    check_parameters("train_neuron", rules, {"learning_rate": learning_rate, "tol": tol, "max_iter": max_iter})
    x = read_numbers("train_neuron", "x", x).ravel()
    if x.size < 2 or x.std() == 0 or weight == 0:
        raise DataError(
            f"train_neuron: x must hold at least two different inputs and the weight must not be zero; got {x.size} "
            f"inputs and weight={weight:g}. Give inputs that vary."
        )
    # Standard inputs z = (x - mean) / scale: one step size is then right for both parameters.
    mean, scale = float(x.mean()), float(x.std())
    z, w, b = (x - mean) / scale, weight * scale, bias + weight * mean
    rate, here = learning_rate, SigmoidNeuron.gain(z, w, b)
    course = [(w, b, here)]
    converged = False
    for _ in range(max_iter):
        slope = 1.0 - 2.0 * expit(w * z + b)
        # d gain / dw = 1 / w + <x (1 - 2 y)>, and by b <1 - 2 y>.
        by_weight, by_bias = 1.0 / w + float((z * slope).mean()), float(slope.mean())
        if max(abs(by_weight), abs(by_bias)) <= tol:
            converged = True
            break
        while True:
            moved = w + rate * by_weight, b + rate * by_bias
            # A step must not carry the weight through zero, where the output is constant.
            there = SigmoidNeuron.gain(z, *moved) if moved[0] * w > 0 else -math.inf
            if there >= here or rate < 1e-12:
                break
            rate *= 0.5
        (w, b), here, rate = moved, there, rate * 1.2
        course.append((w, b, here))
    weights, biases, gains = np.array(course).T
    # Back to the given inputs: w z + b = (w / scale) x + (b - w mean / scale), and dy/dx is dy/dz / scale.
    history = {"weight": weights / scale, "bias": biases - weights * mean / scale, "gain": gains - math.log(scale)}
    return SigmoidNeuron(float(history["weight"][-1]), float(history["bias"][-1]), history, converged)
