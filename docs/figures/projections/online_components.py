"""Hebb's axis grows without bound, Oja's ends at length one; a constant rate follows an axis that turns."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.decomposition import OnlinePCA


def draw() -> Figure:
    figure, (left, right) = plt.subplots(1, 2)
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 3)) * [2.0, 1.0, 0.5]
    for rule, colour in (("hebb", "tab:red"), ("oja", "black")):
        model, lengths = OnlinePCA(rule=rule, learning_rate=0.002, random_state=0), []
        for start in range(0, 3000, 50):
            lengths.append(float(model.partial_fit(X[start : start + 50]).norms_[0]))
        left.semilogy(np.arange(50, 3001, 50), lengths, color=colour, label=rule.capitalize())
    left.set(xlabel="rows", ylabel="length of the axis", title="with and without decay")
    left.legend()
    angles = np.linspace(0.0, np.pi / 2, 8000)
    rows = random.normal(size=8000)[:, None] * 2 * np.column_stack([np.cos(angles), np.sin(angles)])
    rows += 0.3 * random.normal(size=rows.shape)
    right.plot(np.degrees(angles), color="0.7", linewidth=4, label="true axis")
    for decay, colour, label in ((0.0, "black", "constant rate"), (50.0, "tab:red", "falling rate")):
        model, found = OnlinePCA(rule="oja", learning_rate=0.01, decay=decay, random_state=0), []
        for start in range(0, 8000, 100):
            axis = model.partial_fit(rows[start : start + 100]).components_[0]
            found.append(np.degrees(np.arctan2(abs(axis[1]), abs(axis[0]))))
        right.plot(np.arange(100, 8001, 100), found, color=colour, label=label)
    right.set(xlabel="rows", ylabel="angle, degrees", title="an axis that turns")
    right.legend()
    return figure
