"""Displays: every picture the library draws, by scikit-learn's Display convention."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.inspection._bias_variance import BiasVarianceDisplay, BullseyeDisplay
    from mercer.inspection._boosting import BoostingErrorDisplay, BoostingRoundsDisplay, MarginDisplay
    from mercer.inspection._class_density import ClassDensityDisplay
    from mercer.inspection._clusters.annealed_centres import AnnealedCentresDisplay, MeanFieldDisplay
    from mercer.inspection._clusters.annealing import AcceptanceDisplay, EnergyTraceDisplay, GibbsDisplay
    from mercer.inspection._clusters.cluster_number import ClusterNumberDisplay
    from mercer.inspection._clusters.dendrogram import DendrogramDisplay
    from mercer.inspection._clusters.k_distance import KDistanceDisplay
    from mercer.inspection._clusters.k_means_panels import KMeansPanelsDisplay
    from mercer.inspection._clusters.maps import LatticeDisplay, MapDisplay
    from mercer.inspection._cost_curve import CostCurveDisplay
    from mercer.inspection._decision_boundary import DecisionBoundaryDisplay
    from mercer.inspection._densities.evidence import EvidenceDisplay, OptimalPredictionDisplay
    from mercer.inspection._densities.generative import GenerativeRegressionDisplay
    from mercer.inspection._densities.james_stein import JamesSteinDisplay
    from mercer.inspection._densities.transformed import TransformedDensityDisplay
    from mercer.inspection._energy.observables import ThermodynamicsDisplay
    from mercer.inspection._energy.states import SpinLatticeDisplay
    from mercer.inspection._folds import FoldsDisplay
    from mercer.inspection._gaussian_contour import GaussianContourDisplay
    from mercer.inspection._gaussian_process import KernelSelectionDisplay, ProcessDisplay
    from mercer.inspection._impurity import ImpurityDisplay
    from mercer.inspection._kernel_components import FeatureLiftDisplay, KernelComponentDisplay, SmoothnessFilterDisplay
    from mercer.inspection._learning.capacity import (
        AmbiguousPointDisplay,
        RiskBoundDisplay,
        SeparableFractionDisplay,
        WeightSpaceDisplay,
    )
    from mercer.inspection._learning.epochs import EpochCurveDisplay
    from mercer.inspection._learning.fitted_curves import FittedCurvesDisplay
    from mercer.inspection._learning_rate import LearningRateDisplay
    from mercer.inspection._linear.coefficient_path import CoefficientPathDisplay
    from mercer.inspection._linear.couplings import CouplingDisplay, SpinDisplay
    from mercer.inspection._linear.losses import LossDisplay
    from mercer.inspection._linear.plane_distance import PlaneDistanceDisplay
    from mercer.inspection._linear.shrinkage import PenaltyGeometryDisplay, ShrinkageDisplay
    from mercer.inspection._mixture import EMPanelsDisplay, MixtureDisplay
    from mercer.inspection._network import NetworkDisplay
    from mercer.inspection._networks.approximations import ApproximationDisplay
    from mercer.inspection._networks.drawing import LayeredNetworkDisplay
    from mercer.inspection._networks.filters import FilterDisplay
    from mercer.inspection._networks.layers import LayerHealthDisplay, PreActivationDisplay
    from mercer.inspection._networks.surfaces import LearningRatePilotDisplay, LossSurfaceDisplay
    from mercer.inspection._parameter_posterior import ParameterPosteriorDisplay
    from mercer.inspection._projections.canonical_variates import CanonicalVariatesDisplay
    from mercer.inspection._projections.cell_grids import CellGridDisplay
    from mercer.inspection._projections.component_images import ComponentImagesDisplay
    from mercer.inspection._projections.contrasts import ContrastLandscapeDisplay
    from mercer.inspection._projections.diagonals import JointDiagonalDisplay
    from mercer.inspection._projections.embedding import EmbeddingDisplay
    from mercer.inspection._projections.outlier_scores import OutlierScoresDisplay
    from mercer.inspection._projections.principal_axes import PrincipalAxesDisplay
    from mercer.inspection._projections.shepard import ShepardDisplay
    from mercer.inspection._projections.similarity_tails import SimilarityTailsDisplay
    from mercer.inspection._projections.sources import SeparationStagesDisplay, SourcesDisplay
    from mercer.inspection._score_curve import ScoreCurveDisplay
    from mercer.inspection._scree import ScreeDisplay
    from mercer.inspection._sequences.states import StateSequenceDisplay, TransitionGraphDisplay
    from mercer.inspection._threshold_curve import ThresholdCurveDisplay
    from mercer.inspection._trajectory import TrajectoryDisplay
    from mercer.inspection._tree import LeafRegionsDisplay, StepRegressionDisplay, TreeDisplay

__all__ = [
    "AcceptanceDisplay",
    "AmbiguousPointDisplay",
    "AnnealedCentresDisplay",
    "ApproximationDisplay",
    "BiasVarianceDisplay",
    "BoostingErrorDisplay",
    "BoostingRoundsDisplay",
    "BullseyeDisplay",
    "CanonicalVariatesDisplay",
    "CellGridDisplay",
    "ClassDensityDisplay",
    "ClusterNumberDisplay",
    "CoefficientPathDisplay",
    "ComponentImagesDisplay",
    "ContrastLandscapeDisplay",
    "CostCurveDisplay",
    "CouplingDisplay",
    "DecisionBoundaryDisplay",
    "DendrogramDisplay",
    "EMPanelsDisplay",
    "EmbeddingDisplay",
    "EnergyTraceDisplay",
    "EpochCurveDisplay",
    "EvidenceDisplay",
    "FeatureLiftDisplay",
    "FilterDisplay",
    "FittedCurvesDisplay",
    "FoldsDisplay",
    "GaussianContourDisplay",
    "GenerativeRegressionDisplay",
    "GibbsDisplay",
    "ImpurityDisplay",
    "JamesSteinDisplay",
    "JointDiagonalDisplay",
    "KDistanceDisplay",
    "KMeansPanelsDisplay",
    "KernelComponentDisplay",
    "KernelSelectionDisplay",
    "LatticeDisplay",
    "LayerHealthDisplay",
    "LayeredNetworkDisplay",
    "LeafRegionsDisplay",
    "LearningRateDisplay",
    "LearningRatePilotDisplay",
    "LossDisplay",
    "LossSurfaceDisplay",
    "MapDisplay",
    "MarginDisplay",
    "MeanFieldDisplay",
    "MixtureDisplay",
    "NetworkDisplay",
    "OptimalPredictionDisplay",
    "OutlierScoresDisplay",
    "ParameterPosteriorDisplay",
    "PenaltyGeometryDisplay",
    "PlaneDistanceDisplay",
    "PreActivationDisplay",
    "PrincipalAxesDisplay",
    "ProcessDisplay",
    "RiskBoundDisplay",
    "ScoreCurveDisplay",
    "ScreeDisplay",
    "SeparableFractionDisplay",
    "SeparationStagesDisplay",
    "ShepardDisplay",
    "ShrinkageDisplay",
    "SimilarityTailsDisplay",
    "SmoothnessFilterDisplay",
    "SourcesDisplay",
    "SpinDisplay",
    "SpinLatticeDisplay",
    "StateSequenceDisplay",
    "StepRegressionDisplay",
    "ThermodynamicsDisplay",
    "ThresholdCurveDisplay",
    "TrajectoryDisplay",
    "TransformedDensityDisplay",
    "TransitionGraphDisplay",
    "TreeDisplay",
    "WeightSpaceDisplay",
]

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_bias_variance": ("BiasVarianceDisplay", "BullseyeDisplay"),
        "_boosting": ("BoostingErrorDisplay", "BoostingRoundsDisplay", "MarginDisplay"),
        "_class_density": ("ClassDensityDisplay",),
        "_clusters.annealed_centres": ("AnnealedCentresDisplay", "MeanFieldDisplay"),
        "_clusters.annealing": ("AcceptanceDisplay", "EnergyTraceDisplay", "GibbsDisplay"),
        "_clusters.cluster_number": ("ClusterNumberDisplay",),
        "_clusters.dendrogram": ("DendrogramDisplay",),
        "_clusters.k_distance": ("KDistanceDisplay",),
        "_clusters.k_means_panels": ("KMeansPanelsDisplay",),
        "_clusters.maps": ("LatticeDisplay", "MapDisplay"),
        "_cost_curve": ("CostCurveDisplay",),
        "_decision_boundary": ("DecisionBoundaryDisplay",),
        "_densities.evidence": ("EvidenceDisplay", "OptimalPredictionDisplay"),
        "_densities.generative": ("GenerativeRegressionDisplay",),
        "_densities.james_stein": ("JamesSteinDisplay",),
        "_densities.transformed": ("TransformedDensityDisplay",),
        "_energy.observables": ("ThermodynamicsDisplay",),
        "_energy.states": ("SpinLatticeDisplay",),
        "_folds": ("FoldsDisplay",),
        "_gaussian_contour": ("GaussianContourDisplay",),
        "_gaussian_process": ("KernelSelectionDisplay", "ProcessDisplay"),
        "_impurity": ("ImpurityDisplay",),
        "_kernel_components": ("FeatureLiftDisplay", "KernelComponentDisplay", "SmoothnessFilterDisplay"),
        "_learning.capacity": (
            "AmbiguousPointDisplay",
            "RiskBoundDisplay",
            "SeparableFractionDisplay",
            "WeightSpaceDisplay",
        ),
        "_learning.epochs": ("EpochCurveDisplay",),
        "_learning.fitted_curves": ("FittedCurvesDisplay",),
        "_learning_rate": ("LearningRateDisplay",),
        "_linear.coefficient_path": ("CoefficientPathDisplay",),
        "_linear.couplings": ("CouplingDisplay", "SpinDisplay"),
        "_linear.losses": ("LossDisplay",),
        "_linear.plane_distance": ("PlaneDistanceDisplay",),
        "_linear.shrinkage": ("PenaltyGeometryDisplay", "ShrinkageDisplay"),
        "_mixture": ("EMPanelsDisplay", "MixtureDisplay"),
        "_network": ("NetworkDisplay",),
        "_networks.approximations": ("ApproximationDisplay",),
        "_networks.drawing": ("LayeredNetworkDisplay",),
        "_networks.filters": ("FilterDisplay",),
        "_networks.layers": ("LayerHealthDisplay", "PreActivationDisplay"),
        "_networks.surfaces": ("LearningRatePilotDisplay", "LossSurfaceDisplay"),
        "_parameter_posterior": ("ParameterPosteriorDisplay",),
        "_projections.canonical_variates": ("CanonicalVariatesDisplay",),
        "_projections.cell_grids": ("CellGridDisplay",),
        "_projections.component_images": ("ComponentImagesDisplay",),
        "_projections.contrasts": ("ContrastLandscapeDisplay",),
        "_projections.diagonals": ("JointDiagonalDisplay",),
        "_projections.embedding": ("EmbeddingDisplay",),
        "_projections.outlier_scores": ("OutlierScoresDisplay",),
        "_projections.principal_axes": ("PrincipalAxesDisplay",),
        "_projections.shepard": ("ShepardDisplay",),
        "_projections.similarity_tails": ("SimilarityTailsDisplay",),
        "_projections.sources": ("SeparationStagesDisplay", "SourcesDisplay"),
        "_score_curve": ("ScoreCurveDisplay",),
        "_scree": ("ScreeDisplay",),
        "_sequences.states": ("StateSequenceDisplay", "TransitionGraphDisplay"),
        "_threshold_curve": ("ThresholdCurveDisplay",),
        "_trajectory": ("TrajectoryDisplay",),
        "_tree": ("LeafRegionsDisplay", "StepRegressionDisplay", "TreeDisplay"),
    },
)
