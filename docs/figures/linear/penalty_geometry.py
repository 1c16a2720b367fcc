"""Ellipses of equal error touching the balls of l2 and l1, and what both do to orthonormal columns."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from mercer.inspection import PenaltyGeometryDisplay, ShrinkageDisplay
from mercer.objectives import L1, L2

CENTRE, SHAPE = [1.7, 1.0], [[1.0, 0.55], [0.55, 0.6]]


def draw() -> Figure:
    figure, axes = plt.subplots(1, 3, figsize=(10.0, 3.2))
    for place, order in zip(axes[:2], (2, 1), strict=True):
        # Adding zero turns a negative zero into a plain one.
        touch = PenaltyGeometryDisplay(CENTRE, SHAPE, order=order).plot(ax=place).touch_ + 0.0
        place.set(title=f"l{order}: ({touch[0]:.2f}, {touch[1]:.2f})", xlim=(-1.3, 3.0), ylim=(-1.3, 2.4))
    ShrinkageDisplay.from_penalties({"ridge, λ = 1": L2(1.0), "lasso, λ = 2": L1(1.0)}, ax=axes[2])
    axes[2].set(title="orthonormal columns")
    return figure
