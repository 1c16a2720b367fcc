"""Trees: three impurities of two classes against the share of one."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.tree import impurity


def draw() -> Figure:
    shares = np.linspace(0.0, 1.0, 101)
    figure, axes = plt.subplots(figsize=(5.0, 3.2))
    for criterion, colour in (("entropy", "tab:blue"), ("gini", "tab:orange"), ("misclassification", "black")):
        values = [impurity([0, 1], criterion, sample_weight=[1.0 - p, p]) for p in shares]
        axes.plot(shares, values, color=colour, label=criterion)
    axes.set(xlabel="share p of one of two classes", ylabel="impurity", title="pure nodes at both ends")
    axes.legend(fontsize=7)
    return figure
