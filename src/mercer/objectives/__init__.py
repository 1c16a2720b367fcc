"""Losses and penalties as objects: what a linear model can be asked to minimise, and what it can be judged by.

A loss takes scores (n, k), or (n,) of one score, and targets (n,), of two classes 0 and 1 or -1 and 1, and gives
values, derivatives, curvatures, conjugates and proximal maps: ``Hinge().value([2.0, 0.5], [1, -1])``. A penalty takes
coefficients (k, d). Penalties can be multiplied by numbers and added up: ``L1() + 2 * Smoothness()``.
"""

from mercer._objective import (
    L1,
    L2,
    Absolute,
    Box,
    ElasticNetPenalty,
    EpsilonInsensitive,
    Exponential,
    GroupL1,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Monotonicity,
    NonNegative,
    Penalty,
    PenaltySum,
    PerceptronLoss,
    Pinball,
    Poisson,
    PowerPenalty,
    Smoothness,
    Softmax,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    Symmetry,
    Tukey,
    ZeroOne,
)
from mercer._renaming import forward_old_names

__all__ = [
    "L1",
    "L2",
    "Absolute",
    "Box",
    "ElasticNetPenalty",
    "EpsilonInsensitive",
    "Exponential",
    "GroupL1",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Monotonicity",
    "NonNegative",
    "Penalty",
    "PenaltySum",
    "PerceptronLoss",
    "Pinball",
    "Poisson",
    "PowerPenalty",
    "Smoothness",
    "Softmax",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Symmetry",
    "Tukey",
    "ZeroOne",
]

__getattr__ = forward_old_names(__name__)
