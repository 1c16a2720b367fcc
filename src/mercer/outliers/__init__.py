"""Detectors of outliers under one interface, and how they compare."""

from mercer.outliers._comparison import OutlierComparison, compare_outliers
from mercer.outliers._density import DensityOutlier
from mercer.outliers._explanation import OutlierExplanation, explain_outlier
from mercer.outliers._mahalanobis import MahalanobisOutlier
from mercer.outliers._neighbours import KNeighborsOutlier
from mercer.outliers._noise import ClusterOutlier
from mercer.outliers._reconstruction import ReconstructionOutlier

__all__ = [
    "ClusterOutlier",
    "DensityOutlier",
    "KNeighborsOutlier",
    "MahalanobisOutlier",
    "OutlierComparison",
    "OutlierExplanation",
    "ReconstructionOutlier",
    "compare_outliers",
    "explain_outlier",
]
