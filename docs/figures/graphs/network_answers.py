"""Answers of networks: evidence that explains away, sensitivity to one entry, the size of the tables."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.bayesnet import load_burglary, random_network

# Evidence that comes in one piece after the other.
STORY = (("john", "yes"), ("mary", "yes"), ("earthquake", "yes"))


def draw() -> Figure:
    figure, axes = plt.subplots(1, 3, figsize=(11.0, 3.2))
    network = load_burglary()
    tree = network.compile()
    steps = ["nothing"]
    heights = [float(tree.marginal("burglary").values[0])]
    for name, state in STORY:
        tree.update({name: state})
        steps.append(f"{name} = {state}")
        heights.append(float(tree.marginal("burglary").values[0]))
    axes[0].barh(range(len(steps)), heights, color="tab:blue")
    axes[0].set_yticks(range(len(steps)), steps)
    axes[0].invert_yaxis()
    axes[0].set(xlabel="P(burglary | all so far)", title="an earthquake explains the alarm", xlim=(0, 0.36))
    for row, height in enumerate(heights):
        axes[0].text(height + 0.005, row, f"{height:.4f}", va="center", fontsize=8)
    calls = {"john": "yes", "mary": "yes"}
    entries = np.linspace(0, 0.3, 200)
    for caller in ("john", "mary"):
        answer = network.sensitivity({"burglary": "yes"}, calls, parameter={caller: "yes", "alarm": "no"})
        axes[1].plot(entries, [answer.at(entry) for entry in entries], label=f"P({caller} calls | no alarm)")
        axes[1].plot(answer.entry, answer.posterior, "o", color="black", markersize=4)
    axes[1].set(xlabel="entry of the table", ylabel="P(burglary | both call)", title="sensitivity")
    axes[1].legend(fontsize=8)
    sizes = np.arange(5, 61, 5)
    for window in (3, 6, 12):
        networks = [random_network(int(n), max_parents=2, window=window, random_state=0) for n in sizes]
        cells = [network.forecast().total_cells for network in networks]
        axes[2].semilogy(sizes, cells, label=f"parents at most {window} back")
    axes[2].semilogy(sizes, 2.0**sizes, color="black", linestyle="--", label="one table")
    axes[2].set(xlabel="variables with two states", ylabel="cells", title="tables of a junction tree", ylim=(5, 1e12))
    axes[2].legend(fontsize=8)
    return figure
