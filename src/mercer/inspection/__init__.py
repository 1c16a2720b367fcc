"""Displays: every picture the library draws, by scikit-learn's Display convention."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_annealing": (
            "AcceptanceDisplay",
            "AnnealedCentresDisplay",
            "EnergyTraceDisplay",
            "GibbsDisplay",
            "MeanFieldDisplay",
        ),
        "_beliefs": ("EvidenceDisplay", "JamesSteinDisplay", "OptimalPredictionDisplay", "ParameterPosteriorDisplay"),
        "_boosting": ("BoostingErrorDisplay", "BoostingRoundsDisplay", "MarginDisplay"),
        "_capacity": ("AmbiguousPointDisplay", "RiskBoundDisplay", "SeparableFractionDisplay", "WeightSpaceDisplay"),
        "_classes": ("ClassDensityDisplay", "DecisionBoundaryDisplay"),
        "_clusters": (
            "ClusterNumberDisplay",
            "DendrogramDisplay",
            "KDistanceDisplay",
            "KMeansPanelsDisplay",
            "LatticeDisplay",
            "MapDisplay",
        ),
        "_components": ("ComponentImagesDisplay", "PrincipalAxesDisplay", "ScreeDisplay"),
        "_costs": ("CostCurveDisplay", "ThresholdCurveDisplay"),
        "_densities": (
            "EMPanelsDisplay",
            "GaussianContourDisplay",
            "GenerativeRegressionDisplay",
            "MixtureDisplay",
            "TransformedDensityDisplay",
        ),
        "_display": ("Display",),
        "_embeddings": ("CellGridDisplay", "EmbeddingDisplay", "ShepardDisplay", "SimilarityTailsDisplay"),
        "_fits": ("BiasVarianceDisplay", "BullseyeDisplay", "FittedCurvesDisplay"),
        "_graphs": ("NetworkDisplay", "StateSequenceDisplay", "TransitionGraphDisplay"),
        "_kernels": (
            "FeatureLiftDisplay",
            "KernelComponentDisplay",
            "KernelSelectionDisplay",
            "ProcessDisplay",
            "SmoothnessFilterDisplay",
        ),
        "_layers": ("FilterDisplay", "LayerHealthDisplay", "PreActivationDisplay"),
        "_linear": (
            "CoefficientPathDisplay",
            "LossDisplay",
            "PenaltyGeometryDisplay",
            "PlaneDistanceDisplay",
            "ShrinkageDisplay",
        ),
        "_networks": ("ApproximationDisplay", "LayeredNetworkDisplay"),
        "_optimisation": ("LearningRateDisplay", "LearningRatePilotDisplay", "LossSurfaceDisplay", "TrajectoryDisplay"),
        "_scores": ("EpochCurveDisplay", "FoldsDisplay", "OutlierScoresDisplay", "ScoreCurveDisplay"),
        "_separation": (
            "CanonicalVariatesDisplay",
            "ContrastLandscapeDisplay",
            "JointDiagonalDisplay",
            "SeparationStagesDisplay",
            "SourcesDisplay",
        ),
        "_spins": ("CouplingDisplay", "SpinDisplay", "SpinLatticeDisplay", "ThermodynamicsDisplay"),
        "_trees": ("ImpurityDisplay", "LeafRegionsDisplay", "StepRegressionDisplay", "TreeDisplay"),
    },
    scikit="sklearn.inspection",
)
