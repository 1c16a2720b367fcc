"""Annealing: acceptance by temperature, a run on a small spin glass, and the Gibbs distribution of a double well."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.inspection import AcceptanceDisplay, EnergyTraceDisplay, GibbsDisplay
from mercer.optim import PairwiseEnergy, anneal


def flip(spins: np.ndarray, random: np.random.Generator) -> np.ndarray:
    spins[random.integers(len(spins))] *= -1
    return spins


def draw() -> Figure:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.0, 2.8))
    AcceptanceDisplay().plot(ax=left)
    couplings = np.triu(np.random.default_rng(0).normal(size=(30, 30)), 1)
    glass = PairwiseEnergy(couplings + couplings.T, np.zeros(30))
    EnergyTraceDisplay.from_result(anneal(glass, flip, np.ones(30), beta=0.01, random_state=0), ax=middle)
    x = np.linspace(-1.8, 1.8, 121)
    GibbsDisplay((x**2 - 1.0) ** 2 + 0.2 * x, betas=(1.0, 5.0, 20.0), positions=x).plot(ax=right)
    return figure
