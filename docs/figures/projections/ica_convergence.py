"""The gradient after each pass for four methods, and the outputs of one neuron with a right and two wrong weights."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.special import expit

from mercer.datasets import make_mixed_sources
from mercer.decomposition import ICA, train_neuron

METHODS = (
    ("infomax", "tab:orange", {"solver": "infomax", "extended": True}),
    ("natural gradient", "tab:red", {"solver": "natural_gradient"}),
    ("quasi-Newton", "black", {}),
    ("quasi-Newton, orthogonal", "tab:blue", {"constraint": "orthogonal"}),
)


def draw() -> Figure:
    figure, (left, right) = plt.subplots(1, 2)
    X = make_mixed_sources(2000, sources=["uniform", "laplace", "exponential", "binary"], random_state=1).data
    for name, colour, settings in METHODS:
        with warnings.catch_warnings():
            # The slow methods are stopped at 150 passes on purpose.
            warnings.simplefilter("ignore")
            model = ICA(max_iter=150, random_state=0, **settings).fit(X)
        left.loglog(1 + np.arange(model.n_iter_), model.history_["gradient"], color=colour, label=name)
    left.axhline(1e-8, color="0.7", linestyle=":")
    left.set(xlabel="steps", ylabel="largest entry of the gradient", title="four sources, 2000 rows")
    left.legend(loc="lower left", fontsize="small")
    grid = (np.arange(4000) + 0.5) / 4000
    x = np.log(grid / (1 - grid))
    neuron = train_neuron(x, weight=0.2)
    for factor, colour in ((0.3, "tab:blue"), (1.0, "black"), (3.0, "tab:red")):
        outputs = expit(factor * (neuron.weight * x + neuron.bias))
        label = f"weight {factor:g} times the learnt one"
        right.hist(outputs, bins=25, range=(0, 1), density=True, histtype="step", color=colour, label=label)
    right.set(
        xlabel="output of the neuron", ylabel="density", title="one sigmoid neuron, logistic inputs", ylim=(0, 4.5)
    )
    right.legend(loc="upper center", fontsize="small")
    return figure
