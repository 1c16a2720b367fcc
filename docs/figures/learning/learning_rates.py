"""What a learning rate does on a parabola, in five regimes."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from mercer.inspection import LearningRateDisplay


def draw() -> Figure:
    figure, axes = plt.subplots(1, 5, figsize=(9.0, 2.0))
    LearningRateDisplay.from_rates([0.3, 1.0, 1.7, 2.0, 2.1], curvature=1.0, n_steps=6, ax=axes)
    return figure
