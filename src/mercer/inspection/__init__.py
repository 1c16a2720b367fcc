"""Displays: every picture the library draws, by scikit-learn's Display convention."""

from mercer.inspection._annealing import AcceptanceDisplay, EnergyTraceDisplay, GibbsDisplay
from mercer.inspection._boosting import BoostingErrorDisplay, BoostingRoundsDisplay, MarginDisplay
from mercer.inspection._class_density import ClassDensityDisplay
from mercer.inspection._cluster_number import ClusterNumberDisplay
from mercer.inspection._cost_curve import CostCurveDisplay
from mercer.inspection._decision_boundary import DecisionBoundaryDisplay
from mercer.inspection._dendrogram import DendrogramDisplay
from mercer.inspection._gaussian_contour import GaussianContourDisplay
from mercer.inspection._k_distance import KDistanceDisplay
from mercer.inspection._k_means_panels import KMeansPanelsDisplay
from mercer.inspection._learning_rate import LearningRateDisplay
from mercer.inspection._maps import LatticeDisplay, MapDisplay
from mercer.inspection._mixture import EMPanelsDisplay, MixtureDisplay
from mercer.inspection._parameter_posterior import ParameterPosteriorDisplay
from mercer.inspection._scree import ScreeDisplay
from mercer.inspection._threshold_curve import ThresholdCurveDisplay
from mercer.inspection._trajectory import TrajectoryDisplay
from mercer.inspection._tree import LeafRegionsDisplay, StepRegressionDisplay, TreeDisplay

__all__ = [
    "AcceptanceDisplay",
    "BoostingErrorDisplay",
    "BoostingRoundsDisplay",
    "ClassDensityDisplay",
    "ClusterNumberDisplay",
    "CostCurveDisplay",
    "DecisionBoundaryDisplay",
    "DendrogramDisplay",
    "EMPanelsDisplay",
    "EnergyTraceDisplay",
    "GaussianContourDisplay",
    "GibbsDisplay",
    "KDistanceDisplay",
    "KMeansPanelsDisplay",
    "LatticeDisplay",
    "LeafRegionsDisplay",
    "LearningRateDisplay",
    "MapDisplay",
    "MarginDisplay",
    "MixtureDisplay",
    "ParameterPosteriorDisplay",
    "ScreeDisplay",
    "StepRegressionDisplay",
    "ThresholdCurveDisplay",
    "TrajectoryDisplay",
    "TreeDisplay",
]
