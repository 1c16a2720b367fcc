"""Displays: every picture the library draws, by scikit-learn's Display convention."""

from mercer.inspection._annealing import AcceptanceDisplay, EnergyTraceDisplay, GibbsDisplay
from mercer.inspection._learning_rate import LearningRateDisplay
from mercer.inspection._mixture import EMPanelsDisplay, MixtureDisplay
from mercer.inspection._scree import ScreeDisplay
from mercer.inspection._trajectory import TrajectoryDisplay

__all__ = [
    "AcceptanceDisplay",
    "EMPanelsDisplay",
    "EnergyTraceDisplay",
    "GibbsDisplay",
    "LearningRateDisplay",
    "MixtureDisplay",
    "ScreeDisplay",
    "TrajectoryDisplay",
]
