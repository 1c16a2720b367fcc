"""Objectives: losses and penalties as formulas; they know neither data layout nor iteration."""

from mercer._objective.losses import Logistic, Loss, Softmax
from mercer._objective.penalties import ElasticNet

__all__ = ["ElasticNet", "Logistic", "Loss", "Softmax"]
