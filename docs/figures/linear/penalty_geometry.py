"""Ellipses of equal error touching the balls of l2 and l1, and what both do to orthonormal columns."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize

CENTRE, SHAPE = np.array([1.7, 1.0]), np.array([[1.0, 0.55], [0.55, 0.6]])


def error(w: np.ndarray) -> np.ndarray:
    gap = np.moveaxis(np.asarray(w), 0, -1) - CENTRE
    return np.einsum("...i,ij,...j->...", gap, SHAPE, gap)


def draw() -> Figure:
    figure, axes = plt.subplots(1, 3, figsize=(10.0, 3.2))
    grid = np.stack(np.meshgrid(np.linspace(-1.3, 3, 200), np.linspace(-1.3, 2.4, 200)))
    angle = np.linspace(0, 2 * np.pi, 400)
    ring = np.stack([np.cos(angle), np.sin(angle)])
    balls = {"l2": ring, "l1": ring / np.abs(ring).sum(axis=0)}
    for place, (name, ball) in zip(axes[:2], balls.items(), strict=True):
        order = {"l2": 2, "l1": 1}[name]
        start = ball[:, error(ball).argmin()]
        budget = {"type": "ineq", "fun": lambda w, order=order: 1.0 - np.linalg.norm(w, order)}
        # Adding zero turns a negative zero into a plain one.
        touch = minimize(error, start, constraints=budget).x.round(6) + 0.0
        place.fill(*ball, color="0.85")
        place.contour(*grid, error(grid), levels=error(touch) * np.array([0.05, 0.3, 1.0]), colors="0.4", linewidths=1)
        place.plot(*CENTRE, "+", color="black")
        place.plot(*touch, "o", color="tab:red")
        place.set(aspect="equal", title=f"{name}: ({touch[0]:.2f}, {touch[1]:.2f})", xlabel="w₁", ylabel="w₂")
    w = np.linspace(-3, 3, 200)
    axes[2].plot(w, w, color="0.8", label="least squares")
    axes[2].plot(w, w / 2, label="ridge, λ = 1")
    axes[2].plot(w, np.sign(w) * np.maximum(np.abs(w) - 1.0, 0.0), label="lasso, λ = 2")
    axes[2].set(xlabel="least squares", ylabel="penalised", title="orthonormal columns")
    axes[2].legend()
    return figure
