"""Two sources as rows, as white rows and separated, and the contrast of every direction of the white plane."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from mercer.datasets import make_mixed_sources
from mercer.decomposition import ICA
from mercer.inspection import ContrastLandscapeDisplay, SeparationStagesDisplay


def draw() -> Figure:
    figure, axes = plt.subplots(1, 4, figsize=(11.0, 2.9), width_ratios=[1, 1, 1, 1.5])
    X = make_mixed_sources(3000, sources=["uniform", "laplace"], mixing=[[1.0, 0.8], [0.2, 1.0]], random_state=0).data
    model = ICA(random_state=0, order="variance").fit(X)
    SeparationStagesDisplay.from_estimator(model, X, ax=axes[:3])
    ContrastLandscapeDisplay(X).plot(ax=axes[3])
    return figure
