"""Objectives: losses and penalties as formulas; they know neither data layout nor iteration."""

from mercer._objective.bounded_losses import Tukey, ZeroOne
from mercer._objective.class_losses import Logistic, Softmax
from mercer._objective.exponential_losses import Exponential, Gamma, LogCosh, Poisson, Tweedie
from mercer._objective.loss import LabelLoss, Loss, find_loss, list_losses
from mercer._objective.penalties import L1, L2, ElasticNetPenalty, GroupL1, PowerPenalty
from mercer._objective.penalty import Penalty, PenaltySum
from mercer._objective.piecewise_losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    ModifiedHuber,
    PerceptronLoss,
    PiecewiseLoss,
    Pinball,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from mercer._objective.prior_penalties import (
    Box,
    Monotonicity,
    NonNegative,
    Smoothness,
    Symmetry,
    measure_asymmetry,
    measure_falls,
)
from mercer._objective.smoothed import Smoothed

__all__ = [
    "L1",
    "L2",
    "Absolute",
    "Box",
    "ElasticNetPenalty",
    "EpsilonInsensitive",
    "Exponential",
    "Gamma",
    "GroupL1",
    "Hinge",
    "Huber",
    "LabelLoss",
    "LogCosh",
    "Logistic",
    "Loss",
    "ModifiedHuber",
    "Monotonicity",
    "NonNegative",
    "Penalty",
    "PenaltySum",
    "PerceptronLoss",
    "PiecewiseLoss",
    "Pinball",
    "Poisson",
    "PowerPenalty",
    "Smoothed",
    "Smoothness",
    "Softmax",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Symmetry",
    "Tukey",
    "Tweedie",
    "ZeroOne",
    "find_loss",
    "list_losses",
    "measure_asymmetry",
    "measure_falls",
]
