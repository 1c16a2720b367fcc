"""First weights: random, with a scale that keeps the variance of activations about constant over layers (NN-11)."""

import math

import numpy as np

from mercer.errors import ParameterError

INITIALISERS = ("auto", "glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "fan_in", "sklearn", "zeros")


def draw_weights(
    random: np.random.Generator, scheme: str, fan_in: int, fan_out: int, shape: tuple[int, ...], activation: str
) -> np.ndarray:
    """Draw weights of a layer.

    Parameters
    ----------
    random : Generator
    scheme : one of 'auto', 'glorot_uniform', 'glorot_normal', 'he_uniform', 'he_normal', 'fan_in', 'sklearn', 'zeros'
        The variance is 2 / (fan_in + fan_out) for Glorot's, 2 / fan_in for He's, and 1 / fan_in for "fan_in".
        "sklearn" is Glorot's uniform law, a third of the variance for "logistic" (Glorot and Bengio, 2010). "auto" is
        He's normal law for the relatives of ReLU and Glorot's uniform law for the others, 5/3 as wide before "tanh",
        which flattens what comes in. With "zeros" all units of a layer stay identical for ever.
    fan_in, fan_out : int
        Inputs and outputs of a unit.
    shape : tuple of int
    activation : str
        The activation function that follows.
    """
    if scheme not in INITIALISERS:
        raise ParameterError(f"initialiser must be one of {', '.join(map(repr, INITIALISERS))}; got {scheme!r}.")
    # Of standard Gaussian inputs tanh(5/3 z) keeps a variance of 0.43 over any number of layers; tanh(z) loses it all.
    gain = 5.0 / 3.0 if scheme == "auto" and activation == "tanh" else 1.0
    if scheme == "auto":
        rectified = activation in ("relu", "leaky_relu", "elu", "gelu", "softplus")
        scheme = "he_normal" if rectified else "glorot_uniform"
    if scheme == "zeros":
        return np.zeros(shape)
    if scheme == "sklearn":
        # Glorot and Bengio's bound sqrt(6 / (in + out)); a third of the variance for the logistic function.
        bound = math.sqrt((2.0 if activation == "logistic" else 6.0) / (fan_in + fan_out))
        return random.uniform(-bound, bound, shape)
    inputs = 0.5 * (fan_in + fan_out) if scheme.startswith("glorot") else float(fan_in)
    deviation = gain * math.sqrt((2.0 if scheme.startswith("he") else 1.0) / max(inputs, 1.0))
    if scheme.endswith("uniform"):
        # A uniform law on (-b, b) has the variance b^2 / 3.
        bound = math.sqrt(3.0) * deviation
        return random.uniform(-bound, bound, shape)
    return deviation * random.standard_normal(shape)
