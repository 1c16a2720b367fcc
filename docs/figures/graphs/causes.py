"""Simpson's paradox: the success of two treatments, seen and set, and the graph that tells which one to believe."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.bayesnet import BayesianNetwork, causal_effect
from mercer.inspection import NetworkDisplay

STONES = BayesianNetwork(
    {"size": ("small", "large"), "treatment": ("open", "puncture"), "success": ("yes", "no")},
    {"treatment": ("size",), "success": ("size", "treatment")},
    {
        "size": np.array([357, 343]) / 700,
        "treatment": np.array([[87 / 357, 270 / 357], [263 / 343, 80 / 343]]),
        "success": np.array([[[81 / 87, 6 / 87], [234 / 270, 36 / 270]], [[192 / 263, 71 / 263], [55 / 80, 25 / 80]]]),
    },
)


def draw() -> Figure:
    figure, (graph, bars) = plt.subplots(1, 2, width_ratios=[1, 2])
    NetworkDisplay.from_network(STONES, ax=graph)
    seen = [STONES.query("success", {"treatment": state}).array[0] for state in ("open", "puncture")]
    groups = {
        "small stones": STONES.tables["success"][0, :, 0],
        "large stones": STONES.tables["success"][1, :, 0],
        "all, as seen": np.array(seen),
        "all, as set": causal_effect(STONES, "treatment", "success")[:, 0],
    }
    places = np.arange(len(groups))
    for code, (state, colour) in enumerate((("open", "tab:blue"), ("puncture", "tab:orange"))):
        heights = [values[code] for values in groups.values()]
        drawn = bars.bar(places + 0.38 * code, heights, 0.36, color=colour, label=state)
        bars.bar_label(drawn, fmt="%.2f", fontsize=7)
    bars.set_xticks(places + 0.19, list(groups))
    bars.set(ylabel="success", ylim=(0.5, 1.05), title="puncture wins over all patients, and in neither group")
    bars.legend(ncols=2, fontsize=7, loc="upper right")
    return figure
