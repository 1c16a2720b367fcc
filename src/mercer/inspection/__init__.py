"""Displays: every picture the library draws, by scikit-learn's Display convention."""

from mercer.inspection._annealing import AcceptanceDisplay, EnergyTraceDisplay, GibbsDisplay
from mercer.inspection._learning_rate import LearningRateDisplay
from mercer.inspection._scree import ScreeDisplay
from mercer.inspection._trajectory import TrajectoryDisplay

__all__ = [
    "AcceptanceDisplay",
    "EnergyTraceDisplay",
    "GibbsDisplay",
    "LearningRateDisplay",
    "ScreeDisplay",
    "TrajectoryDisplay",
]
