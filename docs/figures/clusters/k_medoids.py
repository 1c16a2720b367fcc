"""A medoid and a mean beside an outlier, and the total deviation that three methods end with."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.cluster import KMeans, KMedoids


def draw() -> Figure:
    draws = np.random.default_rng(1)
    cloud = np.concatenate([draws.normal(size=(12, 2)), [[14.0, 9.0]]])
    figure, (left, right) = plt.subplots(1, 2)
    left.scatter(*cloud.T, s=8, color="0.5")
    left.scatter(*KMedoids(1).fit(cloud).cluster_centers_.T, marker="o", s=60, label="medoid")
    left.scatter(*KMeans(1, n_init=1).fit(cloud).cluster_centers_.T, marker="x", s=60, label="mean")
    left.set(title="one far row")
    left.legend(loc="upper left")
    X = draws.normal(size=(20, 2))[draws.integers(20, size=800)] * 4 + draws.normal(size=(800, 2))
    totals = [
        [KMedoids(12, method=method, init="random", random_state=seed).fit(X).inertia_ for seed in range(15)]
        for method in ("alternate", "pam", "fasterpam")
    ]
    right.boxplot(totals, tick_labels=["alternate", "pam", "fasterpam"])
    right.set(title="fifteen random starts", ylabel="total deviation")
    return figure
