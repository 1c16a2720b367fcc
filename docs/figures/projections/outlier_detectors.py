"""Seven detectors of outliers on three tables of 300 rows; one row in ten is scattered over the plane."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.covariance import EllipticEnvelope
from mercer.decomposition import PCA
from mercer.ensemble import IsolationForest
from mercer.inspection import OutlierScoresDisplay
from mercer.neighbors import LocalOutlierFactor
from mercer.outliers import DensityOutlier, KNeighborsOutlier, ReconstructionOutlier
from mercer.svm import OneClassSVM

SHARE = 0.1
DETECTORS = {
    "elliptic envelope": EllipticEnvelope(contamination=SHARE, random_state=0),
    "reconstruction": ReconstructionOutlier(PCA(n_components=1), contamination=SHARE),
    "isolation forest": IsolationForest(contamination=SHARE, random_state=0),
    "neighbours": KNeighborsOutlier(contamination=SHARE),
    "local outlier factor": LocalOutlierFactor(contamination=SHARE, novelty=True),
    "kernel density": DensityOutlier(contamination=SHARE),
    "one-class machine": OneClassSVM(nu=SHARE, gamma=0.15),
}


def make_tables() -> dict[str, np.ndarray]:
    """Return a slanted cloud, two clouds of different density, and a ring, each with scattered rows."""
    random = np.random.default_rng(3)
    scattered = random.uniform(-6.0, 6.0, size=(30, 2))
    cloud = random.normal(size=(270, 2)) * [2.2, 0.5] @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    dense = random.normal([-3.0, -2.0], 0.25, size=(170, 2))
    thin = random.normal([2.0, 1.5], 1.4, size=(100, 2))
    angle = random.uniform(0.0, 2.0 * np.pi, 270)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * random.normal(4.0, 0.25, size=(270, 1))
    inliers = {"a cloud": cloud, "two densities": np.vstack([dense, thin]), "a ring": ring}
    return {name: np.vstack([rows, scattered]) for name, rows in inliers.items()}


def draw() -> Figure:
    tables = make_tables()
    figure, axes = plt.subplots(len(tables), len(DETECTORS), figsize=(11.0, 5.2), sharex="row", sharey="row")
    for row, (table, X) in zip(axes, tables.items()):
        for place, detector in zip(row, DETECTORS.values()):
            OutlierScoresDisplay.from_detector(detector.fit(X), X, kind="contour", ax=place, s=1.5)
        row[0].set_ylabel(table)
    for place, name in zip(axes[0], DETECTORS):
        place.set_title(name, fontsize=8)
    return figure
