"""The four graphs of a network: directed, moral, chordal, and the junction tree."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from mercer.inspection import NetworkDisplay

# The structure of the chest clinic of Lauritzen and Spiegelhalter (1988).
CLINIC = {
    "asia": [],
    "smoke": [],
    "tub": ["asia"],
    "lung": ["smoke"],
    "bronc": ["smoke"],
    "either": ["tub", "lung"],
    "xray": ["either"],
    "dysp": ["either", "bronc"],
}


def draw() -> Figure:
    figure, axes = plt.subplots(2, 2, figsize=(9.0, 7.0))
    titles = {"dag": "the graph", "moral": "moral", "chordal": "chordal", "junction_tree": "junction tree"}
    for ax, (kind, title) in zip(axes.flat, titles.items(), strict=True):
        NetworkDisplay.from_network(CLINIC, kind=kind, ax=ax)
        ax.set_title(title)
    return figure
