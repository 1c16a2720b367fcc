"""Energy models: lattices below, at and above the critical temperature, and observables against temperature."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.energy import IsingModel, critical_beta, onsager_energy
from mercer.inspection import SpinLatticeDisplay, ThermodynamicsDisplay


def draw() -> Figure:
    figure, axes = plt.subplots(1, 5, figsize=(11.0, 2.6), width_ratios=(1, 1, 1, 1.2, 1.2))
    lattice = IsingModel.lattice((96, 96))
    critical = critical_beta(2, coupling=2.0)
    for ax, factor, name in zip(axes, (1.25, 1.0, 0.75), ("ordered", "critical", "disordered"), strict=False):
        model = lattice.with_beta(factor * critical)
        chain = model.simulate(1, method="swendsen-wang", burn_in=300, random_state=4)
        SpinLatticeDisplay.from_model(model, chain.samples[0], ax=ax)
        ax.set_title(f"{name}: T = {1 / model.beta:.2f}")
    temperature = np.linspace(1.2, 4.0, 40)
    for width, style in ((4, ":"), (8, "-")):
        strip = IsingModel.lattice((width, 40), periodic=(True, False))
        for ax, name in zip(axes[3:], ("energy", "heat_capacity"), strict=True):
            ThermodynamicsDisplay.from_model(
                strip, temperature, name=name, ax=ax, color="C0", linestyle=style, label=f"{width} x 40"
            )
    axes[3].plot(temperature, onsager_energy(1 / temperature), color="black", linewidth=0.8, label="infinite")
    axes[3].legend()
    for ax in axes[3:]:
        ax.axvline(1 / critical, color="lightgrey", zorder=0)
    return figure
